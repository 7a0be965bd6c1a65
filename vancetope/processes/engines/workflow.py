"""The engine that follows a YAML task tree: tools and templates, no model."""

from collections import OrderedDict
from datetime import UTC, datetime
from typing import Final

import attrs

from vancetope.model.json import Json, JsonObject
from vancetope.model.records import ProcessRecord, TaskRecord
from vancetope.processes.engines.base import (
    Broken,
    CallTool,
    FanOut,
    PlannedTask,
    Step,
    Value,
)
from vancetope.processes.engines.view import Tasks
from vancetope.processes.workflows.definition import (
    OnError,
    Workflow,
    WorkflowTask,
    from_json,
)
from vancetope.processes.workflows.templating import TemplateError, render
from vancetope.store import Connection
from vancetope.store.queries import processes, tasks
from vancetope.tools.outcome import Failed, FailureCode

#: Snapshots kept parsed; any can be read again from its process.
CACHED: Final = 128
#: Signs of a template that may look at much more than one value.
HEAVY: Final = ("{%", "|", "[:")


@attrs.frozen
class Snapshot:
    """What a process was started with.

    Attributes:
        heavy: the tasks with a template that has more in it than looking a value up.
    """

    workflow: Workflow
    given: JsonObject
    nodes: dict[str, WorkflowTask]
    heavy: frozenset[str]

    @classmethod
    def of(cls, definition: JsonObject, given: JsonObject) -> "Snapshot":
        """Read a process's definition."""
        workflow = from_json(definition)
        nodes = {task.key: task for task in workflow.tasks}
        heavy = frozenset(
            key
            for key, task in nodes.items()
            if _heavy([task.args, task.foreach, task.result])
        )
        return cls(workflow, given, nodes, heavy)


@attrs.define(eq=False)
class WorkflowEngine:
    """Runs `Workflow` snapshots."""

    name: str = "workflow"
    _cache: "OrderedDict[str, Snapshot]" = attrs.field(factory=OrderedDict, init=False)

    def plan(self, definition: JsonObject) -> tuple[PlannedTask, ...]:
        """One planned task for each task of the file, in the order of the file."""
        return tuple(_planned(task) for task in from_json(definition).tasks)

    def is_heavy(self, conn: Connection, task: TaskRecord) -> bool:
        """Whether a template of the task has more in it than looking a value up."""
        return task.node in self._snapshot(conn, task.process_id).heavy

    def step(self, conn: Connection, process: ProcessRecord, task: TaskRecord) -> Step:
        """Fan out, call the tool, or give the value, whichever the file says."""
        snapshot = self._snapshot(conn, process.id)
        node = snapshot.nodes[task.node]
        context = _context(conn, process, snapshot)
        try:
            if node.foreach is not None and task.item_index is None:
                return _fan_out(node, context)
            if task.item_index is not None:
                context["item"] = tasks.item(conn, task.id)
                context["index"] = task.item_index
            if node.tool is None:
                return Value(result=render(node.result, context, field="result"))
            args = render(node.args, context, field="args")
        except TemplateError as exc:
            return Broken(code="template", message=exc.message)
        return CallTool(
            tool=node.tool,
            args=args if isinstance(args, dict) else {},
            requires=node.required_tools,
            target=node.target,
            strategy=node.offline_strategy,
            timeout_ms=node.timeout_ms,
            start_within_ms=node.start_within_ms,
        )

    def conclude(self, conn: Connection, process: ProcessRecord) -> Json | Failed:
        """The file's `result`, or what every leaf gave (DESIGN section 5).

        A process that has failed, or still waits, has a partial result: its leaves.
        """
        snapshot = self._snapshot(conn, process.id)
        workflow = snapshot.workflow
        context = _context(conn, process, snapshot)
        partial = process.has_failed or process.open_tasks > 0
        try:
            if workflow.result is not None and not partial:
                return render(workflow.result, context, field="result")
            leaves: dict[str, Json] = {
                key: f"{{{{ tasks[{key!r}].result }}}}" for key in workflow.leaves
            }
            return _leaves(leaves, context)
        except TemplateError as exc:
            return Failed(code=FailureCode.FAILED, message=exc.message)

    def _snapshot(self, conn: Connection, process_id: str) -> Snapshot:
        known = self._cache.get(process_id)
        if known is None:
            known = Snapshot.of(*processes.definition(conn, process_id))
            self._cache[process_id] = known
            while len(self._cache) > CACHED:
                self._cache.popitem(last=False)
        return known


def _planned(task: WorkflowTask) -> PlannedTask:
    return PlannedTask(
        node=task.key,
        goal=task.goal or (f"Run {task.tool}" if task.tool else task.key),
        tool=task.tool,
        depends_on=tuple((key, key in task.uses) for key in task.depends_on),
        continue_on_error=task.on_error is OnError.CONTINUE,
    )


def _fan_out(node: WorkflowTask, context: dict[str, object]) -> Step:
    items = render(node.foreach, context, field="foreach")
    if not isinstance(items, list):
        kind = type(items).__name__
        message = f"foreach: the template gives {kind}, not a list"
        return Broken(code="template", message=message)
    return FanOut(items=items)


def _heavy(value: Json) -> bool:
    match value:
        case str():
            return any(sign in value for sign in HEAVY)
        case list():
            return any(_heavy(one) for one in value)
        case dict():
            return any(_heavy(one) for one in value.values())
        case _:
            return False


def _context(
    conn: Connection,
    process: ProcessRecord,
    snapshot: Snapshot,
) -> dict[str, object]:
    started = datetime.fromtimestamp(process.created_at / 1000, tz=UTC)
    return {
        "inputs": snapshot.given,
        "tasks": Tasks(conn, process.id, snapshot.workflow),
        "process": {
            "id": process.id,
            "title": process.title,
            "started_at": started.isoformat(timespec="seconds"),
        },
    }


def _leaves(leaves: dict[str, Json], context: dict[str, object]) -> Json:
    """Each leaf by itself, so that one that cannot be shown hides no other."""
    result: dict[str, Json] = {}
    for key, template in leaves.items():
        try:
            result[key] = render(template, context, field=f"result.{key}")
        except TemplateError as exc:
            result[key] = {"error": {"code": "template", "message": exc.message}}
    return result
