"""Frames to messages and back, strictly (PROTOCOL.md section 2).

Unknown fields are ignored, of duplicate keys the last wins, and no scalar is ever
turned into another. The usual frame is read once; only one that fails is read again,
slower, to say where it is wrong.
"""

import functools
import re
from collections.abc import Mapping
from json import loads as slow_loads
from typing import Final, TypeVar, cast

import attrs
import orjson
from cattrs.preconf.orjson import OrjsonConverter

from vance_sdk.wire.errors import (
    BAD_MESSAGE,
    UNKNOWN_TYPE,
    FrameTooBig,
    ProtocolError,
)
from vance_sdk.wire.hooks import Mismatch, strict_converter, wrong
from vance_sdk.wire.json import Json
from vance_sdk.wire.limits import FRAME_BYTES, JSON_DEPTH
from vance_sdk.wire.messages.tables import INBOUND, OUTBOUND, Inbound, Outbound

M = TypeVar("M")

_MAX_UTF8_PER_CHARACTER: Final = 4
_LONG_NUMBER: Final = re.compile(r"[0-9]{19}")
_LONG_NUMBER_BYTES: Final = re.compile(rb"[0-9]{19}")
_MIN_INT, _MAX_INT = -(2**63), 2**64 - 1
_SHOWN_TYPE: Final = 64
_CONTAINERS: Final = (dict, list, tuple)


def decode_inbound(text: str | bytes, *, max_bytes: int = FRAME_BYTES) -> Inbound:
    """Read a frame that a client sent.

    Raises:
        FrameTooBig: More than ``max_bytes`` of UTF-8; the text was not parsed.
        ProtocolError: ``bad_message`` or ``unknown_type``.
    """
    return _decode(text, INBOUND, max_bytes)


def decode_outbound(text: str | bytes, *, max_bytes: int = FRAME_BYTES) -> Outbound:
    """Read a frame that the Brain sent.

    Raises:
        FrameTooBig: More than ``max_bytes`` of UTF-8; the text was not parsed.
        ProtocolError: ``bad_message`` or ``unknown_type``.
    """
    return _decode(text, OUTBOUND, max_bytes)


def encode(message: Inbound | Outbound) -> str:
    """Write a message as the text of one frame.

    A float that is not a number becomes ``null``, as in orjson.

    Raises:
        ProtocolError: A value that JSON or the protocol cannot carry: text with lone
            surrogates, integers beyond 64 bits, keys that are not strings, or a
            depth over the limit.
    """
    frame = _converter().unstructure(message)
    try:
        text = orjson.dumps(frame).decode()
    except TypeError as error:
        reason = f"$: cannot be written as JSON: {error}"
        raise ProtocolError(BAD_MESSAGE, reason, "$", message.reply_to) from error
    if _may_be_deep(text) and _is_too_deep(frame):
        raise _too_deep(message.reply_to)
    return text


def to_json(value: "attrs.AttrsInstance") -> dict[str, Json]:
    """Return a message, or a part of one such as a row, as JSON values."""
    text = orjson.dumps(_converter().unstructure(value))
    return cast("dict[str, Json]", orjson.loads(text))


@functools.cache
def _converter() -> OrjsonConverter:
    return strict_converter(detailed=False)


@functools.cache
def _locating_converter() -> OrjsonConverter:
    return strict_converter(detailed=True)


def _decode(text: str | bytes, table: Mapping[str, type[M]], max_bytes: int) -> M:
    _check_size(text, max_bytes)
    frame = _parse(text)
    cls = _class_of(frame, table)
    try:
        return _converter().structure(frame, cls)
    except Exception:  # noqa: BLE001 - the second reading says what it was
        return _locate(frame, cls)


def _check_size(text: str | bytes, max_bytes: int) -> None:
    size = len(text)
    if size <= max_bytes and isinstance(text, str):
        if size * _MAX_UTF8_PER_CHARACTER <= max_bytes:
            return
        size = len(text.encode(errors="surrogatepass"))
    if size > max_bytes:
        message = f"$: expected at most {max_bytes} bytes"
        raise FrameTooBig(BAD_MESSAGE, message)


