"""The protocol every engine speaks.

A step is a value: the engine says what should happen, the scheduler makes it happen.
Nothing an engine holds in memory may matter, since any step can be the last before a
crash.
"""

from typing import Protocol, TypeAlias

import attrs

from vancetope.model.json import Json, JsonObject
from vancetope.model.records import ProcessRecord, TaskRecord
from vancetope.model.tool import Strategy, Target
from vancetope.store import Connection
from vancetope.tools.outcome import Failed


@attrs.frozen(kw_only=True)
class PlannedTask:
    """A node that exists from the start.

    Attributes:
        depends_on: each node it waits for, with whether a template uses its result.
    """

    node: str
    goal: str
    tool: str | None
    depends_on: tuple[tuple[str, bool], ...]
    continue_on_error: bool


@attrs.frozen(kw_only=True)
class CallTool:
    """Run one tool, when all of `requires` can be routed.

    Attributes:
        tool: `tool` or `tool@client`.
        timeout_ms: from dispatch to result.
        start_within_ms: bound of the wait for a client, None for none.
    """

    tool: str
    args: JsonObject
    requires: tuple[str, ...]
    target: Target
    strategy: Strategy | None
    timeout_ms: int
    start_within_ms: int | None


@attrs.frozen(kw_only=True)
class FanOut:
    """Make one child for each item, in order."""

    items: list[Json]


@attrs.frozen(kw_only=True)
class Value:
    """The task is done with this result; no tool is needed."""

    result: Json


@attrs.frozen(kw_only=True)
class Broken:
    """The task cannot run, and never will."""

    code: str
    message: str


Step: TypeAlias = CallTool | FanOut | Value | Broken


class Engine(Protocol):
    """One way of working on a goal."""

    name: str

    def plan(self, definition: JsonObject) -> tuple[PlannedTask, ...]:
        """The nodes a process starts with, in execution order."""
        ...

    def is_heavy(self, conn: Connection, task: TaskRecord) -> bool:
        """Whether `step` may take long enough to belong on a thread."""
        ...

    def step(self, conn: Connection, process: ProcessRecord, task: TaskRecord) -> Step:
        """What a ready task does now.  Never raises for what the owner wrote."""
        ...

    def conclude(self, conn: Connection, process: ProcessRecord) -> Json | Failed:
        """The result of the whole, or of what there is so far.  Never raises."""
        ...
