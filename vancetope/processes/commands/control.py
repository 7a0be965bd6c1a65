"""Steer a process or a task that exists: pause, go on, stop, move, cancel, rerun."""

import attrs

from vancetope.errors import Conflict, Unavailable
from vancetope.model import cause as causes
from vancetope.model.principal import Principal
from vancetope.model.records import CallRecord, ProcessRecord, TaskRecord
from vancetope.model.status import (
    PROCESS_ENDED,
    TASK_ENDED,
    CallState,
    CauseKind,
    ProcessStatus,
    TaskStatus,
)
from vancetope.processes import calls as call_rows
from vancetope.processes.commands.access import process_for, task_for
from vancetope.processes.flow import Flow
from vancetope.store.db import Tx
from vancetope.store.queries import calls, processes, task_writes, tasks

#: Ranks closer than this have no room between them any more.
RANK_GAP = 1e-9


@attrs.frozen
class Changed:
    """A process after a command, and the calls whose clients must be told."""

    process: ProcessRecord
    cancelled: tuple[CallRecord, ...] = ()


def pause(tx: Tx, who: Principal, process_id: str) -> Changed:
    """Begin no further task of the process; what runs goes on.

    Raises:
        NotFound, Conflict: no such process; it has ended.
    """
    process = _open(tx, who, process_id)
    with Flow.of(tx, process.id) as flow:
        flow.set_status(ProcessStatus.PAUSED)
        task_writes.swap_cause(
            tx.conn, process.id, CauseKind.READY, causes.PAUSED, tx.now_ms
        )
    return Changed(process_for(tx.conn, who, process_id))


def go_on(tx: Tx, who: Principal, process_id: str) -> Changed:
    """Let a paused process run again; one that is not paused is left as it is.

    Raises:
        NotFound, Conflict: no such process; it has ended.
    """
    process = _open(tx, who, process_id)
    if process.status is ProcessStatus.PAUSED:
        with Flow.of(tx, process.id) as flow:
            flow.set_status(ProcessStatus.RUNNING)
            task_writes.swap_cause(
                tx.conn, process.id, CauseKind.PAUSED, causes.READY, tx.now_ms
            )
            for _, node in tasks.ready_lanes(tx.conn, process.id):
                flow.lane_ready(node)
    return Changed(process_for(tx.conn, who, process_id))


def stop(tx: Tx, who: Principal, process_id: str) -> Changed:
    """End the process now; what has not ended is cancelled.

    Raises:
        NotFound, Conflict: no such process; it has ended.
    """
    process = _open(tx, who, process_id)
    told: list[CallRecord] = []
    with Flow.of(tx, process.id) as flow:
        flow.set_status(ProcessStatus.STOPPED)
        for task in tasks.of_process(tx.conn, process.id):
            if task.status not in TASK_ENDED:
                told += _cancel_one(flow, task)
    return Changed(process_for(tx.conn, who, process_id), tuple(told))


def cancel(tx: Tx, who: Principal, task_id: str) -> Changed:
    """Cancel one task with its subtasks; its dependents are skipped.

    Raises:
        NotFound, Conflict: no such task; it has ended.
    """
    task = task_for(tx.conn, who, task_id)
    if task.status in TASK_ENDED:
        message = f"Task {task.key} is {task.status} already"
        raise Conflict(message)
    told: list[CallRecord] = []
    with Flow.of(tx, task.process_id) as flow:
        # The parent first: its last child's end would end it as failed.
        children = tasks.children(tx.conn, task.id, open_only=True)
        for one in [task, *children]:
            told += _cancel_one(flow, one)
    return Changed(process_for(tx.conn, who, task.process_id), tuple(told))


def _cancel_one(flow: Flow, task: TaskRecord) -> list[CallRecord]:
    now = tasks.get(flow.tx.conn, task.id)
    if now is None or now.status in TASK_ENDED:
        return []
    call = call_rows.cancel(flow, now)
    error = {"code": "cancelled", "message": "Cancelled"}
    flow.end(now, TaskStatus.CANCELLED, error={**error})
    return [] if call is None else [call]


def move(tx: Tx, who: Principal, task_id: str, before_task_id: str) -> Changed:
    """Put a task right before another one of its process, in execution order.

    Raises:
        NotFound: no such task.
        Conflict: the tasks belong to different processes.
    """
    task = task_for(tx.conn, who, task_id)
    before = task_for(tx.conn, who, before_task_id)
    if task.process_id != before.process_id:
        message = "Both tasks must belong to one process"
        raise Conflict(message)
    if task.id != before.id:
        with Flow.of(tx, task.process_id) as flow:
            task_writes.set_rank(tx.conn, task.id, _rank_before(tx, before))
            flow.task_changed(task.id)
    return Changed(process_for(tx.conn, who, task.process_id))


