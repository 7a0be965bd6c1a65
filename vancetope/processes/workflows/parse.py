"""Workflow files: YAML text to a `Workflow`, or everything that is wrong with it.

The fields are those of DESIGN section 5, "Workflow files".
"""

import re
from pathlib import Path
from typing import Final

from vancetope.config.check import Level, Problem
from vancetope.config.fields import TOOL_NAME, Fields, fields_at
from vancetope.config.yamlio import Document, load_yaml, read_yaml
from vancetope.errors import ConfigError
from vancetope.model.json import Json
from vancetope.model.tool import Strategy, Target
from vancetope.processes.workflows.definition import (
    DEFAULT_TIMEOUT_MS,
    InputSpec,
    OnError,
    Workflow,
    WorkflowTask,
)
from vancetope.processes.workflows.templating import is_template
from vancetope.processes.workflows.validate import (
    FOREACH_FIX,
    FOREACH_WANTS,
    connected,
    unknown_tools,
)

WORKFLOW_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
TASK_KEY: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
_TOOL: Final = re.compile(TOOL_NAME.pattern + r"(@[A-Za-z0-9_-]{1,64})?")
_TOOL_LIKE: Final = "NAME or NAME@CLIENT, each up to 64 letters, digits, _ or -"

_KEYS: Final = ("id", "goal", "inputs", "tasks", "result")
_INPUT_KEYS: Final = ("default", "required", "description")
_TASK_KEYS: Final = (
    "id",
    "goal",
    "tool",
    "args",
    "tools",
    "optional_tools",
    "depends_on",
    "foreach",
    "execution_target",
    "offline_strategy",
    "timeout",
    "start_within",
    "on_error",
    "result",
)


def parse_workflow(content: str | bytes, *, file: str, stem: str) -> Workflow:
    """The workflow of a YAML text; `stem` is its id when the text names none.

    Raises:
        ConfigError: the first thing that is wrong.
    """
    workflow, problems = read_workflow(content, file=file, stem=stem)
    if workflow is None:
        raise problems[0]
    return workflow


def read_workflow(
    content: str | bytes, *, file: str, stem: str
) -> tuple[Workflow | None, list[ConfigError]]:
    """The workflow of a YAML text, or None and everything that is wrong with it."""
    try:
        document = load_yaml(content, file=file)
    except ConfigError as error:
        return None, [error]
    return _from_document(document, stem)


def read_workflow_file(path: Path) -> tuple[Workflow | None, list[ConfigError]]:
    """As `read_workflow`, of a file."""
    try:
        document = read_yaml(path)
    except ConfigError as error:
        return None, [error]
    return _from_document(document, path.stem)


def check_workflow_file(path: Path, known_tools: frozenset[str]) -> list[Problem]:
    """All that is wrong with a file; tools nobody registered are warnings."""
    try:
        document = read_yaml(path)
    except ConfigError as error:
        return [Problem(level=Level.ERROR, error=error)]
    workflow, problems = _from_document(document, path.stem)
    found = [Problem(level=Level.ERROR, error=error) for error in problems]
    if workflow is None:
        return found
    keys = [task.key for task in workflow.tasks]
    for key, name, fix in unknown_tools(workflow, known_tools):
        number = keys.index(key)
        warning = document.problem(
            ("tasks", number, "tool"),
            "the tool is not registered; the task fails unless a client offers it",
            value=name,
            fix=fix,
        )
        found.append(Problem(level=Level.WARNING, error=warning))
    return found


def _from_document(
    document: Document, stem: str
) -> tuple[Workflow | None, list[ConfigError]]:
    problems: list[ConfigError] = []
    workflow = _workflow(document, stem, problems)
    problems.sort(key=lambda problem: problem.line or 0)
    return (None if problems else workflow), problems


def _workflow(
    document: Document, stem: str, problems: list[ConfigError]
) -> Workflow | None:
    top = fields_at(document, (), document.data, problems)
    if top is None:
        if not problems:
            problems.append(
                document.problem((), "is empty", fix="Add `tasks:` with one task.")
            )
        return None
    top.only(_KEYS)
    like = "1 to 64 small letters, digits, _ or -, beginning with a letter or digit"
    name = top.text("id", pattern=WORKFLOW_ID, like=like)
    if not top.has("id"):
        name = stem
        if not WORKFLOW_ID.fullmatch(stem):
            top.report(
                "id",
                "is missing, and the file's name is no valid id",
                value=stem,
                fix=f"Add `id:` with {like}.",
            )
    workflow = Workflow(
        id=name or stem,
        goal=top.text("goal") or "",
        inputs=_inputs(top),
        tasks=tuple(_tasks(top)),
        result=top.data.get("result"),
        file=document.file,
    )
    return connected(workflow, document, problems)


