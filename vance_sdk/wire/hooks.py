"""Strict cattrs hooks: nothing is coerced, and a mismatch knows where it is.

Hooks are made when a class is first used, so that a program pays for the messages
it meets.
"""

from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

import attrs
from cattrs import BaseConverter, ClassValidationError
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from cattrs.preconf.orjson import OrjsonConverter, make_converter

from vance_sdk.wire.json import Json
from vance_sdk.wire.messages.common import Frame, wire_name

T = TypeVar("T")
Structure: TypeAlias = Callable[[object, object], object]

_MAX_INT = 2**63 - 1
_TEXT, _INTEGER, _NUMBER = "a string", "an integer from 0 to 2^63-1", "a number"
_BOOLEAN, _OBJECT, _ARRAY = "true or false", "an object", "an array"

_KINDS: dict[type, str] = {
    NoneType: "null",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


class Mismatch(Exception):
    """A value that is not what the protocol asks for.

    Attributes:
        expected: What was expected, in words.
        got: The kind of what was found, never the value itself.
        path: Where it is below the frame, such as ``.client.tools[0]``.
    """

    def __init__(self, expected: str, got: str, path: str = "") -> None:
        super().__init__(expected, got, path)
        self.expected = expected
        self.got = got
        self.path = path

    def below(self, step: str) -> "Mismatch":
        """Return the same finding as seen from one level up."""
        return Mismatch(self.expected, self.got, step + self.path)


def wrong(expected: str, value: object) -> Mismatch:
    """Return the finding that ``value`` is of another kind than expected."""
    return Mismatch(expected, _KINDS.get(type(value), "something else"))


def strict_converter(*, detailed: bool) -> OrjsonConverter:
    """Make a converter; the detailed one is slower and raises only ``Mismatch``."""
    converter = make_converter(detailed_validation=detailed)
    for scalar, expected in ((str, _TEXT), (bool, _BOOLEAN)):
        converter.register_structure_hook(scalar, _scalar_hook(scalar, expected))
    converter.register_structure_hook(int, _integer)
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook_factory(attrs.has, _class_hook)
    converter.register_structure_hook_factory(_is_union, _union_hook)
    converter.register_structure_hook_factory(_is_literal, _literal_hook)
    converter.register_structure_hook_factory(_is_tuple, _tuple_hook)
    converter.register_structure_hook_func(_is_json_object, _json_object)
    # Last, because the hook registered last is asked first, and Json is a union.
    converter.register_structure_hook_func(_is_json, lambda value, _: value)
    converter.register_unstructure_hook_factory(attrs.has, _output_hook)
    for passes in (_is_json_object, _is_json):
        converter.register_unstructure_hook_func(passes, lambda value: value)
    return converter


def _is_json(cls: object) -> bool:
    return cls is Json


def _is_json_object(cls: object) -> bool:
    return get_origin(cls) is dict


def _is_union(cls: object) -> bool:
    return get_origin(cls) in {Union, UnionType}


def _is_literal(cls: object) -> bool:
    return get_origin(cls) is Literal


def _is_tuple(cls: object) -> bool:
    return get_origin(cls) is tuple


def _scalar_hook(scalar: type[T], expected: str) -> Callable[[object, object], T]:
    def structure(value: object, _: object) -> T:
        # The exact type, because True is an instance of int.
        if type(value) is scalar:
            return value
        raise wrong(expected, value)

    return structure


def _integer(value: object, _: object) -> int:
    if type(value) is not int:
        raise wrong(_INTEGER, value)
    # Every integer of the protocol is a count, a position or a duration, and the
    # store's integers are signed.
    if not 0 <= value <= _MAX_INT:
        raise Mismatch(_INTEGER, "one out of range")
    return value


def _number(value: object, _: object) -> float:
    if type(value) is float:
        return value
    if type(value) is int:
        return float(value)
    raise wrong(_NUMBER, value)


def _json_object(value: object, _: object) -> object:
    if type(value) is not dict:
        raise wrong(_OBJECT, value)
    return value


def _literal_hook(cls: type) -> Structure:
    choices: tuple[str, ...] = get_args(cls)
    expected = "one of " + ", ".join(choices)

    def structure(value: object, _: object) -> object:
        if type(value) is str and value in choices:
            return value
        got = "another string" if type(value) is str else ""
        raise Mismatch(expected, got) if got else wrong(expected, value)

    return structure


def _tuple_hook(cls: type, converter: BaseConverter) -> Structure:
    item_type = get_args(cls)[0]
    item_hook: Structure = converter.get_structure_hook(item_type)

    def structure(value: object, _: object) -> object:
        if type(value) is not list:
            raise wrong(_ARRAY, value)
        items: list[object] = []
        try:
            for item in value:
                items.append(item_hook(item, item_type))  # noqa: PERF401
        except Mismatch as mismatch:
            step = f"[{len(items)}]"
            raise mismatch.below(step) from None
        return tuple(items)

    return structure


def _union_hook(cls: type, converter: BaseConverter) -> Structure:
    """Choose by the kind of the JSON value; no union has two members of one kind."""
    members: dict[type, tuple[Structure, type]] = {}
    expected: list[str] = []
    for member in get_args(cls):
        kind = _json_kind(member)
        if kind is NoneType:
            continue
        hook: Structure = converter.get_structure_hook(member)
        members[kind] = (hook, member)
        expected.append(_KINDS[kind])
    nullable = NoneType in get_args(cls)
    words = " or ".join(expected)

    def structure(value: object, _: object) -> object:
        if value is None and nullable:
            return None
        found = members.get(type(value))
        if found is not None:
            return found[0](value, found[1])
        if len(members) == 1:
            [(hook, member)] = members.values()
            return hook(value, member)
        raise wrong(words, value)

    return structure


def _json_kind(cls: type) -> type:
    origin = get_origin(cls)
    if origin is Literal:
        return str
    if origin is tuple:
        return list
    if origin is dict or attrs.has(cls):
        return dict
    return cls


def _class_hook(cls: type, converter: BaseConverter) -> Structure:
    fields = {field.name: wire_name(field) for field in attrs.fields(cls)}
    names: dict[str, Any] = {
        name: override(rename=on_wire) for name, on_wire in fields.items()
    }
    build: Callable[[dict[str, object]], object] = make_dict_structure_fn(
        cls, converter, _cattrs_use_linecache=False, **names
    )
    any_of = cls.ANY_OF if issubclass(cls, Frame) else ()
    nullable = {wire_name(field) for field in attrs.fields(cls) if _is_json(field.type)}

    def structure(value: object, _: object) -> object:
        # Without this a string would do as an object whose fields are all absent.
        if type(value) is not dict:
            raise wrong(_OBJECT, value)
        if any_of and not any(
            value.get(key) is not None or (key in value and key in nullable)
            for key in any_of
        ):
            raise Mismatch(" or ".join(any_of), "neither")
        return build(value)

    if not converter.detailed_validation:
        return structure

    def located(value: object, _: object) -> object:
        try:
            return structure(value, cls)
        except ClassValidationError as error:
            raise _first_mismatch(error, fields) from None

    return located


def _first_mismatch(error: ClassValidationError, fields: dict[str, str]) -> Mismatch:
    """Return the first finding of a class, with the field's name on the wire."""
    located, _ = error.group_exceptions()
    cause, note = located[0]
    step = f".{fields[note.name]}"
    if isinstance(cause, Mismatch):
        return cause.below(step)
    if isinstance(cause, KeyError):
        return Mismatch("a value", "nothing", step)
    raise cause


def _output_hook(
    cls: type, converter: BaseConverter
) -> Callable[[object], dict[str, object]]:
    names: dict[str, Any] = {
        field.name: override(
            rename=wire_name(field), omit_if_default=field.default is None
        )
        for field in attrs.fields(cls)
    }
    write: Callable[[object], dict[str, object]] = make_dict_unstructure_fn(
        cls, converter, _cattrs_use_linecache=False, **names
    )
    if not issubclass(cls, Frame):
        return write
    any_of = cls.ANY_OF
    frame_type = cls.TYPE

    def write_frame(message: object) -> dict[str, object]:
        frame: dict[str, object] = {"type": frame_type}
        frame.update(write(message))
        # A result of null is a result.
        if any_of and frame.keys().isdisjoint(any_of):
            frame[any_of[0]] = None
        return frame

    return write_frame
