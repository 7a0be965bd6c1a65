"""Sessions, chat and what the Brain tells a person (seed 003, sections 2.1a, 2.3)."""

from typing import ClassVar

import attrs

from vance_sdk.wire.json import Json
from vance_sdk.wire.messages.common import BrainFrame, Cause, Frame, wire


@attrs.frozen(kw_only=True)
class Chat(Frame):
    """A chat message to the Brain."""

    TYPE: ClassVar[str] = "chat"

    message: str


@attrs.frozen(kw_only=True)
class SessionBootstrapQuery(Frame):
    """Binds this connection to another session, by the handshake's rules."""

    TYPE: ClassVar[str] = "session-bootstrap"

    session_id: str | None = attrs.field(default=None, metadata=wire("sessionId"))
    project_id: str | None = None


@attrs.frozen(kw_only=True)
class SessionListQuery(Frame):
    """Asks for the sessions that may be resumed."""

    TYPE: ClassVar[str] = "session-list"

    project_id: str | None = None


@attrs.frozen(kw_only=True)
class InboxListQuery(Frame):
    """Asks for what waits for a person."""

    TYPE: ClassVar[str] = "inbox-list"

    project_id: str | None = None


@attrs.frozen(kw_only=True)
class StreamChunk(BrainFrame):
    """A piece of a model's output. Not durable."""

    TYPE: ClassVar[str] = "stream-chunk"

    think_process_id: str = attrs.field(metadata=wire("thinkProcessId"))
    task_id: str
    chunk: str


@attrs.frozen(kw_only=True)
class StreamEnd(BrainFrame):
    """A model's output is complete."""

    TYPE: ClassVar[str] = "stream-end"

    think_process_id: str = attrs.field(metadata=wire("thinkProcessId"))
    task_id: str


@attrs.frozen(kw_only=True)
class Notification(BrainFrame):
    """Something a person should know."""

    TYPE: ClassVar[str] = "notification"

    level: str
    message: str
    context: dict[str, Json] | None = None


@attrs.frozen(kw_only=True)
class ChatReply(BrainFrame):
    """The Brain's answer to ``chat``."""

    TYPE: ClassVar[str] = "chat"

    message: str


@attrs.frozen(kw_only=True)
class Error(BrainFrame):
    """A frame could not be served.

    Attributes:
        code: One of ``wire.errors.CODES``.
        context: With ``unavailable``: ``{"fix": ...}``.
    """

    TYPE: ClassVar[str] = "error"

    code: str
    message: str
    context: dict[str, Json] | None = None


@attrs.frozen(kw_only=True)
class SessionBootstrap(BrainFrame):
    """Answers ``session-bootstrap``."""

    TYPE: ClassVar[str] = "session-bootstrap"

    session_id: str
    resumed: bool


@attrs.frozen(kw_only=True)
class SessionSummary:
    """A session as pickers show it (seed 2.1a).

    Attributes:
        profile: A connection of another profile cannot resume it.
        last_seen: UTC, in milliseconds of the epoch.
    """

    session_id: str
    profile: str
    project_id: str
    client_name: str | None = None
    status: str | None = None
    last_seen: int | None = None


@attrs.frozen(kw_only=True)
class SessionList(BrainFrame):
    """Answers ``session-list``, newest first."""

    TYPE: ClassVar[str] = "session-list"

    sessions: tuple[SessionSummary, ...]


@attrs.frozen(kw_only=True)
class InboxItem:
    """One thing that waits for a person.

    Attributes:
        cause: Why it waits; its ``kind`` says what is asked.
        approval_id: What ``task-approve`` answers with.
    """

    task_id: str
    think_process_id: str = attrs.field(metadata=wire("thinkProcessId"))
    project_id: str
    title: str
    cause: Cause
    approval_id: str | None = None


@attrs.frozen(kw_only=True)
class InboxList(BrainFrame):
    """Answers ``inbox-list``, oldest first."""

    TYPE: ClassVar[str] = "inbox-list"

    items: tuple[InboxItem, ...]


@attrs.frozen(kw_only=True)
class Ack(BrainFrame):
    """The Brain has committed what a frame asked for, or frames up to ``seq``.

    Attributes:
        entity_id: The entity or relation that a memory command made.
    """

    TYPE: ClassVar[str] = "ack"

    entity_id: str | None = None
