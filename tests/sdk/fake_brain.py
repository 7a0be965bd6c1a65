"""A small Brain that tells the truth about the wire and does what a test wants.

It speaks the real codec, over a ``Pipe``: a WebSocket on the loopback interface
(``serve_on_loopback``) or memory (``MemoryNet``), where time may be virtual.

Workflows: ``wf_echo`` ends at once with its input as result; ``wf_tool`` calls the
tool ``input.tool`` with ``input.args`` on the client that started it and ends with
what that answers; ``wf_call_NAME`` calls the tool NAME with the input; without one, a process runs until ``finish``.
"""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

import attrs
import trio
from trio_websocket import (
    ConnectionClosed,
    WebSocketConnection,
    WebSocketRequest,
    serve_websocket,
)

from vance_sdk.address import Address
from vance_sdk.errors import ConnectionLost
from vance_sdk.transport import Transport
from vance_sdk.wire.codec import decode_inbound, encode
from vance_sdk.wire.digest import args_digest
from vance_sdk.wire.limits import CloseCode
from vance_sdk.wire.messages import (
    Ack,
    ClientConnected,
    ClientTool,
    Disconnect,
    Error,
    Handshake,
    Inbound,
    Json,
    MemoryAdd,
    MemorySearch,
    Outbound,
    ProcessDetail,
    ProcessGet,
    ProcessGetQuery,
    ProcessList,
    ProcessListQuery,
    ProcessPause,
    ProcessRow,
    ProcessStart,
    ProcessStatus,
    ProcessStop,
    Project,
    SessionCreated,
    SessionResumed,
    TaskList,
    TaskListQuery,
    ToolError,
    ToolRequest,
    ToolResult,
    ToolResultAck,
    Verdict,
    Why,
    WhyQuery,
)

TOKEN = "vance_sk_fake"
CALL = "wf_call_"
BOUND_S = 10


class Pipe(Protocol):
    """One connection, as the Brain sees it."""

    async def receive(self) -> str | None: ...
    async def send(self, text: str) -> None: ...
    async def close(self, code: int, reason: str) -> None: ...
    async def drop(self) -> None: ...


@attrs.define(eq=False, kw_only=True)
class Process:
    id: str
    goal: str
    status: str = "running"
    result: Json = None
    request_id: str | None = None


@attrs.define(eq=False, kw_only=True)
class Session:
    id: str
    project_id: str
    epoch: int = 0
    seq: int = 0
    log: list[Outbound] = attrs.field(factory=list)
    pipe: Pipe | None = None


