"""Workflow files: what they say, and what is wrong with them."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.config.check import Level
from vancetope.errors import ConfigError
from vancetope.model.json import dumps, loads
from vancetope.model.tool import Strategy, Target
from vancetope.processes.workflows.definition import (
    InputSpec,
    OnError,
    Workflow,
    from_json,
    to_json,
)
from vancetope.processes.workflows.parse import (
    check_workflow_file,
    parse_workflow,
    read_workflow,
)
from vancetope.processes.workflows.validate import unknown_tools

FULL = """\
id: papers
goal: Read the papers
inputs:
  folder: {default: papers, description: Where they are.}
  who: {required: true}
  note:
tasks:
  - id: list
    goal: Find them
    tool: list_local_files@desk
    args: {path: "{{ inputs.folder }}"}
    execution_target: client
    offline_strategy: queue
    timeout: 90s
    start_within: 2h
  - id: extract_from_paper
    goal: "Extract core theses from paper"
    tool: extract_keywords
    tools: [read_local_file]
    optional_tools: [web_search]
    foreach: "{{ tasks.list.result.files }}"
    args: {text: "{{ item.path }} {{ index }} {{ inputs.who }}"}
    execution_target: any
    on_error: continue
  - id: last
    depends_on: [list]
    result: {all: '{{ tasks["extract_from_paper"].result | length }}'}
