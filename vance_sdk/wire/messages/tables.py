"""Which messages go which way, in the order of the documents.

One type may stand in both directions with a class for each: ``process-list`` is
``ProcessListQuery`` from a client and ``ProcessList`` from the Brain.
"""

from typing import Final, TypeAlias, get_args

from vance_sdk.wire.messages.handshake import (
    ClientConnected,
    Disconnect,
    GoAway,
    Handshake,
    ResumeDone,
    SessionCreated,
    SessionResumed,
)
from vance_sdk.wire.messages.inventory import (
    ProjectCreate,
    ProjectCreated,
    ProjectList,
    ProjectListQuery,
    ToolList,
    ToolListQuery,
)
from vance_sdk.wire.messages.memory import (
    MemoryAdd,
    MemoryLink,
    MemoryResult,
    MemorySearch,
)
from vance_sdk.wire.messages.processes import (
    ProcessContinue,
    ProcessGet,
    ProcessGetQuery,
    ProcessList,
    ProcessListQuery,
    ProcessPause,
    ProcessStart,
    ProcessStatus,
    ProcessSteer,
    ProcessStop,
)
from vance_sdk.wire.messages.sessions import (
    Ack,
    Chat,
    ChatReply,
    Error,
    InboxList,
    InboxListQuery,
    Notification,
    SessionBootstrap,
    SessionBootstrapQuery,
    SessionList,
    SessionListQuery,
    StreamChunk,
    StreamEnd,
)
from vance_sdk.wire.messages.tasks import (
    ApprovalRequest,
    TaskApprove,
    TaskCancel,
    TaskList,
    TaskListQuery,
    TaskMove,
    TaskRerun,
    TaskUpdate,
    Why,
    WhyQuery,
)
from vance_sdk.wire.messages.tools import (
    SequenceAck,
    ToolAccepted,
    ToolCancel,
    ToolCancelAck,
    ToolProgress,
    ToolRequest,
    ToolResult,
    ToolResultAck,
)

Inbound: TypeAlias = (
    Handshake
    | ProcessStart
    | ProcessContinue
    | ProcessPause
    | ProcessStop
    | ProcessSteer
    | ProcessListQuery
    | ProcessGetQuery
    | TaskListQuery
    | TaskMove
    | TaskCancel
    | TaskRerun
    | TaskApprove
    | MemoryAdd
    | MemorySearch
    | MemoryLink
    | ToolResult
    | ToolAccepted
    | ToolProgress
    | ToolCancelAck
    | SequenceAck
    | Chat
    | SessionBootstrapQuery
    | SessionListQuery
    | InboxListQuery
    | WhyQuery
    | ToolListQuery
    | ProjectListQuery
    | ProjectCreate
    | ClientConnected
    | Disconnect
)
"""Client to Brain (PROTOCOL.md section 2)."""

Outbound: TypeAlias = (
    SessionCreated
    | SessionResumed
    | ProcessStatus
    | ProcessList
    | ProcessGet
    | TaskUpdate
    | TaskList
    | ToolRequest
    | ApprovalRequest
    | StreamChunk
    | StreamEnd
    | Notification
    | ChatReply
    | MemoryResult
    | Error
    | ToolCancel
    | ToolResultAck
    | ResumeDone
    | GoAway
    | Ack
    | SessionBootstrap
    | SessionList
    | InboxList
    | Why
    | ToolList
    | ProjectList
    | ProjectCreated
)
"""Brain to client (PROTOCOL.md section 2)."""

INBOUND: Final[dict[str, type[Inbound]]] = {cls.TYPE: cls for cls in get_args(Inbound)}
OUTBOUND: Final[dict[str, type[Outbound]]] = {
    cls.TYPE: cls for cls in get_args(Outbound)
}
