"""One step of one ready task: ask the engine, decide, commit, send."""

import logging
from collections.abc import Mapping
from typing import Final, TypeVar

import attrs

from vance_sdk.wire.digest import args_digest
from vancetope.clock import Clock
from vancetope.model import ids
from vancetope.model.json import Json, dumps, is_deeper
from vancetope.model.records import CallRecord, ProcessRecord, TaskRecord
from vancetope.model.status import (
    PROCESS_ENDED,
    CallState,
    ProcessStatus,
    TaskStatus,
)
from vancetope.processes import calls as call_rows
from vancetope.processes.calls import Wanted
from vancetope.processes.engines.base import (
    Broken,
    CallTool,
    Engine,
    FanOut,
    Value,
)
from vancetope.processes.engines.base import Step as EngineStep
from vancetope.processes.flow import Flow
from vancetope.processes.scheduler.desk import Desk, Routed
from vancetope.processes.scheduler.fan import FAN_LIMIT, Fan, write_in_the_end
from vancetope.processes.scheduler.timers import Timers
from vancetope.store import Connection
from vancetope.store.db import Store, Tx
from vancetope.store.queries import calls, processes, tasks
from vancetope.tools.router import SERVER, Router
from vancetope.tools.routing import OnClient, OnServer

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Arguments of one call, so that the request fits into a frame.
ARGS_LIMIT_BYTES: Final = 1_000_000
ARGS_LEVELS: Final = 60
NOT_RUNNABLE: Final = PROCESS_ENDED | {ProcessStatus.PAUSED}


@attrs.frozen
class Sent:
    """The place of a call: `server` or a client's session."""

    place: str
    full: bool


@attrs.frozen
class Begun:
    """A call that is `dispatched` in the store and leaves next."""

    call: CallRecord
    routed: Routed


@attrs.frozen(kw_only=True)
class _Look:
    """A ready task as it stands; `step` is None when making it takes a thread.

    Attributes:
        routed: where the step's call goes, as of the same moment.
    """

    process: ProcessRecord
    engine: Engine
    call: CallRecord | None
    step: EngineStep | None
    routed: Routed | None