result: "{{ tasks.last.result.all }}"
"""


def parse(text: str) -> Workflow:
    return parse_workflow(text, file="w.yaml", stem="w")


def problems(text: str) -> list[ConfigError]:
    workflow, found = read_workflow(text, file="w.yaml", stem="w")
    assert (workflow is None) is bool(found)
    return found


def refused(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert caught.value.fix
    return caught.value


@pytest.mark.requirement("000-6-task-tools", "000-6-execution-target")
def test_every_field_of_a_workflow_file_is_read() -> None:
    workflow = parse(FULL)

    assert (workflow.id, workflow.goal) == ("papers", "Read the papers")
    assert workflow.inputs == {
        "folder": InputSpec(
            required=False, default="papers", description="Where they are."
        ),
        "who": InputSpec(required=True),
        "note": InputSpec(required=True),
    }
    first, second, last = workflow.tasks
    assert (first.key, first.goal) == ("list", "Find them")
    assert first.tool == "list_local_files@desk"
    assert first.args == {"path": "{{ inputs.folder }}"}
    assert first.target is Target.CLIENT
    assert first.offline_strategy is Strategy.QUEUE
    assert (first.timeout_ms, first.start_within_ms) == (90_000, 7_200_000)
    assert first.on_error is OnError.FAIL
    assert second.required_tools == ("extract_keywords", "read_local_file")
    assert second.optional_tools == ("web_search",)
    assert second.foreach == "{{ tasks.list.result.files }}"
    assert second.target is Target.ANY
    assert second.on_error is OnError.CONTINUE
    assert (second.timeout_ms, second.start_within_ms) == (600_000, None)
    assert last.tool is None
    assert workflow.result == "{{ tasks.last.result.all }}"


def test_a_task_waits_for_what_its_templates_use() -> None:
    first, second, last = parse(FULL).tasks

    assert (first.depends_on, first.uses) == ((), frozenset())
    assert (second.depends_on, second.uses) == (("list",), frozenset({"list"}))
    assert last.depends_on == ("list", "extract_from_paper")
    assert last.uses == {"extract_from_paper"}


def test_the_leaves_are_the_tasks_nothing_waits_for() -> None:
    text = "tasks:\n" + "".join(
        f"  - {{id: {key}, tool: t, depends_on: [{after}]}}\n"
        for key, after in (("a", ""), ("b", "a"), ("c", ""))
    )

    assert parse(text).leaves == ("b", "c")


def test_the_id_is_the_file_s_name_when_the_file_names_none() -> None:
    assert parse("tasks: [{id: a, tool: t}]").id == "w"


def test_a_snapshot_reads_back_as_the_same_workflow() -> None:
    workflow = parse(FULL)

    data = loads(dumps(to_json(workflow)))

    assert isinstance(data, dict)
    assert from_json(data) == workflow


TASK = "tasks:\n  - id: a\n    tool: t\n"


@pytest.mark.parametrize(
    ("text", "line", "field", "says"),
    [
        ("", 1, None, "is empty"),
        ("goal: x\n", 1, "tasks", "is missing"),
        ("tasks: []\n", 1, "tasks", "is missing"),
        ("tasks: {a: 1}\n", 1, "tasks", "must be a list"),
        ("tasks:\n  - x\n", 2, "tasks[0]", "mapping"),
        ("tasks:\n  -\n", 2, "tasks[0]", "is empty"),
        (TASK + "taks: 1\n", 4, "taks", "Did you mean tasks?"),
        (TASK + "    dependson: [a]\n", 4, "tasks[0].dependson", "depends_on?"),
        ("id: A b\n" + TASK, 1, "id", "small letters"),
        ("tasks:\n  - tool: t\n", 2, "tasks[0].id", "is missing"),
        ("tasks:\n  - {id: a b, tool: t}\n", 2, "tasks[0].id", "valid name"),
        ("tasks:\n  - {id: a, tool: t@b@c}\n", 2, "tasks[0].tool", "NAME@CLIENT"),
        (TASK + "    tools: [a b]\n", 4, "tasks[0].tools[0]", "NAME@CLIENT"),
        (TASK + "    args: [1]\n", 4, "tasks[0].args", "mapping"),
        (TASK + "    result: 1\n", 4, "tasks[0].result", "one of the two"),
        (TASK + "    timeout: 5\n", 4, "tasks[0].timeout", "3s"),
        (TASK + "    start_within: 5x\n", 4, "tasks[0].start_within", "3s"),
        (TASK + "    timeout: 0s\n", 4, "tasks[0].timeout", "too short"),
        (TASK + "    on_error: stop\n", 4, "tasks[0].on_error", "fail, continue"),
        (
            TASK + "    execution_target: moon\n",
            4,
            "tasks[0].execution_target",
            "auto, server, client, any",
        ),
        (
            TASK + "    offline_strategy: wait\n",
            4,
            "tasks[0].offline_strategy",
            "block, skip, fallback, queue",
        ),
        (TASK + "    foreach: files\n", 4, "tasks[0].foreach", "{{ expression }}"),
        (
            TASK + "    foreach: '{{ 1 }} {{ 2 }}'\n",
            4,
            "tasks[0].foreach",
            "{{ expression }}",
        ),
        (
            "tasks:\n  - {id: a, goal: Think}\n",
            2,
            "tasks[0]",
            "no model works here. Add `tool:`",
        ),
        ("tasks:\n  - {id: a}\n", 2, "tasks[0]", "nothing to do"),
        (
            "tasks:\n  - {id: a, result: 1, args: {b: 1}}\n",
            2,
            "tasks[0].args",
            "without a tool",
        ),
        (TASK + "  - {id: a, tool: t}\n", 4, "tasks[1].id", "first in line 2"),
        (TASK + "    depends_on: [b]\n", 4, "tasks[0].depends_on[0]", "no task"),
        ("inputs:\n  a: {defalt: 1}\n" + TASK, 2, "inputs.a.defalt", "default?"),
        (
            "inputs:\n  a: {default: 1, required: true}\n" + TASK,
            2,
            "inputs.a.required",
            "contradicts",
        ),
        ("inputs:\n  a b: {}\n" + TASK, 2, "inputs.a b", "letters"),
    ],
)
def test_a_mistake_names_line_field_and_fix(
    text: str, line: int, field: str | None, says: str
) -> None:
    error = refused(text)

    assert (error.file, error.line, error.field) == ("w.yaml", line, field)
    assert says in str(error)


def test_an_unknown_dependency_names_the_nearest_task() -> None:
    text = (
        "tasks:\n  - {id: read_all, tool: t}\n"
        "  - {id: b, tool: t, depends_on: [raed_all]}"
    )

    assert "Did you mean read_all?" in str(refused(text))


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{{ tasks.nope.result }}", "tasks.nope: no such task"),
        ("{{ tasks.b.value }}", "tasks.b.result.value"),
        ("{{ tasks }}", "followed by the id of a task"),
        ("{{ tasks[inputs.i].result }}", "followed by the id of a task"),
        ("{{ inputs.j }}", "inputs.j is not declared"),
        ("{{ item }}", "item has no meaning here"),
        ("{{ index + 1 }}", "index has no meaning here"),
        ("{{ inptus.i }}", "Did you mean inputs?"),
        ("{{ inputs.i", "bad template"),
        ("{% if inputs.i %}", "bad template"),
        ("{{ inputs.i | tojsn }}", "Did you mean tojson?"),
        ("{% include 'x' %}", "not part of the template language"),
        ("{% set tasks = 1 %}", "may not be assigned"),
        ("{{ __import__('os') }}", "bad template"),
    ],
)
def test_a_wrong_template_is_found_when_the_file_is_read(
    template: str, says: str
) -> None:
    text = (
        "inputs: {i: }\ntasks:\n  - {id: b, tool: t}\n  - id: a\n    tool: t\n"
        f"    args:\n      deep:\n        - |\n          first\n          {template}\n"
    )

    found = problems(text)

    assert len(found) == 1
    assert says in str(found[0])
    assert (found[0].line, found[0].field) == (10, "tasks[1].args.deep[0]")


def test_an_item_belongs_to_a_foreach_but_not_to_its_own_list() -> None:
    good = TASK + "    foreach: [1, 2]\n    args: {x: '{{ item }} {{ index }}'}\n"
    assert parse(good).tasks[0].foreach == [1, 2]

    bad = TASK + "    foreach: '{{ item }}'\n"
    assert refused(bad).field == "tasks[0].foreach"


def test_a_cycle_is_named_from_task_to_task() -> None:
    text = (
        "tasks:\n"
        "  - {id: a, tool: t}\n"
        "  - {id: b, tool: t, depends_on: [a, d]}\n"
        "  - {id: c, tool: t, args: {x: '{{ tasks.b.result }}'}}\n"
        "  - {id: d, tool: t, depends_on: [c]}\n"
    )

    error = refused(text)

    assert "b -> d -> c -> b" in str(error)
    assert error.line == 3


def test_a_task_that_uses_itself_is_a_cycle() -> None:
    error = refused("tasks:\n  - {id: a, result: '{{ tasks.a.result }}'}\n")

    assert "a -> a" in str(error)


def test_a_long_chain_is_no_cycle_and_no_recursion() -> None:
    text = "tasks:\n" + "".join(
        f"  - {{id: t{n}, result: 1, depends_on: [t{n + 1}]}}\n" for n in range(1500)
    )

    assert len(parse(text + "  - {id: t1500, result: 1}\n").tasks) == 1501


def test_all_mistakes_are_told_in_the_order_of_the_file() -> None:
    text = (
        "id: 5\ntasks:\n  - {id: a, tool: t, timeout: x, args: {q: '{{ w }}'}}\n"
        "  - {id: b, on_error: x, depends_on: [c]}\nresult: '{{ item }}'\n"
    )

    found = [(problem.line, problem.field) for problem in problems(text)]

    assert found == [
        (1, "id"),
        (3, "tasks[0].timeout"),
        (3, "tasks[0].args.q"),
        (4, "tasks[1]"),
        (4, "tasks[1].on_error"),
        (4, "tasks[1].depends_on[0]"),
        (5, "result"),
    ]


def test_an_unregistered_tool_is_a_warning_with_the_nearest_name(
    tmp_path: Path,
) -> None:
    file = tmp_path / "w.yaml"
    file.write_text(
        "tasks:\n  - {id: a, tool: nwo}\n"
        "  - {id: b, tool: now@desk, tools: [git_status]}\n"
    )
    known = frozenset({"now", "read_local_file"})

    found = check_workflow_file(file, known)

    assert [problem.level for problem in found] == [Level.WARNING, Level.WARNING]
    assert found[0].error.line == 2
    assert "Did you mean now?" in str(found[0])
    assert "git_status" in str(found[1])
    workflow = parse(file.read_text())
    assert [row[:2] for row in unknown_tools(workflow, known)] == [
        ("a", "nwo"),
        ("b", "git_status"),
    ]


def test_checking_a_broken_file_tells_all_its_errors(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("tasks: [{id: a}, {id: b}]")

    found = check_workflow_file(file, frozenset())

    assert [problem.level for problem in found] == [Level.ERROR, Level.ERROR]
    assert check_workflow_file(tmp_path / "absent.yaml", frozenset()) != []


LINES = [
    "id: x",
    "goal: g",
    "inputs:",
    "  a: {default: 1}",
    "tasks:",
    "  - id: a",
    "  - {id: b, tool: t}",
    "    tool: t",
    "    args: {x: '{{ tasks.b.result }}'}",
    "    foreach: '{{ inputs.a }}'",
    "    depends_on: [a, b]",
    "    timeout: 1s",
    "    result: '{% for x in inputs.a %}{{ item }}{% endfor %}'",
    "result: '{{ tasks.a.result.b[0] }}'",
    "[",
    "a: *b",
]


@given(st.text() | st.lists(st.sampled_from(LINES), max_size=12).map("\n".join))
def test_any_text_is_a_workflow_or_a_config_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        workflow = parse(text)
        assert from_json(to_json(workflow)) == workflow
