"""Lengths of time as people write them: `150ms`, `3s`, `5m`, `2h`, `30d`."""

import re
from typing import Final

import attrs

#: The longest length of time a file may name: ten years.
MAX_MS: Final = 3650 * 86_400_000

_UNITS: Final = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_WRITTEN: Final = re.compile(r"([0-9]{1,12})(ms|s|m|h|d)")


def parse_duration(text: str) -> int:
    """The milliseconds of a written length of time.

    Raises:
        ValueError: it is not a whole number with a unit, or longer than ten years.
    """
    found = _WRITTEN.fullmatch(text)
    if found is None:
        raise ValueError("not a length of time such as 150ms, 3s, 5m, 2h or 30d")
    ms = int(found[1]) * _UNITS[found[2]]
    if ms > MAX_MS:
        raise ValueError("longer than 3650d")
    return ms


def format_duration(ms: int) -> str:
    """The shortest way to write `ms` milliseconds exactly."""
    for unit, size in _UNITS.items():
        if ms and ms % size == 0:
            return f"{ms // size}{unit}"
    return "0s"


@attrs.frozen(order=True)
class Duration:
    """A configured length of time, in the unit the reader needs."""

    ms: int

    @property
    def seconds(self) -> float:
        """The same length in seconds, as Trio counts."""
        return self.ms / 1000

    def __str__(self) -> str:
        return format_duration(self.ms)
