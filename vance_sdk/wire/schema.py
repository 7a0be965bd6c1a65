"""JSON Schema (2020-12) of every message, made from the classes.

``python -m vance_sdk.wire.schema`` prints all of them as one JSON document.
"""

import inspect
import sys
from types import NoneType, UnionType
from typing import Final, Literal, Union, get_args, get_origin

import attrs
import orjson

from vance_sdk.wire.json import Json
from vance_sdk.wire.messages.common import Frame, wire_name
from vance_sdk.wire.messages.tables import INBOUND, OUTBOUND

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_MAX_INT: Final = 2**63 - 1
_SCALARS: Final[dict[type, dict[str, Json]]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0, "maximum": _MAX_INT},
    float: {"type": "number"},
    NoneType: {"type": "null"},
}


def json_schema(cls: type) -> dict[str, Json]:
    """Return the schema of a message class, or of a part such as a row."""
    parts: dict[str, Json] = {}
    schema: dict[str, Json] = {"$schema": DIALECT, **_of_class(cls, parts)}
    if parts:
        schema["$defs"] = parts
    return schema


def export() -> dict[str, dict[str, Json]]:
    """Return all schemas by ``inbound/<type>`` and ``outbound/<type>``."""
    return {
        f"{direction}/{name}": json_schema(cls)
        for direction, table in (("inbound", INBOUND), ("outbound", OUTBOUND))
        for name, cls in table.items()
    }


def main() -> None:
    """Print all schemas as one JSON document."""
    text = orjson.dumps(export(), option=orjson.OPT_INDENT_2)
    sys.stdout.write(text.decode() + "\n")


def _of_class(cls: type, parts: dict[str, Json]) -> dict[str, Json]:
    properties: dict[str, Json] = {}
    required: list[Json] = []
    if issubclass(cls, Frame):
        properties["type"] = {"const": cls.TYPE}
        required.append("type")
    for field in attrs.fields(cls):
        name = wire_name(field)
        properties[name] = _of_field(field, parts)
        if field.default is attrs.NOTHING:
            required.append(name)
    schema: dict[str, Json] = {
        "title": cls.__name__,
        "description": _summary(cls),
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": True,
    }
    if issubclass(cls, Frame) and cls.ANY_OF:
        schema["anyOf"] = [{"required": [name]} for name in cls.ANY_OF]
    return schema


def _of_field(
    field: "attrs.Attribute[object]", parts: dict[str, Json]
) -> dict[str, Json]:
    schema = _of_type(field.type, parts)
    if isinstance(field.default, bool | str):
        return {**schema, "default": field.default}
    return schema


def _of_type(cls: object, parts: dict[str, Json]) -> dict[str, Json]:
    if cls is Json:
        return {}
    origin, args = get_origin(cls), get_args(cls)
    if origin in {Union, UnionType}:
        return {"anyOf": [_of_type(member, parts) for member in args]}
    if origin is Literal:
        return {"enum": list(args)}
    if origin is tuple:
        return {"type": "array", "items": _of_type(args[0], parts)}
    if origin is dict:
        return {"type": "object"}
    if isinstance(cls, type) and attrs.has(cls):
        if cls.__name__ not in parts:
            parts[cls.__name__] = _of_class(cls, parts)
        return {"$ref": f"#/$defs/{cls.__name__}"}
    if isinstance(cls, type) and cls in _SCALARS:
        return dict(_SCALARS[cls])
    message = f"no JSON Schema for {cls!r}"
    raise TypeError(message)


def _summary(cls: type) -> str:
    """Return the first paragraph of the docstring on one line."""
    paragraph = (inspect.getdoc(cls) or "").split("\n\n", 1)[0]
    return " ".join(paragraph.split())


if __name__ == "__main__":
    main()
