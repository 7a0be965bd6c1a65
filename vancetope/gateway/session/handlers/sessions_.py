"""`session-*`, `inbox-list` and `client_connected`."""

import attrs

from vance_sdk.wire.messages.handshake import ClientConnected
from vance_sdk.wire.messages.sessions import (
    Ack,
    InboxItem,
    InboxList,
    InboxListQuery,
    Notification,
    SessionBootstrap,
    SessionBootstrapQuery,
    SessionList,
    SessionListQuery,
    SessionSummary,
)
from vance_sdk.wire.messages.tables import Outbound
from vancetope.errors import NotFound
from vancetope.gateway.session.context import Session
from vancetope.gateway.session.handshake import offers_of
from vancetope.gateway.session.presence import take_over
from vancetope.gateway.session.rows import cause_of
from vancetope.model.records import SessionRecord
from vancetope.processes.commands.sessions import (
    Arrival,
    Opened,
    leave,
    open_session,
    remember_offers,
)
from vancetope.store.db import Tx
from vancetope.store.queries import inbox as inbox_rows
from vancetope.store.queries import sessions
from vancetope.tools.registry import accept_offers


async def bootstrap(session: Session, message: SessionBootstrapQuery) -> list[Outbound]:
    """`session-bootstrap`: this connection moves to another session."""
    hub, old = session.hub, session.record
    arrival = Arrival(
        profile=old.profile,
        client_key=old.client_key,
        client_id=old.client_id,
        client_name=old.client_name,
        client_type=old.client_type,
        journal_id=old.journal_id,
        resume=message.session_id,
        project_id=message.project_id,
    )
    if message.session_id == old.id:
        return [SessionBootstrap(session_id=old.id, resumed=True)]

    def move(tx: Tx) -> Opened:
        opened = open_session(tx, hub.clock, session.who, arrival)
        leave(tx, old, disconnect=False)
        return opened

    opened = await hub.store.write(move)
    hub.clients.detach(session.client)
    hub.live.pop(old.id, None)
    hub.timers.session_left(old.id)
    session.record = opened.record
    session.client = attrs.evolve(
        session.client,
        session_id=opened.record.id,
        epoch=opened.record.epoch,
        project_id=opened.record.project_id,
        order=hub.clients.next_order(),
        in_flight=set(),
    )
    session.cursor = hub.store.read(sessions.last_seq)
    await take_over(session, None)
    hub.clients.attach(session.client)
    return [SessionBootstrap(session_id=opened.record.id, resumed=opened.resumed)]


async def listed(session: Session, message: SessionListQuery) -> list[Outbound]:
    """`session-list`: the profile is shown, so that pickers can hide mismatches."""
    hub = session.hub
    found = hub.store.read(lambda conn: sessions.of_principal(conn, session.who.id))
    wanted = message.project_id
    rows = [
        _summary(record)
        for record in found
        if wanted is None or record.project_id == wanted
    ]
    return [SessionList(sessions=tuple(rows))]


def _summary(record: SessionRecord) -> SessionSummary:
    return SessionSummary(
        session_id=record.id,
        profile=record.profile,
        project_id=record.project_id,
        client_name=record.client_name or record.client_key,
        status="connected" if record.connected else "resumable",
        last_seen=record.seen_at,
    )


async def inbox(session: Session, message: InboxListQuery) -> list[Outbound]:
    """`inbox-list`: the tasks that wait for a person's decision."""
    principal = None if session.who.is_owner else session.who.id
    found = session.hub.store.read(
        lambda conn: inbox_rows.waiting_for_person(conn, message.project_id, principal)
    )
    items = []
    for task, project_id, title in found:
        cause = cause_of(task.cause)
        if cause is not None:
            items.append(
                InboxItem(
                    task_id=task.id,
                    think_process_id=task.process_id,
                    project_id=project_id,
                    title=title,
                    cause=cause,
                )
            )
    return [InboxList(items=tuple(items))]


async def offers(session: Session, message: ClientConnected) -> list[Outbound]:
    """`client_connected`: replaces what this client offers (seed 000 section 5)."""
    hub, client = session.hub, session.client
    if message.session_id != session.record.id:
        text = f"No session {message.session_id}"
        raise NotFound(text)
    accepted, refused = accept_offers(hub.registry, offers_of(message.available_tools))
    await hub.store.write(
        lambda tx: remember_offers(tx, session.who, client.key, accepted)
    )
    hub.clients.offer(client, accepted)
    warnings: list[Outbound] = [
        Notification(level="warning", message=f"Tool {name} is not taken: {reason}")
        for name, reason in refused
    ]
    # An unasked ack is not in the seed: only those who know it get one.
    acked = session.vtp or message.id is not None
    return [*warnings, Ack()] if acked else warnings
