"""The tasks of a process, for eyes: a tree that moves, or one line a change."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

import attrs
import click

from vancetope.cli.board import HELD, PAST, Board, Change, Line, counts
from vancetope.cli.show import console, plain, status_text

if TYPE_CHECKING:
    from rich.table import Table

#: Rows of the window that are not the tree's.
SPARE_ROWS: Final = 4


def task_table(board: Board, rows: int | None = None) -> "Table":
    """The board as a table: task, status, where, why."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="ellipsis", no_wrap=True, ratio=1)
    for line in _fitting(list(board.lines()), rows):
        telling = (*HELD, "running")
        held = next((status for status in telling if status in line.items), line.status)
        shown = counts(line.items) if line.items else line.status
        table.add_row(
            Text(plain(line.key)),
            status_text(held, shown),
            Text(plain(line.where)),
            Text(
                plain(line.reason or line.goal), style="yellow" if held in HELD else ""
            ),
        )
    return table


def _fitting(lines: list[Line], rows: int | None) -> list[Line]:
    """As many as there is room for; what went well and is over gives way first."""
    if rows is None or len(lines) <= rows:
        return lines
    telling = [line for line in lines if line.status not in PAST]
    return telling[:rows] if telling else lines[-rows:]


@contextmanager
def live_tree(
    *, stderr: bool = False, head: Callable[[], str] | None = None
) -> Iterator[Callable[[Board], None]]:
    """A tree that is drawn anew with each show, and stays when the block ends."""
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    out = console(stderr=stderr)
    rows = max(1, out.height - SPARE_ROWS)
    with Live(
        console=out,
        auto_refresh=False,
        # What is printed meanwhile goes where it was to go.
        redirect_stdout=False,
        redirect_stderr=False,
    ) as live:

        def show(board: Board) -> None:
            table = task_table(board, rows)
            above = [Text(plain(head()), style="bold")] if head else []
            live.update(Group(*above, table), refresh=True)

        yield show


@attrs.define(eq=False)
class Story:
    """Tells each change once, in a line of its own."""

    out: TextIO
    since: Callable[[], float]
    _told: dict[str, str] = attrs.field(init=False, factory=dict)

    def say(self, text: str) -> None:
        """One line, with the seconds since the beginning."""
        click.echo(f"{self.since():6.1f} s  {plain(text)}", file=self.out)
        self.out.flush()

    def show(self, board: Board) -> None:
        """Tell what is new on the board, in the order of the tasks."""
        changes: dict[str, list[Change]] = {}
        for change in board.changes:
            changes.setdefault(change.task_id, []).append(change)
        board.changes.clear()
        for line in board.lines():
            if line.items:
                self._tell_items(line)
                continue
            mine = changes.get(line.task_id, [])
            for change in mine:
                passing = change.status == "running" and change is not mine[-1]
                if not passing:
                    self._tell_change(line, change)

    def _tell_change(self, line: Line, change: Change) -> None:
        text, reason = change.status, change.reason
        if text == "pending":
            if change.before not in HELD:
                return
            text = "ready again"
        elif text in {"running", "done"} and line.where:
            text += f" on {line.where}"
        elif text == "failed":
            reason = reason or line.reason
        self.say(f"{line.key}: {text}" + (f" - {reason}" if reason else ""))

    def _tell_items(self, line: Line) -> None:
        """Of many items: how many, when they are held, and how they ended."""
        held = bool(line.items.keys() & set(HELD))
        state = f"{line.status if line.status != 'running' else 'pending'} {held}"
        if self._told.get(line.task_id) == state:
            return
        self._told[line.task_id] = state
        where = f" on {line.where}" if line.where else ""
        reason = f" - {line.reason}" if held and line.reason else ""
        self.say(f"{line.key}: {counts(line.items)}{where}{reason}")
