"""The routing table of `ARCHITECTURE.md`, made by asking `decide` every row.

`python -m vancetope.tools.table` prints it.
"""

import sys
from itertools import product
from typing import Final, TypeAlias

import attrs

from vancetope.model.tool import Location, Prefer, Strategy, Target, ToolSpec
from vancetope.tools.registry import Address
from vancetope.tools.routing import (
    Decision,
    Fail,
    Fallback,
    OnClient,
    OnServer,
    Park,
    Question,
    ServerState,
    Skip,
    decide,
)

NAME: Final = "tool"
OTHER: Final = "fallback_tool"
COLUMNS: Final = (
    "location",
    "target",
    "client has it",
    "server copy",
    "strategy",
    "decision",
)
#: Every value of every column, in the order in which it is printed.  `default` is
#: no strategy at task and tool, with the recipe's `auto_fallback` on or off.
VALUES: Final = (
    ("server", "client", "both, prefer server", "both, prefer client"),
    tuple(target.value for target in Target),
    ("yes", "no"),
    ("up", "down", "absent"),
    (
        "default",
        "default (no auto_fallback)",
        "block",
        "queue",
        "skip",
        "fallback",
        "fallback (no fallback_tool)",
    ),
)

_Cells: TypeAlias = tuple[frozenset[str], ...]

_NOTES: Final = """\
`location: both` without `prefer` reads as `prefer server`. A tool named with its client
(`tool@client`) reads as target `client`. Strategy: the first that is set of task, tool,
recipe; else `queue` in an autonomous run and `block` in any other. The recipe's
`auto_fallback` gives way to a strategy of the task or the tool, not to the recipe's
own. `fallback` stands for a `fallback_tool` that the server can run; one that cannot
run now is as good as none. Where the table says `no_server_copy`, a tool of an MCP
server that is not configured yet is blocked (server_tool) instead. A tool that nobody
ever knew fails with `unknown_tool`.
"""


@attrs.frozen
class Row:
    """Some values of each input column, for all of which `decision` holds."""

    cells: _Cells
    decision: str

    def texts(self) -> tuple[str, ...]:
        """The cells as they are printed; all values of a column are `any value`."""
        inputs = (
            "any value"
            if cell == frozenset(values)
            else " / ".join(value for value in values if value in cell)
            for cell, values in zip(self.cells, VALUES, strict=True)
        )
        return (*inputs, self.decision)


def ask(values: tuple[str, ...]) -> Decision:
    """What `decide` answers for one value of each input column."""
    location, target, client, server, strategy = values
    where, _, prefer = location.partition(", prefer ")
    written = strategy.split(" (", maxsplit=1)[0]
    spec = ToolSpec(
        name=NAME,
        location=Location(where),
        prefer=Prefer(prefer) if prefer else None,
        offline_strategy=None if written == "default" else Strategy(written),
    )
    other = Fallback(
        spec=ToolSpec(name=OTHER, location=Location.SERVER), server=ServerState.UP
    )
    question = Question(
        address=Address(NAME),
        spec=spec,
        target=Target(target),
        auto_fallback=strategy != "default (no auto_fallback)",
        client="laptop" if client == "yes" else None,
        server=ServerState(server),
        fallback=other if strategy == "fallback" else None,
    )
    return decide(question)


def rows() -> list[Row]:
    """The whole table, merged where an input does not matter, in printing order."""
    table = [
        Row(tuple(frozenset({value}) for value in values), summary(ask(values)))
        for values in product(*VALUES)
    ]
    # The columns that matter least come first: they leave the widest cells.  The
    # locations stay apart, since that is where a reader starts.
    for column in (4, 3, 2, 1):
        table = _merged(table, column)
    return sorted(table, key=_place)


def summary(decision: Decision) -> str:
    """A decision in the few words of a table cell."""
    match decision:
        case OnServer(tool=tool):
            return "server" if tool == NAME else f"{tool} on the server"
        case OnClient(tool=tool):
            return "client" if tool == NAME else f"{tool} on the client"
        case Park(status=status, cause_kind=kind):
            return f"{status} ({kind})"
        case Skip():
            return "skipped"
        case Fail(code=code):
            return f"failed ({code})"


def render_markdown() -> str:
    """The table and its notes as Markdown, ending with a newline."""
    lines = [COLUMNS, tuple("---" for _ in COLUMNS), *(row.texts() for row in rows())]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"{table}\n{_NOTES}"


def _merged(table: list[Row], column: int) -> list[Row]:
    """Join the rows that differ in one column only."""
    joined: dict[tuple[_Cells, str], frozenset[str]] = {}
    for row in table:
        rest = row.cells[:column] + row.cells[column + 1 :]
        key = (rest, row.decision)
        joined[key] = joined.get(key, frozenset()) | row.cells[column]
    return [
        Row((*rest[:column], cell, *rest[column:]), decision)
        for (rest, decision), cell in joined.items()
    ]


def _place(row: Row) -> list[list[int]]:
    return [
        sorted(values.index(value) for value in cell)
        for cell, values in zip(row.cells, VALUES, strict=True)
    ]


if __name__ == "__main__":
    sys.stdout.write(render_markdown())
