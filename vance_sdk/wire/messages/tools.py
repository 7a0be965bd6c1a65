"""Tool calls between Brain and client (seed 003, section 2.3; PROTOCOL.md 2, 3)."""

from typing import ClassVar

import attrs

from vance_sdk.wire.json import Json
from vance_sdk.wire.messages.common import BrainFrame, Effect, Frame


@attrs.frozen(kw_only=True)
class ToolError:
    """Why a call has no result.

    Attributes:
        code: One of ``wire.errors.TOOL_ERROR_CODES``.
        what: With ``approval_required``: what a person would allow, in a sentence.
        argv: The command, word by word.
        diff: The change, as unified diff.
        digest: Fingerprint of exactly this.
    """

    code: str
    message: str
    what: str | None = None
    argv: tuple[str, ...] | None = None
    diff: str | None = None
    digest: str | None = None


@attrs.frozen(kw_only=True)
class ToolResult(Frame):
    """The result of a call, or why there is none.

    Attributes:
        result: Any JSON, ``null`` included; means nothing beside an ``error``.
        error: A plain string has the code ``failed``.
    """

    TYPE: ClassVar[str] = "tool-result"
    ANY_OF: ClassVar[tuple[str, ...]] = ("result", "error")

    request_id: str
    result: Json = None
    error: str | ToolError | None = None


@attrs.frozen(kw_only=True)
class ToolAccepted(Frame):
    """The client has the call in its journal and will run it."""

    TYPE: ClassVar[str] = "tool-accepted"

    request_id: str
    boot_id: str


@attrs.frozen(kw_only=True)
class ToolProgress(Frame):
    """The call is alive.

    Attributes:
        n: Grows with each progress frame of the call.
        asking: A person is being asked; the call's clock pauses.
        details: Any JSON, to show.
    """

    TYPE: ClassVar[str] = "tool-progress"

    request_id: str
    n: int
    asking: bool | None = None
    details: Json = None


@attrs.frozen(kw_only=True)
class ToolCancelAck(Frame):
    """The client has seen the cancel.

    Attributes:
        state: What the call was at that moment.
    """

    TYPE: ClassVar[str] = "tool-cancel-ack"

    request_id: str
    state: str


@attrs.frozen(kw_only=True)
class SequenceAck(Frame):
    """The client has the durable frames up to this one.

    Attributes:
        seq: The ``seq`` of the newest frame it keeps.
    """

    TYPE: ClassVar[str] = "ack"

    seq: int


@attrs.frozen(kw_only=True)
class GrantedApproval:
    """An approval that this call goes out with.

    Attributes:
        digest: The evidence it holds for; nothing else may run under it.
    """

    id: str
    digest: str


@attrs.frozen(kw_only=True)
class ToolRequest(BrainFrame):
    """The Brain needs a tool of the client.

    The fields after ``args`` are additive: a client may run the call without them.

    Attributes:
        request_id: The call's id; the same id is the same call.
        start_within_ms: How long the call may wait to be started.
        run_within_ms: How long it may run.
        heartbeat_ms: How often progress is expected.
        effect: What the Brain's registry says of the tool.
        args_digest: ``wire.digest.args_digest`` of ``args``.
    """

    TYPE: ClassVar[str] = "tool-request"

    request_id: str
    tool_name: str
    args: dict[str, Json]
    start_within_ms: int | None = None
    run_within_ms: int | None = None
    heartbeat_ms: int | None = None
    effect: Effect | None = None
    args_digest: str | None = None
    approval: GrantedApproval | None = None


@attrs.frozen(kw_only=True)
class ToolCancel(BrainFrame):
    """Asks the client to give a call up; exactly one result still follows."""

    TYPE: ClassVar[str] = "tool-cancel"

    request_id: str
    reason: str | None = None


@attrs.frozen(kw_only=True)
class ToolResultAck(BrainFrame):
    """The Brain has committed the result; the client may forget it."""

    TYPE: ClassVar[str] = "tool-result-ack"

    request_id: str