def _inputs(top: Fields) -> dict[str, InputSpec]:
    inputs: dict[str, InputSpec] = {}
    written = top.inside("inputs")
    if written is None:
        return inputs
    for name in written.data:
        if not TASK_KEY.fullmatch(name):
            written.report(
                name, "is not a valid name", fix="Use letters, digits and _."
            )
        fields = written.inside(name)
        if fields is None:
            inputs[name] = InputSpec()
            continue
        fields.only(_INPUT_KEYS)
        required = fields.flag("required")
        if required and "default" in fields.data:
            fields.report(
                "required",
                "contradicts default",
                fix="Remove one of the two lines.",
            )
        inputs[name] = InputSpec(
            required="default" not in fields.data if required is None else required,
            default=fields.data.get("default"),
            description=fields.text("description") or "",
        )
    return inputs


def _tasks(top: Fields) -> list[WorkflowTask]:
    listed = top.data.get("tasks")
    if not listed or not isinstance(listed, list):
        missing = listed is None or listed == []
        top.report(
            "tasks",
            "is missing" if missing else "must be a list",
            value=None if missing else listed,
            fix="Add `tasks:` and under it `- id: ...` with `tool: ...`.",
        )
        return []
    tasks = []
    for number, item in enumerate(listed):
        place = ("tasks", number)
        fields = fields_at(top.document, place, item, top.problems)
        if fields is not None:
            tasks.append(_task(fields, number))
        elif item is None:
            top.problems.append(
                top.document.problem(place, "is empty", fix="Remove it.")
            )
    return tasks


def _task(fields: Fields, number: int) -> WorkflowTask:
    fields.only(_TASK_KEYS)
    key = fields.text(
        "id", pattern=TASK_KEY, like="1 to 64 letters, digits, _ or - (not first)"
    )
    if not fields.has("id"):
        fields.report("id", "is missing", fix="Add a line `id: ...`.")
    tool = fields.text("tool", pattern=_TOOL, like=_TOOL_LIKE)
    args = fields.inside("args")
    _check_work(fields)
    return WorkflowTask(
        # A task whose id is wrong still takes part, so that it is checked as well.
        key=key or f"task {number}",
        goal=fields.text("goal") or "",
        tool=tool,
        args={} if args is None else args.data,
        tools=_tools(fields, "tools"),
        optional_tools=_tools(fields, "optional_tools"),
        depends_on=fields.names("depends_on") or (),
        foreach=_foreach(fields),
        target=fields.choice("execution_target", Target) or Target.AUTO,
        offline_strategy=fields.choice("offline_strategy", Strategy),
        timeout_ms=fields.duration("timeout") or DEFAULT_TIMEOUT_MS,
        start_within_ms=fields.duration("start_within"),
        on_error=fields.choice("on_error", OnError) or OnError.FAIL,
        result=fields.data.get("result"),
    )


def _check_work(fields: Fields) -> None:
    has_tool, has_result = fields.has("tool"), fields.has("result")
    if has_tool and has_result:
        fields.report(
            "result",
            "stands beside tool, and a task has one of the two",
            fix="Give it to a task of its own that uses tasks.ID.result.",
        )
    elif not has_tool and not has_result:
        only_goal = "has only a goal, and no model works here" * fields.has("goal")
        fields.report(
            "",
            only_goal or "has nothing to do",
            fix="Add `tool:` with the name of a tool (or `result:` for a plain value).",
        )
    if fields.has("args") and not has_tool:
        fields.report("args", "stands without a tool", fix="Add `tool:`.")


def _tools(fields: Fields, key: str) -> tuple[str, ...]:
    names = fields.names(key) or ()
    for number, name in enumerate(names):
        if not _TOOL.fullmatch(name):
            place = (*fields.place, key, number)
            fields.problems.append(
                fields.document.problem(
                    place, "is not a valid name", value=name, fix=f"Use {_TOOL_LIKE}."
                )
            )
    return names


def _foreach(fields: Fields) -> Json:
    value = fields.data.get("foreach")
    if value is None or isinstance(value, list):
        return value
    if isinstance(value, str) and is_template(value):
        return value
    fields.report(
        "foreach",
        FOREACH_WANTS,
        value=value,
        fix=FOREACH_FIX,
    )
    return None