def _parse(text: str | bytes) -> dict[str, Json]:
    try:
        value: Json = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if "depth limit" in error.msg:
            raise _too_deep(None) from None
        message = f"$: expected JSON text: {error.msg}, at character {error.pos}"
        raise ProtocolError(BAD_MESSAGE, message) from None
    if type(value) is not dict:
        raise _refusal(wrong("an object", value), None)
    if _may_be_deep(text) and _is_too_deep(value):
        raise _too_deep(_frame_id(value))
    if _has_long_number(text):
        _check_integers(text, _frame_id(value))
    return value


def _may_be_deep(text: str | bytes) -> bool:
    """Tell by two fast scans whether the text has brackets enough to be too deep."""
    if isinstance(text, str):
        return text.count("{") + text.count("[") > JSON_DEPTH
    return text.count(b"{") + text.count(b"[") > JSON_DEPTH


def _is_too_deep(value: object) -> bool:
    # Level by level, for recursion would be the attack's own weapon.
    level = [value]
    for _ in range(JSON_DEPTH + 1):
        if not level:
            return False
        level = [child for parent in level for child in _containers(parent)]
    return True


def _containers(parent: object) -> list[object]:
    if isinstance(parent, dict):
        return [c for c in parent.values() if isinstance(c, _CONTAINERS)]
    if isinstance(parent, (list, tuple)):
        return [c for c in parent if isinstance(c, _CONTAINERS)]
    return []


def _has_long_number(text: str | bytes) -> bool:
    if isinstance(text, str):
        return _LONG_NUMBER.search(text) is not None
    return _LONG_NUMBER_BYTES.search(text) is not None


def _check_integers(text: str | bytes, reply_to: str | None) -> None:
    """Refuse integers that orjson would turn into inexact floats, silently."""

    def check(digits: str) -> int:
        # Converting a very long text of digits would cost quadratic time.
        if len(digits) > len(str(_MIN_INT)) or not (
            _MIN_INT <= int(digits) <= _MAX_INT
        ):
            raise OverflowError
        return 0

    try:
        slow_loads(text, parse_int=check)
    except OverflowError:
        message = "$: expected integers of at most 64 bits"
        raise ProtocolError(BAD_MESSAGE, message, "$", reply_to) from None


def _class_of(frame: dict[str, Json], table: Mapping[str, type[M]]) -> type[M]:
    name = frame.get("type")
    if type(name) is not str:
        found = (
            wrong("a string", name)
            if "type" in frame
            else Mismatch("a string", "nothing")
        )
        raise _refusal(found.below(".type"), _frame_id(frame))
    cls = table.get(name)
    if cls is None:
        shown = name[:_SHOWN_TYPE]
        message = f"$.type: expected a message type, got the unknown {shown!r}"
        raise ProtocolError(UNKNOWN_TYPE, message, "$.type", _frame_id(frame))
    return cls


def _locate(frame: dict[str, Json], cls: type[M]) -> M:
    try:
        return _locating_converter().structure(frame, cls)
    except Mismatch as mismatch:
        raise _refusal(mismatch, _frame_id(frame)) from None


def _frame_id(frame: dict[str, Json]) -> str | None:
    found = frame.get("id")
    return found if isinstance(found, str) else None


def _refusal(mismatch: Mismatch, reply_to: str | None) -> ProtocolError:
    path = f"${mismatch.path}"
    message = f"{path}: expected {mismatch.expected}, got {mismatch.got}"
    return ProtocolError(BAD_MESSAGE, message, path, reply_to)


def _too_deep(reply_to: str | None) -> ProtocolError:
    message = f"$: expected at most {JSON_DEPTH} levels of nesting"
    return ProtocolError(BAD_MESSAGE, message, "$", reply_to)
