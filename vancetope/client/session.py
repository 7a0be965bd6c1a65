"""The local client's connection: its native tools, offered for as long as it runs.

The SDK's client reconnects for ever to one address.  A Brain on this machine may come
back under another one, so the address is looked up again while there is no connection.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Final

import attrs
import trio

import vancetope
from vance_sdk.client import Client, open_client
from vance_sdk.errors import HandshakeRefused, ToolFailed, VanceError
from vance_sdk.local_tool import LocalTool
from vance_sdk.transport import Connector
from vance_sdk.wire.errors import UNAUTHORIZED
from vance_sdk.wire.messages import ClientInfo, Json, SessionOpened
from vancetope.client.native import NativeTool, Roots, ToolError, native_tools

#: How often a client without a connection looks for its Brain.
LOOK_S: Final = 0.25

Locate = Callable[[], str | None]


def offered_tools(roots: Roots) -> list[LocalTool]:
    """The native tools, as the SDK serves them."""
    return [
        LocalTool(
            name=tool.name,
            description=tool.description,
            type="native",
            effect=tool.effect,
            input_schema=tool.input_schema,
            run=partial(_run, tool),
        )
        for tool in native_tools(roots).values()
    ]


def _run(tool: NativeTool, args: dict[str, Json]) -> Json:
    """Do the work in the thread that the SDK calls this in."""
    try:
        return tool.run(args)
    except ToolError as error:
        raise ToolFailed(error.message, code=error.code) from error


@attrs.frozen(kw_only=True)
class LocalClient:
    """The local client: where its Brain is, who it is, what it opens.

    Attributes:
        locate: the Brain's URL, or None while there is none.
        token: a credential; asked for anew when an earlier one has ended.
        roots: the folders it opens.
        on_connected: called for each connection; must not block.
        on_trouble: called with a line that says why there is no connection, once for
            each reason.
        connect: how to open a WebSocket; None: over TCP and TLS.
    """

    locate: Locate
    token: Callable[[], str]
    roots: Roots
    name: str
    profile: str
    on_connected: Callable[[SessionOpened], None]
    on_trouble: Callable[[str], None]
    connect: Connector | None = None

    async def run(self, stop: trio.Event) -> None:
        """Serve until `stop` is set; then say goodbye.

        Raises:
            HandshakeRefused, ConnectionLost: the Brain does not want this client.
            BadAddress: the URL, the name or the profile has the wrong shape.
        """
        session_id: str | None = None
        while (url := await self._located(stop)) is not None:
            connections: list[str] = []
            try:
                async with self._client(url, session_id, connections) as client:
                    await self._stay(client, url, stop)
            except HandshakeRefused as refused:
                # A token that was good once has run out.
                if refused.code != UNAUTHORIZED or not connections:
                    raise
            session_id = connections[-1] if connections else session_id

    def _client(
        self, url: str, session_id: str | None, connections: list[str]
    ) -> AbstractAsyncContextManager[Client]:
        """The SDK's client; notes the session of each connection in `connections`."""

        def connected(opened: SessionOpened) -> None:
            connections.append(opened.session_id)
            self.on_connected(opened)

        return open_client(
            url,
            token=self.token(),
            client=ClientInfo(
                type="cli", name=self.name, version=vancetope.__version__, is_human=True
            ),
            tools=offered_tools(self.roots),
            session_id=session_id,
            profile=self.profile,
            name=self.name,
            on_connected=connected,
            connect=self.connect,
        )

    async def _located(self, stop: trio.Event) -> str | None:
        """Where the Brain is, as soon as there is one; None at `stop`."""
        told = False
        while not stop.is_set():
            url = self.locate()
            if url is not None:
                return url
            if not told:
                told = True
                self.on_trouble("there is no Brain yet; waiting for it")
            with trio.move_on_after(LOOK_S):
                await stop.wait()
        return None

    async def _stay(self, client: Client, url: str, stop: trio.Event) -> None:
        """Serve until `stop`, or the Brain is elsewhere or does not want this client.

        Raises:
            HandshakeRefused, ConnectionLost: it does not.
        """
        refused: VanceError | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._until_moved, client, url, nursery.cancel_scope)
            nursery.start_soon(_cancel_at, stop, nursery.cancel_scope)
            try:
                await client.wait_stopped()
            except VanceError as error:
                refused = error
                nursery.cancel_scope.cancel()
        if refused is not None:
            raise refused

    async def _until_moved(
        self, client: Client, url: str, scope: trio.CancelScope
    ) -> None:
        told: str | None = None
        while True:
            await trio.sleep(LOOK_S)
            problem = client.problem
            if client.connected or problem is None:
                told = None
                continue
            if self.locate() not in {None, url}:
                scope.cancel()
                return
            if told != _shape(problem):
                told = _shape(problem)
                self.on_trouble(f"{problem}; trying again")


async def _cancel_at(stop: trio.Event, scope: trio.CancelScope) -> None:
    await stop.wait()
    scope.cancel()


def _shape(problem: VanceError) -> str:
    """What makes two problems the same for people."""
    code = getattr(problem, "code", "")
    return f"{type(problem).__name__} {code}"
