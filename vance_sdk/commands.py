"""What a client can ask of a Brain, one method an intent."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, TypeVar

import attrs
import trio

from vance_sdk.errors import (
    BrainRefused,
    NotEnded,
    ProcessFailed,
    Timeout,
    UnexpectedAnswer,
)
from vance_sdk.events import EventStream
from vance_sdk.wire.errors import UNKNOWN_TYPE
from vance_sdk.wire.messages import (
    Ack,
    Chat,
    ChatReply,
    Decision,
    Inbound,
    InboxItem,
    InboxList,
    InboxListQuery,
    Json,
    MemoryAdd,
    MemoryLink,
    MemoryResult,
    MemorySearch,
    Outbound,
    ProcessContinue,
    ProcessDetail,
    ProcessGet,
    ProcessGetQuery,
    ProcessList,
    ProcessListQuery,
    ProcessPause,
    ProcessRow,
    ProcessStart,
    ProcessStatus,
    ProcessSteer,
    ProcessStop,
    SessionList,
    SessionListQuery,
    SessionOpened,
    SessionSummary,
    TaskApprove,
    TaskCancel,
    TaskList,
    TaskListQuery,
    TaskMove,
    TaskRerun,
    TaskRow,
    TaskUpdate,
    Why,
    WhyQuery,
)

REQUEST_SECONDS: Final = 30.0
CHAT_SECONDS: Final = 300.0
"""A model may think for long."""
POLL_SECONDS: Final = 15.0
"""How often ``wait`` asks although nothing was pushed."""

DONE: Final = "done"
ENDED: Final = (DONE, "failed", "stopped")
"""Every status of a think process that never changes again."""

_REPEATABLE: Final = (
    InboxListQuery,
    MemorySearch,
    ProcessGetQuery,
    ProcessListQuery,
    ProcessPause,
    ProcessStop,
    SessionListQuery,
    TaskCancel,
    TaskListQuery,
    WhyQuery,
)

R = TypeVar("R", bound=Outbound)


def is_repeatable(message: Inbound) -> bool:
    """Tell whether sending the message twice does what sending it once does."""
    if isinstance(message, ProcessStart):
        return message.idempotency_key is not None
    return isinstance(message, _REPEATABLE)


def with_key(message: Inbound) -> Inbound:
    """Give a ``process-start`` the key that makes it repeatable."""
    if isinstance(message, ProcessStart) and message.idempotency_key is None:
        return attrs.evolve(message, idempotency_key=secrets.token_hex(16))
    return message


class Commands(ABC):
    """The commands, over anything that can make requests.

    All of them raise ``BrainRefused`` (the Brain's ``error``), ``Timeout`` (no
    connection or no answer in 30 s), ``ConnectionLost`` (it ended, and the request
    may have been served) and, once the client has stopped, what stopped it.
    """

    @abstractmethod
    async def request(
        self,
        message: Inbound,
        *,
        timeout: float = REQUEST_SECONDS,  # noqa: ASYNC109 - the error names it
    ) -> Outbound:
        """Send a message and return its direct answer."""

    @abstractmethod
    def events(self) -> AbstractAsyncContextManager[EventStream]:
        """Open a stream of what comes unasked."""

    async def start(
        self,
        goal: str,
        workflow_id: str | None = None,
        input: Mapping[str, Json] | None = None,  # noqa: A002 - the seed's name
        *,
        recipe: str | None = None,
        autonomous: bool = False,
        idempotency_key: str | None = None,
    ) -> str:
        """Start a think process and return its id, once the Brain has committed it.

        Without a key of its own the request gets one, so that a connection lost
        meanwhile neither loses nor doubles the process.
        """
        message = ProcessStart(
            goal=goal,
            workflow_id=workflow_id,
            input=None if input is None else dict(input),
            recipe=recipe,
            idempotency_key=idempotency_key,
            autonomous=autonomous,
        )
        return (await self._ask(with_key(message), ProcessStatus)).think_process_id

    async def wait(
        self,
        process_id: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the error names it
    ) -> Json:
        """Wait until a think process has ended and return its result.

        Connections may come and go meanwhile.

        Raises:
            ProcessFailed: It failed or was stopped.
            Timeout: It goes on after ``timeout`` seconds; ``None`` waits for ever.
        """
        seconds = float("inf") if timeout is None else timeout
        with trio.move_on_after(seconds):
            async with self.events() as stream:
                return await self._end_of(process_id, stream)
        raise Timeout(f"think process {process_id} goes on after {seconds:g} s")

    async def _end_of(self, process_id: str, stream: EventStream) -> Json:
        while True:
            # What is pushed is a hint; the answer to a question is the truth.
            try:
                row = await self.status(process_id)
            except Timeout:
                continue
            except BrainRefused as error:
                # A Brain that speaks only the seed's messages pushes the end.
                if error.code != UNKNOWN_TYPE:
                    raise
            else:
                if row.status in ENDED:
                    return _outcome(process_id, row.status, row.result)
            with trio.move_on_after(POLL_SECONDS):
                frame = await _next_about(process_id, stream)
                if isinstance(frame, ProcessStatus):
                    return _outcome(process_id, frame.status, frame.result)

    async def status(self, process_id: str) -> ProcessDetail:
        """Return a think process with its goal and, if it has ended, its result."""
        query = ProcessGetQuery(think_process_id=process_id)
        return (await self._ask(query, ProcessGet)).process

    async def result(self, process_id: str) -> Json:
        """Return the result of a think process that is done.

        Raises:
            NotEnded: It goes on.
            ProcessFailed: It failed or was stopped.
        """
        row = await self.status(process_id)
        if row.status not in ENDED:
            raise NotEnded(process_id, row.status)
        return _outcome(process_id, row.status, row.result)

    async def processes(
        self,
        project_id: str | None = None,
        *,
        all: bool = False,  # noqa: A002 - the wire's name
    ) -> list[ProcessRow]:
        """Return the think processes, newest first; ``all``: also older ended ones."""
        query = ProcessListQuery(project_id=project_id, all=all)
        return list((await self._ask(query, ProcessList)).processes)

    async def pause(self, process_id: str) -> str:
        """Pause a think process and return its status."""
        message = ProcessPause(think_process_id=process_id)
        return (await self._ask(message, ProcessStatus)).status

    async def resume(self, process_id: str) -> str:
        """Continue a paused think process, or release its next step."""
        message = ProcessContinue(think_process_id=process_id)
        return (await self._ask(message, ProcessStatus)).status

    async def stop(self, process_id: str) -> str:
        """Stop a think process for good and return its status."""
        message = ProcessStop(think_process_id=process_id)
        return (await self._ask(message, ProcessStatus)).status

    async def steer(self, process_id: str, message: str) -> str:
        """Give a running think process new information and return its status."""
        steer = ProcessSteer(think_process_id=process_id, message=message)
        return (await self._ask(steer, ProcessStatus)).status

    async def tasks(self, process_id: str) -> list[TaskRow]:
        """Return the tasks of a think process in order of execution."""
        query = TaskListQuery(think_process_id=process_id)
        return list((await self._ask(query, TaskList)).tasks)

    async def why(self, task_id: str) -> Why:
        """Return why a task is not running, down to the root."""
        return await self._ask(WhyQuery(task_id=task_id), Why)

    async def cancel_task(self, task_id: str) -> TaskUpdate:
        """Cancel a task."""
        return await self._ask(TaskCancel(task_id=task_id), TaskUpdate)

    async def rerun_task(self, task_id: str) -> TaskUpdate:
        """Run a task again."""
        return await self._ask(TaskRerun(task_id=task_id), TaskUpdate)

    async def move_task(self, task_id: str, before_task_id: str) -> TaskUpdate:
        """Move a task before another one."""
        message = TaskMove(task_id=task_id, before_task_id=before_task_id)
        return await self._ask(message, TaskUpdate)

    async def approve(
        self,
        task_id: str,
        *,
        approved: bool,
        approval_id: str | None = None,
        decision: Decision | None = None,
        note: str | None = None,
    ) -> TaskUpdate:
        """Decide about a task that waits for a person."""
        message = TaskApprove(
            task_id=task_id,
            approved=approved,
            approval_id=approval_id,
            decision=decision,
            note=note,
        )
        return await self._ask(message, TaskUpdate)

    async def inbox(self, project_id: str | None = None) -> list[InboxItem]:
        """Return what waits for a person, oldest first."""
        query = InboxListQuery(project_id=project_id)
        return list((await self._ask(query, InboxList)).items)

    async def sessions(self, project_id: str | None = None) -> list[SessionSummary]:
        """Return the sessions that may be resumed, newest first."""
        query = SessionListQuery(project_id=project_id)
        return list((await self._ask(query, SessionList)).sessions)

    async def chat(self, message: str) -> str:
        """Say something to the Brain and return what it says."""
        return (
            await self._ask(Chat(message=message), ChatReply, timeout=CHAT_SECONDS)
        ).message

    async def memory_add(self, message: MemoryAdd) -> str | None:
        """Add an entity and return its id."""
        return (await self._ask(message, Ack)).entity_id

    async def memory_search(
        self,
        query: str,
        *,
        scope: str | None = None,
        tags: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[dict[str, Json]]:
        """Search the memory; best first."""
        message = MemorySearch(
            query=query,
            scope=scope,
            tags=None if tags is None else tuple(tags),
            limit=limit,
        )
        return list((await self._ask(message, MemoryResult)).results)

    async def memory_link(
        self, source_id: str, target_id: str, relation_type: str
    ) -> str | None:
        """Relate two entities and return the relation's id."""
        message = MemoryLink(
            source_id=source_id, target_id=target_id, relation_type=relation_type
        )
        return (await self._ask(message, Ack)).entity_id

    async def _ask(
        self,
        message: Inbound,
        kind: type[R],
        *,
        timeout: float = REQUEST_SECONDS,  # noqa: ASYNC109 - the error names it
    ) -> R:
        answer = await self.request(message, timeout=timeout)
        if not isinstance(answer, kind):
            text = f"{message.TYPE} was answered with {answer.TYPE}"
            raise UnexpectedAnswer(text)
        return answer


def _outcome(process_id: str, status: str, result: Json) -> Json:
    if status != DONE:
        raise ProcessFailed(process_id, status, result)
    return result


async def _next_about(process_id: str, stream: EventStream) -> Outbound | None:
    """Return the next frame that says, or may hide, the end of a process."""
    missed = stream.missed
    async for frame in stream:
        if isinstance(frame, SessionOpened) or stream.missed > missed:
            return frame
        if (
            isinstance(frame, ProcessStatus)
            and frame.think_process_id == process_id
            and frame.status in ENDED
        ):
            return frame
    return None
