"""Cutting a result that is too long to travel in a frame (PROTOCOL.md, D11)."""

from typing import Final

import orjson

from vance_sdk.wire.json import Json, JsonObject

HEAD_BYTES: Final = 64 * 1024
"""The most that is shown of a result that has no text to cut."""

_LARGEST_SIZE: Final = 2**63 - 1


def truncated(result: Json, limit: int) -> Json:
    """Return the result, or as much of it as JSON of ``limit`` bytes holds.

    Of an object the longest text is cut, at a character, and ``truncated: true`` and
    ``total_bytes`` are added: the size of the whole text in UTF-8, or the one that
    the object gives already because its text has been cut before.

    Where that is not enough, and of anything that is no object, there remains
    ``{truncated: true, total_bytes, head}``: the size and the beginning of its JSON.

    Args:
        result: Any JSON.
        limit: At least 80, or even an empty ``head`` does not fit.

    Raises:
        TypeError: It is not JSON.
    """
    text = orjson.dumps(result)
    if len(text) <= limit:
        return result
    if isinstance(result, dict):
        shorter = _with_shorter_text(result, limit)
        if shorter is not None:
            return shorter
    marked: JsonObject = {"truncated": True, "total_bytes": len(text), "head": ""}
    head = text[:HEAD_BYTES].decode(errors="ignore")
    return {**marked, "head": _prefix(head, limit - len(orjson.dumps(marked)))}


def _with_shorter_text(result: JsonObject, limit: int) -> JsonObject | None:
    """Return the object with its longest text cut; ``None``: that is not enough."""
    texts = {name: text for name, text in result.items() if isinstance(text, str)}
    if not texts:
        return None
    name = max(texts, key=lambda each: len(texts[each]))
    marked: JsonObject = {**result, name: "", "truncated": True}
    marked["total_bytes"] = _LARGEST_SIZE
    room = limit - len(orjson.dumps(marked))
    if room < 0:
        return None
    marked["total_bytes"] = _whole_size(result, texts[name])
    return {**marked, name: _prefix(texts[name], room)}


def _whole_size(result: JsonObject, text: str) -> int:
    size, given = len(text.encode()), result.get("total_bytes")
    if result.get("truncated") is True and isinstance(given, int):
        return given if size <= given <= _LARGEST_SIZE else size
    return size


def _prefix(text: str, room: int) -> str:
    """Return the longest prefix whose JSON, without the quotes, fits into ``room``."""
    low, high = 0, max(0, min(len(text), room))
    while low < high:
        middle = (low + high + 1) // 2
        if len(orjson.dumps(text[:middle])) - 2 <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]
