"""The filters of templates: all of them; nothing here reaches out."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PureWindowsPath
from types import MappingProxyType
from typing import Final, cast

import orjson
from jinja2 import Undefined
from jinja2.filters import FILTERS as JINJA
from jinja2.tests import TESTS as JINJA_TESTS

from vancetope.model.json import Json
from vancetope.processes.workflows.budget import (
    charge,
    charge_deeply,
    charged,
    charged_deeply,
    check_length,
    plain,
    shown,
    weight,
)

#: Jinja's own filters that are kept as they are: their cost is linear, and what
#: they make is no larger than what they get.
_KEPT: Final = (
    "abs",
    "count",
    "d",
    "default",
    "filesizeformat",
    "first",
    "last",
    "length",
    "list",
    "map",
    "reject",
    "rejectattr",
    "reverse",
    "round",
    "select",
    "selectattr",
)
#: Jinja's own filters of texts; where Jinja would take Python's word for a null or a
#: list ("None"), these take what stands in a text.
_TEXTUAL: Final = ("capitalize", "lower", "title", "trim", "upper", "wordcount")

#: Stands for a default that was not given.
_NONE_GIVEN: Final = object()

_MARKDOWN: Final = re.compile(
    r"[\\`*\[\]<>|~$]|&(?=#?\w+;)|(?<!\w)_|_(?!\w)|(?<=^)[#+=-]|(?<=^\d)[.)]"
)
#: A number as people and JSON write it; 400 digits are more than any number has.
_NUMBER: Final = re.compile(
    r"[+-]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,4})?", re.ASCII
)
#: How much of a value an error shows.
_SHOWN: Final = 40
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def _string(value: object) -> str:
    return shown(value)


def _join(values: Iterable[object], separator: str = "") -> str:
    parts: list[str] = []
    length = 0
    for value in values:
        part = shown(value)
        length += len(part) + len(separator)
        check_length(length)
        parts.append(part)
    return separator.join(parts)


def _replace(value: object, old: str, new: str) -> str:
    text = shown(value)
    found = text.count(old)
    check_length(len(text) + found * (len(new) - len(old)))
    return text.replace(old, new)


def _of_text(name: str) -> Callable[..., Json]:
    function = cast("Callable[..., Json]", JINJA[name])

    def of_text(value: object, *args: object, **named: object) -> Json:
        return function(shown(value), *args, **named)

    return of_text


def _number(value: object, name: str) -> int | float:
    """The number a value is or spells.

    Raises:
        ValueError: it is none; the message names the filter and the value.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if _NUMBER.fullmatch(text):
        with suppress(ValueError):
            return int(text)
        return float(text)
    seen = shown(value)
    seen = seen if len(seen) <= _SHOWN else f"{seen[: _SHOWN - 3]}..."
    quoted = (
        "null" if value is None else f"{seen!r}" if isinstance(value, str) else seen
    )
    msg = f"{name}: {quoted} is no number"
    raise ValueError(msg)


def _int(value: object, default: object = _NONE_GIVEN) -> object:
    try:
        return int(_number(value, "int"))
    except (ValueError, OverflowError):
        if default is _NONE_GIVEN:
            raise
        return default


def _float(value: object, default: object = _NONE_GIVEN) -> object:
    try:
        return float(_number(value, "float"))
    except (ValueError, OverflowError):
        if default is _NONE_GIVEN:
            raise
        return default


def _at_least(value: object, least: float) -> object:
    number = _number(value, "at_least")
    if not number >= least:
        msg = f"must be at least {least}, not {number}"
        raise ValueError(msg)
    return number


def _items(value: object) -> Iterator[tuple[object, object]]:
    if isinstance(value, Undefined):
        str(value)  # raises, and says what is missing; Jinja's gives nothing
    if not isinstance(value, Mapping):
        msg = f"items: a {type(value).__name__} is no mapping"
        raise TypeError(msg)
    return iter(value.items())


