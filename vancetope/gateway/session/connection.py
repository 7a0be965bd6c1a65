"""The life of one connection: handshake, then reader, writer, projection and pings.

Whichever of them ends first ends the others; leaving is recorded under a shield, so
that a client's calls are held the moment it is gone.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import attrs
import trio

from vance_sdk.wire.codec import decode_inbound, encode
from vance_sdk.wire.errors import ProtocolError
from vance_sdk.wire.limits import CloseCode
from vance_sdk.wire.messages.handshake import Disconnect, Handshake, ResumeDone
from vance_sdk.wire.messages.sessions import Error, Notification
from vance_sdk.wire.messages.tables import Inbound, Outbound
from vance_sdk.wire.params import ConnectionParams
from vancetope.errors import BrainError
from vancetope.gateway.session import handshake, projection
from vancetope.gateway.session.boundary import bad, to_wire
from vancetope.gateway.session.context import Hub, Session
from vancetope.gateway.session.handlers import handle
from vancetope.gateway.websocket import WebSocket
from vancetope.processes.commands.sessions import leave

logger = logging.getLogger(__name__)

#: Recording that a client has left may not hold up the stop for ever.
LEAVE_S: Final = 5.0


async def serve_connection(
    hub: Hub, ws: WebSocket, params: ConnectionParams, peer: str
) -> None:
    """Serve one WebSocket until either side ends it.

    Raises:
        ConnectionLost: how it ended, alone or in a group.
    """
    try:
        hello, who = await handshake.receive_handshake(hub, ws)
        ws.authenticated()
        session, opened, refused = await handshake.open_for(hub, ws, params, hello, who)
    except handshake.Refused as refusal:
        logger.info("session.refused %s: %s", peer, refusal.error.message)
        await handshake.refuse(ws, refusal)
        return
    async with _present(session, replaces=hello.client.client_id):
        session.put(handshake.answer(session, opened, hello.id))
        if session.vtp and opened.resumed:
            await projection.pump(session)
            session.put(ResumeDone())
        tell_refused(session, refused)
        hub.clients.attach(session.client)
        await _run(session)


def tell_refused(session: Session, refused: list[tuple[str, str]]) -> None:
    """Say which offered tools are not taken, and why."""
    for name, reason in refused:
        message = f"Tool {name} is not taken: {reason}"
        session.put(Notification(level="warning", message=message))


@asynccontextmanager
async def _present(session: Session, replaces: str | None) -> AsyncIterator[None]:
    """Be the session's live connection; afterwards record that it is gone."""
    hub = session.hub
    await _replace_others(session, replaces)
    hub.live[session.record.id] = session
    hub.arrived.set()
    hub.timers.session_back(session.record.id)
    try:
        yield
    finally:
        with trio.move_on_after(LEAVE_S, shield=True):
            await depart(session)


async def _replace_others(session: Session, client_id: str | None) -> None:
    """The newest connection of a session, and of a client, is the only one."""
    for other in list(session.hub.live.values()):
        same_session = other.record.id == session.record.id
        same_client = client_id is not None and (
            (other.client.client_id, other.who.id) == (client_id, session.who.id)
        )
        if same_session or same_client:
            await other.ws.close(CloseCode.REPLACED, "replaced by a newer connection")


async def depart(session: Session) -> None:
    """The connection is gone: its offers, and at once its calls (D7)."""
    hub, record = session.hub, session.record
    if hub.live.get(record.id) is session:
        del hub.live[record.id]
    current = hub.clients.detach(session.client)
    try:
        left = await hub.store.write(
            lambda tx: leave(tx, record, disconnect=session.left)
        )
    except BrainError as exc:
        # A Brain whose disk is full; at its next start it finds the calls held.
        logger.warning("session.leave_failed %s: %s", record.id, exc)
        return
    if left and current:
        hub.timers.session_left(record.id)


async def _run(session: Session) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_write, session)
        nursery.start_soon(projection.follow, session)
        nursery.start_soon(_ping, session)
        nursery.start_soon(_cut_off, session)
        await _read(session)
        nursery.cancel_scope.cancel()


async def _read(session: Session) -> None:
    """Answer frames one after the other, until `disconnect`."""
    limit = session.hub.config.gateway.frame_bytes
    while not session.left:
        await session.outbox.room()
        text = await session.ws.receive()
        try:
            message = decode_inbound(text, max_bytes=limit)
        except ProtocolError as exc:
            session.put(to_wire(exc, None))
            continue
        async with session.order:
            for frame in await _answers(session, message):
                session.put(attrs.evolve(frame, reply_to=frame.reply_to or message.id))


async def _answers(session: Session, message: Inbound) -> list[Outbound]:
    """The direct answers to a frame; whatever goes wrong is one of them."""
    if isinstance(message, Handshake):
        return [bad("The handshake is over", message.id)]
    if isinstance(message, Disconnect):
        session.left = True
        return []
    try:
        return await handle(session, message)
    except Exception as exc:  # noqa: BLE001 - the exception-to-wire boundary
        return [to_wire(exc, message.id)]


async def _write(session: Session) -> None:
    while True:
        frame = await session.outbox.get()
        await session.ws.send(_text(frame))


def _text(frame: Outbound) -> str:
    try:
        return encode(frame)
    except ProtocolError:
        logger.exception("frame.unwritable %s", type(frame).__name__)
        reason = "The answer cannot be written as a frame"
        return encode(Error(code="internal", message=reason, reply_to=frame.reply_to))


async def _ping(session: Session) -> None:
    interval = session.hub.config.gateway.ping_interval.seconds
    while True:
        await trio.sleep(interval)
        await session.ws.ping()


async def _cut_off(session: Session) -> None:
    await session.outbox.overflowed.wait()
    await session.ws.close(CloseCode.TOO_SLOW, "the client does not read")
