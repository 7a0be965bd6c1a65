"""Running the tools a client offers (PROTOCOL.md section 3).

Each ``tool-request`` gets a task of its own and exactly one ``tool-result``, which is
kept until the Brain acknowledges it or says that it never will. A call that has not
begun is dropped with its connection: whether it may be sent again is for the Brain to
say.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, cast

import attrs
import trio

from vance_sdk.awake import WallClock, wall_seconds
from vance_sdk.calls import Call, CallState, enter_call
from vance_sdk.errors import ToolFailed
from vance_sdk.ledger import Entry, Ledger, MemoryLedger
from vance_sdk.local_tool import LocalTool
from vance_sdk.reconnect import Uniform, system_uniform
from vance_sdk.resending import TEMPORARY, Resender
from vance_sdk.results import fit
from vance_sdk.wire.codec import encode
from vance_sdk.wire.errors import CANCELLED, EXPIRED, FAILED, REJECTED, ProtocolError
from vance_sdk.wire.limits import WINDOW
from vance_sdk.wire.messages import (
    Error,
    Inbound,
    Outbound,
    ToolAccepted,
    ToolCancel,
    ToolCancelAck,
    ToolError,
    ToolRequest,
    ToolResult,
    ToolResultAck,
    Verdict,
)

MAX_CALLS: Final = 256
"""Calls here at once, waiting ones included; more are rejected."""

_BEATS_PER_INTERVAL: Final = 2
_MAX_MESSAGE: Final = 2000
_RESULT_ID: Final = "result:"

Send = Callable[[Inbound], Awaitable[None]]


@attrs.define(eq=False, kw_only=True)
class ToolServer:
    """Serves calls in the nursery of its owner.

    Attributes:
        tools: By name; may change at any time.
        boot_id: This start of the client.
        send: Sends on the connection there is, or does nothing.
    """

    tools: Mapping[str, LocalTool]
    boot_id: str
    send: Send
    nursery: trio.Nursery
    ledger: Ledger = attrs.field(factory=MemoryLedger)
    window: int = WINDOW
    wall: WallClock = wall_seconds
    uniform: Uniform = system_uniform
    _calls: dict[str, Call] = attrs.field(init=False, factory=dict)
    _slots: trio.CapacityLimiter = attrs.field(init=False)
    _threads: trio.CapacityLimiter = attrs.field(init=False)
    _resender: Resender = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._slots = trio.CapacityLimiter(self.window)
        self._threads = trio.CapacityLimiter(self.window)
        self._resender = Resender(
            ledger=self.ledger,
            send=self.send,
            nursery=self.nursery,
            uniform=self.uniform,
        )

    def handle(self, frame: Outbound) -> bool:
        """Take a frame that is about a call; never blocks."""
        match frame:
            case ToolRequest():
                self._on_request(frame)
            case ToolCancel():
                self.nursery.start_soon(self._cancel, frame.request_id)
            case ToolResultAck():
                self._forget(frame.request_id)
            case Error(reply_to=str(reply_to)) if reply_to.startswith(_RESULT_ID):
                self._on_refusal(reply_to.removeprefix(_RESULT_ID), frame.code)
            case _:
                return False
        return True

    def connected(self, verdicts: tuple[Verdict, ...] | None) -> None:
        """Send what the Brain has not acknowledged, as far as it wants that."""
        wanted = {verdict.request_id: verdict.do for verdict in verdicts or ()}
        for result in self.ledger.unacknowledged():
            if wanted.get(result.request_id, "send_result") == "send_result":
                self.nursery.start_soon(self.send, result)
        for request_id, do in wanted.items():
            if do == "forget":
                self._forget(request_id)
            elif do == "cancel":
                self.nursery.start_soon(self._cancel, request_id)

    def disconnected(self) -> None:
        """Drop the calls that have not begun, and the waits to send a result again."""
        self._resender.disconnected()
        for call in self._calls.values():
            if call.state is CallState.WAITING:
                call.scope.cancel()

    def _on_refusal(self, request_id: str, code: str) -> None:
        if code in TEMPORARY:
            self._resender.refused(request_id)
        else:
            # The Brain does not want it, so there is nobody to keep it for.
            self._forget(request_id)

    def _forget(self, request_id: str) -> None:
        self._resender.settled(request_id)
        self.nursery.start_soon(self.ledger.forget, request_id)

    def _on_request(self, request: ToolRequest) -> None:
        running = self._calls.get(request.request_id)
        call = Call(request=request, wall=self.wall)
        if running is None and len(self._calls) < MAX_CALLS:
            self._calls[request.request_id] = call
            self.nursery.start_soon(self._serve, call)
        elif running is None:
            self._answer_soon(_error(request, REJECTED, "too many calls at once"))
        elif running.digest != call.digest:
            self._answer_soon(_other_arguments(request))
        elif running.state is CallState.RUNNING:
            self.nursery.start_soon(self.send, self._accepted(request))

    def _answer_soon(self, result: ToolResult) -> None:
        self.nursery.start_soon(self.send, result)

    def _accepted(self, request: ToolRequest) -> ToolAccepted:
        return ToolAccepted(request_id=request.request_id, boot_id=self.boot_id)

    async def _cancel(self, request_id: str) -> None:
        call = self._calls.get(request_id)
        if call is not None:
            state = call.state.value
            call.cancelled = True
            tool = self.tools.get(call.request.tool_name)
            if call.state is CallState.WAITING or (tool is not None and tool.is_async):
                call.scope.cancel()
        elif await self.ledger.look_up(request_id) is not None:
            state = CallState.ENDED.value
        else:
            state = "unknown_request"
            await self.ledger.bury(request_id)
        await self.send(ToolCancelAck(request_id=request_id, state=state))

    async def _serve(self, call: Call) -> None:
        request = call.request
        known = await self.ledger.look_up(request.request_id)
        answer: ToolResult | None
        if known is not None:
            answer = _replay(request, call.digest, known)
        elif request.tool_name not in self.tools:
            message = f"this client has no tool {request.tool_name!r}"
            answer = _error(request, REJECTED, message)
        else:
            answer = await self._in_turn(call, self.tools[request.tool_name])
        call.state = CallState.ENDED
        del self._calls[request.request_id]
        if answer is not None:
            await self.send(answer)

    async def _in_turn(self, call: Call, tool: LocalTool) -> ToolResult | None:
        """Wait for a free slot, then run; ``None`` for a call that was dropped."""
        request = call.request
        mine = False
        with call.scope, trio.move_on_after(call.start_seconds):
            await self._slots.acquire_on_behalf_of(call)
            mine = True
        try:
            if call.cancelled:
                return _error(request, CANCELLED, "cancelled before it began")
            if call.scope.cancel_called:
                return None
            # A machine that slept wakes with its timers unaware of it.
            if not mine or call.is_late():
                return _error(request, EXPIRED, "waited too long to be started")
            call.scope = trio.CancelScope()
            call.state = CallState.RUNNING
            return await self._run(call, tool)
        finally:
            if mine:
                self._slots.release_on_behalf_of(call)

    async def _run(self, call: Call, tool: LocalTool) -> ToolResult:
        await self.ledger.accept(call.request.request_id, call.digest)
        await self.send(self._accepted(call.request))
        enter_call(call)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._beat, call, tool)
            result = await self._outcome(call, tool)
            nursery.cancel_scope.cancel()
        await self.ledger.finish(result)
        return result

    async def _outcome(self, call: Call, tool: LocalTool) -> ToolResult:
        """Run the tool: the one boundary between its exceptions and the wire."""
        request = call.request
        try:
            with call.scope:
                value = await self._value(call, tool)
                if not call.cancelled:
                    return _success(request, value)
        except ToolFailed as failed:
            if not call.cancelled:
                return _failure(request, failed.error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool's may be any
            if not call.cancelled:
                return _error(request, FAILED, f"{type(error).__name__}: {error}")
        if call.cancelled and call.scope.cancelled_caught:
            return _error(request, CANCELLED, "cancelled while it ran")
        if call.cancelled:
            return _error(request, CANCELLED, "cancelled, but it ran to its end")
        message = f"stopped after {request.run_within_ms} ms"
        return _error(request, FAILED, message)

    async def _value(self, call: Call, tool: LocalTool) -> object:
        args = dict(call.request.args)
        if tool.is_async:
            answer = cast("Awaitable[object]", tool.run(args))
            return await answer
        return await trio.to_thread.run_sync(
            partial(tool.run, args),
            # Left alone when the client stops, which must not wait for it.
            abandon_on_cancel=True,
            limiter=self._threads,
        )

    async def _beat(self, call: Call, tool: LocalTool) -> None:
        """Show that the call is alive, as long as it may run."""
        request = call.request
        interval = _seconds(request.heartbeat_ms) / _BEATS_PER_INTERVAL
        left = _seconds(request.run_within_ms)
        while True:
            asking, began = call.asking, trio.current_time()
            # The clock stands still while a person is asked.
            wait = interval if asking else min(interval, left)
            progress = await call.next_progress(wait)
            if not asking:
                left -= trio.current_time() - began
            if left <= 0:
                break
            await self.send(progress)
        # A thread cannot be stopped; its result comes late, or never.
        if tool.is_async:
            call.scope.cancel()


def _seconds(ms: int | None) -> float:
    return float("inf") if ms is None else ms / 1000


def _failure(request: ToolRequest, error: ToolError) -> ToolResult:
    return ToolResult(
        id=_RESULT_ID + request.request_id, request_id=request.request_id, error=error
    )


def _error(request: ToolRequest, code: str, message: str) -> ToolResult:
    safe = message[:_MAX_MESSAGE].encode(errors="replace").decode()
    return _failure(request, ToolError(code=code, message=safe))


def _other_arguments(request: ToolRequest) -> ToolResult:
    message = "the same request_id came before with other arguments"
    return _error(request, REJECTED, message)


def _success(request: ToolRequest, value: object) -> ToolResult:
    """Return the result of a tool that ended well.

    Raises:
        ToolFailed: JSON or a frame cannot carry it.
    """
    result = ToolResult(
        id=_RESULT_ID + request.request_id,
        request_id=request.request_id,
        result=fit(value),
    )
    try:
        encode(result)
    except ProtocolError as error:
        raise ToolFailed(f"the tool's result: {error.message}") from None
    return result


def _replay(request: ToolRequest, digest: str, known: Entry) -> ToolResult | None:
    """Answer a call that is known and does not run here (D2)."""
    if known.args_digest not in {None, digest}:
        return _other_arguments(request)
    return known.result
