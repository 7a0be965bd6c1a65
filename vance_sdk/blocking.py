"""The client for scripts and notebooks (seed 003, sections 6 and 7).

::

    from vance_sdk import VanceClient

    with VanceClient(url="https://brain.example.com", api_key=key) as client:
        process_id = client.start_engine("Analyze the new papers")
        print(client.wait(process_id))
"""

import atexit
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar, overload

import attrs
import trio

import vance_sdk
from vance_sdk.client import Client, open_client
from vance_sdk.errors import NotConnected, VanceError
from vance_sdk.local_tool import LocalTool, tool_from_function
from vance_sdk.portal import STOP_SECONDS, Portal
from vance_sdk.wire.messages import (
    Capabilities,
    ClientInfo,
    Effect,
    Json,
    MemoryAdd,
    ProcessDetail,
    ProcessRow,
    TaskRow,
    Why,
)

CONNECT_SECONDS: Final = 30.0
"""How long ``connect`` tries."""

_MAX_CONTENT_BYTES: Final = 512 * 1024

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])


@attrs.define(eq=False)
class VanceClient:
    """A client whose methods wait; may be used from any thread.

    Between ``connect`` and ``disconnect`` it stays connected by itself: it answers
    pings, reconnects, and runs the tools it offers, sync ones in threads of their
    own. Every method that asks the Brain raises ``BrainRefused`` for its ``error``,
    ``Timeout`` for none, ``ConnectionLost`` if the request may or may not have been
    served, ``HandshakeRefused`` once the Brain does not want this client any more,
    and ``NotConnected`` outside of ``connect`` and ``disconnect``. Ctrl-C interrupts
    whatever waits.

    Args:
        url: Any of the Brain's URLs.
        api_key: ``vance_sk_...``; ``token`` is another name for it, for a JWT.
        client_type: What connects, for logs; an open string.
        client_name: Its readable name.
        profile: The connection's profile.
        name: For addresses such as ``tool@name``.
        client_id: Says that this is the same client as an earlier one.
    """

    url: str
    api_key: str | None = attrs.field(default=None, repr=False)
    token: str | None = attrs.field(default=None, repr=False, kw_only=True)
    client_type: str = attrs.field(default="external", kw_only=True)
    client_name: str = attrs.field(default="", kw_only=True)
    profile: str | None = attrs.field(default=None, kw_only=True)
    name: str | None = attrs.field(default=None, kw_only=True)
    client_id: str | None = attrs.field(default=None, kw_only=True)
    _portal: Portal | None = attrs.field(init=False, default=None)
    _client: Client | None = attrs.field(init=False, default=None)
    _leaving: trio.Event = attrs.field(init=False)
    _left: trio.Event = attrs.field(init=False)
    _tools: dict[str, LocalTool] = attrs.field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        if (self.api_key is None) == (self.token is None):
            message = "give an api_key or a token"
            raise TypeError(message)

    @property
    def session_id(self) -> str | None:
        """The session this client has, if it ever was connected."""
        return self._client.session_id if self._client else None

    @property
    def connected(self) -> bool:
        """Whether a connection is open now."""
        return self._client is not None and self._client.connected

    def connect(
        self,
        project_id: str | None = None,
        *,
        session_id: str | None = None,
        timeout: float = CONNECT_SECONDS,
    ) -> None:
        """Connect, with a new session in ``project_id`` or an earlier session.

        Raises:
            HandshakeRefused: The Brain does not take this client.
            Timeout: No Brain could be reached within ``timeout`` seconds.
            BadAddress: The URL, the profile or the name has the wrong shape.
        """
        if self._portal is not None:
            raise VanceError("this client is connected already")
        self._portal = Portal()
        atexit.register(self.disconnect)
        try:
            self._call(partial(self._open, project_id, session_id))
            self._call(partial(self._running.wait_connected, timeout))
        except BaseException:
            self.disconnect()
            raise

    def disconnect(self) -> None:
        """Say goodbye, within a bound; does nothing if not connected."""
        portal, self._portal = self._portal, None
        if portal is None:
            return
        atexit.unregister(self.disconnect)
        try:
            if self._client is not None and portal.running:
                portal.call(self._leave)
        except NotConnected:
            return
        finally:
            self._client = None
            portal.stop()

    def __enter__(self) -> Self:
        if self._portal is None:
            self.connect()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.disconnect()

    async def _open(self, project_id: str | None, session_id: str | None) -> None:
        self._leaving, self._left = trio.Event(), trio.Event()
        live = partial(self._live, project_id, session_id)
        self._client = await self._loop.nursery.start(live)

    async def _live(
        self,
        project_id: str | None,
        session_id: str | None,
        *,
        task_status: trio.TaskStatus[Client],
    ) -> None:
        """Hold the client's block open until somebody leaves."""
        info = ClientInfo(
            type=self.client_type,
            name=self.client_name,
            version=vance_sdk.__version__,
            is_human=False,
            capabilities=Capabilities(
                chat=False, approval=False, streaming=False, notifications=False
            ),
            client_id=self.client_id,
        )
        async with open_client(
            self.url,
            token=self.api_key or self.token or "",
            client=info,
            tools=self._tools.values(),
            project_id=project_id,
            session_id=session_id,
            profile=self.profile,
            name=self.name,
        ) as client:
            task_status.started(client)
            await self._leaving.wait()
        self._left.set()

    async def _leave(self) -> None:
        self._leaving.set()
        with trio.move_on_after(STOP_SECONDS):
            await self._left.wait()

    @property
    def _loop(self) -> Portal:
        if self._portal is None:
            raise NotConnected("this client is not connected: call connect() first")
        return self._portal

    @property
    def _running(self) -> Client:
        if self._client is None:
            raise NotConnected("this client is not connected: call connect() first")
        return self._client

    def _call(self, function: Callable[[], Awaitable[T]]) -> T:
        return self._loop.call(function)

    # ------------------------------------------------------------------ tools

    @overload
    def tool(self, function: F) -> F: ...

    @overload
    def tool(
        self, *, name: str | None = None, effect: Effect = "once"
    ) -> Callable[[F], F]: ...

    def tool(
        self,
        function: F | None = None,
        *,
        name: str | None = None,
        effect: Effect = "once",
    ) -> F | Callable[[F], F]:
        """Offer the decorated function to the Brain; it stays as it is.

        ``effect`` says what running it twice would do: ``read``, ``idempotent`` or
        ``once``.
        """

        def decorate(decorated: F) -> F:
            self.offer(decorated, name=name, effect=effect)
            return decorated

        return decorate if function is None else decorate(function)

    def offer(
        self,
        tool: LocalTool | Callable[..., object],
        *,
        name: str | None = None,
        effect: Effect = "once",
    ) -> None:
        """Offer a function or a ready tool, before or after connecting.

        Raises:
            TypeError: A function with parameters that cannot be given by name.
        """
        if not isinstance(tool, LocalTool):
            tool = tool_from_function(tool, name=name, effect=effect)
        self._tools[tool.name] = tool
        if self._client is not None:
            self._call(partial(self._running.offer, tool))

    # -------------------------------------------------------- think processes

    def start_engine(
        self,
        goal: str,
        workflow_id: str | None = None,
        input: Mapping[str, Json] | None = None,  # noqa: A002 - the seed's name
        *,
        recipe: str | None = None,
        autonomous: bool = False,
    ) -> str:
        """Start a think process and return its id, once the Brain has committed it."""
        return self._call(
            partial(
                self._running.start,
                goal,
                workflow_id,
                input,
                recipe=recipe,
                autonomous=autonomous,
            )
        )

    def wait(self, process_id: str, timeout: float | None = None) -> Json:
        """Wait until a think process has ended and return its result.

        Raises:
            ProcessFailed: It failed or was stopped.
            Timeout: It goes on after ``timeout`` seconds.
        """
        return self._call(partial(self._running.wait, process_id, timeout))

    def result(self, process_id: str) -> Json:
        """Return the result of a think process that is done.

        Raises:
            NotEnded: It goes on.
            ProcessFailed: It failed or was stopped.
        """
        return self._call(partial(self._running.result, process_id))

    def status(self, process_id: str) -> ProcessDetail:
        """Return a think process with its goal and, if it has ended, its result."""
        return self._call(partial(self._running.status, process_id))

    def processes(self, project_id: str | None = None) -> list[ProcessRow]:
        """Return the think processes, newest first."""
        return self._call(partial(self._running.processes, project_id))

    def tasks(self, process_id: str) -> list[TaskRow]:
        """Return the tasks of a think process in order of execution."""
        return self._call(partial(self._running.tasks, process_id))

    def why(self, task_id: str) -> Why:
        """Return why a task is not running, down to the root."""
        return self._call(partial(self._running.why, task_id))

    def pause(self, process_id: str) -> str:
        """Pause a think process and return its status."""
        return self._call(partial(self._running.pause, process_id))

    def resume(self, process_id: str) -> str:
        """Continue a paused think process and return its status."""
        return self._call(partial(self._running.resume, process_id))

    def stop(self, process_id: str) -> str:
        """Stop a think process for good and return its status."""
        return self._call(partial(self._running.stop, process_id))

    # ----------------------------------------------------------------- memory

    def memory_add(
        self,
        type: str,  # noqa: A002 - the seed's name
        title: str,
        content: str | None = None,
        *,
        file: str | PathLike[str] | None = None,
        subtype: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> str | None:
        """Add an entity, from text or from a file, and return its id.

        A file that is not UTF-8 text, or is over 512 KiB, is named to the Brain by
        its SHA-256; its content is not sent.

        Raises:
            TypeError: Both or neither of ``content`` and ``file``.
            OSError: The file cannot be read.
        """
        if (content is None) == (file is None):
            message = "give content or a file"
            raise TypeError(message)
        blob = None
        if file is not None:
            content, blob = _read(Path(file))
        entity = MemoryAdd(
            entity_type=type,
            subtype=subtype,
            title=title,
            content=content,
            blob=blob,
            tags=None if tags is None else tuple(tags),
        )
        return self._call(partial(self._running.memory_add, entity))

    def memory_search(
        self,
        query: str,
        *,
        scope: str | None = None,
        tags: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[dict[str, Json]]:
        """Search the memory; best first."""
        return self._call(
            partial(
                self._running.memory_search,
                query,
                scope=scope,
                tags=tags,
                limit=limit,
            )
        )


def _read(path: Path) -> tuple[str | None, str | None]:
    """Return a file's text, or the fingerprint of what is no text."""
    data = path.read_bytes()
    if len(data) <= _MAX_CONTENT_BYTES:
        try:
            return data.decode(), None
        except UnicodeDecodeError:
            pass
    return None, hashlib.sha256(data).hexdigest()
