"""The native tools as the client offers them."""

import inspect
import json
from functools import partial
from pathlib import Path

import jsonschema
import pytest

from vance_sdk.wire.json import JsonObject
from vancetope.client.native import Roots, ToolError, native_tools


@pytest.mark.requirement("000-2-client-native-tools")
def test_the_file_tools_are_offered_with_their_effects(tmp_path: Path) -> None:
    tools = native_tools(Roots([tmp_path]))

    assert {name: tool.effect for name, tool in tools.items()} == {
        "list_local_files": "read",
        "read_local_file": "read",
        "write_local_file": "idempotent",
        "search_local_files": "read",
    }
    assert all(tool.description and tool.name == name for name, tool in tools.items())


def test_a_schema_names_the_functions_arguments_and_defaults(tmp_path: Path) -> None:
    for tool in native_tools(Roots([tmp_path])).values():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert isinstance(tool.function, partial)
        parameters = {
            name: p
            for name, p in inspect.signature(tool.function.func).parameters.items()
            if name != "roots"
        }
        properties = tool.input_schema["properties"]
        assert isinstance(properties, dict)
        assert set(properties) == set(parameters)
        for name, schema in properties.items():
            assert isinstance(schema, dict)
            if "default" in schema:
                assert parameters[name].default == schema["default"]


@pytest.mark.requirement("000-3-native-tools")
def test_a_tool_runs_on_its_arguments_and_null_means_not_given(tmp_path: Path) -> None:
    tools = native_tools(Roots([tmp_path]))
    tools["write_local_file"].run({"path": "作业 1.md", "content": "x"})

    listed = tools["list_local_files"].run({"path": ".", "pattern": None})

    assert isinstance(listed, dict)
    assert json.loads(json.dumps(listed)) == listed
    assert "作业 1.md" in str(listed["files"])


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ({}, "argument path is missing"),
        (
            {"path": "a", "mode": 1},
            "unknown argument 'mode' (it takes path, max_bytes)",
        ),
        ({"path": "a", "max_bytes": 0}, "max_bytes must be from 1 to 8388608 (got 0)"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_by_name(
    tmp_path: Path, args: JsonObject, complaint: str
) -> None:
    tool = native_tools(Roots([tmp_path]))["read_local_file"]

    with pytest.raises(ToolError) as refused:
        tool.run(args)

    assert refused.value.message == f"read_local_file: {complaint}"
    assert refused.value.code == "failed"


def test_an_error_is_json_whatever_the_root_is_called(tmp_path: Path) -> None:
    odd = tmp_path / "caf\udce9"
    try:
        odd.mkdir()
    except (OSError, UnicodeEncodeError):
        pytest.skip("this file system takes only UTF-8 names")

    with pytest.raises(ToolError) as refused:
        native_tools(Roots([odd]))["read_local_file"].run({"path": "/etc/passwd"})

    assert "\\udce9" in refused.value.message
    assert refused.value.message.encode()
