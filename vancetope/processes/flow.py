"""The one place where a task or a process changes its status.

A `Flow` is one process inside one transaction.  Blocking is recorded by `hold`,
ending by `end`, which carries the news to dependents, parent and process; leaving the
block settles what the process as a whole is doing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Final

import attrs

from vancetope.errors import NotFound
from vancetope.model import cause as causes
from vancetope.model.cause import Cause
from vancetope.model.json import Json, JsonObject
from vancetope.model.records import ProcessRecord, TaskRecord
from vancetope.model.status import (
    PROCESS_ENDED,
    TASK_ENDED,
    CauseKind,
    ProcessStatus,
    TaskStatus,
)
from vancetope.store.db import Tx
from vancetope.store.queries import processes, task_writes, tasks

#: Event kinds that stand in the table.
TASK_CHANGED: Final = "task"
PROCESS_CHANGED: Final = "process"
#: Hints for the scheduler, without a row: `body` is the lane's node.
LANE_READY: Final = "lane.ready"
CONCLUDE: Final = "process.conclude"

SKIPPED_BY_FAILURE: Final = "upstream_failed"
SKIPPED: Final = "skipped"


class After(Enum):
    """What the end of a task means for one that depends on it."""

    SATISFIED = auto()
    SKIP = auto()
    SKIP_FAILED = auto()


def after_dependency(
    status: TaskStatus, *, overlooked: bool, by_failure: bool, uses: bool
) -> After:
    """What a dependent does once the task it waits for has ended (DESIGN section 5).

    Args:
        status: how the dependency ended.
        overlooked: it has `on_error: continue`, so its error is a result.
        by_failure: it was itself skipped because something before it failed.
        uses: a template of the dependent uses the dependency's result.
    """
    if status is TaskStatus.DONE or (status is TaskStatus.FAILED and overlooked):
        return After.SATISFIED
    if status is TaskStatus.SKIPPED and not by_failure:
        return After.SKIP if uses else After.SATISFIED
    return After.SKIP_FAILED


def settled_status(*, active: bool, blocked: bool, queued: bool) -> ProcessStatus:
    """What a process with open tasks is doing: something, nothing, or queued work."""
    if active:
        return ProcessStatus.RUNNING
    if blocked:
        return ProcessStatus.BLOCKED
    return ProcessStatus.WAITING if queued else ProcessStatus.RUNNING


@attrs.define
class Flow:
    """One process inside one transaction."""

    tx: Tx
    process: ProcessRecord

    @classmethod
    @contextmanager
    def of(cls, tx: Tx, process_id: str) -> Iterator["Flow"]:
        """The flow of a process; settles it when the block ends well.

        Raises:
            NotFound: there is no such process.
        """
        process = processes.get(tx.conn, process_id)
        if process is None:
            message = f"No process {process_id}"
            raise NotFound(message)
        flow = cls(tx, process)
        yield flow
        flow._settle()

    def hold(self, task: TaskRecord, status: TaskStatus, cause: Cause) -> None:
        """Record why a task does not run: `blocked`, `queued`, or `pending`."""
        self._forget_wakes(task)
        task_writes.set_held(self.tx.conn, task.id, status, cause, self.tx.now_ms)
        self.task_changed(task.id)

    def ready(self, task: TaskRecord) -> None:
        """The task may run as soon as there is a slot (or the process goes on)."""
        paused = self.process.status is ProcessStatus.PAUSED
        self.hold(task, TaskStatus.PENDING, causes.PAUSED if paused else causes.READY)
        if not paused:
            self.lane_ready(task.node)

    def claim(self, task: TaskRecord, side: str | None) -> bool:
        """Start a ready task; False when it is no longer ready."""
        if not task_writes.set_running(self.tx.conn, task.id, side, self.tx.now_ms):
            return False
        self.task_changed(task.id)
        return True

    def wait_for_children(self, task: TaskRecord) -> None:
        """A parent gives its slot back until its children have ended."""
        count = tasks.open_child_count(self.tx.conn, task.id)
        task_writes.set_open_children(self.tx.conn, task.id, count)
        if count == 0:
            self._end_parent(task)
        else:
            self.hold(task, TaskStatus.PENDING, causes.CHILDREN)

    def end(
        self,
        task: TaskRecord,
        status: TaskStatus,
        *,
        result: Json = None,
        error: JsonObject | None = None,
    ) -> None:
        """The task is over; tell its dependents and its parent."""
        todo = [(task, status, result, error)]
        while todo:
            one, how, value, problem = todo.pop()
            if not self._end_one(one, how, value, problem):
                continue
            todo.extend(self._dependents(one, how, problem))
            parent = self._finished_parent(one)
            if parent is not None:
                todo.append((parent, *self._sum_of_children(parent)))

    def task_changed(self, task_id: str) -> None:
        """A row that says the task looks different now."""
        self.tx.emit(
            TASK_CHANGED,
            project_id=self.process.project_id,
            session_id=self.process.session_id,
            process_id=self.process.id,
            task_id=task_id,
        )

    def process_changed(self) -> None:
        """A row that says the process looks different now."""
        self.tx.emit(
            PROCESS_CHANGED,
            project_id=self.process.project_id,
            session_id=self.process.session_id,
            process_id=self.process.id,
        )

    def lane_ready(self, node: str) -> None:
        """Tell the scheduler to look at this lane."""
        self.tx.hint(LANE_READY, process_id=self.process.id, body=node)

    def set_status(self, status: ProcessStatus) -> None:
        """Move the process, if that is a move."""
        if status is self.process.status:
            return
        processes.set_status(self.tx.conn, self.process.id, status, self.tx.now_ms)
        self.process = attrs.evolve(self.process, status=status)
        self.process_changed()

    def _end_one(
        self,
        task: TaskRecord,
        status: TaskStatus,
        result: Json,
        error: JsonObject | None,
    ) -> bool:
        """End one task; False when it has ended already, on another path to it."""
        conn = self.tx.conn
        ended = task_writes.set_ended(
            conn, task.id, status, result=result, error=error, now_ms=self.tx.now_ms
        )
        if not ended:
            return False
        self._forget_wakes(task)
        processes.add_open_tasks(conn, self.process.id, -1)
        broke = status in (TaskStatus.FAILED, TaskStatus.CANCELLED)
        overlooked = status is TaskStatus.FAILED and task.continue_on_error
        if broke and not overlooked and not self.process.has_failed:
            processes.set_has_failed(conn, self.process.id, failed=True)
            self.process = attrs.evolve(self.process, has_failed=True)
        self.task_changed(task.id)
        return True

    def _dependents(
        self, task: TaskRecord, status: TaskStatus, error: JsonObject | None
    ) -> Iterator[tuple[TaskRecord, TaskStatus, Json, JsonObject | None]]:
        """Free those that may go on; yield those that are skipped in turn."""
        if status is TaskStatus.DONE:
            self._satisfy_all(task)
            return
        by_failure = bool(error) and (error or {}).get("code") == SKIPPED_BY_FAILURE
        for dependent, uses in tasks.dependents(self.tx.conn, task.id):
            if dependent.status in TASK_ENDED:
                continue
            verdict = after_dependency(
                status,
                overlooked=task.continue_on_error,
                by_failure=by_failure,
                uses=uses,
            )
            if verdict is After.SATISFIED:
                self._satisfy(dependent, task)
            else:
                failed = verdict is After.SKIP_FAILED
                reason: JsonObject = {
                    "code": SKIPPED_BY_FAILURE if failed else SKIPPED,
                    "message": f"Task {task.key} {status}",
                }
                yield dependent, TaskStatus.SKIPPED, None, reason

    def _satisfy_all(self, ended: TaskRecord) -> None:
        """As `_satisfy`, for all dependents: most only count one down."""
        task_writes.count_down(self.tx.conn, ended.id)
        for dependent in tasks.freed_or_misled(self.tx.conn, ended.id, ended.key):
            if dependent.open_deps == 0:
                self.ready(dependent)
            else:
                self.hold(dependent, TaskStatus.PENDING, self.dependency_of(dependent))

    def _satisfy(self, dependent: TaskRecord, ended: TaskRecord) -> None:
        left = max(0, dependent.open_deps - 1)
        task_writes.set_open_deps(self.tx.conn, dependent.id, left)
        if left == 0:
            self.ready(attrs.evolve(dependent, open_deps=0))
        elif dependent.cause is not None and dependent.cause.key == ended.key:
            self.hold(dependent, TaskStatus.PENDING, self.dependency_of(dependent))

    def dependency_of(self, task: TaskRecord) -> Cause:
        """What a task waits for: its last open dependency, which changes least."""
        key = tasks.last_open_dependency(self.tx.conn, task.id)
        return causes.READY if key is None else causes.dependency(key)

    def _finished_parent(self, child: TaskRecord) -> TaskRecord | None:
        """The parent, if this was the last child it waited for."""
        if child.parent_id is None:
            return None
        parent = tasks.get(self.tx.conn, child.parent_id)
        waits = (
            parent is not None
            and parent.cause is not None
            and parent.cause.kind is CauseKind.CHILDREN
        )
        if parent is None or not waits:
            return None
        left = max(0, parent.open_children - 1)
        task_writes.set_open_children(self.tx.conn, parent.id, left)
        return parent if left == 0 else None

    def _sum_of_children(
        self, parent: TaskRecord
    ) -> tuple[TaskStatus, Json, JsonObject | None]:
        if not tasks.any_child_broke(self.tx.conn, parent.id):
            return TaskStatus.DONE, None, None
        message = f"A subtask of {parent.key} failed"
        return TaskStatus.FAILED, None, {"code": "failed", "message": message}

    def _end_parent(self, parent: TaskRecord) -> None:
        status, result, error = self._sum_of_children(parent)
        self.end(parent, status, result=result, error=error)

    def _forget_wakes(self, task: TaskRecord) -> None:
        waits = (CauseKind.CLIENT_TOOL, CauseKind.SERVER_TOOL)
        if task.cause is not None and task.cause.kind in waits:
            task_writes.forget_wakes(self.tx.conn, task.id)

    def _settle(self) -> None:
        conn, pid = self.tx.conn, self.process.id
        standing, open_tasks = processes.standing(conn, pid)
        if standing in PROCESS_ENDED:
            return
        self.process = attrs.evolve(self.process, status=standing)
        if open_tasks == 0:
            self.tx.hint(CONCLUDE, process_id=pid)
            return
        if standing is ProcessStatus.PAUSED:
            return
        active = tasks.any_running(conn, pid) or tasks.any_ready(conn, pid)
        status = settled_status(
            active=active,
            blocked=not active and tasks.any_held(conn, pid, TaskStatus.BLOCKED),
            queued=not active and tasks.any_held(conn, pid, TaskStatus.QUEUED),
        )
        if status is ProcessStatus.WAITING and standing is not status:
            self.tx.hint(CONCLUDE, process_id=pid)  # for the partial result
        self.set_status(status)
