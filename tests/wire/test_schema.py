"""The exported JSON Schemas describe what the codec reads and writes."""

import json
import subprocess
import sys
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.wire.examples import INBOUND_EXAMPLES, OUTBOUND_EXAMPLES
from tests.wire.strategies import spoiled_frames, values
from vance_sdk.wire.codec import decode_inbound, decode_outbound, encode
from vance_sdk.wire.errors import ProtocolError
from vance_sdk.wire.limits import FRAME_BYTES
from vance_sdk.wire.messages import INBOUND, OUTBOUND, BlobHandle, Handshake, TaskRow
from vance_sdk.wire.schema import export, json_schema

SCHEMAS = export()
VALIDATORS = {name: Draft202012Validator(schema) for name, schema in SCHEMAS.items()}
CLASSES: dict[str, Any] = {
    **{f"inbound/{name}": cls for name, cls in INBOUND.items()},
    **{f"outbound/{name}": cls for name, cls in OUTBOUND.items()},
}


@pytest.mark.parametrize("name", CLASSES)
def test_every_message_has_a_schema_that_is_a_schema(name: str) -> None:
    schema = SCHEMAS[name]

    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["additionalProperties"] is True
    assert schema["description"]


@pytest.mark.parametrize("name", CLASSES)
def test_the_example_is_valid_and_without_any_required_field_it_is_not(
    name: str,
) -> None:
    direction, frame_type = name.split("/")
    table = INBOUND_EXAMPLES if direction == "inbound" else OUTBOUND_EXAMPLES
    frame = {"type": frame_type, "id": "q", **table[frame_type]}
    required: Any = SCHEMAS[name]["required"]

    VALIDATORS[name].validate(frame)
    for field in required:
        assert not VALIDATORS[name].is_valid(
            {key: value for key, value in frame.items() if key != field}
        )


@st.composite
def messages(draw: st.DrawFn) -> tuple[str, Any]:
    name = draw(st.sampled_from(sorted(CLASSES)))
    return name, draw(values(CLASSES[name]))


@given(messages())
def test_what_is_encoded_is_valid(case: tuple[str, Any]) -> None:
    name, message = case

    VALIDATORS[name].validate(json.loads(encode(message)))


# A schema may be laxer than the codec (1.0 is an integer to it), never stricter.
@given(spoiled_frames())
def test_what_is_decoded_is_valid(frame: dict[str, Any]) -> None:
    for direction, decode in (
        ("inbound", decode_inbound),
        ("outbound", decode_outbound),
    ):
        try:
            decode(json.dumps(frame), max_bytes=FRAME_BYTES)
        except ProtocolError:
            continue
        VALIDATORS[f"{direction}/{frame['type']}"].validate(frame)


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "chat"},
        {"type": "chat", "message": 5},
        {"type": "disconnect", "message": "m"},
    ],
)
def test_what_is_wrong_is_invalid(frame: dict[str, Any]) -> None:
    assert not VALIDATORS["inbound/chat"].is_valid(frame)


def test_a_tool_result_needs_a_result_or_an_error() -> None:
    validator = VALIDATORS["inbound/tool-result"]
    frame = {"type": "tool-result", "request_id": "c"}

    assert not validator.is_valid(frame)
    assert validator.is_valid({**frame, "result": None})
    assert validator.is_valid({**frame, "error": "e"})


def test_names_are_those_of_the_wire() -> None:
    schema: Any = SCHEMAS["inbound/process-pause"]

    assert schema["required"] == ["type", "thinkProcessId"]


def test_a_part_of_a_message_has_a_schema_too() -> None:
    for cls in (TaskRow, BlobHandle):
        schema: Any = json_schema(cls)
        Draft202012Validator.check_schema(schema)
        assert list(schema["properties"]) == [field.name for field in attrs.fields(cls)]


def test_a_default_that_means_something_is_told() -> None:
    schema: Any = json_schema(Handshake)

    assert schema["$defs"]["Capabilities"]["properties"]["chat"] == {
        "type": "boolean",
        "default": True,
    }


def test_a_type_that_has_no_schema_is_not_guessed_at() -> None:
    @attrs.frozen
    class Odd:
        values: set[str]

    with pytest.raises(TypeError, match="set"):
        json_schema(Odd)


def test_the_module_prints_all_schemas_as_one_document() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "vance_sdk.wire.schema"],
        check=True,
        capture_output=True,
        timeout=60,
    )

    assert json.loads(done.stdout) == SCHEMAS
    assert done.stderr == b""
