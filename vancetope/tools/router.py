"""Executes decisions: counts windows, sends to clients, runs the Brain's own tools.

The router is told what to run after the store knows it (`dispatched` is committed
first) and reports what came of it; it remembers nothing that a restart would miss.
"""

import logging
import math
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import attrs
import trio

from vance_sdk.wire.messages.tools import ToolCancel, ToolRequest
from vancetope.errors import BrainError
from vancetope.events import Bus, Event
from vancetope.model.records import CallRecord
from vancetope.tools.clients import WINDOW_FREED, Clients, ConnectedClient
from vancetope.tools.outcome import Failed, FailureCode, Outcome
from vancetope.tools.servers import Servers

logger = logging.getLogger(__name__)

#: The window of the Brain's own side, beside the keys of the clients.
SERVER: Final = "server"
#: How often a client shows that a call is alive (PROTOCOL section 2).
HEARTBEAT_MS: Final = 20_000
#: Between two tries to report an outcome while the store cannot be written.
REPORT_RETRY_S: Final = 1.0

Report = Callable[[str, Outcome], Awaitable[None]]


@attrs.define(eq=False)
class Router:
    """Windows and sending; one supervised task owns what runs in the Brain.

    Attributes:
        server_window: how many of the Brain's own tools run at once.
    """

    clients: Clients
    servers: Servers
    bus: Bus
    report: Report
    server_window: int
    _at_server: dict[str, trio.CancelScope] = attrs.field(factory=dict, init=False)
    _inbox: "trio.MemorySendChannel[CallRecord]" = attrs.field(init=False)
    _outbox: "trio.MemoryReceiveChannel[CallRecord]" = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Make the hand-over between the scheduler's tasks and this one."""
        # Bounded by what reserves a slot first; a cancelled call, whose slot is free
        # again, may still be in it for a moment.
        self._inbox, self._outbox = trio.open_memory_channel(math.inf)

    def room(self, client: ConnectedClient | None) -> int:
        """How many more calls this side takes now; None is the Brain itself."""
        if client is not None:
            return client.free
        return self.server_window - len(self._at_server)

    def reserve(self, client: ConnectedClient | None, call_id: str) -> bool:
        """Take a place in the side's window for this call."""
        if self.room(client) <= 0:
            return False
        if client is not None:
            return self.clients.started(client, call_id)
        self._at_server[call_id] = trio.CancelScope()
        return True

    def reserved(self, call_id: str, client: ConnectedClient | None) -> bool:
        """Whether the call still has its place in the side's window."""
        return call_id in (self._at_server if client is None else client.in_flight)

    def release(self, call_id: str) -> None:
        """Give the place back, wherever the call was."""
        if self._at_server.pop(call_id, None) is not None:
            body: dict[str, None | bool | int | float | str] = {"client": SERVER}
            self.bus.publish([Event(kind=WINDOW_FREED, body={**body})])
        else:
            self.clients.finished(call_id)

    def send(self, call: CallRecord, client: ConnectedClient | None) -> None:
        """Let a dispatched call leave; its place must be reserved."""
        if client is None:
            self._inbox.send_nowait(call)
            return
        client.send(
            ToolRequest(
                request_id=call.id,
                tool_name=call.tool,
                args=call.args,
                start_within_ms=call.timeout_ms,
                run_within_ms=call.timeout_ms,
                heartbeat_ms=HEARTBEAT_MS,
                effect=call.effect.value,
                args_digest=call.args_digest,
            )
        )

    def cancel(self, call: CallRecord) -> None:
        """Ask whoever has the call to give it up."""
        scope = self._at_server.get(call.id)
        if scope is not None:
            scope.cancel()
        elif call.session_id is not None:
            client = self.clients.by_session(call.session_id)
            if client is not None:
                client.send(ToolCancel(request_id=call.id, reason="cancelled"))
        self.release(call.id)

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Run the Brain's own tools until cancelled."""
        async with trio.open_nursery() as nursery:
            task_status.started()
            async for call in self._outbox:
                nursery.start_soon(partial(self._run_here, call))

    async def _run_here(self, call: CallRecord) -> None:
        scope = self._at_server.get(call.id)
        if scope is None:  # cancelled between the commit and here
            return
        outcome: Outcome | None = None
        try:
            with scope:
                outcome = await self._outcome(call)
            if outcome is not None:
                await self._tell(call.id, outcome)
        except Exception:
            # One call's bookkeeping is broken; the others' is not.
            logger.exception("call.report_broke %s", call.id)
        finally:
            self.release(call.id)

    async def _outcome(self, call: CallRecord) -> Outcome:
        with trio.move_on_after(call.timeout_ms / 1000):
            return await self.servers.run(call.tool, call.args)
        message = f"{call.tool} took longer than {call.timeout_ms / 1000:g} s"
        return Failed(code=FailureCode.FAILED, message=message)

    async def _tell(self, call_id: str, outcome: Outcome) -> None:
        """Report until the store takes it: an outcome is never dropped."""
        while True:
            try:
                await self.report(call_id, outcome)
            except BrainError as exc:
                logger.warning("call.report_failed %s: %s", call_id, exc)
                await trio.sleep(REPORT_RETRY_S)
            else:
                return