@attrs.define(eq=False)
class FakeBrain:
    """The knobs are plain attributes; the record is what came."""

    url: str = "ws://brain.test/api/ws"
    token: str = TOKEN
    echo_workflow: str = "wf_echo"
    refusal: tuple[Error, int] | None = None
    greeting: str | None = None
    answers_handshake: bool = True
    ignored: set[str] = attrs.field(factory=set)
    errors: dict[str, Error] = attrs.field(factory=dict)
    errors_once: dict[str, list[Error]] = attrs.field(factory=dict)
    drops_on: set[str] = attrs.field(factory=set)
    verdicts: tuple[Verdict, ...] | None = None
    acks_results: bool = True

    resource: str = ""
    handshakes: list[Handshake] = attrs.field(factory=list)
    opened_at: list[float] = attrs.field(factory=list)
    frames: list[Inbound] = attrs.field(factory=list)
    frames_at: list[float] = attrs.field(factory=list)
    sessions: dict[str, Session] = attrs.field(factory=dict)
    processes: dict[str, Process] = attrs.field(factory=dict)
    keys: dict[str, str] = attrs.field(factory=dict)
    tools: tuple[ClientTool, ...] = ()
    closed_with: list[int] = attrs.field(factory=list)
    _news: trio.Event = attrs.field(init=False, factory=trio.Event)
    _numbers: int = 0

    # ------------------------------------------------------------- for tests

    def calls(self, tool: str) -> str:
        return f"{CALL}{tool}"

    @property
    def current(self) -> Session:
        return [session for session in self.sessions.values() if session.pipe][-1]

    def received(self, kind: type[Inbound]) -> list[Inbound]:
        return [frame for frame in self.frames if isinstance(frame, kind)]

    async def until(self, count: int, kind: type[Inbound]) -> list[Inbound]:
        """Wait until ``count`` frames of a kind have come."""
        with trio.fail_after(BOUND_S):
            while len(self.received(kind)) < count:
                await self._news.wait()
        return self.received(kind)

    async def connections(self, count: int) -> None:
        """Wait until ``count`` handshakes have been answered or refused."""
        with trio.fail_after(60):
            while len(self.opened_at) < count:
                await self._news.wait()

    async def push(self, frame: Outbound, *, durable: bool = True) -> None:
        session = self.current
        if durable:
            session.seq += 1
            frame = attrs.evolve(frame, seq=session.seq)
            session.log.append(frame)
        if session.pipe is not None:
            await session.pipe.send(encode(frame))

    async def request(
        self,
        tool_name: str,
        args: dict[str, Json] | None = None,
        *,
        request_id: str = "call_1",
        start_within_ms: int | None = None,
        run_within_ms: int | None = None,
        heartbeat_ms: int | None = None,
    ) -> None:
        args = args or {}
        await self.push(
            ToolRequest(
                request_id=request_id,
                tool_name=tool_name,
                args=args,
                start_within_ms=start_within_ms,
                run_within_ms=run_within_ms,
                heartbeat_ms=heartbeat_ms,
                effect="once",
                args_digest=args_digest(args),
            )
        )

    async def finish(
        self, process_id: str, result: Json = None, *, status: str = "done"
    ) -> None:
        process = self.processes[process_id]
        process.status, process.result = status, result
        await self.push(
            ProcessStatus(think_process_id=process_id, status=status, result=result)
        )

    async def drop(self) -> None:
        """Cut every connection without a goodbye."""
        for session in self.sessions.values():
            if session.pipe is not None:
                await session.pipe.drop()

    async def close(self, code: int, reason: str = "") -> None:
        for session in self.sessions.values():
            if session.pipe is not None:
                await session.pipe.close(code, reason)

    # ------------------------------------------------------------ for pipes

    async def serve(self, pipe: Pipe) -> None:
        session: Session | None = None
        try:
            while (text := await pipe.receive()) is not None:
                if session is None:
                    session = await self._shake_hands(pipe, text)
                    if session is None:
                        return
                else:
                    frame = decode_inbound(text)
                    self.frames.append(frame)
                    self.frames_at.append(trio.current_time())
                    self._tell()
                    if not await self._answer(session, pipe, frame):
                        return
        finally:
            if session is not None and session.pipe is pipe:
                session.pipe = None
            self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = trio.Event()

    def _number(self, prefix: str) -> str:
        self._numbers += 1
        return f"{prefix}{self._numbers}"

    async def _shake_hands(self, pipe: Pipe, text: str) -> Session | None:
        handshake = decode_inbound(text)
        assert isinstance(handshake, Handshake)
        self.handshakes.append(handshake)
        if self.greeting is not None:
            await pipe.send(self.greeting)
        if not self.answers_handshake:
            await trio.sleep_forever()
        refusal = self.refusal
        if handshake.auth.token != self.token:
            error = Error(code="unauthorized", message="the token does not verify")
            refusal = (error, CloseCode.UNAUTHORIZED)
        choice = handshake.session
        resume = choice.resume if choice else None
        if refusal is None and resume is not None and resume not in self.sessions:
            error = Error(code="not_found", message="no such session")
            refusal = (error, CloseCode.SESSION_GONE)
        if refusal is not None:
            await pipe.send(encode(refusal[0]))
            await pipe.close(refusal[1], "")
            self._note_opening()
            return None
        session = self.sessions.get(resume or "")
        if session is None:
            project_id = (choice.project_id if choice else None) or "default"
            session = Session(id=self._number("sess_"), project_id=project_id)
            self.sessions[session.id] = session
        session.epoch += 1
        session.pipe = pipe
        self.tools = handshake.client.tools
        cls = SessionResumed if resume else SessionCreated
        opened = cls(
            session_id=session.id,
            project=Project(id=session.project_id, name=session.project_id),
            active_think_processes=(),
            server_tools=("web_search",),
            epoch=session.epoch,
            seq=session.seq,
            verdicts=self.verdicts,
        )
        await pipe.send(encode(opened))
        if choice is not None and choice.last_seq is not None:
            for frame in session.log[choice.last_seq :]:
                await pipe.send(encode(frame))
        self._note_opening()
        return session

    def _note_opening(self) -> None:
        self.opened_at.append(trio.current_time())
        self._tell()

    async def _answer(self, session: Session, pipe: Pipe, frame: Inbound) -> bool:
        if frame.TYPE in self.drops_on:
            self.drops_on.remove(frame.TYPE)
            self._act(frame)
            await pipe.drop()
            return False
        if frame.TYPE in self.ignored:
            return True
        if isinstance(frame, Disconnect):
            await pipe.close(CloseCode.NORMAL, "")
            return False
        answer = self._error_for(frame) or self._act(frame)
        if answer is not None:
            await pipe.send(encode(attrs.evolve(answer, reply_to=frame.id)))
        if isinstance(frame, ProcessStart) and isinstance(answer, ProcessStatus):
            await self._run(frame, answer.think_process_id)
        if isinstance(frame, ToolResult) and not isinstance(answer, Error):
            await self._take_result(frame)
        return True

    def _error_for(self, frame: Inbound) -> Error | None:
        once = self.errors_once.get(frame.TYPE)
        return once.pop(0) if once else self.errors.get(frame.TYPE)

    def _act(self, frame: Inbound) -> Outbound | None:
        match frame:
            case ProcessStart():
                return self._start(frame)
            case (
                ProcessGetQuery() | ProcessListQuery() | ProcessPause() | ProcessStop()
            ):
                return self._about_process(frame)
            case TaskListQuery(think_process_id=process_id):
                return TaskList(think_process_id=process_id, tasks=())
            case WhyQuery(task_id=task_id):
                text = "Waiting for Client for Tool: read_local_file"
                return Why(task_id=task_id, status="blocked", text=text, chain=())
            case MemoryAdd() | MemorySearch():
                context: dict[str, Json] = {"fix": "wait for a later version"}
                text = "this Brain has no memory yet"
                return Error(code="unavailable", message=text, context=context)
            case ClientConnected():
                self.tools = frame.available_tools
                return Ack()
            case ToolResult() if self.acks_results:
                return ToolResultAck(request_id=frame.request_id)
        return None

    def _about_process(self, frame: Inbound) -> Outbound | None:
        match frame:
            case ProcessGetQuery(think_process_id=process_id):
                if process_id not in self.processes:
                    return Error(code="not_found", message="no such process")
                return ProcessGet(process=self._detail(self.processes[process_id]))
            case ProcessListQuery():
                rows = [self._row(process) for process in self.processes.values()]
                return ProcessList(processes=tuple(rows))
            case ProcessPause(think_process_id=process_id):
                return ProcessStatus(think_process_id=process_id, status="paused")
            case ProcessStop(think_process_id=process_id):
                self.processes[process_id].status = "stopped"
                return ProcessStatus(think_process_id=process_id, status="stopped")
            case _:
                return None

    def _start(self, frame: ProcessStart) -> Outbound:
        workflow = frame.workflow_id
        known = workflow in {None, "wf_echo", "wf_tool"}
        if not known and not str(workflow).startswith(CALL):
            return Error(code="not_found", message=f"no workflow {workflow}")
        key = frame.idempotency_key or self._number("key_")
        if key not in self.keys:
            process = Process(id=self._number("tp_"), goal=frame.goal)
            self.processes[process.id] = process
            self.keys[key] = process.id
        return ProcessStatus(think_process_id=self.keys[key], status="running")

    async def _run(self, frame: ProcessStart, process_id: str) -> None:
        given = frame.input or {}
        if frame.workflow_id == "wf_echo":
            await self.finish(process_id, given)
        workflow = frame.workflow_id or ""
        if workflow == "wf_tool" or workflow.startswith(CALL):
            name, args = given.get("tool"), given.get("args") or {}
            if workflow.startswith(CALL):
                name, args = workflow.removeprefix(CALL), given
            request_id = self._number("call_")
            self.processes[process_id].request_id = request_id
            assert isinstance(name, str)
            assert isinstance(args, dict)
            await self.request(name, args, request_id=request_id)

    async def _take_result(self, frame: ToolResult) -> None:
        for process in self.processes.values():
            if process.request_id == frame.request_id:
                process.request_id = None
                if isinstance(frame.error, ToolError):
                    await self.finish(process.id, status="failed")
                else:
                    await self.finish(process.id, frame.result)

    def _row(self, process: Process) -> ProcessRow:
        return ProcessRow(
            id=process.id,
            title=process.goal,
            status=process.status,
            project_id="default",
            workflow_id=None,
            connection_profile="web",
            pending_tasks=0,
            blocked_reason=None,
            cause=None,
        )

    def _detail(self, process: Process) -> ProcessDetail:
        row = attrs.asdict(self._row(process))
        return ProcessDetail(**row, goal=process.goal, result=process.result)


