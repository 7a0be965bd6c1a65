"""Events become frames: what a session is owed is a cursor over the event table.

The frame shows the row as it is now, not as it was, so several events about one task
within a page are one frame.
"""

from typing import Final

import attrs
import trio

from vance_sdk.wire.messages.sessions import Notification
from vance_sdk.wire.messages.tables import Outbound
from vancetope.events import Event
from vancetope.gateway.session.context import Session
from vancetope.gateway.session.rows import process_status, task_update
from vancetope.model.json import Json
from vancetope.model.principal import Principal
from vancetope.processes.flow import PROCESS_CHANGED, TASK_CHANGED
from vancetope.store import Connection
from vancetope.store.queries import processes, sessions, tasks

#: Events looked at in one go; the loop breathes between two pages.
PAGE: Final = 50
#: Between two looks; what happens to a task meanwhile is one frame.
COALESCE_S: Final = 0.02
NOTIFIED: Final = "notification"


@attrs.frozen(kw_only=True)
class Projected:
    """The frames of one page and the cursor behind it."""

    frames: list[Outbound]
    cursor: int
    more: bool


def project(
    conn: Connection, who: Principal, project_id: str, cursor: int
) -> Projected:
    """The next frames for a session of this project."""
    events = sessions.events_after(conn, project_id, cursor, PAGE)
    last: dict[tuple[str, str | None], Event] = {}
    for event in events:
        key = (event.kind, event.task_id or event.process_id or str(event.seq))
        last.pop(key, None)
        last[key] = event
    frames: list[Outbound] = []
    for event in last.values():
        frame = _frame(conn, who, event)
        if frame is not None:
            frames.append(frame)
    return Projected(
        frames=frames,
        cursor=events[-1].seq if events else cursor,
        more=len(events) == PAGE,
    )


def _frame(conn: Connection, who: Principal, event: Event) -> Outbound | None:
    if event.process_id is not None:
        process = processes.get(conn, event.process_id)
        if process is None or not (who.is_owner or process.principal == who.id):
            return None
        if event.kind == PROCESS_CHANGED:
            return attrs.evolve(process_status(conn, process), seq=event.seq)
    if event.kind == TASK_CHANGED and event.task_id is not None:
        task = tasks.get(conn, event.task_id)
        return (
            None
            if task is None
            else attrs.evolve(task_update(conn, task), seq=event.seq)
        )
    if event.kind == NOTIFIED and isinstance(event.body, dict):
        return _notification(event.body, event.seq)
    return None


def _notification(body: dict[str, Json], seq: int) -> Notification:
    context = body.get("context")
    return Notification(
        level=str(body.get("level", "info")),
        message=str(body.get("message", "")),
        context=context if isinstance(context, dict) else None,
        seq=seq,
    )


async def pump(session: Session) -> None:
    """Send everything behind the cursor."""
    store = session.hub.store
    while True:
        await session.outbox.room()
        async with session.order:
            page = store.read(
                lambda conn: project(
                    conn, session.who, session.record.project_id, session.cursor
                )
            )
            session.cursor = page.cursor
            for frame in page.frames:
                session.put(frame if session.vtp else attrs.evolve(frame, seq=None))
        if not page.more:
            return


async def follow(session: Session) -> None:
    """Project for as long as the session is connected."""
    kinds = (TASK_CHANGED, PROCESS_CHANGED, NOTIFIED)
    with session.hub.bus.subscribe(*kinds) as news:
        while True:
            await pump(session)
            breath = trio.current_time() + COALESCE_S
            await news.wait()
            await trio.sleep_until(breath)
