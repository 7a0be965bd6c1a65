"""Check a built-in's arguments against its JSON Schema before it runs."""

from typing import Any

from vancetope.errors import ToolFailed
from vancetope.model.json import Json, JsonObject

_TYPES: dict[str, tuple[type, str]] = {
    "string": (str, "a text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
}


def validate_arguments(tool: str, schema: JsonObject, args: JsonObject) -> JsonObject:
    """The arguments to call the tool with; those given as null count as not given.

    The schema is an object with `properties` of the types string, integer and
    boolean, `required`, `minimum`, `maximum`; other names are refused.  Values are
    never converted: `"3"` is no number, and `true` is none either.

    Raises:
        ToolFailed: naming the argument and what it should have been.
    """
    properties: dict[str, Any] = schema["properties"]  # type: ignore[assignment]
    required: list[str] = schema["required"]  # type: ignore[assignment]
    known = ", ".join(properties) or "none"
    for name in args:
        if name not in properties:
            msg = f"{tool}: unknown argument {name!r:.60} (it takes {known})"
            raise ToolFailed(msg)
    given: JsonObject = {
        name: value for name, value in args.items() if value is not None
    }
    for name in required:
        if name not in given:
            msg = f"{tool}: argument {name} is missing"
            raise ToolFailed(msg)
    for name, value in given.items():
        complaint = _complaint(properties[name], value)
        if complaint:
            msg = f"{tool}: {name} must be {complaint}"
            raise ToolFailed(msg)
    return given


def _complaint(schema: dict[str, Any], value: Json) -> str | None:
    kind, words = _TYPES[schema["type"]]
    if type(value) is not kind:
        return f"{words} (got {value!r:.60})"
    if isinstance(value, int):
        least, most = schema.get("minimum", value), schema.get("maximum", value)
        if not least <= value <= most:
            return f"from {least} to {most} (got {value})"
    return None
