"""What a failure means for the rest of the tree (DESIGN section 5)."""

from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from tests.support.brain import running_brain

Args = dict[str, Any]


def refuse_bad(args: Args) -> str:
    if "bad" in str(args["path"]):
        raise ValueError(f"no file {args['path']}")
    return f"text of {args['path']}"


def task(key: str, path: str = "good", **more: object) -> str:
    extra = "".join(f", {name}: {value}" for name, value in more.items())
    return f"  - {{id: {key}, tool: read, args: {{path: {path}}}{extra}}}\n"


async def run_flow(
    tmp_path: Path, flow: str, **given: Any
) -> tuple[dict[str, str], dict[str, Any], dict[str, Any]]:
    """Run a workflow on one client: statuses, the terminal frame, task rows by key."""
    async with running_brain(tmp_path, workflows={"flow": flow}) as brain:
        client = await brain.connect("laptop", serve={"read": refuse_bad})
        process = await client.start("flow", **given)
        end = await client.finished(process)
        rows = brain.rows("SELECT * FROM task WHERE process_id = ?", process)
        return brain.statuses(process), end, {row["key"]: row for row in rows}


@pytest.mark.requirement("000-6-failure-skips-dependents")
async def test_dependents_are_skipped_all_the_way_down_and_siblings_run_on(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    flow = (
        "tasks:\n"
        + task("a", "bad")
        + task("b", depends_on="[a]")
        + task("c", depends_on="[b]")
        + task("sibling")
        + task("after", depends_on="[sibling]")
    )
    statuses, end, rows = await run_flow(tmp_path, flow)

    assert statuses == {
        "a": "failed",
        "b": "skipped",
        "c": "skipped",
        "sibling": "done",
        "after": "done",
    }
    assert end["status"] == "failed"
    assert end["result"] == {"c": None, "after": "text of good"}
    assert "upstream_failed" in rows["b"]["error"]
    assert "upstream_failed" in rows["c"]["error"]


# The rows of a diamond come in an order of their own: many, so that each is met.
async def test_in_a_diamond_every_task_is_skipped_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    flow = "tasks:\n" + task("a", "bad")
    for number in range(12):
        flow += task(f"x{number}", depends_on="[a]")
        flow += task(f"d{number}", depends_on=f"[a, x{number}]")
    flow += task("other")
    statuses, end, _ = await run_flow(tmp_path, flow)

    assert set(statuses.values()) == {"failed", "skipped", "done"}
    assert statuses["other"] == "done"
    assert end["status"] == "failed"


async def test_on_error_continue_gives_dependents_the_error_and_the_process_succeeds(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    flow = (
        "tasks:\n"
        + task("a", "bad", on_error="continue")
        + "  - {id: b, result: {seen: '{{ tasks.a.result.error.message }}',"
        " status: '{{ tasks.a.status }}'}}\n"
    )
    statuses, end, _ = await run_flow(tmp_path, flow)

    assert statuses == {"a": "failed", "b": "done"}
    assert end["status"] == "done"
    assert end["result"]["b"] == {"seen": "no file bad", "status": "failed"}


FOREACH = """\
inputs: {{paths: {{}}}}
tasks:
  - id: each
    foreach: "{{{{ inputs.paths }}}}"
    tool: read
    args: {{path: "{{{{ item }}}}"}}
    on_error: {on_error}
  - id: total
    result: "{{{{ tasks.each.result | length }}}}"
"""


@pytest.mark.parametrize("on_error", ["fail", "continue"])
async def test_a_failing_item_lets_the_others_run(
    tmp_path: Path, on_error: str, autojump_clock: MockClock
) -> None:
    flow = FOREACH.format(on_error=on_error)
    statuses, end, _ = await run_flow(tmp_path, flow, paths=["1", "bad", "3"])

    items = [statuses[f"each[{n}]"] for n in range(3)]
    assert items == ["done", "failed", "done"]
    if on_error == "continue":
        assert (statuses["each"], statuses["total"]) == ("done", "done")
        assert end["status"] == "done"
        assert end["result"]["total"] == 3
    else:
        assert (statuses["each"], statuses["total"]) == ("failed", "skipped")
        assert end["status"] == "failed"


async def test_a_foreach_over_nothing_is_done_at_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    flow = FOREACH.format(on_error="fail")
    statuses, end, _ = await run_flow(tmp_path, flow, paths=[])

    assert statuses == {"each": "done", "total": "done"}
    assert end["result"] == {"total": 0}


async def test_a_foreach_over_something_that_is_no_list_fails_with_a_reason(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    flow = FOREACH.format(on_error="fail")
    statuses, end, rows = await run_flow(tmp_path, flow, paths="text")

    assert statuses["each"] == "failed"
    assert "not a list" in rows["each"]["error"]
    assert end["status"] == "failed"


async def test_a_template_that_breaks_fails_its_task_alone(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    flow = (
        "tasks:\n"
        "  - {id: broken, tool: read, args: {path: '{{ inputs.nothing.at }}'}}\n"
        + task("fine")
    )
    flow = "inputs: {nothing: {default: null}}\n" + flow
    statuses, end, rows = await run_flow(tmp_path, flow)

    assert statuses == {"broken": "failed", "fine": "done"}
    assert "template" in rows["broken"]["error"]
    assert end["result"]["fine"] == "text of good"


@pytest.mark.requirement("000-4-unknown-tool-fails")
async def test_a_tool_nobody_ever_knew_fails_with_the_nearest_name(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    flow = "tasks:\n  - {id: a, tool: raed, args: {}}\n" + task("fine")
    statuses, _, rows = await run_flow(tmp_path, flow)

    assert statuses == {"a": "failed", "fine": "done"}
    assert "Did you mean read?" in rows["a"]["error"]


async def test_a_server_tool_that_fails_fails_its_task(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    flow = "tasks:\n  - {id: a, tool: now, args: {zone: No/Where}}\n" + task("fine")
    statuses, end, rows = await run_flow(tmp_path, flow)

    assert statuses == {"a": "failed", "fine": "done"}
    assert "No/Where" in rows["a"]["error"]
    assert end["status"] == "failed"
