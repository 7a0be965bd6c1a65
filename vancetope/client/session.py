"""The local client's connection: its native tools, offered for as long as it runs.

A Brain on this machine may come back under another address, so the address is looked
up again for each attempt to connect, and often while there is no connection.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Final

import attrs
import trio

import vancetope
from vance_sdk.client import Client, open_client
from vance_sdk.errors import ToolFailed, VanceError
from vance_sdk.local_tool import LocalTool
from vance_sdk.transport import Connector
from vance_sdk.wire.messages import ClientInfo, Json, SessionOpened
from vancetope.client.native import NativeTool, Roots, ToolError, native_tools
from vancetope.client.trouble import words_of

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
        locate: the Brain's URL, or None while there is none; must not block.
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
        if not await self._is_there(stop):
            return
        where = _Where(self.locate)
        async with self._client(where) as client:
            await self._stay(client, where, stop)

    def _client(self, where: "_Where") -> AbstractAsyncContextManager[Client]:
        """The SDK's client, one for all connections.

        What it knows of its calls must outlast a Brain that moves, or a call would be
        run twice.
        """
        return open_client(
            where.ask,
            token=self.token,
            client=ClientInfo(
                type="cli", name=self.name, version=vancetope.__version__, is_human=True
            ),
            tools=offered_tools(self.roots),
            profile=self.profile,
            name=self.name,
            on_connected=self.on_connected,
            connect=self.connect,
        )

    async def _is_there(self, stop: trio.Event) -> bool:
        """Wait for the first Brain; False at `stop`."""
        told = False
        while not stop.is_set():
            if self.locate() is not None:
                return True
            if not told:
                told = True
                self.on_trouble("there is no Brain yet; waiting for it")
            with trio.move_on_after(LOOK_S):
                await stop.wait()
        return False

    async def _stay(self, client: Client, where: "_Where", stop: trio.Event) -> None:
        """Serve until `stop`, or the Brain does not want this client.

        Raises:
            HandshakeRefused, ConnectionLost, BadAddress: it does not.
        """
        refused: VanceError | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._look_for_brain, client, where)
            nursery.start_soon(_cancel_at, stop, nursery.cancel_scope)
            try:
                await client.wait_stopped()
            except VanceError as error:
                refused = error
                nursery.cancel_scope.cancel()
        if refused is not None:
            raise refused

    async def _look_for_brain(self, client: Client, where: "_Where") -> None:
        """While there is no connection, say why, and hurry to a Brain that appears."""
        told: str | None = None
        while True:
            await trio.sleep(LOOK_S)
            problem = client.problem
            if client.connected or problem is None:
                told = None
                continue
            if self.locate() not in {None, where.last}:
                client.try_now()
            if told != _shape(problem):
                told = _shape(problem)
                self.on_trouble(f"{words_of(problem, where.last)}; trying again")


@attrs.define(eq=False)
class _Where:
    """Where the Brain is, and where the last attempt looked for it."""

    _locate: Locate
    last: str | None = attrs.field(init=False, default=None)

    def ask(self) -> str | None:
        """For the SDK, before each attempt."""
        self.last = self._locate()
        return self.last


async def _cancel_at(stop: trio.Event, scope: trio.CancelScope) -> None:
    await stop.wait()
    scope.cancel()


def _shape(problem: VanceError) -> str:
    """What makes two problems the same for people."""
    code = getattr(problem, "code", "")
    return f"{type(problem).__name__} {code}"
