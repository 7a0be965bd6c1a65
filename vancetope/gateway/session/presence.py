"""Who is connected: one live connection a session, and one a client."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import trio

from vance_sdk.wire.limits import CloseCode
from vancetope.errors import BrainError
from vancetope.gateway.session.context import Session
from vancetope.gateway.websocket import TOO_BIG
from vancetope.processes import calls
from vancetope.processes.commands.sessions import leave
from vancetope.store.db import Tx

logger = logging.getLogger(__name__)

#: Recording that a client has left may not hold up the stop for ever.
LEAVE_S: Final = 5.0
#: How long a newer connection waits until an older one has said goodbye and left.
REPLACE_S: Final = 10.0
REPLACED: Final = "replaced by a newer connection"


class Superseded(Exception):
    """A newer connection of the same session or client is there already."""


@asynccontextmanager
async def present(session: Session, client_id: str | None) -> AsyncIterator[None]:
    """Be the session's live connection; afterwards record that it is gone.

    Args:
        session: the connection.
        client_id: what the client calls itself; its older connections are replaced.

    Raises:
        Superseded: this one is the older of two that came at once.
    """
    try:
        await take_over(session, client_id)
        if not session.client.offers:
            session.hub.arrived.set()
        yield
    finally:
        with trio.move_on_after(LEAVE_S, shield=True):
            await depart(session)
        session.gone.set()


async def take_over(session: Session, client_id: str | None) -> None:
    """Close the older connections of the session and of the client, then be live.

    Raises:
        Superseded: one of the others is newer.
    """
    hub, record = session.hub, session.record
    while rivals := _rivals(session, client_id):
        for other in rivals:
            if _is_newer(other, session):
                raise Superseded
        for other in rivals:
            await other.ws.close(CloseCode.REPLACED, REPLACED)
            with trio.move_on_after(REPLACE_S) as bound:
                await other.gone.wait()
            if bound.cancelled_caught and hub.live.get(other.record.id) is other:
                del hub.live[other.record.id]  # it hangs; nothing of it counts now
    hub.live[record.id] = session
    hub.timers.session_back(record.id)
    # What an older connection of this session was sent and did not answer.
    await hub.store.write(lambda tx: calls.dropped(tx, record.id, record.epoch - 1))


def _is_newer(other: Session, session: Session) -> bool:
    """Whether the other came later: in the store, where that is known."""
    if other.record.id == session.record.id:
        return other.record.epoch > session.record.epoch
    return other.client.order > session.client.order


def _rivals(session: Session, client_id: str | None) -> list[Session]:
    def is_rival(other: Session) -> bool:
        if other is session:
            return False
        same_client = client_id is not None and (
            (other.client.client_id, other.who.id) == (client_id, session.who.id)
        )
        return same_client or other.record.id == session.record.id

    return [other for other in session.hub.live.values() if is_rival(other)]


async def depart(session: Session) -> None:
    """The connection is gone: its offers, and at once its calls (D7)."""
    hub, record = session.hub, session.record
    if hub.live.get(record.id) is session:
        del hub.live[record.id]
    hub.clients.detach(session.client)
    ended = session.ws.ended
    limit = hub.config.gateway.frame_bytes

    def go(tx: Tx) -> bool:
        if ended is not None and ended.code == TOO_BIG:
            calls.over_limit(tx, record.id, limit)
        return leave(tx, record, disconnect=session.left)

    try:
        left = await hub.store.write(go)
    except BrainError as exc:
        # A Brain whose disk is full; at its next start it finds the calls held.
        logger.warning("session.leave_failed %s: %s", record.id, exc)
        return
    if left:
        hub.timers.session_left(record.id)