def _sum(values: Iterable[object], attribute: str | None = None) -> float:
    total: float = 0
    for value in values:
        charge(1)
        number = value
        if attribute is not None:
            if not isinstance(value, Mapping) or attribute not in value:
                msg = f"sum: an item has no field {attribute!r}"
                raise ValueError(msg)
            number = value[attribute]
        if not isinstance(number, (int, float)) or isinstance(number, bool):
            msg = f"sum adds numbers, not a {type(number).__name__}"
            raise TypeError(msg)
        total += number
    return total


def _tojson(value: object, indent: int | None = None) -> str:
    option = orjson.OPT_INDENT_2 if indent else 0
    return orjson.dumps(plain(value), option=option).decode()


def _basename(value: object) -> str:
    return PureWindowsPath(shown(value)).name


def _line(value: object) -> str:
    return _CONTROL.sub("", " ".join(shown(value).split()))


def _markdown(value: object) -> str:
    return _MARKDOWN.sub(lambda found: "\\" + found[0], _line(value))


def _code(value: object) -> str:
    line = _CONTROL.sub(" ", shown(value))
    if not line.strip():
        return ""
    longest = max(map(len, re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{line}{space}{fence}"


def _fit(texts: Iterable[object], size: int) -> list[str]:
    kept: list[str] = []
    for value in texts:
        text = shown(value)
        charge(weight(text))
        size -= len(orjson.dumps(text))
        if size < 0:
            break
        kept.append(text)
    return kept


def _each(values: Iterable[object], cost: int) -> Iterator[object]:
    for value in values:
        charge(cost)
        yield value


def _slice(
    values: object, start: int | None, stop: int | None, step: int | None
) -> object:
    charge(weight(values))
    if isinstance(values, (str, list, tuple)):
        return values[start:stop:step]
    if not isinstance(values, Sequence):
        message = f"a {type(values).__name__} cannot be sliced (is | list missing?)"
        raise TypeError(message)
    # A lazy sequence need not know slices; read only what is in the slice.
    steps = range(*slice(start, stop, step).indices(len(values)))
    return [values[number] for number in steps]


def _truncate(
    value: object,
    length: int = 255,
    killwords: bool = False,  # noqa: FBT001, FBT002 - as Jinja's
    end: str = "...",
) -> str:
    text = shown(value)
    if len(text) <= length:
        return text
    cut = text[: max(0, length - len(end))]
    return (cut if killwords else cut.rsplit(" ", 1)[0]) + end


def _concat(values: list[object]) -> str:
    return _join(values)


def _weigh(value: object) -> object:
    charge_deeply(value)
    return value


_OWN: Final[dict[str, Callable[..., object]]] = {
    "at_least": _at_least,
    "basename": _basename,
    "code": _code,
    "fit": _fit,
    "float": _float,
    "int": _int,
    "items": _items,
    "join": _join,
    "md": _markdown,
    "replace": _replace,
    "string": _string,
    "sum": _sum,
    "tojson": _tojson,
    "truncate": _truncate,
}

#: Filters that compare values with one another, down to their last part.
_COMPARING: Final = ("dictsort", "max", "min", "sort", "unique")

#: The filters a template may name.
FILTERS: Final = MappingProxyType(
    {name: charged(cast("Callable[..., Json]", JINJA[name])) for name in _KEPT}
    | {
        name: charged_deeply(cast("Callable[..., Json]", JINJA[name]))
        for name in _COMPARING
    }
    | {name: charged(_of_text(name)) for name in _TEXTUAL}
    | {name: charged(function) for name, function in _OWN.items()}
)

#: Put in when a template is compiled; a template cannot name them.
INNER_FILTERS: Final = MappingProxyType(
    {"_each": _each, "_concat": _concat, "_slice": _slice, "_weigh": _weigh}
)

#: Tests that do not look inside a value.
_LOOKING: Final = frozenset({"boolean", "defined", "mapping", "none", "undefined"})

#: The tests a template may name after `is`.
TESTS: Final = MappingProxyType(
    {
        name: (charged if name in _LOOKING else charged_deeply)(
            cast("Callable[..., bool]", test)
        )
        for name, test in JINJA_TESTS.items()
    }
)
