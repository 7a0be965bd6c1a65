"""Hypothesis strategies made from the message classes and the examples."""

import json
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import attrs
from hypothesis import strategies as st

from tests.wire.examples import INBOUND_EXAMPLES, OUTBOUND_EXAMPLES
from vance_sdk.wire.messages import Json

JSON: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**63), max_value=2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=8), JSON, max_size=4)

_SCALARS: dict[object, st.SearchStrategy[Any]] = {
    str: st.text(max_size=20),
    bool: st.booleans(),
    int: st.integers(min_value=0, max_value=2**63 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    NoneType: st.none(),
}


def values(cls: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a field's type, or of a class."""
    if cls is Json:
        return JSON
    origin, args = get_origin(cls), get_args(cls)
    if origin in {Union, UnionType}:
        return st.one_of([values(member) for member in args])
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple:
        return st.lists(values(args[0]), max_size=3).map(tuple)
    if origin is dict:
        return OBJECTS
    if attrs.has(cls):
        return _instances(cls)
    return _SCALARS[cls]


def _instances(cls: Any) -> st.SearchStrategy[Any]:
    fields = {field.name: values(field.type) for field in attrs.fields(cls)}
    built = st.builds(cls, **fields)
    if cls.__name__ == "MemoryAdd":
        # It demands one of two fields that are optional one by one.
        return built.filter(lambda it: it.content is not None or it.blob is not None)
    return built


@st.composite
def spoiled_frames(draw: st.DrawFn) -> dict[str, Any]:
    """Take a good frame and replace or remove one value anywhere in it."""
    table = draw(st.sampled_from([INBOUND_EXAMPLES, OUTBOUND_EXAMPLES]))
    name = draw(st.sampled_from(sorted(table)))
    frame: dict[str, Any] = json.loads(json.dumps({"type": name, **table[name]}))
    place: Any = frame
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw(st.sampled_from(keys))
        inner = place[key]
        if not (isinstance(inner, dict | list) and inner and draw(st.booleans())):
            break
        place = inner
    if draw(st.booleans()):
        place[key] = draw(JSON)
    else:
        del place[key]
    return frame
