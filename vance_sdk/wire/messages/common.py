"""What messages are made of (PROTOCOL.md section 2).

No module of this package may postpone its annotations (``from __future__ import
annotations``): the codec tells ``Json`` from other unions by identity.
"""

from typing import ClassVar, Literal, TypeAlias

import attrs

Effect: TypeAlias = Literal["read", "idempotent", "once"]
"""What running a tool twice would do (PROTOCOL.md section 3)."""

WIRE_NAME = "wire_name"


def wire(name: str) -> dict[str, str]:
    """Return field metadata that gives a field another name on the wire."""
    return {WIRE_NAME: name}


def wire_name(field: "attrs.Attribute[object]") -> str:
    """Return the name a field has on the wire."""
    name: str = field.metadata.get(WIRE_NAME, field.name)
    return name


@attrs.frozen(kw_only=True)
class Frame:
    """A message: one JSON object in one text frame.

    A field whose default is ``None`` is left out of the frame while it is ``None``;
    every other field is always written.

    Attributes:
        id: Any string of the sender's; comes back as ``reply_to``.
        reply_to: The ``id`` of the frame that this one answers directly.
    """

    TYPE: ClassVar[str]
    ANY_OF: ClassVar[tuple[str, ...]] = ()
    """Names of wire fields of which at least one must be present."""

    id: str | None = None
    reply_to: str | None = None


@attrs.frozen(kw_only=True)
class BrainFrame(Frame):
    """A message of the Brain.

    Attributes:
        seq: Position in the session's stream, on durable frames to a client that
            spoke ``vtp/1``.
    """

    seq: int | None = None


@attrs.frozen(kw_only=True)
class Cause:
    """Why something is neither running nor ended, and what will change that.

    Attributes:
        kind: Such as ``client_tool`` or ``dependency`` (DESIGN section 5).
        what: One readable sentence.
        key: What is waited for: a tool, a task, a server, a call.
        since: UTC, in milliseconds of the epoch.
        wakes_on: The event that ends the wait.
    """

    kind: str
    what: str
    key: str | None
    since: int
    wakes_on: str | None


@attrs.frozen(kw_only=True)
class Project:
    """A project, by id and name."""

    id: str
    name: str


@attrs.frozen(kw_only=True)
class Evidence:
    """What a person is asked to allow: a command line or a change.

    Attributes:
        what: One readable sentence.
        argv: The command, word by word.
        diff: The change, as unified diff.
        digest: Fingerprint of exactly this; an approval holds for nothing else.
    """

    what: str
    argv: tuple[str, ...] | None = None
    diff: str | None = None
    digest: str


@attrs.frozen(kw_only=True)
class BlobHandle:
    """A result too big for a frame, as it stands in ``result``.

    Attributes:
        blob: SHA-256 of the content, in hexadecimal.
        bytes: Length of the content.
        head: Its first characters.
        tail: Its last characters.
    """

    blob: str
    bytes: int
    media_type: str
    head: str
    tail: str
