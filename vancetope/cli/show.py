"""How data is printed: JSON for programs, tables for people."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

#: Where nobody's window is too narrow.
PIPE_COLUMNS: Final = 10_000
#: Between two columns, and what is left of the last one on any terminal.
GAP: Final = 2
LEAST: Final = 20

STYLES: Final = {
    "done": "green",
    "running": "cyan",
    "failed": "red",
    "stopped": "red",
    "cancelled": "red",
    "blocked": "yellow",
    "queued": "yellow",
    "waiting": "yellow",
    "paused": "yellow",
    "pending": "dim",
    "skipped": "dim",
}


def print_json(value: object) -> None:
    """One JSON value in one line."""
    click.echo(json.dumps(value, ensure_ascii=False))


def plain(text: str) -> str:
    """The text in one line, without what would steer a terminal."""
    return "".join(
        letter if letter.isprintable() else " " for letter in " ".join(text.split())
    )


def status_text(status: str, shown: str | None = None) -> "Text":
    """A status in its colour."""
    from rich.text import Text

    return Text(plain(shown or status), style=STYLES.get(status, ""))


def console(*, stderr: bool = False) -> "Console":
    """A console; where nobody looks it is wide, and says everything in plain text."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPE_COLUMNS
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)


def print_table(heads: Sequence[str], rows: Iterable[Sequence["str | Text"]]) -> None:
    """A table of one line a row; only a terminal cuts it, in the last column."""
    from rich.text import Text

    lines = [[Text(head, style="bold") for head in heads]]
    lines += [
        [Text(plain(c)) if isinstance(c, str) else c for c in row] for row in rows
    ]
    widths = [
        max(cell.cell_len for cell in column) for column in zip(*lines, strict=True)
    ]
    out = console()
    room = out.width - sum(width + GAP for width in widths[:-1])
    for *cells, last in lines:
        line = Text()
        for cell, width in zip(cells, widths, strict=False):
            line.append_text(cell)
            line.append(" " * (width + GAP - cell.cell_len))
        if out.is_terminal:
            last.truncate(max(room, LEAST), overflow="ellipsis")
        line.append_text(last)
        line.rstrip()
        out.print(line, soft_wrap=True)


def print_result(status: str, result: object) -> None:
    """How a process ended, and what came of it; simple fields as lines."""
    click.echo(status)
    if result is None:
        return
    if isinstance(result, dict) and not any(
        isinstance(value, dict | list) for value in result.values()
    ):
        for key, value in result.items():
            shown = value if isinstance(value, str) else json.dumps(value)
            click.echo(f"{plain(str(key))}: {plain(shown)}")
        return
    click.echo(json.dumps(result, ensure_ascii=False, indent=2))
