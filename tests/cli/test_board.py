"""What a board makes of frames, and what a story tells of a board."""

import io

import attrs
import pytest

from vance_sdk.wire.messages import (
    Cause,
    Json,
    ProcessStatus,
    TaskList,
    TaskRow,
    TaskUpdate,
)
from vancetope.cli.board import Board, counts
from vancetope.cli.running import exit_code
from vancetope.cli.story import Story, task_table

WAITING = "Waiting for Client for Tool: list_local_files"


def row(key: str, status: str, parent: str | None = None, where: str = "") -> TaskRow:
    return TaskRow(
        task_id=f"task_{key}",
        key=key,
        goal=f"Do {key}",
        status=status,
        where=where or None,
        parent=parent,
        depends_on=(),
        blocked_reason=WAITING if status in {"blocked", "queued"} else None,
    )


def listed(*rows: TaskRow, more: bool | None = None) -> TaskList:
    return TaskList(think_process_id="tp_1", tasks=rows, more=more)


def update(key: str, status: str, process: str = "tp_1") -> TaskUpdate:
    reason = WAITING if status == "blocked" else None
    return TaskUpdate(
        task_id=f"task_{key}",
        status=status,
        blocked_reason=reason,
        think_process_id=process,
    )


@pytest.fixture
def board() -> Board:
    return Board("tp_1")


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def story(out: io.StringIO) -> Story:
    return Story(out=out, since=lambda: 1.0)


def told(out: io.StringIO) -> list[str]:
    return [line.partition("s  ")[2] for line in out.getvalue().splitlines()]


def test_a_list_is_complete_with_its_last_page(board: Board) -> None:
    assert not board.hear(listed(row("a", "done"), more=True))
    assert list(board.lines()) == []

    assert board.hear(listed(row("b", "pending")))
    assert [line.key for line in board.lines()] == ["a", "b"]


def test_children_stand_in_the_counts_of_their_parent(board: Board) -> None:
    children = [row(f"read[{n}]", "done", "task_read", "desk") for n in range(3)]
    children.append(row("read[3]", "blocked", "task_read"))

    board.hear(listed(row("read", "pending"), *children))

    (line,) = board.lines()
    assert (line.key, line.where, line.reason) == ("read", "desk", WAITING)
    assert counts(line.items) == "3 of 4 done, 1 blocked"


def test_an_update_changes_a_task_and_a_stranger_asks_for_a_list(board: Board) -> None:
    board.hear(listed(row("a", "running", where="server")))
    board.stale = False

    board.hear(update("a", "done"))
    assert [line.status for line in board.lines()] == ["done"]
    assert not board.stale

    board.hear(update("new", "pending"))
    assert board.stale


def test_where_a_task_runs_stands_in_the_list_only(board: Board) -> None:
    board.hear(listed(row("a", "pending")))
    board.stale = False

    board.hear(update("a", "running"))

    assert board.stale


def test_frames_about_another_process_are_ignored(board: Board) -> None:
    board.hear(listed(row("a", "pending")))
    board.hear(update("a", "done", process="tp_2"))
    board.hear(ProcessStatus(think_process_id="tp_2", status="failed"))

    assert [line.status for line in board.lines()] == ["pending"]
    assert board.status == "running"


def test_the_end_brings_the_result(board: Board) -> None:
    board.hear(ProcessStatus(think_process_id="tp_1", status="done", result={"n": 1}))

    assert (board.ended, board.result, board.stale) == (True, {"n": 1}, True)


def test_a_task_that_depends_says_on_what(board: Board) -> None:
    cause = Cause(
        kind="dependency", what="Waiting for a", key="a", since=0, wakes_on=""
    )
    board.hear(listed(attrs.evolve(row("b", "pending"), cause=cause)))

    assert [line.reason for line in board.lines()] == ["Waiting for a"]


def test_a_story_tells_every_change_once(
    board: Board, story: Story, out: io.StringIO
) -> None:
    board.hear(listed(row("now", "done", where="server"), row("list", "blocked")))
    story.show(board)
    story.show(board)
    board.hear(update("list", "pending"))
    story.show(board)
    board.hear(listed(row("now", "done"), row("list", "running", where="desk")))
    story.show(board)
    board.hear(update("list", "done"))
    story.show(board)

    assert told(out) == [
        "now: done on server",
        f"list: blocked - {WAITING}",
        "list: ready again",
        "list: running on desk",
        "list: done on desk",
    ]


def test_a_story_leaves_out_what_passed_between_two_looks(
    board: Board, story: Story, out: io.StringIO
) -> None:
    board.hear(listed(row("now", "pending")))
    board.hear(update("now", "running"))
    board.hear(update("now", "done"))
    story.show(board)

    assert told(out) == ["now: done"]


def test_a_story_tells_of_many_items_when_they_are_known_held_and_over(
    board: Board, story: Story, out: io.StringIO
) -> None:
    for statuses in (
        ("pending", "pending", "pending"),
        ("pending", "running", "pending"),
        ("pending", "done", "blocked"),
        ("pending", "done", "blocked"),
        ("pending", "done", "running"),
        ("done", "done", "failed"),
    ):
        parent, *children = statuses
        rows = [row(f"r[{n}]", s, "task_r") for n, s in enumerate(children)]
        board.hear(listed(row("r", parent), *rows))
        story.show(board)

    assert told(out) == [
        "r: 0 of 2 done",
        f"r: 1 of 2 done, 1 blocked - {WAITING}",
        "r: 1 of 2 done, 1 running",
        "r: 1 of 2 done, 1 failed",
    ]


def test_a_failed_task_tells_why(board: Board, story: Story, out: io.StringIO) -> None:
    error: dict[str, Json] = {"error": {"code": "failed", "message": "no such folder"}}
    board.hear(listed(attrs.evolve(row("list", "failed"), result=error)))
    story.show(board)

    assert told(out) == ["list: failed - no such folder"]


def test_markup_in_a_goal_is_text(board: Board) -> None:
    board.hear(listed(attrs.evolve(row("a", "running"), goal="[red]x[/oops]")))

    cells = task_table(board).columns[3]._cells

    assert [str(cell) for cell in cells] == ["[red]x[/oops]"]


@pytest.mark.parametrize(
    ("statuses", "shown"),
    [
        (["done", "done", "failed", "pending"], ["failed", "pending"]),
        (["done", "done", "done", "skipped"], ["done", "skipped"]),
        (["running", "blocked", "pending", "done"], ["running", "blocked"]),
    ],
)
def test_a_low_window_shows_what_is_not_over_or_went_wrong(
    board: Board, statuses: list[str], shown: list[str]
) -> None:
    board.hear(listed(*(row(f"t{n}", status) for n, status in enumerate(statuses))))

    cells = task_table(board, rows=2).columns[1]._cells

    assert [str(cell) for cell in cells] == shown


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("done", 0),
        ("waiting", 3),
        ("blocked", 4),
        ("paused", 4),
        ("running", 4),
        ("failed", 5),
        ("stopped", 5),
    ],
)
def test_the_exit_code_says_how_it_ended(status: str, code: int) -> None:
    assert exit_code(status) == code
