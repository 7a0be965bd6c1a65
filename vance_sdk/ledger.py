"""What a client remembers of the calls it was asked to run (PROTOCOL.md, D2).

``Ledger`` is the port; the methods that a durable one would commit in are async, and
are awaited before what depends on them: ``accept`` before the effect, ``finish``
before the result is sent.
"""

from typing import Final, Protocol

import attrs

from vance_sdk.wire.errors import CANCELLED, OUTCOME_UNKNOWN
from vance_sdk.wire.messages import InflightCall, ToolError, ToolResult

MAX_RESULTS: Final = 256
"""Results kept for an acknowledgement that does not come."""
MAX_TOMBSTONES: Final = 4096

RUNNING: Final = "running"
DONE: Final = "done"


@attrs.frozen(kw_only=True)
class Entry:
    """A call that is known.

    Attributes:
        args_digest: Of its arguments; ``None`` for one that was cancelled unseen.
        result: What to answer if it comes again; ``None`` while it runs.
    """

    request_id: str
    args_digest: str | None
    result: ToolResult | None = None


class Ledger(Protocol):
    """Remembers calls by ``request_id``."""

    async def look_up(self, request_id: str) -> Entry | None:
        """Return what is known of a call."""

    async def accept(self, request_id: str, args_digest: str) -> None:
        """Remember that the call is about to run."""

    async def finish(self, result: ToolResult) -> None:
        """Keep the one terminal result of an accepted call."""

    async def forget(self, request_id: str) -> None:
        """Drop a result the Brain has, or does not want; leave a tombstone."""

    async def bury(self, request_id: str) -> None:
        """Leave a tombstone for a call that was cancelled before it came."""

    def inflight(self) -> list[InflightCall]:
        """Return the calls whose result is not acknowledged, oldest first."""

    def unacknowledged(self) -> list[ToolResult]:
        """Return the results that are not acknowledged, oldest first."""


@attrs.define(eq=False)
class MemoryLedger:
    """A ledger that lasts as long as its process.

    It forgets the oldest tombstones, and of results the oldest over the limit
    (which then count as unknown), never a running call.
    """

    _max_results: int = MAX_RESULTS
    _max_tombstones: int = MAX_TOMBSTONES
    _running: dict[str, Entry] = attrs.field(init=False, factory=dict)
    _done: dict[str, Entry] = attrs.field(init=False, factory=dict)
    _tombstones: dict[str, Entry] = attrs.field(init=False, factory=dict)

    async def look_up(self, request_id: str) -> Entry | None:
        """Return what is known of a call."""
        for table in (self._running, self._done, self._tombstones):
            if request_id in table:
                return table[request_id]
        return None

    async def accept(self, request_id: str, args_digest: str) -> None:
        """Remember that the call is about to run."""
        self._running[request_id] = Entry(
            request_id=request_id, args_digest=args_digest
        )

    async def finish(self, result: ToolResult) -> None:
        """Keep the one terminal result of an accepted call."""
        entry = self._running.pop(result.request_id)
        self._done[result.request_id] = attrs.evolve(entry, result=result)
        while len(self._done) > self._max_results:
            await self.forget(next(iter(self._done)))

    async def forget(self, request_id: str) -> None:
        """Drop a result the Brain has, or does not want; leave a tombstone."""
        entry = self._done.pop(request_id, None)
        if entry is not None:
            self._leave(entry, OUTCOME_UNKNOWN, "the result is no longer kept here")

    async def bury(self, request_id: str) -> None:
        """Leave a tombstone for a call that was cancelled before it came."""
        entry = Entry(request_id=request_id, args_digest=None)
        self._leave(entry, CANCELLED, "cancelled before it came")

    def inflight(self) -> list[InflightCall]:
        """Return the calls whose result is not acknowledged, oldest first."""
        return [
            InflightCall(
                request_id=entry.request_id,
                state=RUNNING if entry.result is None else DONE,
                args_digest=entry.args_digest or "",
            )
            for table in (self._done, self._running)
            for entry in table.values()
        ]

    def unacknowledged(self) -> list[ToolResult]:
        """Return the results that are not acknowledged, oldest first."""
        return [entry.result for entry in self._done.values() if entry.result]

    def _leave(self, entry: Entry, code: str, message: str) -> None:
        error = ToolError(code=code, message=message)
        result = ToolResult(request_id=entry.request_id, error=error)
        self._tombstones[entry.request_id] = attrs.evolve(entry, result=result)
        while len(self._tombstones) > self._max_tombstones:
            del self._tombstones[next(iter(self._tombstones))]
