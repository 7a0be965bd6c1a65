"""Cutting a result that is too large to keep inline (PROTOCOL D11, until blobs exist)."""

from typing import Final

from vancetope.model.json import Json, dumps

#: Shown of a result that has no single text to cut.
HEAD_CHARS: Final = 64 * 1024
#: Left free for the rest of the object beside the text that is cut.
SLACK: Final = 4096


def trimmed(result: Json, limit: int) -> Json:
    """The result, or what fits of it with `truncated` and `total_bytes`.

    An object with one long text keeps its other fields.

    Args:
        result: any JSON.
        limit: bytes of JSON that may stay.
    """
    size = len(dumps(result).encode())
    if size <= limit:
        return result
    if isinstance(result, dict):
        name, text = max(
            ((key, value) for key, value in result.items() if isinstance(value, str)),
            key=lambda item: len(item[1]),
            default=("", ""),
        )
        rest = {key: value for key, value in result.items() if key != name}
        room = limit - len(dumps(rest).encode()) - SLACK
        if text and room > 0:
            return {
                **rest,
                name: _cut(text, room),
                "truncated": True,
                "total_bytes": result.get("total_bytes", len(text.encode())),
            }
    head = dumps(result)[:HEAD_CHARS]
    return {"truncated": True, "total_bytes": size, "head": _cut(head, limit // 2)}


def _cut(text: str, room: int) -> str:
    """The longest beginning whose JSON takes at most `room` bytes, roughly."""
    cut = text.encode()[:room].decode(errors="ignore")
    while cut and len(dumps(cut).encode()) > room:
        over = len(dumps(cut).encode()) - room
        cut = cut[: max(0, len(cut) - max(1, over // 2))]
    return cut
