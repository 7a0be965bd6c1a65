"""One step of one ready task: ask the engine, decide, commit, send."""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Final

import attrs

from vance_sdk.wire.digest import args_digest
from vancetope.clock import Clock
from vancetope.model import cause as causes
from vancetope.model import ids
from vancetope.model.json import Json, dumps
from vancetope.model.records import CallRecord, ProcessRecord, TaskRecord
from vancetope.model.status import PROCESS_ENDED, ProcessStatus, TaskStatus
from vancetope.model.tool import Effect
from vancetope.processes import calls as call_rows
from vancetope.processes.calls import Wanted
from vancetope.processes.engines.base import (
    Broken,
    CallTool,
    Engine,
    FanOut,
    PlannedTask,
    Value,
)
from vancetope.processes.engines.base import Step as EngineStep
from vancetope.processes.flow import Flow
from vancetope.processes.scheduler.desk import Desk, Routed
from vancetope.processes.scheduler.timers import Timers
from vancetope.store.db import Store, Tx
from vancetope.store.queries import calls, processes, task_writes, tasks
from vancetope.tools.router import SERVER, Router
from vancetope.tools.routing import OnClient, OnServer

logger = logging.getLogger(__name__)

#: Children made in one transaction.
FAN_CHUNK: Final = 250
#: Children of one `foreach`.
FAN_LIMIT: Final = 10_000
#: Arguments of one call, so that the request fits into a frame.
ARGS_LIMIT_BYTES: Final = 1_000_000
NOT_RUNNABLE: Final = PROCESS_ENDED | {ProcessStatus.PAUSED}


