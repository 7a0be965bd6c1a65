"""Fills the generated parts of the documents from the code.

    python scripts/docs.py          rewrite them
    python scripts/docs.py --check  exit 1 and name what is out of date

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.requirements.model import divergences  # noqa: E402
from vance_sdk.wire.errors import CODES, TOOL_ERROR_CODES  # noqa: E402
from vancetope import errors  # noqa: E402
from vancetope.config.brain import setting_rows  # noqa: E402
from vancetope.model.status import (  # noqa: E402
    CALL_MOVES,
    PROCESS_MOVES,
    TASK_MOVES,
    CallState,
    CauseKind,
    ProcessStatus,
    TaskStatus,
)
from vancetope.tools.table import render_markdown  # noqa: E402

DOCUMENTS: Final = ("ARCHITECTURE.md",)
PART: Final = re.compile(
    r"(<!-- generated: (?P<name>[a-z]+) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL
)

CAUSES: Final = {
    CauseKind.READY: ("it may run", "a free slot"),
    CauseKind.DEPENDENCY: ("another task has not ended", "that task ends"),
    CauseKind.CHILDREN: ("its subtasks have not ended", "the last one ends"),
    CauseKind.CLIENT_TOOL: (
        "no client that may serve it offers the tool",
        "one connects",
    ),
    CauseKind.SERVER_TOOL: ("the tool's server is down", "it is up"),
    CauseKind.APPROVAL: ("a person has to allow it", "the answer"),
    CauseKind.OUTCOME_UNKNOWN: (
        "nobody can know whether a `once` call happened",
        "a late result, or a decision",
    ),
    CauseKind.BUDGET: ("the budget is spent", "a larger one"),
    CauseKind.INPUT: ("information is missing", "it is given"),
    CauseKind.RETRY_AT: ("it is tried again later", "that time"),
    CauseKind.PAUSED: ("the process is paused", "`process-continue`"),
}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *map(list, rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def first_line(path: Path) -> str:
    """The first line of a module's docstring, without its full stop."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].strip().rstrip(".")


def the_map() -> str:
    """Every module of the packages with what it is for."""
    rows = []
    for package in ("vance_sdk", "vancetope"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            rows.append((f"`{name}`", first_line(path)))
    return table(("module", "what it is for"), rows)


def layers() -> str:
    """The layers that import-linter holds, top first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    lines = [re.sub(r"[()]", "", layer) for layer in contract["layers"]]
    return "```\n" + "\n".join(lines) + "\n```\n"


def states() -> str:
    """Which state may follow which."""
    rows: list[tuple[str, str, str]] = []
    rows += (("task", f"`{old}`", _list(TASK_MOVES[old])) for old in TaskStatus)
    rows += (
        ("process", f"`{old}`", _list(PROCESS_MOVES[old])) for old in ProcessStatus
    )
    rows += (("call", f"`{old}`", _list(CALL_MOVES[old])) for old in CallState)
    return table(("of a", "state", "may become"), rows)


def _list(following: Iterable[str]) -> str:
    return " ".join(f"`{new}`" for new in sorted(following)) or "-"


def causes() -> str:
    """Every cause, what it says and what ends it."""
    rows = [(f"`{kind}`", *CAUSES[kind]) for kind in CauseKind]
    return table(("cause", "the task waits because", "what ends it"), rows)


def settings() -> str:
    """Every setting of `brain.yaml`."""
    rows = [(f"`{name}`", f"`{value}`", text) for name, value, text in setting_rows()]
    return table(("setting", "default", "meaning"), rows)


def wire_errors() -> str:
    """The codes of `error`, with the class that makes each."""
    made = {
        kind.code: (kind.__doc__ or "").partition("\n")[0].rstrip(".")
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.BrainError)
    }
    made["internal"] = "A fault of the Brain; its log has the traceback"
    rows = [(f"`{code}`", made[code]) for code in CODES]
    tool = ", ".join(f"`{code}`" for code in TOOL_ERROR_CODES)
    return table(("code", "meaning"), rows) + f"\nOf a tool's result: {tool}.\n"


def seeds() -> str:
    """Where PROTOCOL and DESIGN overrule the seeds."""
    return table(("requirement", "what we do instead, and why"), divergences())


PARTS: Final[dict[str, Callable[[], str]]] = {
    "map": the_map,
    "layers": layers,
    "routing": render_markdown,
    "states": states,
    "causes": causes,
    "settings": settings,
    "errors": wire_errors,
    "divergences": seeds,
}


def filled(text: str) -> str:
    """The document with every generated part as the code has it now."""

    def fill(found: re.Match[str]) -> str:
        made = PARTS[found["name"]]().rstrip("\n")
        return f"{found[1]}\n{made}\n\n{found[4]}"

    return PART.sub(fill, text)


def main(arguments: list[str]) -> int:
    """Rewrite, or with `--check` compare."""
    stale = []
    for name in DOCUMENTS:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        new = filled(text)
        if new != text:
            stale.append(name)
            if "--check" not in arguments:
                path.write_text(new, encoding="utf-8")
    for name in stale:
        print(f"{name} {'is out of date' if '--check' in arguments else 'rewritten'}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
