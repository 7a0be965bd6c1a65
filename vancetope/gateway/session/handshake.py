"""The first frame: who is it, which session, which tools (PROTOCOL section 2)."""

from collections.abc import Iterable

import trio

from vance_sdk.wire.codec import decode_inbound, encode
from vance_sdk.wire.errors import ProtocolError
from vance_sdk.wire.limits import PROTO, CloseCode
from vance_sdk.wire.messages.common import Project as WireProject
from vance_sdk.wire.messages.handshake import (
    ClientTool,
    Handshake,
    Limits,
    SessionCreated,
    SessionResumed,
)
from vance_sdk.wire.messages.sessions import Error
from vance_sdk.wire.params import ConnectionParams
from vancetope.errors import (
    BrainError,
    NotFound,
    ProfileMismatch,
    Unauthorized,
    Unavailable,
)
from vancetope.gateway.session.boundary import bad, to_wire
from vancetope.gateway.session.context import Hub, Session
from vancetope.gateway.session.outbox import Outbox
from vancetope.gateway.session.rows import active
from vancetope.gateway.websocket import WebSocket
from vancetope.model import ids
from vancetope.model.principal import Principal
from vancetope.model.tool import Effect, ToolType
from vancetope.processes.commands.sessions import (
    Arrival,
    Opened,
    open_session,
    remember_offers,
)
from vancetope.store.db import Tx
from vancetope.store.queries import processes, sessions
from vancetope.tools.clients import ConnectedClient
from vancetope.tools.registry import Offer, accept_offers


class Refused(Exception):
    """The handshake failed: the error frame to send and the code to close with."""

    def __init__(self, error: Error, code: int) -> None:
        super().__init__(error.message)
        self.error = error
        self.code = code


async def receive_handshake(hub: Hub, ws: WebSocket) -> tuple[Handshake, Principal]:
    """Wait for a handshake whose credential verifies.

    Raises:
        Refused: anything else came, or nothing in time.
        ConnectionLost: the client left.
    """
    text: str | None = None
    with trio.move_on_after(hub.config.gateway.handshake_timeout.seconds):
        text = await ws.receive()
    if text is None:
        error = bad("No handshake in time")
        raise Refused(error, CloseCode.HANDSHAKE_TIMEOUT)
    try:
        message = decode_inbound(text, max_bytes=hub.config.gateway.first_frame_bytes)
    except ProtocolError as exc:
        raise Refused(to_wire(exc, None), CloseCode.BAD_FRAME) from None
    if not isinstance(message, Handshake):
        error = bad("$.type: the first frame must be a handshake", message.id)
        raise Refused(error, CloseCode.BAD_FRAME)
    try:
        who = hub.verifier.verify(message.auth.token)
    except Unauthorized as exc:
        raise Refused(to_wire(exc, message.id), CloseCode.UNAUTHORIZED) from None
    return message, who


async def open_for(
    hub: Hub, ws: WebSocket, params: ConnectionParams, hello: Handshake, who: Principal
) -> tuple[Session, Opened, list[tuple[str, str]]]:
    """Put the connection on its session.

    Returns:
        The session, how it was opened, and the offers that were refused.

    Raises:
        Refused: the session cannot be had.
    """
    accepted, refused = accept_offers(hub.registry, offers_of(hello.client.tools))
    arrival = arrival_of(hub, params, hello)

    def opening(tx: Tx) -> Opened:
        opened = open_session(tx, hub.clock, who, arrival)
        remember_offers(tx, who, arrival.client_key, accepted)
        return opened

    try:
        opened = await hub.store.write(opening)
    except BrainError as exc:
        raise Refused(to_wire(exc, hello.id), _close_code(exc)) from None
    vtp = hello.proto == PROTO
    outbox = Outbox(vtp)
    client = connected_client(hub, opened, who, params, outbox)
    client.offers = accepted
    given = hello.session.last_seq if hello.session else None
    now = hub.store.read(sessions.last_seq)
    session = Session(
        hub=hub,
        ws=ws,
        who=who,
        record=opened.record,
        client=client,
        capabilities=hello.client.capabilities,
        vtp=vtp,
        cursor=given if vtp and opened.resumed and given is not None else now,
        outbox=outbox,
    )
    return session, opened, refused


