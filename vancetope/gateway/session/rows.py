"""Records of the store as the rows and frames of the wire."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

import attrs

from vance_sdk.wire.messages.common import Cause as WireCause
from vance_sdk.wire.messages.handshake import ActiveProcess
from vance_sdk.wire.messages.processes import ProcessDetail, ProcessRow, ProcessStatus
from vance_sdk.wire.messages.tasks import TaskRow, TaskUpdate
from vancetope.model.cause import Cause
from vancetope.model.json import Json, dumps, is_deeper
from vancetope.model.records import ProcessRecord, TaskRecord
from vancetope.model.status import PROCESS_ENDED, TASK_ENDED, TaskStatus
from vancetope.store import Connection
from vancetope.store.queries import processes, tasks

#: Results that are shown inside a frame; longer ones are cut (PROTOCOL D11).
INLINE_BYTES: Final = 256 * 1024
#: Levels of nesting that are shown; a frame may have 64, its own included.
SHOWN_LEVELS: Final = 48
#: What is shown of a longer one.
HEAD_CHARS: Final = 4096
#: Rows of one list frame, in bytes of JSON, so that it stays under the frame limit.
LIST_BYTES: Final = 700_000
#: The result of a task inside a list of many.
ROW_RESULT_BYTES: Final = 16 * 1024

T = TypeVar("T")


def shown(result: Json, limit: int = INLINE_BYTES) -> Json:
    """A result as it goes into a frame: whole, or its head and how much there is."""
    if result is None:
        return None
    text = dumps(result)
    size = len(text.encode())
    if size <= limit and not is_deeper(result, SHOWN_LEVELS):
        return result
    return {"truncated": True, "total_bytes": size, "head": text[:HEAD_CHARS]}


def cause_of(cause: Cause | None) -> WireCause | None:
    """The cause as it stands in a frame."""
    if cause is None:
        return None
    return WireCause(
        kind=cause.kind.value,
        what=cause.what,
        key=cause.key,
        since=cause.since,
        wakes_on=cause.wakes_on or None,
    )


def process_status(
    conn: Connection, process: ProcessRecord, reply_to: str | None = None
) -> ProcessStatus:
    """The frame that says where a process stands; the terminal one has the result."""
    ended = process.status in PROCESS_ENDED
    running = [] if ended else tasks.running(conn, process.id)
    return ProcessStatus(
        think_process_id=process.id,
        status=process.status.value,
        current_task=running[0].id if running else None,
        result=shown(processes.result(conn, process.id)) if ended else None,
        reply_to=reply_to,
    )


def process_row(conn: Connection, process: ProcessRecord) -> ProcessRow:
    """The row of `process-list` and `ps`."""
    cause = None if process.status in PROCESS_ENDED else _held_by(conn, process)
    return ProcessRow(
        id=process.id,
        title=process.title,
        status=process.status.value,
        project_id=process.project_id,
        workflow_id=process.workflow_id,
        connection_profile=process.connection_profile,
        pending_tasks=processes.pending_tasks(conn, process.id),
        blocked_reason=cause.what if cause else None,
        cause=cause_of(cause),
    )


def process_detail(conn: Connection, process: ProcessRecord) -> ProcessDetail:
    """The row with goal and result."""
    row = attrs.asdict(process_row(conn, process), recurse=False)
    result = shown(processes.result(conn, process.id))
    return ProcessDetail(**row, goal=process.goal, result=result)


def _held_by(conn: Connection, process: ProcessRecord) -> Cause | None:
    """What holds a process up: the cause of its first blocked or queued task."""
    for status in (TaskStatus.BLOCKED, TaskStatus.QUEUED):
        task = tasks.first_held(conn, process.id, status)
        if task is not None:
            return task.cause
    return None


def active(conn: Connection, process: ProcessRecord) -> ActiveProcess:
    """The entry of `active_think_processes`."""
    return ActiveProcess(
        id=process.id,
        title=process.title,
        status=process.status.value,
        pending_tasks=processes.pending_tasks(conn, process.id),
    )


def reason_of(task: TaskRecord) -> str | None:
    """`blocked_reason`: set while a task is blocked or queued (seed 000 section 4)."""
    held = task.status in (TaskStatus.BLOCKED, TaskStatus.QUEUED)
    return task.cause.what if held and task.cause else None


def task_update(
    conn: Connection, task: TaskRecord, reply_to: str | None = None
) -> TaskUpdate:
    """The frame that says where a task stands."""
    return TaskUpdate(
        task_id=task.id,
        status=task.status.value,
        result=_result(conn, task, INLINE_BYTES),
        blocked_reason=reason_of(task),
        cause=cause_of(task.cause),
        think_process_id=task.process_id,
        reply_to=reply_to,
    )


def task_row(conn: Connection, task: TaskRecord) -> TaskRow:
    """The row of `task-list`."""
    return TaskRow(
        task_id=task.id,
        key=task.key,
        goal=task.goal,
        status=task.status.value,
        tool=task.tool,
        where=task.side,
        parent=task.parent_id,
        depends_on=tuple(one.id for one in tasks.dependencies(conn, task.id)),
        blocked_reason=reason_of(task),
        cause=cause_of(task.cause),
        result=_result(conn, task, ROW_RESULT_BYTES),
    )


def _result(conn: Connection, task: TaskRecord, limit: int) -> Json:
    """The result of an ended task; the error of one that failed or was skipped."""
    if task.status not in TASK_ENDED:
        return None
    _, result, error = tasks.outcome(conn, task.id)
    return {"error": error} if error is not None else shown(result, limit)


def pages(rows: Iterable[tuple[T, int]]) -> Iterator[tuple[list[T], bool]]:
    """Split rows into lists that fit a frame: `(rows, whether more follow)`.

    Args:
        rows: each row with its size in bytes of JSON.
    """
    page: list[T] = []
    size = 0
    for row, row_bytes in rows:
        if page and size + row_bytes > LIST_BYTES:
            yield page, True
            page, size = [], 0
        page.append(row)
        size += row_bytes
    yield page, False
