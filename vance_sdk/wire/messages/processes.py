"""Think processes (seed 003, section 2.3)."""

from typing import ClassVar

import attrs

from vance_sdk.wire.json import Json
from vance_sdk.wire.messages.common import BrainFrame, Cause, Frame, wire


@attrs.frozen(kw_only=True)
class ProcessStart(Frame):
    """Starts a think process.

    Attributes:
        workflow_id: The workflow to run; unknown ones are ``not_found``.
        recipe: How the engine is configured.
        idempotency_key: The same key starts the same process only once.
        autonomous: The run needs no client: what waits for one is queued.
    """

    TYPE: ClassVar[str] = "process-start"

    goal: str
    workflow_id: str | None = None
    input: dict[str, Json] | None = None
    recipe: str | None = None
    idempotency_key: str | None = None
    autonomous: bool = False


@attrs.frozen(kw_only=True)
class ProcessContinue(Frame):
    """Resumes a paused process; releases one task under ``advance: step``."""

    TYPE: ClassVar[str] = "process-continue"

    think_process_id: str = attrs.field(metadata=wire("thinkProcessId"))


@attrs.frozen(kw_only=True)
class ProcessPause(Frame):
    """Pauses a think process."""

    TYPE: ClassVar[str] = "process-pause"

    think_process_id: str = attrs.field(metadata=wire("thinkProcessId"))


@attrs.frozen(kw_only=True)
class ProcessStop(Frame):
    """Stops a think process for good."""

    TYPE: ClassVar[str] = "process-stop"

    think_process_id: str = attrs.field(metadata=wire("thinkProcessId"))


@attrs.frozen(kw_only=True)
class ProcessSteer(Frame):
    """Gives a running think process new information."""

    TYPE: ClassVar[str] = "process-steer"

    think_process_id: str = attrs.field(metadata=wire("thinkProcessId"))
    message: str


@attrs.frozen(kw_only=True)
class ProcessListQuery(Frame):
    """Asks for the think processes that may be seen.

    Attributes:
        project_id: Only those of this project.
        all: Also those that ended more than a day ago.
    """

    TYPE: ClassVar[str] = "process-list"

    project_id: str | None = None
    all: bool = False


@attrs.frozen(kw_only=True)
class ProcessGetQuery(Frame):
    """Asks for one think process with its goal and result."""

    TYPE: ClassVar[str] = "process-get"

    think_process_id: str = attrs.field(metadata=wire("thinkProcessId"))


@attrs.frozen(kw_only=True)
class ProcessStatus(BrainFrame):
    """A think process changed, or acknowledges a command.

    Attributes:
        current_task: Id of the task that runs.
        result: With the terminal status: the result or its blob handle.
    """

    TYPE: ClassVar[str] = "process-status"

    think_process_id: str = attrs.field(metadata=wire("thinkProcessId"))
    status: str
    current_task: str | None = None
    result: Json = None


@attrs.frozen(kw_only=True)
class ProcessRow:
    """A think process as lists show it; every field is always written.

    Attributes:
        title: First line of the goal, at most 80 characters.
        connection_profile: ``default`` for cron, webhook and MCP.
        pending_tasks: Tasks that are pending, blocked or queued.
    """

    id: str
    title: str
    status: str
    project_id: str
    workflow_id: str | None
    connection_profile: str = attrs.field(metadata=wire("connectionProfile"))
    pending_tasks: int
    blocked_reason: str | None
    cause: Cause | None


@attrs.frozen(kw_only=True)
class ProcessDetail(ProcessRow):
    """A think process with its goal and, once there is one, its result."""

    goal: str
    result: Json = None


@attrs.frozen(kw_only=True)
class ProcessList(BrainFrame):
    """Answers ``process-list``, newest first.

    Attributes:
        more: The list goes on in another frame of the same ``reply_to``.
    """

    TYPE: ClassVar[str] = "process-list"

    processes: tuple[ProcessRow, ...]
    more: bool | None = None


@attrs.frozen(kw_only=True)
class ProcessGet(BrainFrame):
    """Answers ``process-get``.

    The row is nested, because its ``id`` would hide the frame's own.
    """

    TYPE: ClassVar[str] = "process-get"

    process: ProcessDetail
