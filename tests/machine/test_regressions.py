"""Sequences the machine has found (or was shown), each as plain steps."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.machine.devices import OWNER
from tests.machine.machine import QueueMachine
from tests.machine.workflows import CLIENT_TOOLS
from vancetope.model.tool import Strategy
from vancetope.processes.commands import control
from vancetope.processes.workflows.definition import (
    OnError,
    Workflow,
    WorkflowTask,
)

LAPTOP, DESKTOP, ROBOT = 0, 1, 2


@contextmanager
def machine(seed: int = 1) -> Iterator[QueueMachine]:
    """A machine that is checked, and drained, at the end."""
    state = QueueMachine()
    state.open(seed=seed)
    try:
        yield state
        state.nothing_is_wrong()
    except BaseException:
        state.close()
        raise
    state.teardown()


def workflow(*tasks: WorkflowTask) -> Workflow:
    return Workflow(id="any", tasks=tasks)


def one(tool: str) -> Workflow:
    return workflow(WorkflowTask(key="t0", tool=tool))


def status(state: QueueMachine, key: str) -> str:
    row = state.world.db.conn.execute(
        "SELECT status, cause_kind FROM task WHERE key = ?", (key,)
    ).fetchone()
    return str(row["cause_kind"] or row["status"])


def task_id(state: QueueMachine, key: str) -> str:
    row = state.world.db.conn.execute(
        "SELECT id FROM task WHERE key = ?", (key,)
    ).fetchone()
    return str(row["id"])


def call(state: QueueMachine) -> tuple[str, str | None]:
    row = state.world.db.conn.execute("SELECT state, side FROM call").fetchone()
    return row["state"], row["side"]


def a_client_with_a_once_call_leaves_and_another_comes() -> None:
    """The other one offers the tool too, and may not have the call (D3)."""
    with machine() as state:
        state.start(one("c_once"), "laptop")
        state.run_until_quiet()
        state.client_runs(0, "ok", accepts=True)
        state.disconnect(LAPTOP, forgets=False, says_so=False)
        state.connect(DESKTOP, list(CLIENT_TOOLS))
        state.run_until_quiet()
        assert not state.desktop.inbox or call(state)[1] == "desktop"
        if state.desktop.inbox:
            state.client_runs(0, "ok", accepts=False)


def test_a_begun_once_call_waits_for_its_own_client() -> None:
    a_client_with_a_once_call_leaves_and_another_comes()


def test_a_robot_that_claims_a_journal_gets_no_call_of_the_owner() -> None:
    # Found by reading: `Desk.back_to` compared journals only.
    with machine() as state:
        state.start(one("c_once"), "laptop")
        state.run_until_quiet()
        state.disconnect(LAPTOP, forgets=False, says_so=False)
        state.robot.journal_id = state.laptop.journal_id
        state.connect(ROBOT, list(CLIENT_TOOLS))
        # Whatever makes the task ready again.
        state.world.db.conn.execute(
            "UPDATE task SET status = 'pending', cause_kind = 'ready'"
        )
        process = state._processes()[0]
        state.world.db.conn.execute("UPDATE process SET status = 'running'")
        state.world.scheduler._add((process, "t0"))
        state.run_until_quiet()
        assert not state.robot.inbox


def test_a_call_that_is_sent_again_is_accepted_anew() -> None:
    # The call went from `accepted` to `dispatched`, which is no move.
    with machine() as state:
        state.start(one("c_read"), "laptop")
        state.run_until_quiet()
        state.client_runs(0, "ok", accepts=True)
        assert call(state) == ("accepted", "laptop")
        state.disconnect(LAPTOP, forgets=False, says_so=False)
        state.connect(DESKTOP, list(CLIENT_TOOLS))
        state.run_until_quiet()
        assert call(state) == ("dispatched", "desktop")


def test_a_parked_call_of_a_robot_that_has_gone_is_cancelled() -> None:
    # The call went from `parked` to `failed`, which is no move.
    with machine() as state:
        state.connect(ROBOT, [])
        state.start(one("c_read"), "robot")
        state.run_until_quiet()
        assert call(state) == ("parked", None)
        state.disconnect(ROBOT, forgets=False, says_so=True)
        assert call(state) == ("cancelled", None)
        assert status(state, "t0") == "failed"


def test_an_unknown_outcome_of_a_read_is_asked_for_again() -> None:
    # The call became `unknown`, for which a person would have had to decide.
    with machine() as state:
        state.start(one("c_read"), "laptop")
        state.run_until_quiet()
        state.client_runs(0, "outcome_unknown", accepts=True)
        state.laptop.journal.clear()
        state.client_delivers(0, again=False)
        assert call(state)[0] == "parked"
        assert status(state, "t0") == "ready"


def test_a_skip_that_reaches_a_task_on_two_paths_ends_it_once() -> None:
    # The task was ended twice, so that open_tasks fell below zero.  Which of the
    # two comes first hangs on the ids.
    for seed in range(8):
        with machine(seed) as state:
            first = WorkflowTask(key="t0", tool="s_read")
            second = WorkflowTask(key="t1", tool="s_read", depends_on=("t0",))
            third = WorkflowTask(key="t2", tool="s_read", depends_on=("t0", "t1"))
            state.start(workflow(first, second, third), "laptop")
            state.cancel(0)
            assert status(state, "t2") == "skipped"


def test_a_task_that_starts_over_makes_its_dependents_wait_again() -> None:
    # A dependent that was parked went on, and was made ready a second time.
    with machine() as state:
        first = WorkflowTask(key="t0", tool="s_read")
        second = WorkflowTask(key="t1", tool="c_free", depends_on=("t0",))
        state.disconnect(LAPTOP, forgets=False, says_so=False)
        state.start(workflow(first, second), "cron")
        state.run_until_quiet()
        state.server_answers(0, ok=True)
        state.run_until_quiet()
        assert status(state, "t1") == "client_tool"
        state.world.db.now(lambda tx: control.rerun(tx, OWNER, task_id(state, "t0")))
        assert status(state, "t0") == "ready"
        assert status(state, "t1") == "dependency"


def test_a_subtask_that_starts_over_holds_what_depends_on_its_parent() -> None:
    # What depends on the parent was ready before the parent was open again.
    with machine() as state:
        each = WorkflowTask(key="t0", tool="s_read", foreach=[1, 2])
        after = WorkflowTask(key="t1", tool="s_read", depends_on=("t0",))
        state.start(workflow(each, after), "laptop")
        while state._answer() or state.world.begin_steps():
            state._run_until_quiet()
        assert status(state, "t1") == "done"
        state.world.db.now(lambda tx: control.rerun(tx, OWNER, task_id(state, "t0[0]")))
        assert status(state, "t0") == "children"
        assert status(state, "t1") == "dependency"


def test_a_cancelled_foreach_is_cancelled_even_when_errors_are_overlooked() -> None:
    # Ended by its last subtask it was `done`, and what depends on it went on.
    with machine() as state:
        each = WorkflowTask(
            key="t0",
            tool="c_read",
            foreach=[1, 2],
            offline_strategy=Strategy.BLOCK,
            on_error=OnError.CONTINUE,
        )
        state.disconnect(LAPTOP, forgets=False, says_so=False)
        state.start(workflow(each), "laptop")
        state.run_until_quiet()
        assert status(state, "t0") == "children"
        state.cancel(0)
        assert status(state, "t0") == "cancelled"
