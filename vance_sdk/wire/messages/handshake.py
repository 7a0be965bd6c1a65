"""Opening and closing a connection (seed 003, section 2.2; 000, section 5)."""

from typing import ClassVar, Literal, TypeAlias

import attrs

from vance_sdk.wire.json import Json
from vance_sdk.wire.messages.common import BrainFrame, Effect, Frame, Project


@attrs.frozen(kw_only=True)
class Capabilities:
    """What a client can show or answer. Hints that only reduce: absent is true."""

    chat: bool = True
    approval: bool = True
    streaming: bool = True
    notifications: bool = True


@attrs.frozen(kw_only=True)
class ClientTool:
    """A tool that a client offers.

    Attributes:
        digest: Fingerprint of the definition (``wire.digest.tool_digest``).
        effect: The client's proposal; the Brain's registry decides.
        input_schema: JSON Schema of the arguments.
    """

    name: str
    type: Literal["native", "mcp", "built_in"] | None = None
    description: str | None = None
    mcp_server: str | None = None
    input_schema: dict[str, Json] | None = None
    digest: str | None = None
    effect: Effect | None = None


@attrs.frozen(kw_only=True)
class ClientInfo:
    """Who connects. Nothing here grants a right; the credential does.

    Attributes:
        type: An open string, such as ``cli`` or ``external``.
        client_id: Stable over the client's restarts; absent: minted per connection.
        boot_id: New with each start of the client.
        journal_id: New with each new call journal of the client.
        manual: The client's ``agent.md``.
    """

    type: str = "external"
    name: str = ""
    version: str = ""
    is_human: bool = True
    capabilities: Capabilities = Capabilities()
    tools: tuple[ClientTool, ...] = ()
    client_id: str | None = None
    boot_id: str | None = None
    journal_id: str | None = None
    manual: str | None = None


@attrs.frozen(kw_only=True)
class Auth:
    """A JWT or an API key. Never shown by ``repr``."""

    token: str = attrs.field(repr=False)


@attrs.frozen(kw_only=True)
class SessionChoice:
    """Which session a client wants; empty: the newest unbound one that fits.

    Attributes:
        resume: A session to resume.
        project_id: The project for a new session.
        last_seq: The last durable frame the client has; without it none is replayed.
    """

    resume: str | None = None
    project_id: str | None = None
    last_seq: int | None = None


@attrs.frozen(kw_only=True)
class InflightCall:
    """A call that the client's journal has without an acknowledged result."""

    request_id: str
    state: str
    args_digest: str


@attrs.frozen(kw_only=True)
class Handshake(Frame):
    """The first frame of every connection.

    Attributes:
        proto: ``vtp/1`` opts into PROTOCOL.md section 3.
    """

    TYPE: ClassVar[str] = "handshake"

    client: ClientInfo
    auth: Auth
    session: SessionChoice | None = None
    proto: str | None = None
    inflight: tuple[InflightCall, ...] | None = None


@attrs.frozen(kw_only=True)
class ClientConnected(Frame):
    """Replaces the tools that this client offers."""

    TYPE: ClassVar[str] = "client_connected"

    session_id: str
    client_type: str | None = None
    available_tools: tuple[ClientTool, ...]


@attrs.frozen(kw_only=True)
class Disconnect(Frame):
    """Ends the connection cleanly; what runs goes on."""

    TYPE: ClassVar[str] = "disconnect"


@attrs.frozen(kw_only=True)
class ActiveProcess:
    """A think process that has not ended.

    Attributes:
        title: First line of the goal, at most 80 characters.
        pending_tasks: Tasks that are pending, blocked or queued.
    """

    id: str
    title: str
    status: str
    pending_tasks: int


@attrs.frozen(kw_only=True)
class Limits:
    """What this Brain accepts. Sizes in bytes, times in milliseconds."""

    frame_bytes: int
    depth: int
    window: int
    ping_ms: int
    dead_ms: int
    resume_ms: int
    inline_result_bytes: int


VerdictDo: TypeAlias = Literal["send_result", "continue", "cancel", "forget"]


@attrs.frozen(kw_only=True)
class Verdict:
    """What the client shall do with a call it named in ``inflight``."""

    request_id: str
    do: VerdictDo


@attrs.frozen(kw_only=True)
class SessionOpened(BrainFrame):
    """What both answers to a handshake say.

    Attributes:
        epoch: Grows with each connection of the session.
        seq: The newest durable frame of the session.
    """

    session_id: str
    project: Project
    active_think_processes: tuple[ActiveProcess, ...]
    server_tools: tuple[str, ...]
    epoch: int | None = None
    limits: Limits | None = None
    verdicts: tuple[Verdict, ...] | None = None


@attrs.frozen(kw_only=True)
class SessionCreated(SessionOpened):
    """A new session is open."""

    TYPE: ClassVar[str] = "session_created"


@attrs.frozen(kw_only=True)
class SessionResumed(SessionOpened):
    """An earlier session goes on; missed frames follow, then ``resume_done``."""

    TYPE: ClassVar[str] = "session_resumed"


@attrs.frozen(kw_only=True)
class ResumeDone(BrainFrame):
    """All missed frames have been sent."""

    TYPE: ClassVar[str] = "resume_done"


@attrs.frozen(kw_only=True)
class GoAway(BrainFrame):
    """The Brain is about to close this connection."""

    TYPE: ClassVar[str] = "goaway"

    reason: str
    retry_in_ms: int
