"""A workflow as data: what a file says, and what a process keeps of it."""

from enum import StrEnum
from typing import cast

import attrs

from vancetope.model.json import Json, JsonObject
from vancetope.model.tool import Strategy, Target

#: How long a call may take from dispatch to result, when the task does not say.
DEFAULT_TIMEOUT_MS = 600_000


class OnError(StrEnum):
    """What a failure of a task means for the rest."""

    FAIL = "fail"
    CONTINUE = "continue"


@attrs.frozen(kw_only=True)
class InputSpec:
    """An input of a workflow; `default` counts only when it is not `required`."""

    required: bool = True
    default: Json = None
    description: str = ""


@attrs.frozen(kw_only=True)
class WorkflowTask:
    """One node: a tool with templated `args`, or a pure value (`result`).

    Attributes:
        key: The task's id in its file.
        tool: `NAME` or `NAME@CLIENT`; None for a pure value.
        tools: Further tools that must be routable before it starts.
        depends_on: Keys of the tasks it waits for, those its templates use included.
        uses: Keys of the tasks its own templates refer to.
        foreach: A list, or a template that gives one; the task runs for each item.
        start_within_ms: How long it waits for a client; None is for ever.
        result: The template of a pure value.
    """

    key: str
    goal: str = ""
    tool: str | None = None
    args: JsonObject = attrs.field(factory=dict)
    tools: tuple[str, ...] = ()
    optional_tools: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    uses: frozenset[str] = frozenset()
    foreach: Json = None
    target: Target = Target.AUTO
    offline_strategy: Strategy | None = None
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    start_within_ms: int | None = None
    on_error: OnError = OnError.FAIL
    result: Json = None

    @property
    def required_tools(self) -> tuple[str, ...]:
        """The tool itself, then the further ones, each once."""
        own = () if self.tool is None else (self.tool,)
        return tuple(dict.fromkeys((*own, *self.tools)))


@attrs.frozen(kw_only=True)
class Workflow:
    """A task tree; `result` is a template over the tasks, None means the leaves."""

    id: str
    goal: str = ""
    inputs: dict[str, InputSpec] = attrs.field(factory=dict)
    tasks: tuple[WorkflowTask, ...]
    result: Json = None
    file: str = ""

    def task(self, key: str) -> WorkflowTask:
        """The task with this key.

        Raises:
            KeyError: there is none.
        """
        for task in self.tasks:
            if task.key == key:
                return task
        raise KeyError(key)

    @property
    def leaves(self) -> tuple[str, ...]:
        """The keys of the tasks nothing depends on, in the order of the file."""
        inner = {key for task in self.tasks for key in task.depends_on}
        return tuple(task.key for task in self.tasks if task.key not in inner)


def to_json(workflow: Workflow) -> JsonObject:
    """The snapshot a process is started with; `from_json` reads it."""
    return {
        "id": workflow.id,
        "goal": workflow.goal,
        "inputs": {
            name: {
                "required": spec.required,
                "default": spec.default,
                "description": spec.description,
            }
            for name, spec in workflow.inputs.items()
        },
        "tasks": [_task_to_json(task) for task in workflow.tasks],
        "result": workflow.result,
        "file": workflow.file,
    }


def from_json(data: JsonObject) -> Workflow:
    """The workflow of a snapshot; fields that a later version added are left out.

    Raises:
        KeyError, ValueError: it is no snapshot.
    """
    inputs = cast("dict[str, JsonObject]", data["inputs"])
    tasks = cast("list[JsonObject]", data["tasks"])
    return Workflow(
        id=str(data["id"]),
        goal=str(data["goal"]),
        inputs={
            name: InputSpec(
                required=bool(spec["required"]),
                default=spec["default"],
                description=str(spec["description"]),
            )
            for name, spec in inputs.items()
        },
        tasks=tuple(map(_task_from_json, tasks)),
        result=data["result"],
        file=str(data["file"]),
    )


def _task_to_json(task: WorkflowTask) -> JsonObject:
    return {
        "key": task.key,
        "goal": task.goal,
        "tool": task.tool,
        "args": task.args,
        "tools": list(task.tools),
        "optional_tools": list(task.optional_tools),
        "depends_on": list(task.depends_on),
        "uses": list[Json](sorted(task.uses)),
        "foreach": task.foreach,
        "target": task.target.value,
        "offline_strategy": task.offline_strategy and task.offline_strategy.value,
        "timeout_ms": task.timeout_ms,
        "start_within_ms": task.start_within_ms,
        "on_error": task.on_error.value,
        "result": task.result,
    }


def _task_from_json(data: JsonObject) -> WorkflowTask:
    strategy = data["offline_strategy"]
    return WorkflowTask(
        key=str(data["key"]),
        goal=str(data["goal"]),
        tool=cast("str | None", data["tool"]),
        args=cast("JsonObject", data["args"]),
        tools=_names(data["tools"]),
        optional_tools=_names(data["optional_tools"]),
        depends_on=_names(data["depends_on"]),
        uses=frozenset(_names(data["uses"])),
        foreach=data["foreach"],
        target=Target(str(data["target"])),
        offline_strategy=None if strategy is None else Strategy(str(strategy)),
        timeout_ms=cast("int", data["timeout_ms"]),
        start_within_ms=cast("int | None", data["start_within_ms"]),
        on_error=OnError(str(data["on_error"])),
        result=data["result"],
    )


def _names(value: Json) -> tuple[str, ...]:
    return tuple(map(str, cast("list[Json]", value)))
