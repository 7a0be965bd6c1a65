"""The machine and its checker can fail: one seeded bug each."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.machine import test_regressions
from tests.machine.devices import OWNER
from tests.machine.machine import QueueMachine
from tests.machine.world import World, make_template
from vancetope.processes import calls as call_rows
from vancetope.processes.calls import dispatch
from vancetope.processes.engines import workflow
from vancetope.processes.flow import Flow
from vancetope.processes.scheduler import loop, waits
from vancetope.processes.workflows.definition import Workflow, WorkflowTask
from vancetope.store.queries import task_writes
from vancetope.tools import clients

Patch: TypeAlias = pytest.MonkeyPatch


def _forget_to_count_dependencies(patch: Patch) -> None:
    patch.setattr(task_writes, "set_open_deps", lambda conn, task_id, count: None)


def _serve_anybody(patch: Patch) -> None:
    for module in (clients, loop):
        patch.setattr(module, "may_serve", lambda client, who: True)


def _forget_what_was_running(patch: Patch) -> None:
    patch.setattr(call_rows, "recover", lambda tx: 0)


def _move_what_must_not_move(patch: Patch) -> None:
    for module in (call_rows, dispatch):
        patch.setattr(module, "must_not_move", lambda call: False)


def _hint_nothing(patch: Patch) -> None:
    patch.setattr(Flow, "lane_ready", lambda flow, node: None)


def _wake_the_first_page_only(patch: Patch) -> None:
    real = waits.wake

    def wake(*args: object, **given: object) -> waits.Page:
        page: waits.Page = real(*args, **given)  # type: ignore[arg-type]
        return waits.Page(last="", woken=page.woken)

    patch.setattr(waits, "wake", wake)


def _never_hear_of_children(patch: Patch) -> None:
    patch.setattr(Flow, "_finished_parent", lambda flow, child: None)


def _break_every_value(patch: Patch) -> None:
    patch.setattr(workflow, "Value", None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "said"),
    [
        (_forget_to_count_dependencies, "open_deps is not"),
        (_serve_anybody, "a client that may not have it"),
        (_forget_what_was_running, "left behind|nobody runs it"),
        (_hint_nothing, "nobody looks at"),
        (_break_every_value, "a step: TypeError"),
        (_wake_the_first_page_only, "left behind"),
        (_never_hear_of_children, "as many open children|can bring on"),
    ],
)
def test_the_machine_finds(
    bug: Callable[[Patch], None], said: str, monkeypatch: Patch
) -> None:
    bug(monkeypatch)
    looking = settings(
        max_examples=3_000,
        stateful_step_count=40,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    with pytest.raises(AssertionError) as found:
        run_state_machine_as_test(QueueMachine, settings=looking)
    assert re.search(said, str(found.value))


def test_a_once_call_that_moves_is_seen(monkeypatch: Patch) -> None:
    _move_what_must_not_move(monkeypatch)
    with pytest.raises(AssertionError, match="a once call acted 2 times"):
        test_regressions.a_client_with_a_once_call_leaves_and_another_comes()


# Raw statements that break one rule each, on one process: `first` runs the Brain's
# tool `s_read`, `second` waits for it, `third` waits for the tool of a client.
_BROKEN: Final = [
    ("UPDATE process SET open_tasks = 1", "open_tasks is not"),
    ("UPDATE task SET open_deps = 2 WHERE key = 'second'", "open_deps is not"),
    (
        "UPDATE task SET cause_kind = 'ready' WHERE key = 'second'",
        "do not go together",
    ),
    ("UPDATE task SET cause_key = 'third' WHERE key = 'second'", "names no open"),
    ("UPDATE task SET cause_kind = 'children' WHERE key = 'third'", "as many open"),
    (
        (
            "UPDATE task SET parent_id = (SELECT id FROM task WHERE key = 'second')"
            " WHERE key = 'third'"
        ),
        "parent does not wait",
    ),
    ("UPDATE task SET cause_kind = 'ready' WHERE key = 'third'", "of another status"),
    (
        "UPDATE task SET status = 'pending', cause_kind = 'paused' WHERE key = 'third'",
        "do not follow the process",
    ),
    ("UPDATE process SET status = 'done', ended_at = 1", "with an open task"),
    ("UPDATE task SET cause_kind = 'approval' WHERE key = 'third'", "does not fit"),
    ("UPDATE call SET state = 'accepted' WHERE tool = 'c_once'", "a move: ('call'"),
    (
        "UPDATE task SET cause_kind = 'outcome_unknown' WHERE key = 'third'",
        "without an unknown call",
    ),
    ("UPDATE call SET state = 'unknown' WHERE tool = 's_read'", "and not `once`"),
    ("UPDATE process SET status = 'blocked'", "does not follow its tasks"),
    (
        (
            "INSERT INTO task_wake SELECT 'client_tool', 'x', id FROM task"
            " WHERE key = 'second'"
        ),
        "a note to wake",
    ),
    (
        "UPDATE task SET status = 'running', cause_kind = NULL WHERE key = 'second'",
        "a move: ('begun'",
    ),
    ("UPDATE call SET state = 'parked' WHERE tool = 's_read'", "nobody runs it"),
    ("DELETE FROM task_dep", "names no open"),
    ("UPDATE call SET session_id = 'sess_robot'", "may not have it"),
]


@pytest.fixture
def world(tmp_path: Path) -> World:
    template = tmp_path / "template.db"
    make_template(template)
    world = World(template, tmp_path, seed=1)
    three = Workflow(
        id="any",
        tasks=(
            WorkflowTask(key="first", tool="s_read"),
            WorkflowTask(key="second", tool="s_read", depends_on=("first",)),
            WorkflowTask(key="third", tool="c_once"),
        ),
    )
    world.start(OWNER, three, None)
    while world.begin_steps():
        world.tasks.settle()
    return world


def test_a_sound_state_has_no_problems(world: World) -> None:
    assert world.watch.problems(world.db.conn, (), {}) == []
    world.close()


@pytest.mark.parametrize(("statement", "said"), _BROKEN)
def test_the_checker_says(world: World, statement: str, said: str) -> None:
    conn = world.db.conn
    conn.execute(
        "INSERT INTO session SELECT 'sess_robot', 'robot', 'robot', id, 'web', 'r',"
        " 'r', 'r', 'cli', NULL, 1, 1, 1, 1, NULL, NULL FROM project"
    )
    assert world.watch.problems(conn, (), {}) == []
    conn.execute(statement)
    found = world.watch.problems(conn, (), {})
    world.close()
    assert any(said in line for line in found), found


def test_the_checker_remembers_how_a_call_ended(world: World) -> None:
    conn = world.db.conn
    conn.execute(
        "UPDATE call SET state = 'succeeded', ended_at = 1 WHERE tool = 's_read'"
    )
    world.watch.problems(conn, (), {})
    conn.execute("UPDATE call SET result = '2' WHERE tool = 's_read'")
    found = world.watch.problems(conn, (), {})
    world.close()
    assert any("an ended call changed" in line for line in found), found


def test_a_cause_is_enforced_by_the_schema_itself(world: World) -> None:
    held = "UPDATE task SET status = 'blocked', cause_kind = NULL WHERE key = 'third'"
    with pytest.raises(Exception, match="CHECK constraint"):
        world.db.conn.execute(held)
    world.close()
