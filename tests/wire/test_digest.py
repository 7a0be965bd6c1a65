"""Fingerprints that both sides compute alike."""

import hashlib
import json
from typing import Any

import attrs
import pytest
from hypothesis import given

from tests.wire.strategies import OBJECTS
from vance_sdk.wire.digest import args_digest, tool_digest
from vance_sdk.wire.messages import ClientTool

TOOL = ClientTool(
    name="read_local_file",
    type="native",
    description="Reads a file",
    input_schema={"type": "object"},
    effect="read",
)


def test_a_digest_is_the_sha256_of_sorted_compact_json() -> None:
    text = '{"a":[1,2.5,null],"b":{"x":"ä","y":true}}'
    args: Any = {"b": {"y": True, "x": "ä"}, "a": [1, 2.5, None]}

    assert args_digest(args) == hashlib.sha256(text.encode()).hexdigest()


@given(OBJECTS)
def test_a_digest_survives_the_wire_and_any_order_of_keys(args: dict[str, Any]) -> None:
    turned = dict(reversed(list(args.items())))

    assert args_digest(json.loads(json.dumps(turned))) == args_digest(args)


def test_other_arguments_have_another_digest() -> None:
    digests = {
        args_digest({}),
        args_digest({"a": 1}),
        args_digest({"a": "1"}),
        args_digest({"a": True}),
        args_digest({"a": [1]}),
    }

    assert len(digests) == 5


def test_arguments_that_json_cannot_carry_have_no_digest() -> None:
    with pytest.raises(TypeError):
        args_digest({"name": "\ud800"})


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"type": "mcp"},
        {"description": "Reads a file, and sends it away"},
        {"mcp_server": "files"},
        {"input_schema": {"type": "object", "required": ["path"]}},
        {"effect": "once"},
    ],
)
def test_a_changed_tool_has_another_digest(change: dict[str, Any]) -> None:
    assert tool_digest(attrs.evolve(TOOL, **change)) != tool_digest(TOOL)


def test_a_tools_own_digest_does_not_count() -> None:
    stamped = attrs.evolve(TOOL, digest=tool_digest(TOOL))

    assert tool_digest(stamped) == tool_digest(TOOL)
