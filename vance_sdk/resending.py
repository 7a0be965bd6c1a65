"""Results that the Brain could not take when they came, sent again later."""

from collections.abc import Awaitable, Callable
from typing import Final

import attrs
import trio

from vance_sdk.ledger import Ledger
from vance_sdk.reconnect import Uniform, slow_delay
from vance_sdk.wire.errors import INTERNAL, RATE_LIMITED, UNAVAILABLE
from vance_sdk.wire.messages import ToolResult

TEMPORARY: Final = frozenset({INTERNAL, RATE_LIMITED, UNAVAILABLE})
"""Codes of an ``error`` after which the Brain may well take the same result."""


@attrs.define(eq=False, kw_only=True)
class Resender:
    """Sends a refused result again and again, as long as the ledger keeps it.

    The waits belong to a connection: with the next one goes whatever is not
    acknowledged anyway.

    Attributes:
        ledger: Keeps the results; a result it does not keep is not sent again.
        send: Sends on the connection there is, or does nothing.
    """

    ledger: Ledger
    send: Callable[[ToolResult], Awaitable[None]]
    nursery: trio.Nursery
    uniform: Uniform
    _refusals: dict[str, int] = attrs.field(init=False, factory=dict)
    _waits: dict[str, trio.CancelScope] = attrs.field(init=False, factory=dict)

    def refused(self, request_id: str) -> None:
        """Send a result again after a while; never blocks."""
        if request_id in self._waits or self._kept(request_id) is None:
            return
        before = self._refusals.get(request_id, 0)
        self._refusals[request_id] = before + 1
        self._waits[request_id] = wait = trio.CancelScope()
        delay = slow_delay(self.uniform, before)
        self.nursery.start_soon(self._send_later, request_id, delay, wait)

    def settled(self, request_id: str) -> None:
        """Stop: the Brain has the result, or does not want it."""
        self._refusals.pop(request_id, None)
        wait = self._waits.pop(request_id, None)
        if wait is not None:
            wait.cancel()

    def disconnected(self) -> None:
        """Stop all waits."""
        for request_id in list(self._refusals):
            self.settled(request_id)

    async def _send_later(
        self, request_id: str, seconds: float, wait: trio.CancelScope
    ) -> None:
        with wait:
            await trio.sleep(seconds)
        if wait.cancel_called:
            return
        del self._waits[request_id]
        result = self._kept(request_id)
        if result is not None:
            await self.send(result)

    def _kept(self, request_id: str) -> ToolResult | None:
        results = self.ledger.unacknowledged()
        return next((one for one in results if one.request_id == request_id), None)
