"""`process-*`: start, steer and show think processes."""

from collections.abc import Callable

from vance_sdk.wire.messages.processes import (
    ProcessContinue,
    ProcessGet,
    ProcessGetQuery,
    ProcessList,
    ProcessListQuery,
    ProcessPause,
    ProcessStart,
    ProcessSteer,
    ProcessStop,
)
from vance_sdk.wire.messages.tables import Outbound
from vancetope.gateway.session.context import Session
from vancetope.gateway.session.rows import (
    pages,
    process_detail,
    process_row,
    process_status,
)
from vancetope.model.principal import Principal
from vancetope.model.records import ProcessRecord
from vancetope.processes.commands import control
from vancetope.processes.commands.access import process_for
from vancetope.processes.commands.control import Changed
from vancetope.processes.commands.start import StartRequest
from vancetope.store import Connection
from vancetope.store.db import Tx
from vancetope.store.queries import processes

#: `process-list` shows what is open and what ended within this time.
RECENT_MS = 24 * 3600 * 1000
ROW_BYTES = 600

Command = Callable[[Tx, Principal, str], Changed]


async def start(session: Session, message: ProcessStart) -> list[Outbound]:
    """`process-start`: the answer comes after the commit and is the acknowledgement."""
    record = session.record
    process = await session.hub.starter.start(
        session.who,
        StartRequest(
            goal=message.goal,
            project_id=record.project_id,
            session_id=record.id,
            profile=record.profile,
            workflow_id=message.workflow_id,
            given=message.input or {},
            recipe=message.recipe,
            idempotency_key=message.idempotency_key,
            autonomous=message.autonomous,
        ),
    )
    return _status(session, process)


async def go_on(session: Session, message: ProcessContinue) -> list[Outbound]:
    """`process-continue`."""
    return await _command(session, control.go_on, message.think_process_id)


async def pause(session: Session, message: ProcessPause) -> list[Outbound]:
    """`process-pause`."""
    return await _command(session, control.pause, message.think_process_id)


async def stop(session: Session, message: ProcessStop) -> list[Outbound]:
    """`process-stop`."""
    return await _command(session, control.stop, message.think_process_id)


async def steer(session: Session, message: ProcessSteer) -> list[Outbound]:
    """`process-steer`."""
    return await _command(session, control.steer, message.think_process_id)


async def listed(session: Session, message: ProcessListQuery) -> list[Outbound]:
    """`process-list`."""
    hub = session.hub
    after = None if message.all else hub.clock.now_ms() - RECENT_MS
    principal = None if session.who.is_owner else session.who.id
    rows = await hub.store.query(
        lambda conn: [
            process_row(conn, process)
            for process in reversed(
                processes.listed(
                    conn,
                    ended_after=after,
                    project_id=message.project_id,
                    principal=principal,
                )
            )
        ]
    )
    sized = ((row, ROW_BYTES + 4 * len(row.title)) for row in rows)
    return [
        ProcessList(processes=tuple(page), more=more or None)
        for page, more in pages(sized)
    ]


async def get(session: Session, message: ProcessGetQuery) -> list[Outbound]:
    """`process-get`."""

    def detail(conn: Connection) -> ProcessGet:
        process = process_for(conn, session.who, message.think_process_id)
        return ProcessGet(process=process_detail(conn, process))

    return [session.hub.store.read(detail)]


async def _command(
    session: Session, command: Command, process_id: str
) -> list[Outbound]:
    changed = await session.hub.store.write(
        lambda tx: command(tx, session.who, process_id), long=True
    )
    for call in changed.cancelled:
        session.hub.router.cancel(call)
    return _status(session, changed.process)


def _status(session: Session, process: ProcessRecord) -> list[Outbound]:
    return [session.hub.store.read(lambda conn: process_status(conn, process))]
