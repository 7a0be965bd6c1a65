"""What one rendering may cost, and how its values become plain data.

Everything whose cost depends on data is charged to one budget *before* it is done:
each turn of a loop by the size of its body, each filter, test, comparison and call
by the size of what it looks at, each conversion by what it makes.  So a template
that would not end in reasonable time ends with an error, the same way every time,
without a clock or a thread.
"""

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, ParamSpec, TypeVar

import attrs
import orjson
from jinja2 import Undefined
from jinja2.runtime import Context, LoopContext

from vancetope.model.json import Json

P = ParamSpec("P")
T = TypeVar("T")

#: Units one rendering may use; a unit is about one step of an expression.
WORK_LIMIT: Final = 2_000_000
#: Bytes of UTF-8 one rendering may produce, and the longest single text in it.
OUTPUT_LIMIT: Final = 4 * 1024 * 1024
#: Characters of text that cost as much as one step.
_CHARACTERS_PER_UNIT: Final = 16
#: The deepest value a template may produce.
_DEPTH_LIMIT: Final = 100
_INT_LIMIT: Final = 2**63


class LimitReached(Exception):
    """The rendering was stopped; the message says by which limit."""


@attrs.define
class Budget:
    """What is left for one rendering."""

    work: int = WORK_LIMIT
    output: int = OUTPUT_LIMIT


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def spending(budget: Budget) -> Iterator[None]:
    """Charge what is rendered inside the block to `budget`."""
    token = _current.set(budget)
    try:
        yield
    finally:
        _current.reset(token)


def charge(units: int) -> None:
    """Take `units` from the budget of the rendering that is going on.

    Raises:
        LimitReached: it has not that much left.
    """
    budget = _current.get()
    if budget is None:
        return
    budget.work -= units
    if budget.work < 0:
        raise LimitReached("takes too many steps (a loop over too much?)")


def charge_output(text: str) -> None:
    """Take the bytes of a produced text from the budget.

    Raises:
        LimitReached: the rendering has produced too much.
    """
    budget = _current.get()
    if budget is None:
        return
    budget.output -= len(text) if text.isascii() else len(text.encode())
    if budget.output < 0:
        msg = f"makes more than {OUTPUT_LIMIT // 1024} KiB"
        raise LimitReached(msg)


def weight(value: object) -> int:
    """The units that looking at all of a value costs, from its outermost level."""
    if isinstance(value, str):
        return 1 + len(value) // _CHARACTERS_PER_UNIT
    # Jinja's Context calls itself a mapping but has no length.
    if isinstance(value, (Undefined, Context)):
        return 1
    return 1 + len(value) if isinstance(value, Sized) else 1


def charge_deeply(value: object) -> None:
    """Charge for looking at all of a value, down to its last part.

    Lazy mappings and sequences count as one: comparing them reads nothing.

    Raises:
        LimitReached: the budget has not that much left.
    """
    waiting = [value]
    while waiting:
        part = waiting.pop()
        charge(weight(part))
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, (list, tuple)):
            waiting += part


def charged(function: Callable[P, T]) -> Callable[P, T]:
    """The function, charging the weight of its arguments first."""

    @functools.wraps(function)
    def paying(*args: P.args, **kwargs: P.kwargs) -> T:
        charge(sum(map(weight, args)) + sum(map(weight, kwargs.values())))
        return function(*args, **kwargs)

    return paying


def charged_deeply(function: Callable[P, T]) -> Callable[P, T]:
    """The function, charging all of its arguments first."""

    @functools.wraps(function)
    def paying(*args: P.args, **kwargs: P.kwargs) -> T:
        for value in (*args, *kwargs.values()):
            charge_deeply(value)
        return function(*args, **kwargs)

    return paying


def check_length(characters: int) -> None:
    """Refuse a text that would be longer than all the output may be.

    Raises:
        LimitReached: it would be.
    """
    if characters > OUTPUT_LIMIT:
        msg = f"makes a text of more than {OUTPUT_LIMIT // 1024} KiB"
        raise LimitReached(msg)


def plain(value: object, depth: int = 0) -> Json:
    """The value as JSON data: lazy mappings, sequences and iterators written out.

    Raises:
        LimitReached: it is too large or too deep.
        TypeError: it is something JSON does not have.
        ValueError: it is a number JSON cannot hold.
        jinja2.UndefinedError: a part of it does not exist.
    """
    if isinstance(value, Undefined):
        str(value)
    charge(1)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        charge(weight(value))
        return str(value)
    if isinstance(value, int):
        return _whole(value)
    if isinstance(value, float):
        return _finite(value)
    if depth >= _DEPTH_LIMIT:
        msg = f"is nested more than {_DEPTH_LIMIT} levels deep"
        raise LimitReached(msg)
    if isinstance(value, Mapping):
        return {_key(key): plain(value[key], depth + 1) for key in value}
    if isinstance(value, (Sequence, Iterator)) and not isinstance(
        value, (bytes, LoopContext)
    ):
        return [plain(item, depth + 1) for item in value]
    name = type(value).__name__
    msg = f"gives a {name}, which is not a value (is () missing?)"
    raise TypeError(msg)


def shown(value: object) -> str:
    """The value as it stands in a text: null is empty, lists and mappings are JSON.

    Raises:
        as `plain`.
    """
    value = plain(value)
    if value is None:
        return ""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    charge(weight(text))
    check_length(len(text))
    return text


def _key(key: object) -> str:
    if isinstance(key, str):
        charge(weight(key))
        return str(key)
    msg = f"the keys of a mapping must be text, not a {type(key).__name__}"
    raise TypeError(msg)


def _whole(number: int) -> int:
    if not -_INT_LIMIT <= number < _INT_LIMIT:
        raise ValueError("gives a number of more than 64 bits")
    return int(number)


def _finite(number: float) -> float:
    if not math.isfinite(number):
        msg = f"gives {number}, which JSON cannot hold"
        raise ValueError(msg)
    return float(number)
