"""Lists that do not fit one frame come in several; the client sees one answer."""

from typing import Any, Final

import attrs

from vance_sdk.wire.messages.inventory import ToolList
from vance_sdk.wire.messages.processes import ProcessList
from vance_sdk.wire.messages.tables import Outbound
from vance_sdk.wire.messages.tasks import TaskList

ROWS: Final[dict[type, str]] = {
    ProcessList: "processes",
    TaskList: "tasks",
    ToolList: "tools",
}
"""The field that holds the rows of a list."""


def has_more(frame: Outbound) -> bool:
    """Tell whether the list goes on in another frame."""
    return type(frame) in ROWS and bool(getattr(frame, "more", None))


def joined(earlier: Outbound | None, frame: Outbound) -> Outbound:
    """Return the list so far: the rows of both, in order.

    A frame of another kind stands for itself.
    """
    if earlier is None or type(earlier) is not type(frame):
        return frame
    name = ROWS[type(frame)]
    whole: Any = {name: (*getattr(earlier, name), *getattr(frame, name))}
    return attrs.evolve(frame, **whole)
