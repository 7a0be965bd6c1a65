"""Whatever text arrives, it is a message or a clean refusal."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.examples import INBOUND_EXAMPLES, OUTBOUND_EXAMPLES
from tests.wire.reading import read, refusal_of
from tests.wire.strategies import JSON, spoiled_frames
from vance_sdk.wire.codec import decode_inbound, decode_outbound, encode
from vance_sdk.wire.errors import FrameTooBig, ProtocolError
from vance_sdk.wire.limits import FRAME_BYTES, JSON_DEPTH
from vance_sdk.wire.messages import (
    Ack,
    Chat,
    Disconnect,
    ProcessStart,
    SequenceAck,
    ToolRequest,
    ToolResult,
)


@pytest.mark.requirement("003-2-not-an-object")
@pytest.mark.parametrize("text", ["", "nul", "[]", '"chat"', "5", "null", "{} {}", "{"])
def test_text_that_is_no_json_object_is_a_bad_message(text: str) -> None:
    refusal = refusal_of(text)

    assert (refusal.code, refusal.path) == ("bad_message", "$")
    assert refusal.reply_to is None


@pytest.mark.requirement("003-2-no-nan")
@pytest.mark.parametrize(
    "number",
    ["NaN", "Infinity", "-Infinity", "1e999", "1" * 100_000],
    ids=["NaN", "Infinity", "-Infinity", "exponent", "digits"],
)
def test_what_is_not_a_finite_number_is_a_bad_message(number: str) -> None:
    text = f'{{"type": "tool-result", "request_id": "c", "result": {number}}}'

    assert refusal_of(text).code == "bad_message"


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "chat", "message": "\\ud800"}',
        '{"type": "chat", "message": "\ud800"}',
        b'{"type": "chat", "message": "\xff"}',
        b'\xef\xbb\xbf{"type": "chat", "message": "m"}',
    ],
    ids=["escaped surrogate", "surrogate", "bad UTF-8", "byte order mark"],
)
def test_text_that_is_not_unicode_is_a_bad_message(text: str | bytes) -> None:
    assert refusal_of(text).code == "bad_message"


# Seen to fail without the second reading: orjson turns these into floats.
@pytest.mark.parametrize(
    "number", ["18446744073709551616", "-9223372036854775809", "1" * 300]
)
def test_an_integer_beyond_64_bits_is_never_rounded(number: str) -> None:
    result = f'{{"n": [{number}]}}'
    frame = (
        f'{{"id": "q", "type": "tool-result", "request_id": "c", "result": {result}}}'
    )
    for text in (frame, frame.encode()):
        refusal = refusal_of(text)

        assert refusal.code == "bad_message"
        assert "64 bits" in str(refusal)
        assert refusal.reply_to == "q"


def test_long_digits_in_text_and_in_fractions_are_no_integers() -> None:
    digits = "1" * 40
    text = f'{{"type": "tool-result", "request_id": "{digits}", "result": 0.{digits}}}'

    assert read(text) == ToolResult(request_id=digits, result=float(f"0.{digits}"))


@pytest.mark.parametrize("number", [2**64 - 1, -(2**63)])
def test_an_integer_of_64_bits_passes_through(number: int) -> None:
    message = ProcessStart(goal="g", input={"n": number})

    assert read(encode(message)) == message


def _nested(depth: int, left: str, right: str) -> str:
    """Return a frame of this depth, the frame itself being the first level."""
    inner = left * (depth - 1) + right * (depth - 1)
    return f'{{"type": "tool-result", "id": "q", "request_id": "c", "result": {inner}}}'


@pytest.mark.requirement("003-2-depth")
def test_a_frame_may_be_64_levels_deep_and_not_65() -> None:
    assert isinstance(read(_nested(JSON_DEPTH, "[", "]")), ToolResult)
    for text in (
        _nested(JSON_DEPTH + 1, "[", "]"),
        _nested(JSON_DEPTH + 1, '[{"a":', "}]").replace(":}", ":1}", 1),
    ):
        refusal = refusal_of(text)

        assert refusal.code == "bad_message"
        assert "64 levels" in str(refusal)
        assert refusal.reply_to == "q"


@pytest.mark.requirement("003-2-depth")
@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
@pytest.mark.parametrize("depth", [1000, 10_000, 100_000])
def test_json_nested_thousands_deep_is_refused_cleanly(
    opening: str, depth: int
) -> None:
    refusal = refusal_of(opening * depth)

    assert refusal.code == "bad_message"


def test_a_complete_frame_10000_deep_is_told_to_be_too_deep() -> None:
    refusal = refusal_of(_nested(10_000, "[", "]"))

    assert "64 levels" in str(refusal)


def test_many_brackets_side_by_side_are_not_deep() -> None:
    message = ToolResult(request_id="c", result=[[] for _ in range(1000)])

    assert read(encode(message)) == message


def test_a_frame_64_levels_deep_may_have_more_brackets_than_that() -> None:
    # More than 64 brackets, so that the levels are really counted.
    text = _nested(JSON_DEPTH, "[", "]").replace('"c"', '"c", "more": [[], [], []]')

    assert isinstance(read(text), ToolResult)


def test_brackets_in_text_are_not_deep() -> None:
    message = Chat(message="[{" * 1000)

    assert read(encode(message)) == message


@pytest.mark.requirement("003-2-frame-size")
def test_a_frame_over_the_limit_is_not_even_parsed() -> None:
    text = '{"type": "chat", "message": "äöü"}'
    size = len(text.encode())

    assert decode_inbound(text, max_bytes=size) == Chat(message="äöü")
    assert decode_inbound(text.encode(), max_bytes=size) == Chat(message="äöü")
    for frame in (text, text.encode(), "{" * (size + 1), "\ud800" * size):
        with pytest.raises(FrameTooBig):
            decode_inbound(frame, max_bytes=size - 1)


def test_a_refusal_names_the_frame_it_answers() -> None:
    assert refusal_of({"type": "chat", "id": "q7"}).reply_to == "q7"
    assert refusal_of({"type": "chat", "id": 7}).reply_to is None
    assert refusal_of({"type": "chat"}).reply_to is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"name": "\ud800"}, "surrogates"),
        (2**64, "64-bit"),
        ({"a": {5: 1}}, "key"),
        (object(), "serializable"),
    ],
)
def test_what_json_cannot_carry_is_refused_before_it_is_sent(
    value: Any, reason: str
) -> None:
    with pytest.raises(ProtocolError, match=reason) as caught:
        encode(ToolResult(request_id="c", reply_to="q", result=value))

    assert caught.value.reply_to == "q"


def test_a_message_that_is_too_deep_is_refused_before_it_is_sent() -> None:
    args: dict[str, Any] = {}
    for _ in range(JSON_DEPTH - 2):
        args = {"a": args}
    encode(ToolRequest(request_id="c", tool_name="t", args=args))

    with pytest.raises(ProtocolError, match="64 levels"):
        encode(ToolRequest(request_id="c", tool_name="t", args={"a": args}))


def test_equal_types_are_read_by_direction() -> None:
    assert read({"type": "ack", "seq": 4}) == SequenceAck(seq=4)
    assert decode_outbound('{"type": "ack", "seq": 4}') == Ack(seq=4)
    assert read({"type": "disconnect"}) == Disconnect()
    with pytest.raises(ProtocolError, match="unknown"):
        decode_outbound('{"type": "disconnect"}')


def _message_or_refusal(text: str | bytes) -> None:
    for decode in (decode_inbound, decode_outbound):
        try:
            message = decode(text, max_bytes=FRAME_BYTES)
        except ProtocolError as error:
            refusal = error
        else:
            encode(message)
            continue
        assert refusal.code in {"bad_message", "unknown_type"}
        assert refusal.path.startswith("$")
        assert str(refusal).startswith(refusal.path)


@given(JSON)
def test_any_json_is_a_message_or_a_refusal(value: Any) -> None:
    _message_or_refusal(json.dumps(value))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_refusal(data: bytes) -> None:
    _message_or_refusal(data)


_ALL_TYPES = [*INBOUND_EXAMPLES, *OUTBOUND_EXAMPLES]


@given(st.sampled_from(_ALL_TYPES), st.dictionaries(st.text(max_size=4), JSON))
def test_any_object_of_a_known_type_is_a_message_or_a_refusal(
    name: str, body: dict[str, Any]
) -> None:
    _message_or_refusal(json.dumps({**body, "type": name}))


@given(spoiled_frames())
def test_a_good_frame_with_one_spoiled_value_is_a_message_or_a_refusal(
    frame: dict[str, Any],
) -> None:
    _message_or_refusal(json.dumps(frame))
