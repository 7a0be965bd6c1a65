"""What the Brain has: tools and projects (additive to the seed)."""

from typing import ClassVar

import attrs

from vance_sdk.wire.messages.common import BrainFrame, Frame, Project


@attrs.frozen(kw_only=True)
class ToolListQuery(Frame):
    """Asks for every tool the Brain knows, and where it could run now."""

    TYPE: ClassVar[str] = "tool-list"


@attrs.frozen(kw_only=True)
class ProjectListQuery(Frame):
    """Asks for the projects that may be seen."""

    TYPE: ClassVar[str] = "project-list"


@attrs.frozen(kw_only=True)
class ProjectCreate(Frame):
    """Makes a project; one that is there already stays as it is.

    Attributes:
        project_id: 1 to 64 letters, digits, ``_``, ``-`` or ``.``.
        name: For people; the id if absent.
    """

    TYPE: ClassVar[str] = "project-create"

    project_id: str
    name: str | None = None


@attrs.frozen(kw_only=True)
class ToolRow:
    """A tool as lists show it.

    Attributes:
        location: ``server``, ``client`` or ``both``.
        effect: What running it twice would do.
        server: ``up``, ``down``, or ``absent`` when the Brain has no copy.
        clients: Names of the connected clients that offer it, best first.
        source: Where its entry stands: a file, or an offer.
    """

    name: str
    location: str
    prefer: str | None = None
    type: str | None = None
    effect: str
    server: str
    clients: tuple[str, ...]
    description: str
    source: str


@attrs.frozen(kw_only=True)
class ToolList(BrainFrame):
    """Answers ``tool-list``, by name.

    Attributes:
        more: The list goes on in another frame of the same ``reply_to``.
    """

    TYPE: ClassVar[str] = "tool-list"

    tools: tuple[ToolRow, ...]
    more: bool | None = None


@attrs.frozen(kw_only=True)
class ProjectList(BrainFrame):
    """Answers ``project-list``, oldest first."""

    TYPE: ClassVar[str] = "project-list"

    projects: tuple[Project, ...]


@attrs.frozen(kw_only=True)
class ProjectCreated(BrainFrame):
    """Answers ``project-create``."""

    TYPE: ClassVar[str] = "project-create"

    project: Project
