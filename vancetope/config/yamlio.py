"""YAML as plain data whose every value knows its line.

A strict subset: no anchors, aliases, tags or second documents, no key twice in one
mapping.  Plain scalars follow YAML 1.2 (section 10.3): only `true` and `false` are
booleans, so `on`, `no` and `2024-01-31` stay text; so do numbers with leading zeros.
Keys are always text.
"""

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import attrs
import yaml

from vancetope.errors import ConfigError
from vancetope.model.json import Json

#: The largest file that is read.
MAX_BYTES: Final = 262_144
#: The deepest nesting of lists and mappings.
MAX_DEPTH: Final = 64

#: Where a value stands: `("tasks", 2, "tool")`.
Place: TypeAlias = tuple[str | int, ...]

_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS: Final = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(
    r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
)
_NOT_JSON: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_INT_LIMIT: Final = 2**63


def written(place: Place) -> str:
    """The place as people write it: `tasks[2].tool`."""
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


@attrs.frozen(kw_only=True)
class Document:
    """The data of one file, and where each value of it stands."""

    data: Json
    file: str
    _lines: Mapping[Place, int]
    _blocks: frozenset[Place] = frozenset()

    def line_of(self, place: Place, inner: int = 1) -> int:
        """The line (from 1) of a value, or of the nearest value around it.

        `inner` is a line within a text written as a block (`|` or `>`).
        """
        while place and place not in self._lines:
            place = place[:-1]
        line = self._lines.get(place, 1)
        return line + inner if place in self._blocks else line

    def problem(
        self,
        place: Place,
        message: str,
        *,
        fix: str,
        value: object = None,
        inner: int = 1,
    ) -> ConfigError:
        """An error about the value at `place`."""
        return ConfigError(
            message,
            file=self.file,
            line=self.line_of(place, inner),
            field=written(place) or None,
            value=value,
            fix=fix,
        )


