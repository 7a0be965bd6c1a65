"""`task-*` and `why`: show, order, cancel and rerun tasks."""

from collections.abc import Callable

from vance_sdk.wire.messages.tables import Outbound
from vance_sdk.wire.messages.tasks import (
    TaskCancel,
    TaskList,
    TaskListQuery,
    TaskMove,
    TaskRerun,
    TaskRow,
    Why,
    WhyQuery,
)
from vancetope.gateway.session.context import Session
from vancetope.gateway.session.rows import cause_of, pages, task_row, task_update
from vancetope.model.json import dumps
from vancetope.model.status import TASK_ENDED
from vancetope.processes import why as reasons
from vancetope.processes.commands import control
from vancetope.processes.commands.access import process_for, task_for
from vancetope.processes.commands.control import Changed
from vancetope.store import Connection
from vancetope.store.db import Tx
from vancetope.store.queries import tasks

#: What a row takes in a frame besides its result and its goal.
ROW_BYTES = 700
#: Before the cause of a task that would not go on here even without it.
NOT_SERVED = (
    "This Brain was started for one run and does not resume this process;"
    " `vancetope serve` goes on with it"
)


async def listed(session: Session, message: TaskListQuery) -> list[Outbound]:
    """`task-list`: execution order, planned tasks included."""
    process_id = message.think_process_id

    def rows(conn: Connection) -> list[tuple[TaskRow, int]]:
        process = process_for(conn, session.who, process_id)
        found = [task_row(conn, task) for task in tasks.of_process(conn, process.id)]
        return [
            (row, ROW_BYTES + 4 * len(row.goal) + len(dumps(row.result).encode()))
            for row in found
        ]

    sized = await session.hub.store.query(rows)
    return [
        TaskList(think_process_id=process_id, tasks=tuple(page), more=more or None)
        for page, more in pages(sized)
    ]


async def move(session: Session, message: TaskMove) -> list[Outbound]:
    """`task-move`."""
    return await _command(
        session,
        message.task_id,
        lambda tx: control.move(
            tx, session.who, message.task_id, message.before_task_id
        ),
    )


async def cancel(session: Session, message: TaskCancel) -> list[Outbound]:
    """`task-cancel`."""
    return await _command(
        session,
        message.task_id,
        lambda tx: control.cancel(tx, session.who, message.task_id),
    )


async def rerun(session: Session, message: TaskRerun) -> list[Outbound]:
    """`task-rerun`."""
    return await _command(
        session,
        message.task_id,
        lambda tx: control.rerun(tx, session.who, message.task_id),
    )


async def why(session: Session, message: WhyQuery) -> list[Outbound]:
    """`why`: the task's cause, followed to the root."""
    serves = session.hub.results.serves

    def answer(conn: Connection) -> Why:
        task = task_for(conn, session.who, message.task_id)
        found = reasons.why(conn, task)
        chain = (cause_of(cause) for cause in found.chain)
        held = task.status not in TASK_ENDED and not serves(task.process_id)
        return Why(
            task_id=task.id,
            status=task.status.value,
            text=f"{NOT_SERVED}. {found.text}" if held else found.text,
            chain=tuple(cause for cause in chain if cause is not None),
        )

    return [session.hub.store.read(answer)]


async def _command(
    session: Session, task_id: str, command: Callable[[Tx], Changed]
) -> list[Outbound]:
    hub = session.hub
    changed = await hub.store.write(command, long=True)
    for call in changed.cancelled:
        hub.router.cancel(call)
    return [
        hub.store.read(
            lambda conn: task_update(conn, task_for(conn, session.who, task_id))
        )
    ]