def _rank_before(tx: Tx, before: TaskRecord) -> float:
    lower = tasks.rank_before(tx.conn, before.process_id, before.rank)
    floor = before.rank - 1 if lower is None else lower
    if before.rank - floor > RANK_GAP:
        return (floor + before.rank) / 2
    for rank, task in enumerate(tasks.of_process(tx.conn, before.process_id), 1):
        task_writes.set_rank(tx.conn, task.id, float(rank))
    fresh = tasks.get(tx.conn, before.id)
    return (fresh.rank if fresh else before.rank) - 0.5


def rerun(tx: Tx, who: Principal, task_id: str) -> Changed:
    """Run an ended task again, and after it everything that depends on it.

    A `foreach` task makes its items and subtasks anew.

    Raises:
        NotFound: no such task.
        Conflict: the task has not ended, something after it is at work, or the
            process was stopped.
    """
    task = task_for(tx.conn, who, task_id)
    process = process_for(tx.conn, who, task.process_id)
    if task.status not in TASK_ENDED:
        message = f"Task {task.key} has not ended; it is {task.status}"
        raise Conflict(message)
    if task.item_index is not None and task.item_index < 0:
        message = f"Task {task.key} belongs to an earlier run of its parent"
        raise Conflict(message)
    if process.status is ProcessStatus.STOPPED:
        message = "The process was stopped; start it anew"
        raise Conflict(message)
    with Flow.of(tx, task.process_id) as flow:
        processes.set_result(tx.conn, process.id, None)  # it is no longer true
        if process.status in PROCESS_ENDED:
            flow.set_status(ProcessStatus.RUNNING)
        _reset_tree(flow, task)
        broke = any(
            one.status in (TaskStatus.FAILED, TaskStatus.CANCELLED)
            and not (one.status is TaskStatus.FAILED and one.continue_on_error)
            for one in tasks.of_process(tx.conn, task.process_id)
        )
        processes.set_has_failed(tx.conn, task.process_id, failed=broke)
    return Changed(process_for(tx.conn, who, task.process_id))


def _reset_tree(flow: Flow, task: TaskRecord) -> None:
    """The task and everything downstream starts over.

    A subtask that starts over makes its parent wait for it again.
    """
    parent = None if task.parent_id is None else tasks.get(flow.tx.conn, task.parent_id)
    downstream = _downstream(flow, task if parent is None else parent)
    if parent is not None and parent.status in TASK_ENDED:
        processes.add_open_tasks(flow.tx.conn, flow.process.id, 1)
    for one in [task, *downstream]:
        _reset(flow, one)
    if parent is not None:
        flow.wait_for_children(parent)
    for one in [task, *downstream]:
        _wait_again(flow, one)


def _downstream(flow: Flow, task: TaskRecord) -> list[TaskRecord]:
    """All that depends on the task, directly or not.

    Raises:
        Conflict: one of them is at work on what is about to change.
    """
    found: dict[str, TaskRecord] = {}
    todo = [task]
    while todo:
        for dependent, _ in tasks.dependents(flow.tx.conn, todo.pop().id):
            if dependent.id not in found:
                found[dependent.id] = dependent
                todo.append(dependent)
    for one in found.values():
        call = calls.open_of_task(flow.tx.conn, one.id)
        begun = call is not None and call.state is not CallState.PARKED
        if begun or one.status is TaskStatus.RUNNING or _has_children(one):
            message = f"Task {one.key} depends on it and is at work; cancel it first"
            raise Conflict(message)
    return list(found.values())


def _has_children(task: TaskRecord) -> bool:
    return task.cause is not None and task.cause.kind is CauseKind.CHILDREN


def _reset(flow: Flow, task: TaskRecord) -> None:
    """A task starts over; a `foreach` makes its subtasks anew."""
    conn = flow.tx.conn
    if task.status in TASK_ENDED:
        processes.add_open_tasks(conn, flow.process.id, 1)
    call_rows.cancel(flow, task)
    task_writes.retire_children(conn, task.id)
    task_writes.set_open_deps(conn, task.id, 0)
    task_writes.set_start_by(conn, task.id, None)
    flow.ready(task)


def _wait_again(flow: Flow, task: TaskRecord) -> None:
    """The task waits for what is open above it, now that all has started over."""
    conn = flow.tx.conn
    above = tasks.dependencies(conn, task.id)
    left = [one for one in above if one.status not in TASK_ENDED]
    if left:
        task_writes.set_open_deps(conn, task.id, len(left))
        flow.hold(task, TaskStatus.PENDING, causes.dependency(left[-1].key))


def steer(tx: Tx, who: Principal, process_id: str) -> Changed:
    """New information for a running process: no engine here can use it yet.

    Raises:
        NotFound, Conflict: no such process; it has ended.
        Unavailable: a workflow follows its file and cannot be steered.
    """
    _open(tx, who, process_id)
    message = "A workflow follows its file; it cannot be steered"
    raise Unavailable(message, fix="Use task-cancel, task-move or task-rerun")


def _open(tx: Tx, who: Principal, process_id: str) -> ProcessRecord:
    process = process_for(tx.conn, who, process_id)
    if process.status in PROCESS_ENDED:
        message = f"Process {process.id} has ended: {process.status}"
        raise Conflict(message)
    return process
