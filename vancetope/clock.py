"""The one source of wall time; everything else asks a `Clock`."""

import time
from typing import Protocol

import attrs


class Clock(Protocol):
    """Wall time in whole milliseconds since 1970-01-01 UTC."""

    def now_ms(self) -> int:
        """The current instant, UTC epoch milliseconds."""
        ...


@attrs.frozen
class SystemClock:
    """The machine's wall clock."""

    def now_ms(self) -> int:
        """The current instant, UTC epoch milliseconds."""
        return time.time_ns() // 1_000_000


@attrs.define
class ManualClock:
    """A clock that only moves when it is told to: for tests and replays."""

    start_ms: int = 1_700_000_000_000

    def now_ms(self) -> int:
        """The current instant, UTC epoch milliseconds."""
        return self.start_ms

    def advance(self, ms: int) -> None:
        """Move the clock forward by `ms` milliseconds."""
        self.start_ms += ms
