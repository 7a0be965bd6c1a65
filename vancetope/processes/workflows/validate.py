"""What holds between the parts of a workflow: keys, dependencies, references."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import attrs

from vancetope.config.fields import suggestion
from vancetope.config.yamlio import Document, Place
from vancetope.errors import ConfigError
from vancetope.model.json import Json
from vancetope.processes.workflows.definition import Workflow, WorkflowTask
from vancetope.processes.workflows.references import (
    TASK_FIELDS,
    Reference,
    references,
    templates,
)
from vancetope.processes.workflows.sandbox import CONTEXT_NAMES, SyntaxProblem
from vancetope.processes.workflows.templating import compiled

FOREACH_WANTS: Final = "must be a list or one {{ expression }} that gives a list"
FOREACH_FIX: Final = 'Write for example "{{ tasks.list.result.files }}".'


def connected(
    workflow: Workflow, document: Document, problems: list[ConfigError]
) -> Workflow:
    """The workflow with `uses` and the implied `depends_on` of every task.

    Everything wrong between its parts is added to `problems`.
    """
    check = _Check(workflow, document, problems)
    check.keys()
    tasks = tuple(
        check.task(task, ("tasks", number))
        for number, task in enumerate(workflow.tasks)
    )
    check.uses(workflow.result, ("result",), items=False)
    check.cycles(tasks)
    return attrs.evolve(workflow, tasks=tasks)


def unknown_tools(
    workflow: Workflow, known: Collection[str]
) -> list[tuple[str, str, str]]:
    """`(task key, tool, what to do)` of each tool that is not among the known.

    A client may still bring it, so this is a warning, not an error.
    """
    return [
        (task.key, name, suggestion(name, known))
        for task in workflow.tasks
        for name in (tool.partition("@")[0] for tool in task.required_tools)
        if name not in known
    ]


@attrs.frozen
class _Check:
    workflow: Workflow
    document: Document
    problems: list[ConfigError]

    def report(
        self, place: Place, message: str, fix: str, value: object = None, line: int = 1
    ) -> None:
        self.problems.append(
            self.document.problem(place, message, fix=fix, value=value, inner=line)
        )

    @property
    def task_keys(self) -> list[str]:
        return [task.key for task in self.workflow.tasks]

    def keys(self) -> None:
        seen: dict[str, int] = {}
        for number, key in enumerate(self.task_keys):
            first = seen.setdefault(key, number)
            if first != number:
                line = self.document.line_of(("tasks", first, "id"))
                self.report(
                    ("tasks", number, "id"),
                    f"stands twice, first in line {line}",
                    "Rename one of the two tasks.",
                    key,
                )

    def task(self, task: WorkflowTask, place: Place) -> WorkflowTask:
        for number, key in enumerate(task.depends_on):
            others = [each for each in self.task_keys if each != task.key]
            if key not in self.task_keys:
                self.report(
                    (*place, "depends_on", number),
                    "is no task of this workflow",
                    suggestion(key, others),
                    key,
                )
        inside = task.foreach is not None
        used = self.uses(task.args, (*place, "args"), items=inside)
        used |= self.uses(task.result, (*place, "result"), items=inside)
        used |= self.uses(task.foreach, (*place, "foreach"), items=False)
        implied = [key for key in self.task_keys if key in used]
        return attrs.evolve(
            task,
            uses=frozenset(used),
            depends_on=tuple(dict.fromkeys((*task.depends_on, *implied))),
        )

    def uses(self, value: Json, place: Place, *, items: bool) -> set[str]:
        used: set[str] = set()
        for where, source in templates(value, place):
            try:
                found = references(source)
                native = compiled(source).native
            except SyntaxProblem as error:
                message = f"bad template: {error.message}"
                self.report(where, message, error.fix, line=error.line)
                continue
            if place[-1] == "foreach" and where == place and not native:
                self.report(where, FOREACH_WANTS, FOREACH_FIX, source)
            for reference in found:
                if self.reference(reference, where, items=items):
                    used.add(str(reference.key))
        return used

    def reference(self, found: Reference, place: Place, *, items: bool) -> bool:
        """Check one reference; whether it names a task there is."""
        wrong = self.wrong(found, items=items)
        if wrong is not None:
            self.report(place, wrong[0], wrong[1], line=found.line)
        return found.name == "tasks" and found.key in self.task_keys

    def wrong(self, found: Reference, *, items: bool) -> tuple[str, str] | None:
        inputs = self.workflow.inputs
        match found.name:
            case "tasks":
                return self.wrong_task(found)
            case "inputs":
                if found.key is None or found.key in inputs:
                    return None
                return (
                    f"inputs.{found.key} is not declared",
                    suggestion(found.key, inputs) + " Declare it under `inputs:`.",
                )
            case "item" | "index" if not items:
                return (
                    f"{found.name} has no meaning here",
                    "Add `foreach:` to the task, or name a task's result.",
                )
            case name if name not in CONTEXT_NAMES:
                return f"there is no {name!r}", suggestion(name, CONTEXT_NAMES)
            case _:
                return None

    def wrong_task(self, found: Reference) -> tuple[str, str] | None:
        keys = self.task_keys
        if found.key is None:
            return (
                "tasks must be followed by the id of a task",
                'Write tasks.ID.result, or tasks["ID"].result.',
            )
        if found.key not in keys:
            fix = suggestion(found.key, keys)
            if any("-" in key for key in keys):
                fix += ' An id with - is written tasks["ID"].'
            return f"tasks.{found.key}: no such task", fix
        if found.field is not None and found.field not in TASK_FIELDS:
            return (
                f"a task has no {found.field!r}",
                f"Write tasks.{found.key}.result.{found.field}.",
            )
        return None

    def cycles(self, tasks: Iterable[WorkflowTask]) -> None:
        graph = {task.key: task.depends_on for task in tasks}
        cycle = _cycle(graph)
        if cycle is None:
            return
        number = self.task_keys.index(cycle[0])
        written = self.workflow.tasks[number].depends_on
        self.report(
            ("tasks", number, "depends_on" if cycle[1] in written else "id"),
            f"the tasks wait for each other: {' -> '.join(cycle)}",
            "Remove one of these depends_on or tasks.ID.",
        )


def _cycle(graph: Mapping[str, Iterable[str]]) -> list[str] | None:
    done: set[str] = set()
    for start in graph:
        if start in done:
            continue
        path = [start]
        branches = [iter(graph[start])]
        while path:
            step = next(branches[-1], None)
            if step is None:
                done.add(path.pop())
                branches.pop()
            elif step in path:
                return [*path[path.index(step) :], step]
            elif step in graph and step not in done:
                path.append(step)
                branches.append(iter(graph[step]))
    return None