def read_yaml(path: Path) -> Document:
    """Read a YAML file.  An empty one has the data `None`.

    Raises:
        ConfigError: it cannot be read, or is not YAML of the strict subset.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = f"cannot be read ({error.strerror or error})"
        raise ConfigError(
            reason,
            file=str(path),
            fix="Check that it is a file and its permissions.",
        ) from error
    return load_yaml(content, file=str(path))


def load_yaml(content: str | bytes, *, file: str) -> Document:
    """The data of a YAML text; `file` is its name in errors.

    Raises:
        ConfigError: it is not YAML of the strict subset.
    """
    if len(content) > MAX_BYTES:
        raise ConfigError(
            "is too large",
            file=file,
            value=f"more than {MAX_BYTES // 1024} KiB",
            fix="Split it, or move the large texts out of it.",
        )
    text = _decoded(content, file) if isinstance(content, bytes) else content
    builder = _Builder(file=file)
    try:
        data = builder.document(yaml.parse(text, Loader=yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, file) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(
            "holds a control character",
            file=file,
            line=line,
            value=chr(error.character) if isinstance(error.character, int) else None,
            fix="Remove it, or write it as an escape in double quotes.",
        ) from error
    except (ValueError, OverflowError) as error:
        # PyYAML lets chr() fail on an escape beyond Unicode, without a position.
        raise ConfigError(
            "an escape in double quotes names no character",
            file=file,
            fix='Write the character itself, or a backslash as "\\\\".',
        ) from error
    return Document(
        data=data,
        file=file,
        lines=builder.lines,
        blocks=frozenset(builder.blocks),
    )


def _decoded(content: bytes, file: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            "is not UTF-8 text",
            file=file,
            line=content.count(b"\n", 0, error.start) + 1,
            fix="Save it with the encoding UTF-8.",
        ) from error


def _syntax_error(error: yaml.MarkedYAMLError, file: str) -> ConfigError:
    mark = error.problem_mark or error.context_mark
    message = str(error.problem or error.context or "is not YAML")
    if "'\\t'" in message:
        fix = "Indent with spaces, not with tabs."
    elif "end of stream" in message or "stream end" in message:
        fix = "Close the quote or bracket that is open."
    else:
        fix = "Check the indentation, the quotes and the colons there."
    return ConfigError(
        f"not valid YAML: {message}",
        file=file,
        line=None if mark is None else mark.line + 1,
        fix=fix,
    )


@attrs.define(kw_only=True)
class _Builder:
    """Turns parser events into data; keeps the line of every value."""

    file: str
    lines: dict[Place, int] = attrs.field(factory=dict)
    blocks: list[Place] = attrs.field(factory=list)

    def document(self, events: Iterator[yaml.Event]) -> Json:
        data: Json = None
        seen = False
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                if seen:
                    raise self._refuse(
                        event,
                        (),
                        "holds a second document",
                        "Remove the line --- and what follows, or use two files.",
                    )
                seen = True
                data = self._node(next(events), events, ())
        return data

    def _refuse(
        self, event: yaml.Event, place: Place, message: str, fix: str
    ) -> ConfigError:
        return ConfigError(
            message,
            file=self.file,
            line=_line(event),
            field=written(place) or None,
            fix=fix,
        )

    def _node(
        self, event: yaml.Event, events: Iterator[yaml.Event], place: Place
    ) -> Json:
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            raise self._refuse(
                event,
                place,
                "anchors (&name) and aliases (*name) are not allowed",
                "Write the value out, or put quotes around a text with & or *.",
            )
        tagged = (yaml.ScalarEvent, yaml.CollectionStartEvent)
        if isinstance(event, tagged) and event.tag is not None:
            raise self._refuse(
                event,
                place,
                "tags (!name) are not allowed",
                "Remove it, or put quotes around a text that begins with !.",
            )
        self.lines.setdefault(place, _line(event))
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, place)
        if len(place) >= MAX_DEPTH:
            raise self._refuse(
                event,
                place[:3],
                f"is nested more than {MAX_DEPTH} levels deep",
                "Make it flatter.",
            )
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(events, place)
        return self._mapping(events, place)

    def _sequence(self, events: Iterator[yaml.Event], place: Place) -> Json:
        items: list[Json] = []
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self._node(event, events, (*place, len(items))))
        return items

    def _mapping(self, events: Iterator[yaml.Event], place: Place) -> Json:
        entries: dict[str, Json] = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self._key(event, place)
            inner = (*place, key)
            if key in entries:
                raise self._refuse(
                    event,
                    inner,
                    f"the key stands twice, first in line {self.lines[inner]}",
                    "Remove one of the two.",
                )
            self.lines[inner] = _line(event)
            entries[key] = self._node(next(events), events, inner)
        return entries

    def _key(self, event: yaml.Event, place: Place) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            # Also what an unquoted {{ ... }} looks like to YAML.
            raise self._refuse(
                event,
                place,
                "a key must be plain text",
                "Put quotes around a value that begins with { or [.",
            )
        if event.anchor is not None or event.tag is not None:
            self._node(event, iter(()), place)
        return self._text(event, place)

    def _text(self, event: yaml.ScalarEvent, place: Place) -> str:
        text: str = event.value
        if _SURROGATE.search(text):
            raise self._refuse(
                event,
                place,
                "holds half a character (a surrogate)",
                "Write the character itself.",
            )
        return text

    def _scalar(self, event: yaml.ScalarEvent, place: Place) -> Json:
        text = self._text(event, place)
        if event.style in {"|", ">"}:
            self.lines[place] = _line(event)
            self.blocks.append(place)
        if event.style is not None:
            return text
        if text in _NULL:
            return None
        if text in _BOOLEANS:
            return _BOOLEANS[text]
        number: float | None = None
        if _INTEGER.fullmatch(text) and len(text) <= len(str(_INT_LIMIT)) + 1:
            number = int(text)
        elif _FLOAT.fullmatch(text):
            number = float(text)
        elif not _NOT_JSON.fullmatch(text):
            return text
        if number is None or _out_of_range(number):
            raise self._refuse(
                event,
                place,
                "is a number that JSON cannot hold",
                "Put it in quotes, or write a smaller one.",
            )
        return number


def _line(event: yaml.Event) -> int:
    mark = event.start_mark
    return 1 if mark is None else mark.line + 1


def _out_of_range(number: float) -> bool:
    if isinstance(number, int):
        return not -_INT_LIMIT <= number < _INT_LIMIT
    return not math.isfinite(number)
