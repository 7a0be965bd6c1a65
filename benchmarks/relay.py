"""The commits of one journalled round trip, with nobody deciding anything."""

from functools import partial

import attrs

from vancetope.clock import Clock
from vancetope.model import cause as causes
from vancetope.model import ids
from vancetope.model.records import ProcessRecord
from vancetope.model.status import CallState, ProcessStatus, TaskStatus
from vancetope.model.tool import Effect
from vancetope.store.db import Store, Tx
from vancetope.store.queries import calls, processes, task_writes
from vancetope.store.queries.calls import Sending

SENDING = Sending(
    tool="probe",
    effect=Effect.ONCE,
    decision="client",
    reason="location client, client `c` connected",
    side="c",
    session_id="sess_x",
    epoch=1,
    journal_id=None,
)


@attrs.define(eq=False)
class Script:
    """One process; each round trip ends its current task and begins the next."""

    _store: Store
    _clock: Clock
    _process: str = ""
    _task: str = ""
    _call: str = ""

    async def begin(self) -> None:
        """A process with its first call under way."""
        self._process = ids.new_id(ids.PROCESS, self._clock)
        await self._store.write(self._insert_process)
        await self._add_task()
        await self.dispatch()

    async def result(self) -> None:
        """The result of the call, the end of its task, and the next task ready."""
        done = self._task
        await self._store.write(
            partial(self._result, done=done, following=self._new_task())
        )

    async def dispatch(self) -> None:
        """The call of the current task is about to leave."""
        self._call = ids.new_id(ids.CALL, self._clock)
        await self._store.write(self._dispatch)

    async def _add_task(self) -> None:
        task = self._new_task()
        await self._store.write(lambda tx: self._insert_task(tx, task))

    def _new_task(self) -> str:
        self._task = ids.new_id(ids.TASK, self._clock)
        return self._task

    def _insert_process(self, tx: Tx) -> None:
        processes.ensure_project(tx.conn, "p", "p", tx.now_ms)
        record = ProcessRecord(
            id=self._process,
            project_id="p",
            session_id=None,
            principal="owner",
            owner=True,
            title="t",
            goal="g",
            engine="workflow",
            workflow_id="w",
            recipe=None,
            connection_profile="foot",
            autonomous=False,
            pin=None,
            served_by=None,
            status=ProcessStatus.RUNNING,
            open_tasks=1_000_000,
            has_failed=False,
            created_at=tx.now_ms,
            changed_at=tx.now_ms,
            ended_at=None,
        )
        processes.insert(tx.conn, record, definition={}, given={}, idempotency_key=None)

    def _insert_task(self, tx: Tx, task: str) -> None:
        task_writes.insert(
            tx.conn,
            task_id=task,
            process_id=self._process,
            parent_id=None,
            node="n",
            key="n",
            goal="g",
            tool="probe",
            rank=1.0,
            item=None,
            item_index=None,
            continue_on_error=False,
            open_deps=0,
            cause=causes.READY,
            now_ms=tx.now_ms,
        )

    def _result(self, tx: Tx, done: str, following: str) -> None:
        now = tx.now_ms
        calls.set_ended(tx.conn, self._call, CallState.SUCCEEDED, now_ms=now, result=1)
        task_writes.set_ended(
            tx.conn, done, TaskStatus.DONE, result=1, error=None, now_ms=now
        )
        processes.add_open_tasks(tx.conn, self._process, -1)
        self._changed(tx, done)
        self._insert_task(tx, following)
        self._changed(tx, following)

    def _dispatch(self, tx: Tx) -> None:
        now = tx.now_ms
        task_writes.set_running(tx.conn, self._task, "c", now)
        self._changed(tx, self._task)
        calls.insert(
            tx.conn,
            call_id=self._call,
            process_id=self._process,
            task_id=self._task,
            tool="probe",
            args={"n": 1},
            args_digest="0" * 64,
            effect=Effect.ONCE,
            state=CallState.DISPATCHED,
            decision="dispatch",
            reason=SENDING.reason,
            timeout_ms=600_000,
            now_ms=now,
        )
        calls.set_dispatched(tx.conn, self._call, SENDING, now)
        processes.set_served_by(tx.conn, self._process, "c")

    def _changed(self, tx: Tx, task: str) -> None:
        tx.emit("task", project_id="p", process_id=self._process, task_id=task)
