"""What a tool returned, made fit for a frame (PROTOCOL.md, D11)."""

from typing import cast

import orjson

from vance_sdk.errors import ToolFailed
from vance_sdk.wire.json import Json
from vance_sdk.wire.limits import INLINE_RESULT_BYTES
from vance_sdk.wire.truncate import truncated


def fit(value: object, *, limit: int = INLINE_RESULT_BYTES) -> Json:
    """Return ``value`` as JSON, cut to ``limit`` bytes if it is longer.

    Raises:
        ToolFailed: JSON cannot carry the value.
    """
    try:
        encoded = orjson.dumps(value)
    except TypeError as error:
        message = f"the tool's result cannot be written as JSON: {error}"
        raise ToolFailed(message) from None
    return truncated(cast("Json", orjson.loads(encoded)), limit)
