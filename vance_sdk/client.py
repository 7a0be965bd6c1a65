"""A client that stays connected: reconnects, resumes, serves its tools.

::

    async with open_client(url, token=key, tools=[tool]) as client:
        process_id = await client.start("Write the weekly report")
        print(await client.wait(process_id))
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final

import attrs
import trio

from vance_sdk.awake import WallClock, wall_seconds
from vance_sdk.commands import REQUEST_SECONDS, Commands, is_repeatable, with_key
from vance_sdk.connection import Connection, open_connection
from vance_sdk.errors import (
    BadAddress,
    ConnectionLost,
    HandshakeRefused,
    NotConnected,
    Timeout,
    VanceError,
)
from vance_sdk.events import EventFan, EventStream
from vance_sdk.local_tool import LocalTool
from vance_sdk.reconnect import (
    Backoff,
    Uniform,
    is_final,
    is_session_gone,
    is_unauthorized,
    system_uniform,
)
from vance_sdk.scopes import background_nursery
from vance_sdk.serving import ToolServer
from vance_sdk.settings import Credential, OnConnected, Settings, Token, Url, identified
from vance_sdk.transport import Connector
from vance_sdk.wire.messages import (
    ClientInfo,
    ClientTool,
    Inbound,
    Outbound,
    SequenceAck,
    SessionChoice,
    SessionCreated,
    SessionOpened,
    SessionResumed,
)

ACK_SECONDS: Final = 0.25
"""How long frames may be unacknowledged."""


@attrs.define(eq=False, kw_only=True)
class Client(Commands):
    """A client of a Brain. Made by ``open_client``.

    Attributes:
        session_id: The session it has, or will try to resume.
        problem: Why the last attempt to connect failed; ``None`` while connected.
    """

    session_id: str | None = None
    problem: VanceError | None = attrs.field(init=False, default=None)
    _settings: Settings
    _tools: dict[str, LocalTool]
    _server: ToolServer = attrs.field(init=False)
    _credential: Credential = attrs.field(init=False)
    _backoff: Backoff = attrs.field(init=False)
    _connection: Connection | None = attrs.field(init=False, default=None)
    _stopped: VanceError | None = attrs.field(init=False, default=None)
    _changed: trio.Event = attrs.field(init=False, factory=trio.Event)
    _fan: EventFan = attrs.field(init=False, factory=EventFan)
    _last_seq: int | None = attrs.field(init=False, default=None)
    _connecting: trio.CancelScope = attrs.field(init=False, factory=trio.CancelScope)
    _unacked: trio.Event = attrs.field(init=False, factory=trio.Event)

    @property
    def connected(self) -> bool:
        """Whether a connection is open now."""
        return self._connection is not None and self._connection.lost is None

    def try_now(self) -> None:
        """Wait no longer before the next attempt to connect."""
        self._backoff.hurry()

    @property
    def tools(self) -> dict[str, LocalTool]:
        """The tools on offer, by name."""
        return dict(self._tools)

    async def wait_connected(
        self,
        timeout: float = REQUEST_SECONDS,  # noqa: ASYNC109 - the error names it
    ) -> SessionOpened:
        """Wait until a connection is open; return the answer to its handshake.

        Raises:
            Timeout: There is none after ``timeout`` seconds; says why.
            HandshakeRefused, ConnectionLost: The client has given up.
            NotConnected: The client has ended.
        """
        return (await self._open_within(timeout)).opened

    async def wait_stopped(self) -> None:
        """Wait until the client gives up, and raise what made it do so.

        Raises:
            HandshakeRefused, ConnectionLost: The Brain does not want this client.
            BadAddress: The callable ``url`` named something else than a Brain.
            NotConnected: The client has ended.
        """
        while self._stopped is None:
            await self._changed.wait()
        raise self._stopped

    async def request(
        self,
        message: Inbound,
        *,
        timeout: float = REQUEST_SECONDS,  # noqa: ASYNC109 - the error names it
    ) -> Outbound:
        """Send a message, waiting for a connection, and return its direct answer.

        A request that a lost connection leaves in doubt is made again if that is
        safe; a ``process-start`` gets a key so that it is.

        Raises:
            BrainRefused: The answer is an ``error``.
            Timeout: No connection or no answer within ``timeout`` seconds.
            ConnectionLost: The Brain may have served the request, or not.
            HandshakeRefused: The Brain does not take this client.
            NotConnected: The client has ended.
        """
        message = with_key(message)
        deadline = trio.current_time() + timeout
        while True:
            connection = await self._open_within(deadline - trio.current_time())
            left = max(0.0, deadline - trio.current_time())
            try:
                return await connection.request(message, timeout=left)
            except ConnectionLost as lost:
                if lost.sent and not is_repeatable(message):
                    raise

    @asynccontextmanager
    async def events(self) -> AsyncIterator[EventStream]:
        """Open a stream of what comes unasked, and of each new connection.

        A slow reader loses older news, never the newest of a think process or task.
        """
        with self._fan.open() as stream:
            yield stream

    async def offer(self, *tools: LocalTool) -> None:
        """Offer more tools, or others under the same names, now and from now on.

        Raises:
            As ``request``; the tools are offered with the next connection then.
        """
        self._tools.update({tool.name: tool for tool in tools})
        await self._announce()

    async def withdraw(self, *names: str) -> None:
        """Take tools back; calls that run go on.

        Raises:
            As ``request``.
        """
        for name in names:
            self._tools.pop(name, None)
        await self._announce()

    async def _announce(self) -> None:
        if self._connection is not None:
            try:
                await self._connection.offer(self._offers())
            except ConnectionLost:
                # The next handshake says it.
                return

    def _offers(self) -> list[ClientTool]:
        return [tool.offer() for tool in self._tools.values()]

    async def _open_within(self, seconds: float) -> Connection:
        with trio.move_on_after(max(0.0, seconds)):
            while True:
                if self._stopped is not None:
                    raise self._stopped
                if self._connection is not None and self._connection.lost is None:
                    return self._connection
                await self._changed.wait()
        why = f": {self.problem}" if self.problem else ""
        raise Timeout(f"no connection to the Brain in time{why}")

    def _change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    def _stop(self, why: VanceError) -> None:
        if self._stopped is None:
            self._stopped = why
            self._fan.close()
            self._change()

    async def _send_if_connected(self, message: Inbound) -> None:
        if self._connection is not None:
            try:
                await self._connection.send(message)
            except ConnectionLost:
                return

    def _on_open(self, connection: Connection) -> None:
        opened = connection.opened
        created = isinstance(opened, SessionCreated)
        if created or self._last_seq is None or self.session_id != opened.session_id:
            self._last_seq = opened.seq
        self.session_id = opened.session_id
        self.problem = None
        self._connection = connection
        self._credential.worked()
        self._server.connected(opened.verdicts)
        if self._settings.on_connected is not None:
            self._settings.on_connected(opened)
        if isinstance(opened, SessionCreated | SessionResumed):
            self._fan.publish(opened)
        self._change()

    def _on_frame(self, frame: Outbound) -> None:
        if frame.seq is not None and frame.seq > (self._last_seq or 0):
            self._last_seq = frame.seq
            self._unacked.set()
        if not self._server.handle(frame):
            self._fan.publish(frame)

    async def _acknowledge(self) -> None:
        while True:
            await self._unacked.wait()
            await trio.sleep(ACK_SECONDS)
            self._unacked = trio.Event()
            if self._last_seq is not None:
                await self._send_if_connected(SequenceAck(seq=self._last_seq))

    def _choice(self) -> SessionChoice | None:
        if self.session_id is not None:
            return SessionChoice(resume=self.session_id, last_seq=self._last_seq)
        if self._settings.project_id is not None:
            return SessionChoice(project_id=self._settings.project_id)
        return None

    def serve_in(self, nursery: trio.Nursery) -> None:
        """Start what runs in the background. For ``open_client``.

        Raises:
            BadAddress: The settings name no Brain.
        """
        settings = self._settings
        settings.check()
        self._credential = Credential(settings.token)
        self._backoff = Backoff(settings.uniform)
        self._server = ToolServer(
            tools=self._tools,
            boot_id=settings.client.boot_id or "",
            send=self._send_if_connected,
            nursery=nursery,
            wall=settings.wall,
            uniform=settings.uniform,
        )
        nursery.start_soon(self._acknowledge)
        nursery.start_soon(self._stay_connected)

    async def _stay_connected(self) -> None:
        """Connect again and again, until that cannot help any more."""
        stay_replaced = not self._settings.reconnect_when_replaced
        with self._connecting:
            while self._stopped is None:
                try:
                    error = await self._connect_once()
                except (ConnectionLost, HandshakeRefused) as failed:
                    error = failed
                except BadAddress as bad:
                    self._stop(bad)
                    return
                self.problem = error
                if self.session_id is not None and is_session_gone(error):
                    self.session_id = self._last_seq = None
                elif is_unauthorized(error) and self._credential.renew():
                    pass  # The next attempt goes out with another token.
                elif is_final(error, stay_replaced=stay_replaced):
                    self._stop(error)
                await self._backoff.rest(error)

    async def _connect_once(self) -> ConnectionLost | HandshakeRefused:
        settings = self._settings
        began: float | None = None
        try:
            async with open_connection(
                settings.locate(),
                token=self._credential.token(),
                client=settings.client,
                tools=self._offers(),
                session=self._choice(),
                profile=settings.profile,
                name=settings.name,
                inflight=self._server.ledger.inflight() or None,
                on_frame=self._on_frame,
                on_open=self._on_open,
                connect=settings.connect,
                wall=settings.wall,
            ) as connection:
                began = trio.current_time()
                await connection.closed.wait()
                lost = connection.lost
        finally:
            self._connection = None
            self._server.disconnected()
        self._backoff.connected_for(trio.current_time() - began)
        return lost or ConnectionLost(1006)

    def end(self) -> None:
        """Let nobody wait for a connection any more. For ``open_client``."""
        self._stop(NotConnected("this client has ended"))

    async def disconnect(self) -> None:
        """Say goodbye, within a bound, and stay away."""
        connection = self._connection
        self._stop(NotConnected("this client has disconnected"))
        if connection is not None:
            await connection.disconnect()
        self._connecting.cancel()


@asynccontextmanager
async def open_client(  # noqa: PLR0913 - each is one thing to choose
    url: Url,
    *,
    token: Token,
    client: ClientInfo | None = None,
    tools: Iterable[LocalTool] = (),
    project_id: str | None = None,
    session_id: str | None = None,
    profile: str | None = None,
    name: str | None = None,
    reconnect_when_replaced: bool = False,
    on_connected: OnConnected | None = None,
    connect: Connector | None = None,
    uniform: Uniform = system_uniform,
    wall: WallClock = wall_seconds,
) -> AsyncIterator[Client]:
    """Run a client for the length of the block; does not wait for a connection.

    It reconnects for ever, except when the Brain does not want it: then all its
    methods, ``wait_stopped`` among them, raise why. Leaving the block disconnects.

    Args:
        url: Any of the Brain's URLs (``vance_sdk.address.parse_address``), or a
            callable that is asked for it before each attempt and must not block;
            ``None`` while there is no Brain.
        token: A JWT or an API key, or a callable that makes one: asked again when
            the Brain refuses a token that it gave for an earlier attempt.
        client: Who connects. Gets a ``client_id`` and a ``boot_id`` if it has none;
            both stay the same over reconnects.
        tools: What to offer.
        project_id: The project for a new session.
        session_id: A session to resume, if it is still there.
        profile: The profile of all connections.
        name: The client's name for logs and addresses such as ``tool@name``.
        reconnect_when_replaced: See ``Settings``, as for the others.

    Raises:
        BadAddress: ``url``, ``profile`` or ``name`` has the wrong shape; what a
            callable says is seen later, and stops the client.
    """
    settings = Settings(
        url=url,
        token=token,
        client=identified(client),
        profile=profile,
        name=name,
        project_id=project_id,
        reconnect_when_replaced=reconnect_when_replaced,
        on_connected=on_connected,
        connect=connect,
        uniform=uniform,
        wall=wall,
    )
    own_tools = {tool.name: tool for tool in tools}
    running = Client(settings=settings, tools=own_tools, session_id=session_id)
    async with background_nursery() as nursery:
        running.serve_in(nursery)
        try:
            yield running
            await running.disconnect()
        finally:
            running.end()
