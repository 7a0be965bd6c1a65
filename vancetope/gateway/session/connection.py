"""The life of one connection: handshake, then reader, writer, projection and pings.

Whichever of them ends first ends the others; leaving is recorded under a shield, so
that a client's calls are held the moment it is gone.
"""

import logging

import attrs
import trio

from vance_sdk.wire.codec import decode_inbound, encode
from vance_sdk.wire.errors import ProtocolError
from vance_sdk.wire.limits import CloseCode
from vance_sdk.wire.messages.handshake import Disconnect, Handshake, ResumeDone
from vance_sdk.wire.messages.sessions import Error, Notification
from vance_sdk.wire.messages.tables import Inbound, Outbound
from vance_sdk.wire.params import ConnectionParams
from vancetope.gateway.session import handshake, projection
from vancetope.gateway.session.boundary import bad, to_wire
from vancetope.gateway.session.context import Hub, Session
from vancetope.gateway.session.handlers import handle
from vancetope.gateway.session.presence import REPLACED, Superseded, present
from vancetope.gateway.websocket import WebSocket
from vancetope.processes.commands.sessions import Opened

logger = logging.getLogger(__name__)


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
    try:
        async with present(session, hello.client.client_id):
            session.put(handshake.answer(session, opened, hello.id))
            await _run(session, opened, refused)
    except Superseded:
        await ws.close(CloseCode.REPLACED, REPLACED)


def tell_refused(session: Session, refused: list[tuple[str, str]]) -> None:
    """Say which offered tools are not taken, and why."""
    for name, reason in refused:
        message = f"Tool {name} is not taken: {reason}"
        session.put(Notification(level="warning", message=message))


async def _run(
    session: Session, opened: Opened, refused: list[tuple[str, str]]
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_write, session)
        nursery.start_soon(_ping, session)
        nursery.start_soon(_cut_off, session)
        if session.vtp and opened.resumed:
            await projection.pump(session)
            session.put(ResumeDone())
        tell_refused(session, refused)
        session.hub.clients.attach(session.client)
        nursery.start_soon(projection.follow, session)
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
                answered = frame.reply_to is not None or message.id is None
                asked = frame if answered else attrs.evolve(frame, reply_to=message.id)
                session.put(asked)


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
