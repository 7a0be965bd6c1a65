"""A client whose every frame the test sees.

What comes is kept in order until the test expects it; tool requests can be answered
by functions, values or exceptions.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import trio

from tests.support.sockets import ClientEnd, Closed

Frame = dict[str, Any]
Answer = Any
#: How long, in virtual seconds, the test waits for what must come.
BOUND_S = 60.0


@attrs.define(eq=False, kw_only=True)
class FakeClient:
    """One connection of one client.

    Attributes:
        inbox: frames that came and were not expected yet.
        history: every frame that ever came.
        closed: how the connection ended.
    """

    end: ClientEnd
    profile: str = "web"
    name: str | None = None
    session_id: str = ""
    opened: Frame = attrs.field(factory=dict)
    inbox: list[Frame] = attrs.field(factory=list)
    history: list[Frame] = attrs.field(factory=list)
    requests: list[Frame] = attrs.field(factory=list)
    closed: Closed | None = None
    _answers: dict[str, Answer] = attrs.field(factory=dict)
    _moved: trio.Event = attrs.field(factory=trio.Event)
    _count: int = 0

    async def run(self) -> None:
        """Read until the end."""
        try:
            while True:
                frame = json.loads(await self.end.receive())
                self.history.append(frame)
                self.inbox.append(frame)
                if frame["type"] == "tool-request":
                    self.requests.append(frame)
                    await self._maybe_answer(frame)
                self._moved.set()
        except Closed as closed:
            self.closed = closed
            self._moved.set()

    # ------------------------------------------------------------------- sending

    async def send(self, type_: str, **fields: Any) -> None:
        """Send a frame."""
        await self.end.send(json.dumps({"type": type_, **fields}))

    async def ask(self, type_: str, **fields: Any) -> Frame:
        """Send a frame with an id and wait for its direct answer."""
        self._count += 1
        question = f"q{self._count}"
        await self.send(type_, id=question, **fields)
        return await self.expect(reply_to=question)

    async def hello(
        self,
        *,
        token: str = "owner",
        tools: list[str] | list[Frame] | None = None,
        resume: str | None = None,
        project: str | None = None,
        last_seq: int | None = None,
        vtp: bool = True,
        serve: Mapping[str, Answer] | None = None,
        session: Frame | None = None,
        **client: Any,
    ) -> Frame:
        """Shake hands; `client` are further fields of the handshake's `client`."""
        self._answers.update(serve or {})
        offered = [
            {"name": tool, "type": "native"} if isinstance(tool, str) else tool
            for tool in (tools if tools is not None else list(self._answers))
        ]
        choice = {"resume": resume, "project_id": project, "last_seq": last_seq}
        choice = {key: value for key, value in choice.items() if value is not None}
        frame: Frame = {
            "client": {"type": "cli", "name": "Test", "tools": offered, **client},
            "auth": {"token": token},
            "session": choice if session is None else session,
        }
        if vtp:
            frame["proto"] = "vtp/1"
        await self.send("handshake", id="hello", **frame)
        self.opened = await self.expect("session_created", "session_resumed")
        self.session_id = self.opened["session_id"]
        return self.opened

    async def start(
        self,
        workflow: str,
        *,
        autonomous: bool = False,
        key: str | None = None,
        **given: Any,
    ) -> str:
        """Start a workflow; its process's id."""
        fields: Frame = {"goal": "", "workflow_id": workflow, "input": given}
        if autonomous:
            fields["autonomous"] = True
        if key is not None:
            fields["idempotency_key"] = key
        answer = await self.ask("process-start", **fields)
        assert answer["type"] == "process-status", answer
        return str(answer["thinkProcessId"])

    async def start_and_request(self, workflow: str, **given: Any) -> Frame:
        """Start a workflow and wait for its first `tool-request`."""
        await self.start(workflow, **given)
        return await self.request()

    # ----------------------------------------------------------------- receiving

    async def expect(
        self, *types: str, within: float = BOUND_S, **fields: Any
    ) -> Frame:
        """The next frame of one of these types with these values; it is taken out."""
        with trio.move_on_after(within):
            while True:
                for frame in self.inbox:
                    if types and frame["type"] not in types:
                        continue
                    if all(frame.get(key) == value for key, value in fields.items()):
                        self.inbox.remove(frame)
                        return frame
                if self.closed is not None:
                    break
                self._moved = trio.Event()
                await self._moved.wait()
        wanted = f"{'/'.join(types)} {fields}"
        raise AssertionError(
            f"no {wanted}; closed: {self.closed}; came: {self.inbox[-12:]}"
        )

    async def finished(self, process: str, *, within: float = BOUND_S) -> Frame:
        """The terminal `process-status` of a process."""
        with trio.fail_after(within):
            while True:
                frame = await self.expect(
                    "process-status", within=within, thinkProcessId=process
                )
                if frame["status"] in ("done", "failed", "stopped"):
                    return frame

    async def request(self, tool: str | None = None, **fields: Any) -> Frame:
        """The next `tool-request`, to be answered by the test itself."""
        if tool is not None:
            fields["tool_name"] = tool
        return await self.expect("tool-request", **fields)

    async def close_code(self, *, within: float = BOUND_S) -> int:
        """Wait for the end of the connection."""
        with trio.fail_after(within):
            while self.closed is None:
                self._moved = trio.Event()
                await self._moved.wait()
        return self.closed.code

    def came(self, type_: str, **fields: Any) -> list[Frame]:
        """Every frame of a type that came so far, expected or not."""
        return [
            frame
            for frame in self.history
            if frame["type"] == type_
            and all(frame.get(key) == value for key, value in fields.items())
        ]

    # --------------------------------------------------------------------- tools

    def serve(self, answers: Mapping[str, Answer]) -> None:
        """Answer requests for these tools: a function of the arguments, or a value.

        An exception, or one that a function raises, is the error.  `None` as the
        whole answer means silence.
        """
        self._answers.update(answers)

    async def answer(self, request: Frame, result: Any) -> None:
        """Send the result of a request; an exception is its error."""
        fields: Frame = {"request_id": request["request_id"]}
        if isinstance(result, Exception):
            fields["error"] = {"code": "failed", "message": str(result)}
        else:
            fields["result"] = result
        await self.send("tool-result", **fields)

    async def fail(self, request: Frame, code: str, message: str = "no") -> None:
        """Send an error with a code."""
        error = {"code": code, "message": message}
        await self.send("tool-result", request_id=request["request_id"], error=error)

    async def _maybe_answer(self, request: Frame) -> None:
        answer = self._answers.get(request["tool_name"])
        if answer is None:
            return
        if isinstance(answer, Callable):  # type: ignore[arg-type]
            try:
                answer = answer(request["args"])
            except ValueError as exc:
                answer = exc
        await self.answer(request, answer)

    # ------------------------------------------------------------------- leaving

    async def drop(self) -> None:
        """Vanish without a word."""
        self.end.vanish()
        await self.close_code()
        await trio.sleep(0.01)

    async def disconnect(self) -> None:
        """Say goodbye."""
        await self.send("disconnect")
        assert await self.close_code() == 1000
