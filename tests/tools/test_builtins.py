"""The registry of built-ins, the check of their arguments, and `now`."""

import inspect
from collections.abc import Callable

import jsonschema
import pytest

from vancetope.clock import ManualClock
from vancetope.errors import ToolFailed
from vancetope.model.json import Json, JsonObject, dumps
from vancetope.tools.builtins import BUILTINS, built_ins
from vancetope.tools.local import local_tools
from vancetope.tools.outcome import Succeeded

# 2026-07-01T22:30:15.999Z: already the next day in Berlin.
AN_EVENING = 1_782_945_015_999


def call(tool: str, **args: Json) -> JsonObject:
    result = built_ins(ManualClock(AN_EVENING))[tool].bind(args)()
    assert isinstance(result, dict)
    return result


@pytest.mark.requirement("000-3-built-in-tools")
def test_the_built_ins_are_the_documented_ones_and_cpu_work_is_marked() -> None:
    assert {name: tool.cpu for name, tool in BUILTINS.items()} == {
        "now": False,
        "extract_keywords": True,
        "summarize_text": True,
        "outline_document": True,
    }


@pytest.mark.parametrize("name", sorted(BUILTINS))
def test_a_schema_is_json_schema_and_names_the_functions_arguments(name: str) -> None:
    tool = BUILTINS[name]

    jsonschema.Draft202012Validator.check_schema(tool.input_schema)
    parameters = inspect.signature(tool.run).parameters
    properties = tool.input_schema["properties"]
    assert isinstance(properties, dict)
    assert set(properties) == set(parameters)
    assert tool.input_schema["required"] == [
        p.name for p in parameters.values() if p.default is p.empty
    ]


@pytest.mark.parametrize("name", sorted(BUILTINS))
def test_a_default_in_the_schema_is_the_functions_default(name: str) -> None:
    tool = BUILTINS[name]
    properties = tool.input_schema["properties"]
    assert isinstance(properties, dict)

    for argument, schema in properties.items():
        assert isinstance(schema, dict)
        if "default" in schema:
            parameter = inspect.signature(tool.run).parameters[argument]
            assert parameter.default == schema["default"]


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ({}, "extract_keywords: argument text is missing"),
        (
            {"text": "x", "count": 0},
            "extract_keywords: count must be from 1 to 100 (got 0)",
        ),
        (
            {"text": "x", "limit": 3},
            "extract_keywords: unknown argument 'limit' (it takes text, count)",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused_by_name(
    args: JsonObject, complaint: str
) -> None:
    with pytest.raises(ToolFailed) as refused:
        BUILTINS["extract_keywords"].bind(args)

    assert refused.value.message == complaint


def test_an_optional_argument_given_as_null_counts_as_not_given() -> None:
    assert call("now", zone=None) == call("now")


def test_now_without_a_zone_is_utc_to_the_second() -> None:
    assert call("now") == {
        "iso": "2026-07-01T22:30:15+00:00",
        "date": "2026-07-01",
        "time": "22:30:15",
        "weekday": "Wednesday",
        "zone": "UTC",
        "unix": 1_782_945_015,
    }


def test_now_knows_the_zones_date_and_its_summer_time() -> None:
    assert call("now", zone="Europe/Berlin") == {
        "iso": "2026-07-02T00:30:15+02:00",
        "date": "2026-07-02",
        "time": "00:30:15",
        "weekday": "Thursday",
        "zone": "Europe/Berlin",
        "unix": 1_782_945_015,
    }


@pytest.mark.parametrize("zone", ["Berlin", "europe/berlin", "Europe/Berlinn"])
def test_an_unknown_zone_names_the_near_ones(zone: str) -> None:
    with pytest.raises(ToolFailed, match="did you mean Europe/Berlin"):
        call("now", zone=zone)


@pytest.mark.parametrize(
    "zone", ["", "../../etc/passwd", "/etc/passwd", "a\0b", "x" * 100_000]
)
def test_a_zone_that_is_no_name_at_all_is_refused_too(zone: str) -> None:
    with pytest.raises(ToolFailed, match="no time zone"):
        call("now", zone=zone)


async def test_a_result_over_the_limit_is_cut_and_says_so() -> None:
    async def here(work: Callable[[], Json]) -> Json:
        return work()

    tools = local_tools(ManualClock(AN_EVENING), result_limit=1024, run_cpu=here)

    outcome = await tools["summarize_text"]({"text": f"A {'long ' * 1000}sentence."})

    assert isinstance(outcome, Succeeded)
    assert isinstance(outcome.result, dict)
    assert outcome.result["truncated"] is True
    assert len(dumps(outcome.result)) <= 1024
