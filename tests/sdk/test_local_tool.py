"""Python functions as tools."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Optional

import jsonschema
import pytest
import trio

from vance_sdk.errors import ToolFailed
from vance_sdk.local_tool import LocalTool, json_type, tool_from_function
from vance_sdk.wire.digest import tool_digest
from vance_sdk.wire.messages import Json


def search(
    query: str,
    limit: int = 5,
    *,
    tags: list[str] | None = None,
    mode: Literal["fast", "slow"] = "fast",
) -> str:
    """Search the notes."""
    return f"{query} {limit} {tags} {mode}"


def test_the_schema_comes_from_the_signature() -> None:
    tool = tool_from_function(search, effect="read")

    assert (tool.name, tool.description) == ("search", "Search the notes.")
    assert tool.effect == "read"
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer", "default": 5},
            "tags": {
                "anyOf": [
                    {"type": "array", "items": {"type": "string"}},
                    {"type": "null"},
                ]
            },
            "mode": {"enum": ["fast", "slow"], "default": "fast"},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    jsonschema.Draft202012Validator.check_schema(tool.input_schema)
    assert tool.run({"query": "x", "mode": "slow"}) == "x 5 None slow"


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (bool, {"type": "boolean"}),
        (float, {"type": "number"}),
        (dict, {"type": "object"}),
        (
            dict[str, int],
            {"type": "object", "additionalProperties": {"type": "integer"}},
        ),
        (Mapping[str, Any], {"type": "object"}),
        (Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (tuple[int, str], {"type": "array"}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045
        (int | Any, {}),
        (Any, {}),
        (trio.Event, {}),
    ],
)
def test_annotations_become_json_types(hint: object, schema: dict[str, Json]) -> None:
    assert json_type(hint) == schema


async def test_an_async_function_becomes_an_async_tool() -> None:
    async def double(n: int) -> int:
        await trio.lowlevel.checkpoint()
        return 2 * n

    class Doubler:
        async def __call__(self, n: int) -> int:
            return await double(n)

    for function in (double, functools.partial(double), Doubler()):
        tool = tool_from_function(function)
        assert tool.is_async
        answer = tool.run({"n": 4})
        assert await answer == 8  # type: ignore[misc]
    assert tool_from_function(functools.partial(double, n=1)).name == "double"
    assert not tool_from_function(search).is_async


def test_wrong_arguments_fail_with_words_for_whoever_gave_them() -> None:
    tool = tool_from_function(search)

    with pytest.raises(ToolFailed, match="missing a required argument: 'query'"):
        tool.run({})
    with pytest.raises(ToolFailed, match="unexpected keyword argument 'path'"):
        tool.run({"query": "x", "path": "y"})


def test_more_arguments_are_welcome_where_the_function_takes_them() -> None:
    def echo(**more: object) -> object:
        return more

    tool = tool_from_function(echo, name="e", description="Echo")

    assert tool.run({"a": 1}) == {"a": 1}
    assert tool.input_schema is not None
    assert tool.input_schema["additionalProperties"] is True


def no_names(*args: object) -> None: ...
def only_positions(a: int, /) -> None: ...


@pytest.mark.parametrize("function", [no_names, only_positions])
def test_parameters_that_have_no_name_are_refused(
    function: Callable[..., object],
) -> None:
    with pytest.raises(TypeError, match="cannot be given by name"):
        tool_from_function(function)


def test_annotations_that_cannot_be_read_allow_anything() -> None:
    def strange(a: "Missing", b) -> None: ...  # type: ignore[no-untyped-def,name-defined]  # noqa: F821

    tool = tool_from_function(strange)

    assert tool.input_schema is not None
    assert tool.input_schema["properties"] == {"a": {}, "b": {}}


def test_an_offer_carries_the_digest_of_its_definition() -> None:
    tool = LocalTool(name="a", effect="idempotent", run=lambda args: None)

    assert tool.offer().digest == tool_digest(tool.offer())