@attrs.define(eq=False)
class Steps:
    """Carries single steps out; keeps nothing between them."""

    store: Store
    clock: Clock
    engines: Mapping[str, Engine]
    desk: Desk
    router: Router
    timers: Timers

    async def run(self, task: TaskRecord) -> "Sent | None":
        """Do what the task's engine says.

        Returns:
            Where its call went, or would go: when that place is full the task could
            not be begun and is still ready.  None when there is no call to send.
        """
        look = self.store.read(lambda conn: self._look(conn, task))
        if look is None:
            return None
        step = look.step
        if step is None:
            step = await self.store.query(
                lambda conn: look.engine.step(conn, look.process, task)
            )
        match step:
            case CallTool():
                return await self._call(look, task, step)
            case FanOut(items=items):
                await self._fan_out(look, task, items)
            case Value(result=result):
                await self._end(task, TaskStatus.DONE, result, None)
            case Broken(code=code, message=message):
                error: dict[str, Json] = {"code": code, "message": message}
                await self._end(task, TaskStatus.FAILED, None, error)
        return None

    def room(self, place: str) -> int | None:
        """How many more calls a place takes; None when it is not there any more."""
        if place == SERVER:
            return self.router.room(None)
        client = self.desk.clients.by_session(place)
        return None if client is None else self.router.room(client)

    def _look(self, conn: Connection, task: TaskRecord) -> "_Look | None":
        """What is known of a ready task; the step too, when that is quickly made."""
        process = processes.get(conn, task.process_id)
        if process is None or process.status in NOT_RUNNABLE:
            return None
        engine = self.engines[process.engine]
        heavy = engine.is_heavy(conn, task)
        call = calls.open_of_task(conn, task.id)
        step = None if heavy else engine.step(conn, process, task)
        routed = None
        if isinstance(step, CallTool) and not _stays(call):
            routed = self.desk.route(conn, process, step)
        return _Look(
            process=process, engine=engine, call=call, step=step, routed=routed
        )

    async def _call(
        self, look: "_Look", task: TaskRecord, step: CallTool
    ) -> "Sent | None":
        open_call = look.call
        if open_call is not None:
            # What was parked is what runs: its arguments stand on the row.
            step = attrs.evolve(step, args=open_call.args)
        if _is_too_big(step):
            message = (
                f"The arguments of {step.tool} do not fit a request: at most"
                f" {ARGS_LIMIT_BYTES} bytes, {ARGS_LEVELS} levels deep"
            )
            error: dict[str, Json] = {"code": "too_big", "message": message}
            await self._end(task, TaskStatus.FAILED, None, error)
            return None
        routed = self._routed(look, step)
        if routed is None:
            await self.store.write(lambda tx: _hold(tx, task))
            return None
        call_id = open_call.id if open_call else ids.new_id(ids.CALL, self.clock)
        wanted = _wanted(call_id, step, routed, open_call)
        if not isinstance(routed.decision, OnServer | OnClient):
            await self.store.write(lambda tx: _begin(tx, task, wanted, routed))
            if step.start_within_ms is not None:
                self.timers.look()
            return None
        place = SERVER if routed.client is None else routed.client.session_id
        if not self.router.reserve(routed.client, call_id):
            return Sent(place, full=True)
        call: CallRecord | None = None
        try:
            call = await self.store.write(lambda tx: _begin(tx, task, wanted, routed))
        finally:
            if call is None:
                self.router.release(call_id)
        if call is not None:
            await self.send(Begun(call, routed))
        return Sent(place, full=False)

    def _routed(self, look: "_Look", step: CallTool) -> Routed | None:
        """Where the call goes; None when it may only go where nobody is now."""
        if look.call is not None and _stays(look.call):
            return self.desk.back_to(look.process, look.call)
        return look.routed or self.store.read(
            lambda conn: self.desk.route(conn, look.process, step)
        )

    def begin_at_once(self, tx: Tx, task: TaskRecord) -> "Begun | None":
        """Begin a ready task inside a transaction, if its call can leave right away.

        Returns:
            What to `send` after the commit; None when the task is left to `run`.
        """
        look = self._look(tx.conn, task)
        if look is None or look.call is not None or look.routed is None:
            return None
        routed, step = look.routed, look.step
        if not isinstance(step, CallTool) or _is_too_big(step):
            return None
        if not isinstance(routed.decision, OnServer | OnClient):
            return None
        call_id = ids.new_id(ids.CALL, self.clock)
        if not self.router.reserve(routed.client, call_id):
            return None
        try:
            call = _begin(tx, task, _wanted(call_id, step, routed, None), routed)
        except BaseException:
            self.router.release(call_id)
            raise
        if call is None:
            self.router.release(call_id)
            return None
        return Begun(call, routed)

    async def send(self, begun: "Begun") -> None:
        """Let a call leave whose dispatch is committed."""
        call, client = begun.call, begun.routed.client
        if client is not None and (
            self.desk.clients.by_session(client.session_id) is not client
        ):
            # It left while the dispatch was being committed.
            self.router.release(call.id)
            await write_in_the_end(self.store, lambda tx: call_rows.not_sent(tx, call))
        elif self.router.reserved(call.id, client):  # not cancelled in the meantime
            self.router.send(call, client)
            if client is not None:
                self.timers.call_sent(call)

    async def _end(
        self,
        task: TaskRecord,
        status: TaskStatus,
        result: Json,
        error: dict[str, Json] | None,
    ) -> None:
        def end(tx: Tx) -> None:
            with Flow.of(tx, task.process_id) as flow:
                if flow.claim(task, None):
                    if task.tool is not None:  # it may have been parked before
                        call_rows.cancel(flow, task)
                    flow.end(task, status, result=result, error=error)

        await self.store.write(end)

    async def _fan_out(
        self, look: "_Look", task: TaskRecord, items: list[Json]
    ) -> None:
        if len(items) > FAN_LIMIT:
            message = f"foreach gives {len(items)} items; the limit is {FAN_LIMIT}"
            error: dict[str, Json] = {"code": "too_many", "message": message}
            await self._end(task, TaskStatus.FAILED, None, error)
            return
        plan = self.store.read(
            lambda conn: look.engine.plan(
                processes.definition(conn, look.process.id)[0]
            )
        )
        node = next(planned for planned in plan if planned.node == task.node)
        await Fan(self.store, self.clock).out(task, node, items)


def _hold(tx: Tx, task: TaskRecord) -> None:
    """A call that must not move waits for the client that has it."""
    call = calls.open_of_task(tx.conn, task.id)
    now = tasks.get(tx.conn, task.id)
    if call is None or now is None or now.cause != task.cause:
        return
    with Flow.of(tx, task.process_id) as flow:
        call_rows.hold_for_client(flow, call, None)


def _begin(
    tx: Tx, task: TaskRecord, wanted: Wanted, routed: Routed
) -> CallRecord | None:
    with Flow.of(tx, task.process_id) as flow:
        return call_rows.begin(flow, task, wanted, routed.decision, routed.client)


def _is_too_big(step: CallTool) -> bool:
    """Whether the arguments do not fit into a frame, by their size or depth."""
    args = step.args
    return len(dumps(args).encode()) > ARGS_LIMIT_BYTES or is_deeper(args, ARGS_LEVELS)


def _stays(call: CallRecord | None) -> bool:
    return call is not None and call_rows.must_not_move(call)


def _wanted(
    call_id: str, step: CallTool, routed: Routed, open_call: CallRecord | None
) -> Wanted:
    digest = open_call.args_digest if open_call else args_digest(step.args)
    begun = open_call is not None and open_call.state is not CallState.PARKED
    effect = open_call.effect if open_call and begun else routed.effect
    return Wanted(
        call_id=call_id,
        tool=step.tool.partition("@")[0],
        args=step.args,
        args_digest=digest,
        effect=effect,
        timeout_ms=step.timeout_ms,
        start_within_ms=step.start_within_ms,
    )
