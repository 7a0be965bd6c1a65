"""One connection to a Brain: handshake, requests, liveness, end (PROTOCOL.md 1, 2)."""

import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

import attrs
import orjson
import trio

from vance_sdk.address import parse_address
from vance_sdk.awake import WallClock, wall_seconds
from vance_sdk.errors import (
    BrainRefused,
    ConnectionLost,
    HandshakeRefused,
    MessageTooBig,
    Timeout,
    UnexpectedAnswer,
)
from vance_sdk.handshake import shake_hands
from vance_sdk.paging import has_more, joined
from vance_sdk.scopes import background_nursery
from vance_sdk.transport import ABNORMAL, CLOSE_SECONDS, Connector, Transport, connector
from vance_sdk.wire.codec import decode_outbound, encode
from vance_sdk.wire.errors import BAD_MESSAGE, ProtocolError
from vance_sdk.wire.limits import (
    DEAD_SECONDS,
    FRAME_BYTES,
    PING_SECONDS,
    PROTO,
    CloseCode,
)
from vance_sdk.wire.messages import (
    Auth,
    ClientConnected,
    ClientInfo,
    ClientTool,
    Disconnect,
    Error,
    GoAway,
    Handshake,
    Inbound,
    InflightCall,
    Outbound,
    SessionChoice,
    SessionOpened,
)

REQUEST_SECONDS: Final = 30.0
"""How long a direct answer may take, unless the caller says otherwise."""

_OUTBOX_FRAMES: Final = 16

OnFrame: TypeAlias = Callable[[Outbound], None]


@attrs.define(eq=False)
class _Waiter:
    """One slot for one answer."""

    done: trio.Event = attrs.field(factory=trio.Event)
    answer: Outbound | None = None
    problem: str | None = None