@attrs.define(eq=False)
class Steps:
    """Carries single steps out; keeps nothing between them."""

    store: Store
    clock: Clock
    engines: Mapping[str, Engine]
    desk: Desk
    router: Router
    timers: Timers

    async def run(self, task: TaskRecord) -> str | None:
        """Do what the task's engine says.

        Returns:
            The place (`server` or a client's key) that is full, when the task could
            not be begun for that reason; it is still ready then.
        """
        process = self.store.read(lambda conn: processes.get(conn, task.process_id))
        if process is None or process.status in NOT_RUNNABLE:
            return None
        engine = self.engines[process.engine]
        step, open_call = await self._ask(engine, process, task)
        match step:
            case CallTool():
                return await self._call(process, task, step, open_call)
            case FanOut(items=items):
                await self._fan_out(engine, process, task, items)
            case Value(result=result):
                await self._end(task, TaskStatus.DONE, result, None)
            case Broken(code=code, message=message):
                error: dict[str, Json] = {"code": code, "message": message}
                await self._end(task, TaskStatus.FAILED, None, error)
        return None

    def has_room(self, place: str) -> bool:
        """Whether a place that was full takes calls again (or is gone)."""
        client = None if place == SERVER else self.desk.clients.by_key(place)
        return (place != SERVER and client is None) or self.router.room(client) > 0

    async def _ask(
        self, engine: Engine, process: ProcessRecord, task: TaskRecord
    ) -> tuple[EngineStep, CallRecord | None]:
        call = self.store.read(lambda conn: calls.open_of_task(conn, task.id))
        if self.store.read(lambda conn: engine.is_heavy(conn, task)):
            step = await self.store.query(lambda conn: engine.step(conn, process, task))
        else:
            step = self.store.read(lambda conn: engine.step(conn, process, task))
        if call is not None and isinstance(step, CallTool):
            # What was parked is what runs: its arguments stand on the row.
            step = attrs.evolve(step, args=call.args)
        return step, call

    async def _call(
        self,
        process: ProcessRecord,
        task: TaskRecord,
        step: CallTool,
        open_call: CallRecord | None,
    ) -> str | None:
        size = len(dumps(step.args).encode())
        if size > ARGS_LIMIT_BYTES:
            message = f"The arguments of {step.tool} are {size} bytes, over the limit"
            error: dict[str, Json] = {"code": "too_big", "message": message}
            await self._end(task, TaskStatus.FAILED, None, error)
            return None
        routed = self.store.read(lambda conn: self.desk.route(conn, process, step))
        call_id = open_call.id if open_call else ids.new_id(ids.CALL, self.clock)
        wanted = _wanted(call_id, step, routed, open_call)
        if not isinstance(routed.decision, OnServer | OnClient):
            await self.store.write(lambda tx: _begin(tx, task, wanted, routed))
            return None
        if not self.router.reserve(routed.client, call_id):
            return SERVER if routed.client is None else routed.client.key
        call: CallRecord | None = None
        try:
            call = await self.store.write(lambda tx: _begin(tx, task, wanted, routed))
        finally:
            if call is None:
                self.router.release(call_id)
        if call is not None:
            await self._send(call, routed)
        return None

    async def _send(self, call: CallRecord, routed: Routed) -> None:
        client = routed.client
        if client is None or (
            self.desk.clients.by_session(client.session_id) is client
        ):
            self.router.send(call, client)
            if client is not None:
                self.timers.call_sent(call)
            return
        # It left while the dispatch was being committed, after its other calls had
        # been put back: this one is put back now.
        self.router.release(call.id)
        await self.store.write(lambda tx: call_rows.dropped(tx, client.session_id))

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
                    flow.end(task, status, result=result, error=error)

        await self.store.write(end)

    async def _fan_out(
        self,
        engine: Engine,
        process: ProcessRecord,
        task: TaskRecord,
        items: list[Json],
    ) -> None:
        if len(items) > FAN_LIMIT:
            message = f"foreach gives {len(items)} items; the limit is {FAN_LIMIT}"
            error: dict[str, Json] = {"code": "too_many", "message": message}
            await self._end(task, TaskStatus.FAILED, None, error)
            return
        claimed = await self.store.write(lambda tx: _claim(tx, task))
        if not claimed:
            return
        plan = self.store.read(
            lambda conn: engine.plan(processes.definition(conn, process.id)[0])
        )
        node = next(planned for planned in plan if planned.node == task.node)
        for start in range(0, len(items), FAN_CHUNK):
            chunk = items[start : start + FAN_CHUNK]
            await self.store.write(
                partial(
                    self._add_children,
                    parent=task,
                    node=node,
                    start=start,
                    items=chunk,
                    total=len(items),
                )
            )
        await self.store.write(lambda tx: _children_made(tx, task))

    def _add_children(
        self,
        tx: Tx,
        parent: TaskRecord,
        node: PlannedTask,
        start: int,
        items: list[Json],
        total: int,
    ) -> None:
        """Children stand right behind their parent in the execution order."""
        now = tasks.get(tx.conn, parent.id)
        if now is None or now.status is not TaskStatus.RUNNING:
            return
        added = 0
        with Flow.of(tx, parent.process_id) as flow:
            paused = flow.process.status is ProcessStatus.PAUSED
            for index, item in enumerate(items, start):
                added += task_writes.insert(
                    tx.conn,
                    task_id=ids.new_id(ids.TASK, self.clock),
                    process_id=parent.process_id,
                    parent_id=parent.id,
                    node=node.node,
                    key=f"{node.node}[{index}]",
                    goal=node.goal,
                    tool=node.tool,
                    rank=now.rank + (index + 1) / (total + 1),
                    item=item,
                    item_index=index,
                    continue_on_error=node.continue_on_error,
                    open_deps=0,
                    cause=causes.PAUSED if paused else causes.READY,
                    now_ms=tx.now_ms,
                )
            processes.add_open_tasks(tx.conn, parent.process_id, added)
            flow.lane_ready(node.node)


def _claim(tx: Tx, task: TaskRecord) -> bool:
    with Flow.of(tx, task.process_id) as flow:
        return flow.claim(task, None)


def _children_made(tx: Tx, parent: TaskRecord) -> None:
    now = tasks.get(tx.conn, parent.id)
    if now is None or now.status is not TaskStatus.RUNNING:
        return
    with Flow.of(tx, parent.process_id) as flow:
        flow.wait_for_children(now)


def _begin(
    tx: Tx, task: TaskRecord, wanted: Wanted, routed: Routed
) -> CallRecord | None:
    with Flow.of(tx, task.process_id) as flow:
        return call_rows.begin(flow, task, wanted, routed.decision, routed.client)


def _wanted(
    call_id: str, step: CallTool, routed: Routed, open_call: CallRecord | None
) -> Wanted:
    digest = open_call.args_digest if open_call else args_digest(step.args)
    effect = open_call.effect if open_call else routed.effect
    return Wanted(
        call_id=call_id,
        tool=step.tool.partition("@")[0],
        args=step.args,
        args_digest=digest,
        effect=Effect(effect),
        timeout_ms=step.timeout_ms,
        start_within_ms=step.start_within_ms,
    )