# ------------------------------------------------------------------- loopback


@attrs.define(eq=False)
class SocketPipe:
    socket: WebSocketConnection

    async def receive(self) -> str | None:
        try:
            message = await self.socket.get_message()
        except ConnectionClosed:
            return None
        assert isinstance(message, str)
        return message

    async def send(self, text: str) -> None:
        with trio.move_on_after(BOUND_S):
            try:
                await self.socket.send_message(text)
            except ConnectionClosed:
                return

    async def close(self, code: int, reason: str) -> None:
        with trio.move_on_after(1):
            await self.socket.aclose(code, reason)

    async def drop(self) -> None:
        await trio.aclose_forcefully(self.socket._stream)


@asynccontextmanager
async def serve_on_loopback(
    brain: FakeBrain, *, ssl_context: ssl.SSLContext | None = None
) -> AsyncIterator[FakeBrain]:
    """Serve ``brain`` on a free port of 127.0.0.1; sets its ``url``."""

    async def handle(request: WebSocketRequest) -> None:
        brain.resource = request.path
        socket = await request.accept()
        await brain.serve(SocketPipe(socket))
        if socket.closed is not None:
            brain.closed_with.append(socket.closed.code)

    async with trio.open_nursery() as nursery:
        server = await nursery.start(
            lambda task_status: serve_websocket(
                handle, "127.0.0.1", 0, ssl_context, task_status=task_status
            )
        )
        scheme = "http" if ssl_context is None else "https"
        brain.url = f"{scheme}://127.0.0.1:{server.port}"
        yield brain
        nursery.cancel_scope.cancel()


