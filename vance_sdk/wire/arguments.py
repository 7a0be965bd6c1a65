"""The arguments of a tool: what it takes, and whether it was given that.

For tools whose arguments are texts, whole numbers and flags. Their schemas are JSON
Schema that every client and model can read.
"""

from typing import Any, Final, cast

from vance_sdk.wire.json import Json, JsonObject

_TYPES: Final[dict[str, tuple[type, str]]] = {
    "string": (str, "a text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
}


class BadArguments(Exception):
    """Arguments that do not fit the schema; the text names the culprit."""


def object_schema(required: list[str], **properties: JsonObject) -> JsonObject:
    """Return the schema of arguments that takes these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def whole_number(least: int, most: int, default: int) -> JsonObject:
    """Return the schema of a number from ``least`` to ``most``, both included."""
    return {
        "type": "integer",
        "minimum": least,
        "maximum": most,
        "default": default,
    }


def checked(schema: JsonObject, args: JsonObject) -> JsonObject:
    """Return the arguments to call a tool with.

    One given as null counts as not given, which is what most mean who fill in
    arguments. Values are never converted: ``"3"`` is no number, nor is ``true``.

    Args:
        schema: As ``object_schema`` makes it; its properties are of the types
            string, integer (with ``minimum`` and ``maximum``, or not) and boolean.
        args: What the tool was given.

    Raises:
        BadArguments: One is unknown, missing, or not what the schema asks for.
    """
    properties = cast("dict[str, dict[str, Any]]", schema["properties"])
    for name in args:
        if name not in properties:
            known = ", ".join(properties) or "none"
            raise BadArguments(f"unknown argument {name!r:.60} (it takes {known})")
    given: JsonObject = {
        name: value for name, value in args.items() if value is not None
    }
    for name in cast("list[str]", schema["required"]):
        if name not in given:
            raise BadArguments(f"argument {name} is missing")
    for name, value in given.items():
        expected = _unmet(properties[name], value)
        if expected:
            raise BadArguments(f"{name} must be {expected} (got {value!r:.60})")
    return given


def _unmet(schema: dict[str, Any], value: Json) -> str | None:
    """Return what the value should have been; ``None`` when it fits."""
    kind, words = _TYPES[schema["type"]]
    if type(value) is not kind:
        return words
    if isinstance(value, int):
        least, most = schema.get("minimum", value), schema.get("maximum", value)
        if not least <= value <= most:
            return _range(schema.get("minimum"), schema.get("maximum"))
    return None


def _range(least: int | None, most: int | None) -> str:
    if least is None:
        return f"at most {most}"
    return f"at least {least}" if most is None else f"from {least} to {most}"