@attrs.define(eq=False, kw_only=True)
class Connection:
    """An open connection. Made by ``open_connection``.

    Attributes:
        opened: The Brain's answer to the handshake.
        lost: How the connection ended; ``None`` while it is open.
        closed: Set when it has ended.
    """

    opened: SessionOpened
    lost: ConnectionLost | None = attrs.field(init=False, default=None)
    closed: trio.Event = attrs.field(init=False, factory=trio.Event)
    _transport: Transport
    _on_frame: OnFrame
    _wall: WallClock
    _waiters: dict[str, _Waiter] = attrs.field(init=False, factory=dict)
    _ids: "itertools.count[int]" = attrs.field(init=False, factory=itertools.count)
    _outbox: trio.MemorySendChannel[str] = attrs.field(init=False)
    _to_send: trio.MemoryReceiveChannel[str] = attrs.field(init=False)
    _retry_in_ms: int | None = attrs.field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        channel = trio.open_memory_channel[str](_OUTBOX_FRAMES)
        self._outbox, self._to_send = channel

    @property
    def session_id(self) -> str:
        """The session this connection is bound to."""
        return self.opened.session_id

    async def request(
        self,
        message: Inbound,
        *,
        timeout: float = REQUEST_SECONDS,  # noqa: ASYNC109 - the error names it
    ) -> Outbound:
        """Send a message and return the frame that answers it directly.

        A list that comes in several frames is returned as one. A frame without an ``id`` gets one. An answer that comes too late is dropped.

        Raises:
            BrainRefused: The answer is an ``error``.
            UnexpectedAnswer: The answer cannot be read.
            Timeout: None came within ``timeout`` seconds.
            ConnectionLost: The connection ended first; ``sent`` tells whether the
                Brain may have the request.
            MessageTooBig: It was not sent.
        """
        frame_id = message.id or f"c{next(self._ids)}"
        message = attrs.evolve(message, id=frame_id)
        waiter = _Waiter()
        self._waiters[frame_id] = waiter
        try:
            with trio.move_on_after(timeout):
                await self.send(message)
                await waiter.done.wait()
        finally:
            del self._waiters[frame_id]
        return self._outcome(message, waiter, timeout)

    def _outcome(self, message: Inbound, waiter: _Waiter, timeout: float) -> Outbound:
        if isinstance(waiter.answer, Error):
            error = waiter.answer
            raise BrainRefused(error.code, error.message, error.context)
        if waiter.answer is not None and not has_more(waiter.answer):
            return waiter.answer
        if waiter.problem is not None:
            raise UnexpectedAnswer(waiter.problem)
        if self.lost is not None:
            raise self._lost_now(sent=True)
        raise Timeout(f"no answer to {message.TYPE} within {timeout:g} s")

    async def send(self, message: Inbound) -> None:
        """Queue a message for sending; messages leave in order.

        Raises:
            ConnectionLost: The connection has ended; the message did not leave.
            MessageTooBig: It is over the Brain's limit.
            ProtocolError: It cannot be written as JSON.
        """
        text = encode(message)
        limits = self.opened.limits
        most = limits.frame_bytes if limits else FRAME_BYTES
        if len(text.encode()) > most:
            raise MessageTooBig(f"{message.TYPE} is over the limit of {most} bytes")
        if self.lost is not None:
            raise self._lost_now(sent=False)
        try:
            await self._outbox.send(text)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise self._lost_now(sent=False) from None

    async def offer(self, tools: Sequence[ClientTool]) -> None:
        """Replace the tools that this client offers, and wait for the ``ack``.

        Raises:
            As ``request``.
        """
        await self.request(
            ClientConnected(session_id=self.session_id, available_tools=tuple(tools))
        )

    async def disconnect(self) -> None:
        """Say goodbye and wait, within ``CLOSE_SECONDS``, for the Brain to close."""
        with trio.move_on_after(CLOSE_SECONDS):
            try:
                await self.send(Disconnect())
                await self.closed.wait()
            except ConnectionLost:
                return

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read, write and watch until the block ends. For ``open_connection``."""
        async with background_nursery() as nursery:
            for task in (self._read, self._write, self._watch):
                nursery.start_soon(task)
            try:
                yield
            finally:
                self._end(ConnectionLost(CloseCode.NORMAL, "closed here"))

    def _lost_now(self, *, sent: bool) -> ConnectionLost:
        lost = self.lost or ConnectionLost(ABNORMAL)
        return ConnectionLost(
            lost.code, lost.reason, sent=sent, retry_in_ms=self._retry_in_ms
        )

    def _end(self, lost: ConnectionLost) -> None:
        """Note the first end there was, and wake everybody who waits."""
        if self.lost is not None:
            return
        self.lost = lost
        self.lost = self._lost_now(sent=False)
        self.closed.set()
        self._outbox.close()
        self._to_send.close()
        for waiter in self._waiters.values():
            waiter.done.set()

    async def _read(self) -> None:
        while self.lost is None:
            try:
                text = await self._transport.receive()
            except ConnectionLost as lost:
                self._end(lost)
            else:
                self._deliver(text)

    def _deliver(self, text: str) -> None:
        try:
            frame = decode_outbound(text, max_bytes=FRAME_BYTES)
        except ProtocolError as error:
            # What a newer Brain says may be unknown here; only an answer matters.
            waiter = self._waiters.get(_reply_to(text))
            if waiter is not None:
                waiter.problem = error.message
                waiter.done.set()
            return
        waiter = self._waiters.get(frame.reply_to or "")
        if waiter is not None:
            if not waiter.done.is_set():
                waiter.answer = joined(waiter.answer, frame)
                if not has_more(frame):
                    waiter.done.set()
            return
        if isinstance(frame, GoAway):
            self._retry_in_ms = frame.retry_in_ms
        self._on_frame(frame)

    async def _write(self) -> None:
        try:
            async for text in self._to_send:
                await self._transport.send(text)
        except trio.ClosedResourceError:
            return
        except ConnectionLost as lost:
            self._end(lost)

    async def _watch(self) -> None:
        """Ping a silent Brain, and give up one that stays silent (PROTOCOL.md 1)."""
        limits = self.opened.limits
        ping_s = limits.ping_ms / 1000 if limits else PING_SECONDS
        dead_s = limits.dead_ms / 1000 if limits else DEAD_SECONDS
        async with trio.open_nursery() as nursery:
            pinging: trio.Event | None = None
            while self.lost is None:
                silent = trio.current_time() - self._transport.heard_at
                if silent >= dead_s:
                    await self._give_up(f"silent for {silent:.0f} s")
                    break
                if silent >= ping_s and (pinging is None or pinging.is_set()):
                    pinging = trio.Event()
                    nursery.start_soon(self._ping, pinging)
                await self._nap(min(ping_s, dead_s - silent), dead_s)
            nursery.cancel_scope.cancel()

    async def _nap(self, seconds: float, dead_s: float) -> None:
        before = self._wall()
        with trio.move_on_after(seconds):
            await self.closed.wait()
        # A machine that slept has a connection that only looks alive.
        if self._wall() - before > seconds + dead_s:
            await self._give_up("this machine was suspended")

    async def _give_up(self, reason: str) -> None:
        self._end(ConnectionLost(ABNORMAL, reason))
        await self._transport.abort()

    async def _ping(self, done: trio.Event) -> None:
        try:
            await self._transport.ping()
        except ConnectionLost as lost:
            self._end(lost)
        finally:
            done.set()


def _reply_to(text: str) -> str:
    """Return what a frame that cannot be read answers; empty: nothing."""
    try:
        frame = orjson.loads(text)
    except orjson.JSONDecodeError:
        return ""
    found = frame.get("reply_to") if isinstance(frame, dict) else None
    return found if isinstance(found, str) else ""


def _ignore(_: object) -> None:
    """Handle nothing."""


@asynccontextmanager
async def open_connection(  # noqa: PLR0913 - each is one thing to choose
    url: str,
    *,
    token: str,
    client: ClientInfo,
    tools: Sequence[ClientTool] = (),
    session: SessionChoice | None = None,
    profile: str | None = None,
    name: str | None = None,
    proto: str | None = PROTO,
    inflight: Sequence[InflightCall] | None = None,
    on_frame: OnFrame = _ignore,
    on_open: Callable[[Connection], None] = _ignore,
    connect: Connector | None = None,
    wall: WallClock = wall_seconds,
) -> AsyncIterator[Connection]:
    """Connect, shake hands, and serve the connection until the block ends.

    Args:
        url: Any of the Brain's URLs (``vance_sdk.address.parse_address``).
        token: A JWT or an API key. It goes into the first frame, nowhere else.
        client: Who connects; ``tools`` replaces its tools.
        tools: What this client offers. What does not fit into the first frame
            follows in ``client_connected``.
        session: A session to resume or a project for a new one; absent: the
            newest session that fits.
        profile: The connection's profile; ``web`` when neither this nor the URL
            names one.
        name: The client's name for logs and addresses such as ``tool@name``.
        proto: ``None`` speaks the plain protocol, without delivery guarantees.
        inflight: Calls whose results the Brain has not acknowledged.
        on_frame: Called in order with every frame that answers no request; must
            not block.
        on_open: Called after the handshake, before the first such frame.
        connect: How to open the WebSocket.
        wall: Seconds of the wall clock.

    Raises:
        BadAddress: ``url``, ``profile`` or ``name`` has the wrong shape.
        ConnectionLost: Nobody is there, or the handshake did not end in time.
        HandshakeRefused: The Brain does not take this client.
    """
    address = parse_address(url, profile=profile, name=name)
    handshake = Handshake(
        client=attrs.evolve(client, tools=tuple(tools)),
        auth=Auth(token=token),
        session=session,
        proto=proto,
        inflight=tuple(inflight) if inflight is not None else None,
    )
    dial = connect or connector()
    async with dial(address) as transport:
        opened, complete = await shake_hands(transport, handshake)
        connection = Connection(
            opened=opened, transport=transport, on_frame=on_frame, wall=wall
        )
        on_open(connection)
        async with connection.running():
            if not complete:
                await _offer_the_rest(connection, tools)
            yield connection


async def _offer_the_rest(connection: Connection, tools: Sequence[ClientTool]) -> None:
    try:
        await connection.offer(tools)
    except BrainRefused as error:
        raise HandshakeRefused(error.code, error.message) from None
    except (MessageTooBig, UnexpectedAnswer) as error:
        raise HandshakeRefused(BAD_MESSAGE, str(error)) from None
    except Timeout as error:
        raise ConnectionLost(CloseCode.HANDSHAKE_TIMEOUT, str(error)) from None