# --------------------------------------------------------------------- memory


def lowest(low: float, _: float) -> float:
    """Stand in for the randomness of reconnecting: as soon as allowed."""
    return low


def highest(_: float, high: float) -> float:
    """Stand in for the randomness of reconnecting: as late as allowed."""
    return high


@attrs.define(eq=False)
class MemoryPipe:
    """Both ends of a connection without a network."""

    to_brain: "tuple[trio.MemorySendChannel[str], trio.MemoryReceiveChannel[str]]" = (
        attrs.field(factory=lambda: trio.open_memory_channel[str](1000))
    )
    to_client: "tuple[trio.MemorySendChannel[str], trio.MemoryReceiveChannel[str]]" = (
        attrs.field(factory=lambda: trio.open_memory_channel[str](1000))
    )
    heard_at: float = attrs.field(factory=trio.current_time)
    answers_pings: bool = True
    pings: list[float] = attrs.field(factory=list)
    end: tuple[int, str] = (1006, "")
    client_closed: tuple[int, str] | None = None
    aborted: bool = False

    # The Brain's side.

    async def receive(self) -> str | None:
        try:
            return await self.to_brain[1].receive()
        except (trio.EndOfChannel, trio.ClosedResourceError):
            return None

    async def send(self, text: str) -> None:
        try:
            await self.to_client[0].send(text)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return

    async def close(self, code: int, reason: str) -> None:
        self.end = (code, reason)
        self.to_client[0].close()
        self.to_brain[1].close()

    async def drop(self) -> None:
        await self.close(1006, "")


@attrs.define(eq=False)
class MemoryTransport:
    pipe: MemoryPipe

    @property
    def heard_at(self) -> float:
        return self.pipe.heard_at

    async def receive(self) -> str:
        try:
            text = await self.pipe.to_client[1].receive()
        except (trio.EndOfChannel, trio.ClosedResourceError):
            raise ConnectionLost(*self.pipe.end) from None
        self.pipe.heard_at = trio.current_time()
        return text

    async def send(self, text: str) -> None:
        try:
            await self.pipe.to_brain[0].send(text)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise ConnectionLost(*self.pipe.end) from None

    async def ping(self) -> None:
        self.pipe.pings.append(trio.current_time())
        if not self.pipe.answers_pings:
            await trio.sleep_forever()
        self.pipe.heard_at = trio.current_time()

    async def abort(self) -> None:
        self.pipe.aborted = True
        self._close()

    async def aclose(self, code: int = 1000, reason: str = "") -> None:
        self.pipe.client_closed = (code, reason)
        self._close()

    def _close(self) -> None:
        self.pipe.to_brain[0].close()
        self.pipe.to_client[1].close()


@attrs.define(eq=False)
class MemoryNet:
    """A network with one Brain on it.

    Attributes:
        reachable: Whether connecting works at all.
        connect_s: How long connecting takes.
        attempts: When somebody tried to connect, in Trio's time.
    """

    brain: FakeBrain
    nursery: trio.Nursery
    reachable: bool = True
    connect_s: float = 0
    answers_pings: bool = True
    attempts: list[float] = attrs.field(factory=list)
    pipes: list[MemoryPipe] = attrs.field(factory=list)

    @asynccontextmanager
    async def connect(self, address: Address) -> AsyncIterator[Transport]:
        await trio.sleep(self.connect_s)
        self.attempts.append(trio.current_time())
        if not self.reachable:
            raise ConnectionLost(1006, "nobody listens")
        pipe = MemoryPipe(answers_pings=self.answers_pings)
        self.pipes.append(pipe)
        self.brain.resource = address.resource
        self.nursery.start_soon(self.brain.serve, pipe)  # noqa: ASYNC113 - buffered
        transport = MemoryTransport(pipe)
        try:
            yield transport
        finally:
            await transport.aclose()
