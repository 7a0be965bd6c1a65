"""What a tool returned, made fit for a frame (PROTOCOL.md, D11)."""

from typing import Final, cast

import orjson

from vance_sdk.errors import ToolFailed
from vance_sdk.wire.limits import INLINE_RESULT_BYTES
from vance_sdk.wire.messages.common import Json

_TEXTS: Final = ("text", "content")
_LARGEST_SIZE: Final = 2**63 - 1


def fit(value: object, *, limit: int = INLINE_RESULT_BYTES) -> Json:
    """Return ``value`` as JSON of at most ``limit`` bytes.

    Of an object that is too big because of its ``text`` or ``content``, that string
    is cut at a character, and ``truncated: true`` and ``total_bytes`` (of the whole
    string in UTF-8) are added.

    Raises:
        ToolFailed: JSON cannot carry the value, or it is too big and cannot be cut.
    """
    try:
        encoded = orjson.dumps(value)
    except TypeError as error:
        message = f"the tool's result cannot be written as JSON: {error}"
        raise ToolFailed(message) from None
    result = cast("Json", orjson.loads(encoded))
    if len(encoded) <= limit:
        return result
    if isinstance(result, dict):
        for key in _TEXTS:
            cut = _cut(result, key, limit)
            if cut is not None:
                return cut
    message = f"the tool's result is {len(encoded)} bytes long, over {limit} bytes"
    raise ToolFailed(message)


def _cut(result: dict[str, Json], key: str, limit: int) -> dict[str, Json] | None:
    text = result.get(key)
    if not isinstance(text, str):
        return None
    marked = {**result, key: "", "truncated": True, "total_bytes": _LARGEST_SIZE}
    room = limit - len(orjson.dumps(marked))
    if room < 0:
        return None
    marked[key] = _prefix(text, room)
    marked["total_bytes"] = len(text.encode())
    return marked


def _prefix(text: str, room: int) -> str:
    """Return the longest prefix whose JSON, without the quotes, fits into ``room``."""
    low, high = 0, min(len(text), room)
    while low < high:
        middle = (low + high + 1) // 2
        if len(orjson.dumps(text[:middle])) - 2 <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]
