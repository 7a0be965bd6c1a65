"""The Brain's memory (seed 003, section 2.3).

In the seed's tables the payloads of ``memory-add`` and ``memory-link`` have a field
``type``, which in a flat frame is the message's own. It is ``entity_type`` and
``relation_type`` here, and optional: a client made after the seed does not know them.
"""

from typing import ClassVar

import attrs

from vance_sdk.wire.json import Json
from vance_sdk.wire.messages.common import BrainFrame, Frame


@attrs.frozen(kw_only=True)
class MemoryAdd(Frame):
    """Adds an entity.

    Attributes:
        entity_type: The seed's ``type``, such as ``document``.
        subtype: Such as ``paper``.
        content: The text itself.
        blob: SHA-256 of a blob that holds the content.
    """

    TYPE: ClassVar[str] = "memory-add"
    ANY_OF: ClassVar[tuple[str, ...]] = ("content", "blob")

    entity_type: str | None = None
    subtype: str | None = None
    title: str
    content: str | None = None
    blob: str | None = None
    tags: tuple[str, ...] | None = None


@attrs.frozen(kw_only=True)
class MemorySearch(Frame):
    """Searches the memory.

    Attributes:
        scope: Where to search, such as a project's id.
        limit: How many results at most.
    """

    TYPE: ClassVar[str] = "memory-search"

    query: str
    scope: str | None = None
    tags: tuple[str, ...] | None = None
    limit: int | None = None


@attrs.frozen(kw_only=True)
class MemoryLink(Frame):
    """Relates two entities.

    Attributes:
        relation_type: The seed's ``type``.
    """

    TYPE: ClassVar[str] = "memory-link"

    source_id: str
    target_id: str
    relation_type: str | None = None


@attrs.frozen(kw_only=True)
class MemoryResult(BrainFrame):
    """Answers ``memory-search``, best first."""

    TYPE: ClassVar[str] = "memory-result"

    results: tuple[dict[str, Json], ...]
