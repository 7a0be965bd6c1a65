"""Tasks and what a person decides about them (seed 003, section 2.3)."""

from typing import ClassVar, Literal, TypeAlias

import attrs

from vance_sdk.wire.json import Json
from vance_sdk.wire.messages.common import (
    BrainFrame,
    Cause,
    Evidence,
    Frame,
    wire,
)

Decision: TypeAlias = Literal["approve", "reject", "run_again", "accept", "fail"]


@attrs.frozen(kw_only=True)
class TaskListQuery(Frame):
    """Asks for the tasks of a think process, planned ones included."""

    TYPE: ClassVar[str] = "task-list"

    think_process_id: str = attrs.field(metadata=wire("thinkProcessId"))


@attrs.frozen(kw_only=True)
class TaskMove(Frame):
    """Moves a task before another one."""

    TYPE: ClassVar[str] = "task-move"

    task_id: str
    before_task_id: str


@attrs.frozen(kw_only=True)
class TaskCancel(Frame):
    """Cancels a task."""

    TYPE: ClassVar[str] = "task-cancel"

    task_id: str


@attrs.frozen(kw_only=True)
class TaskRerun(Frame):
    """Runs a task again."""

    TYPE: ClassVar[str] = "task-rerun"

    task_id: str


@attrs.frozen(kw_only=True)
class TaskApprove(Frame):
    """Decides about a task that waits for a person.

    Attributes:
        approval_id: The question that is answered; absent: the task's newest.
        decision: Finer than ``approved``, which it overrules.
        note: The person's reason.
    """

    TYPE: ClassVar[str] = "task-approve"

    task_id: str
    approved: bool
    approval_id: str | None = None
    decision: Decision | None = None
    note: str | None = None


@attrs.frozen(kw_only=True)
class WhyQuery(Frame):
    """Asks why a task is not running."""

    TYPE: ClassVar[str] = "why"

    task_id: str


@attrs.frozen(kw_only=True)
class TaskUpdate(BrainFrame):
    """A task changed, or acknowledges a command.

    Attributes:
        think_process_id: The process it belongs to (additive).
    """

    TYPE: ClassVar[str] = "task-update"

    task_id: str
    status: str
    result: Json = None
    blocked_reason: str | None = None
    cause: Cause | None = None
    think_process_id: str | None = attrs.field(
        default=None, metadata=wire("thinkProcessId")
    )


@attrs.frozen(kw_only=True)
class TaskRow:
    """A task as lists show it.

    Attributes:
        key: The workflow's own id of the task.
        where: Where its tool runs: ``server``, or the client's name.
        parent: Id of the task above it.
        depends_on: Ids of the tasks it needs.
    """

    task_id: str
    key: str
    goal: str
    status: str
    tool: str | None = None
    where: str | None = None
    parent: str | None = None
    depends_on: tuple[str, ...]
    blocked_reason: str | None = None
    cause: Cause | None = None
    result: Json = None


@attrs.frozen(kw_only=True)
class TaskList(BrainFrame):
    """Answers ``task-list``, in order of execution.

    Attributes:
        more: The list goes on in another frame of the same ``reply_to``.
    """

    TYPE: ClassVar[str] = "task-list"

    think_process_id: str = attrs.field(metadata=wire("thinkProcessId"))
    tasks: tuple[TaskRow, ...]
    more: bool | None = None


@attrs.frozen(kw_only=True)
class ApprovalQuestion(Evidence):
    """What is to be approved, and until when."""

    id: str
    expires_in_ms: int


@attrs.frozen(kw_only=True)
class ApprovalRequest(BrainFrame):
    """The Brain asks a person to allow a call or to accept a result."""

    TYPE: ClassVar[str] = "approval-request"

    task_id: str
    result_preview: Json
    approval: ApprovalQuestion | None = None


@attrs.frozen(kw_only=True)
class Why(BrainFrame):
    """Answers ``why``.

    Attributes:
        text: The whole answer as readable text.
        chain: Causes from the task to the root of its waiting.
    """

    TYPE: ClassVar[str] = "why"

    task_id: str
    status: str
    text: str
    chain: tuple[Cause, ...]
