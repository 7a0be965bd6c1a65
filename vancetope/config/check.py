"""Everything that is wrong in a home, all files at once."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

import attrs

from vancetope.config.brain import read_brain_config
from vancetope.config.home import Home, bundled_dir, yaml_files
from vancetope.config.tools import read_tools
from vancetope.errors import ConfigError


class Level(StrEnum):
    """Whether the file can be used all the same."""

    ERROR = "error"
    WARNING = "warning"


@attrs.frozen(kw_only=True)
class Problem:
    """One thing to mend; `str()` is a readable line that ends with the fix."""

    level: Level
    error: ConfigError

    def __str__(self) -> str:
        return f"{self.level}: {self.error}"


#: Checks one workflow file, given the names of the tools that are known.
WorkflowCheck: TypeAlias = Callable[[Path, frozenset[str]], Iterable[Problem]]


def check_home(home: Home, check_workflow: WorkflowCheck) -> list[Problem]:
    """All problems of all files of a home, file by file; no file is changed.

    `check_workflow` is passed in because workflows are read above this room.
    """
    bundled = bundled_dir()
    _, problems = read_brain_config(home.brain_config)
    tools, tool_problems = read_tools(bundled / "tools.yaml", home.tools)
    found = [
        Problem(level=Level.ERROR, error=error) for error in problems + tool_problems
    ]
    for path in yaml_files(home.workflows):
        found += check_workflow(path, frozenset(tools))
    for directory in (home.path, home.workflows):
        found += _other_endings(directory)
    return found


def _other_endings(directory: Path) -> list[Problem]:
    if not directory.is_dir():
        return []
    return [
        Problem(
            level=Level.WARNING,
            error=ConfigError(
                "is not read, because its name ends with .yml",
                file=str(path),
                fix=f"Rename it to {path.stem}.yaml.",
            ),
        )
        for path in sorted(directory.glob("*.yml"))
    ]
