"""What happened, told inside the process after the commit.

An event is a row first (`Tx.emit`); publishing is only a hint that there is
something to read.  A subscriber that falls behind loses hints, never rows: its
`overflowed` flag says that it must look at the table.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import attrs
import trio

from vancetope.model.json import Json

#: Hints kept for one subscriber; past this it re-reads the table.
PENDING_LIMIT: Final = 10_000


@attrs.frozen(kw_only=True)
class Event:
    """One row of the event table.

    `seq` is 0 for a hint that has no row (something only this process knows, such
    as who is connected).
    """

    kind: str
    seq: int = 0
    at: int = 0
    project_id: str | None = None
    session_id: str | None = None
    process_id: str | None = None
    task_id: str | None = None
    body: Json = None


@attrs.define(eq=False)
class Subscription:
    """A subscriber's end: `wait()` gives what came since the last call."""

    _kinds: frozenset[str]
    overflowed: bool = False
    _pending: deque[Event] = attrs.field(factory=deque)
    _wake: trio.Event = attrs.field(factory=trio.Event)

    def _offer(self, event: Event) -> None:
        if self._kinds and event.kind not in self._kinds:
            return
        if len(self._pending) >= PENDING_LIMIT:
            self._pending.clear()
            self.overflowed = True
        self._pending.append(event)
        self._wake.set()

    async def wait(self) -> list[Event]:
        """Wait for at least one event and take all that are there."""
        await self._wake.wait()
        return self.take()

    def take(self) -> list[Event]:
        """Take what is there, which may be nothing."""
        events = list(self._pending)
        self._pending.clear()
        self._wake = trio.Event()
        return events


@attrs.define(eq=False)
class Bus:
    """Hands events to the subscribers of this process, in order, synchronously."""

    _subscribers: list[Subscription] = attrs.field(factory=list)

    def publish(self, events: Iterable[Event]) -> None:
        """Tell every subscriber.  Never blocks, never raises for a slow one."""
        for event in events:
            for subscription in self._subscribers:
                subscription._offer(event)  # noqa: SLF001 - the two are one mechanism

    @contextmanager
    def subscribe(self, *kinds: str) -> Iterator[Subscription]:
        """Listen to these kinds (all, when none is named) until the block ends."""
        subscription = Subscription(frozenset(kinds))
        self._subscribers.append(subscription)
        try:
            yield subscription
        finally:
            self._subscribers.remove(subscription)
