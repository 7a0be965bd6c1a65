"""Reading the fields of one mapping, collecting every problem on the way."""

import difflib
import re
from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Final, TypeVar

import attrs

from vancetope.config.durations import parse_duration
from vancetope.config.yamlio import Document, Place
from vancetope.errors import ConfigError
from vancetope.model.json import Json, JsonObject

E = TypeVar("E", bound=StrEnum)

#: How a tool may be named; `@` is left for `tool@client`.
TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
#: How many names a message lists before it stops.
_LISTED: Final = 12


def nearest(name: str, choices: Iterable[str]) -> str | None:
    """The choice that looks most like `name`, or None when none does."""
    found = difflib.get_close_matches(name, sorted(choices), n=1, cutoff=0.6)
    return found[0] if found else None


def suggestion(name: str, choices: Collection[str]) -> str:
    """A sentence that leads from a wrong name to a right one."""
    guess = nearest(name, choices)
    if guess is not None:
        return f"Did you mean {guess}?"
    if not choices:
        return "There is none."
    shown = sorted(choices)[:_LISTED]
    more = ", ..." if len(choices) > len(shown) else ""
    return f"There are: {', '.join(shown)}{more}."


@attrs.define(kw_only=True)
class Fields:
    """One mapping of a document; a wrong field is reported and read as absent."""

    document: Document
    place: Place
    data: JsonObject
    problems: list[ConfigError]

    def has(self, key: str) -> bool:
        """Whether the field is written, and not as null."""
        return self.data.get(key) is not None

    def report(self, key: str, message: str, *, fix: str, value: object = None) -> None:
        """Add a problem about one field (`""`: about the mapping itself)."""
        place = (*self.place, key) if key else self.place
        self.problems.append(
            self.document.problem(place, message, fix=fix, value=value)
        )

    def only(self, allowed: Collection[str]) -> None:
        """Report every key that is not in `allowed`."""
        for key in self.data:
            if key not in allowed:
                self.report(key, "unknown key", fix=suggestion(key, allowed))

    def text(
        self, key: str, *, pattern: re.Pattern[str] | None = None, like: str = ""
    ) -> str | None:
        """A text; `like` describes in words what `pattern` wants."""
        value = self.data.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self.report(key, "must be text", value=value, fix="Put it in quotes.")
            return None
        if pattern is not None and not pattern.fullmatch(value):
            self.report(key, "is not a valid name", value=value, fix=f"Use {like}.")
            return None
        return value

    def tool(self, key: str) -> str | None:
        """The name of a tool."""
        return self.text(
            key,
            pattern=TOOL_NAME,
            like="1 to 64 letters, digits, _ . : or - (no @, no spaces)",
        )

    def choice(self, key: str, choices: type[E]) -> E | None:
        """One member of an enumeration, by its value."""
        values = [member.value for member in choices]
        value = self.one_of(key, values)
        return None if value is None else choices(value)

    def one_of(self, key: str, values: Collection[str]) -> str | None:
        """One of a few words."""
        value = self.data.get(key)
        if value is None:
            return None
        if not isinstance(value, str) or value not in values:
            self.report(
                key,
                "is not one of the choices",
                value=value,
                fix=f"Write one of: {', '.join(values)}.",
            )
            return None
        return value

    def duration(self, key: str, *, minimum_ms: int = 1) -> int | None:
        """A length of time in milliseconds."""
        value = self.data.get(key)
        if value is None:
            return None
        fix = "Write a whole number and a unit: 150ms, 3s, 5m, 2h or 30d."
        if not isinstance(value, str):
            self.report(key, "must be a length of time", value=value, fix=fix)
            return None
        try:
            ms = parse_duration(value)
        except ValueError as error:
            self.report(key, str(error), value=value, fix=fix)
            return None
        if ms < minimum_ms:
            self.report(key, "is too short", value=value, fix=fix)
            return None
        return ms

    def flag(self, key: str) -> bool | None:
        """A boolean."""
        value = self.data.get(key)
        if value is None or isinstance(value, bool):
            return value
        self.report(key, "must be true or false", value=value, fix="Write true.")
        return None

    def integer(self, key: str, *, low: int, high: int) -> int | None:
        """A whole number from `low` to `high`."""
        value = self.data.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            self.report(
                key,
                "must be a whole number",
                value=value,
                fix=f"Write a number from {low} to {high}, without quotes.",
            )
            return None
        if not low <= value <= high:
            self.report(
                key,
                "is out of range",
                value=value,
                fix=f"Write a number from {low} to {high}.",
            )
            return None
        return value

    def names(self, key: str) -> tuple[str, ...] | None:
        """A list of texts."""
        value = self.data.get(key)
        if value is None:
            return None
        if not isinstance(value, list):
            self.report(key, "must be a list", value=value, fix="Write [a, b].")
            return None
        kept = []
        for number, item in enumerate(value):
            if isinstance(item, str) and item:
                kept.append(item)
            else:
                self.problems.append(
                    self.document.problem(
                        (*self.place, key, number),
                        "must be text",
                        value=item,
                        fix="Put it in quotes.",
                    )
                )
        return tuple(kept)

    def inside(self, key: str) -> "Fields | None":
        """The mapping under `key`."""
        return fields_at(
            self.document, (*self.place, key), self.data.get(key), self.problems
        )


def fields_at(
    document: Document, place: Place, value: Json, problems: list[ConfigError]
) -> Fields | None:
    """The fields of a mapping; None when it is absent or (reported) no mapping."""
    if value is None:
        return None
    if not isinstance(value, dict):
        problems.append(
            document.problem(
                place,
                "must be a mapping",
                value=value,
                fix="Write indented lines of the form `key: value` under it.",
            )
        )
        return None
    return Fields(document=document, place=place, data=value, problems=problems)