def arrival_of(hub: Hub, params: ConnectionParams, hello: Handshake) -> Arrival:
    """What the handshake and the URL say about who arrives."""
    info = hello.client
    client_id = info.client_id or ids.new_id(ids.CLIENT, hub.clock)
    choice = hello.session
    return Arrival(
        profile=params.profile,
        client_key=params.name or client_id,
        client_id=client_id,
        client_name=info.name,
        client_type=info.type,
        journal_id=info.journal_id,
        resume=choice.resume if choice else None,
        project_id=choice.project_id if choice else None,
    )


def connected_client(
    hub: Hub, opened: Opened, who: Principal, params: ConnectionParams, outbox: Outbox
) -> ConnectedClient:
    """The connection as routing sees it."""
    record = opened.record
    return ConnectedClient(
        client_id=record.client_id,
        session_id=record.id,
        owner=who.is_owner,
        principal=who.id,
        epoch=record.epoch,
        order=hub.clients.next_order(),
        window=hub.config.limits.window,
        send=outbox.put,
        name=params.name,
        profile=record.profile,
        project_id=record.project_id,
        journal_id=record.journal_id,
    )


def offers_of(tools: Iterable[ClientTool]) -> list[Offer]:
    """The tools of a handshake or `client_connected` as offers."""
    return [
        Offer(
            name=tool.name,
            type=ToolType(tool.type) if tool.type else None,
            mcp_server=tool.mcp_server,
            description=tool.description or "",
            input_schema=tool.input_schema,
            effect_proposal=Effect(tool.effect) if tool.effect else None,
            digest=tool.digest,
        )
        for tool in tools
    ]


def answer(
    session: Session, opened: Opened, reply_to: str | None
) -> SessionCreated | SessionResumed:
    """`session_created` or `session_resumed`: the seed's fields, then ours."""
    hub, record = session.hub, opened.record
    kind = SessionResumed if opened.resumed else SessionCreated
    principal = None if session.who.is_owner else session.who.id
    open_processes = hub.store.read(
        lambda conn: [
            active(conn, process)
            for process in processes.listed(
                conn,
                ended_after=hub.clock.now_ms(),
                project_id=record.project_id,
                principal=principal,
            )
        ]
    )
    return kind(
        session_id=record.id,
        project=WireProject(id=opened.project.id, name=opened.project.name),
        active_think_processes=tuple(open_processes),
        server_tools=tuple(hub.registry.server_tools()),
        epoch=record.epoch,
        seq=hub.store.read(sessions.last_seq) if session.vtp else None,
        limits=_limits(hub),
        verdicts=() if session.vtp else None,
        reply_to=reply_to,
    )


def _limits(hub: Hub) -> Limits:
    gateway, limits = hub.config.gateway, hub.config.limits
    return Limits(
        frame_bytes=gateway.frame_bytes,
        depth=gateway.json_depth,
        window=limits.window,
        ping_ms=gateway.ping_interval.ms,
        dead_ms=gateway.dead_after.ms,
        resume_ms=gateway.resume_window.ms,
        inline_result_bytes=limits.inline_result_bytes,
    )


def _close_code(exc: BrainError) -> int:
    match exc:
        case ProfileMismatch():
            return CloseCode.PROFILE_MISMATCH
        case NotFound():
            return CloseCode.SESSION_GONE
        case Unavailable():
            return CloseCode.INTERNAL
        case _:
            return CloseCode.BAD_FRAME


async def refuse(ws: WebSocket, refusal: Refused) -> None:
    """Say why and close."""
    await ws.send(encode(refusal.error))
    await ws.close(refusal.code, refusal.error.message)
