"""The workflows there are: the home's files over the bundled ones."""

import logging
from pathlib import Path

import attrs

from vancetope.config.fields import nearest
from vancetope.config.home import yaml_files
from vancetope.errors import ConfigError
from vancetope.processes.workflows.definition import Workflow
from vancetope.processes.workflows.parse import WORKFLOW_ID, read_workflow_file

_log = logging.getLogger(__name__)


@attrs.frozen
class _Read:
    """What is known of a file: its last good version, and what is wrong now."""

    stamp: tuple[int, int, int]
    good: Workflow | None
    problem: ConfigError | None


@attrs.define
class WorkflowLibrary:
    """Reads workflow files when they are asked for, and only what has changed.

    A file that breaks keeps its last good version; `problems` says what is wrong.
    """

    _bundled_dir: Path
    _home_dir: Path
    _read: dict[Path, _Read] = attrs.field(factory=dict, init=False)

    def get(self, name: str) -> Workflow | None:
        """The workflow with this id, as its file is now; None when there is none.

        Raises:
            ConfigError: its file is broken and was never good since the start.
        """
        if not WORKFLOW_ID.fullmatch(name):
            return None
        for directory in (self._home_dir, self._bundled_dir):
            # Most files are named after their id: look there before reading all.
            files = sorted(yaml_files(directory), key=lambda path: path.stem != name)
            for path in files:
                read = self._load(path)
                if read is None:
                    continue
                if read.good is not None and read.good.id == name:
                    return read.good
                if read.good is None and path.stem == name and read.problem:
                    raise read.problem
        return None

    def names(self) -> list[str]:
        """The ids of all workflows that can be started, sorted."""
        return sorted({workflow.id for workflow in self._all()})

    def nearest(self, name: str) -> str | None:
        """The id that looks most like `name`."""
        return nearest(name, self.names())

    def problems(self) -> list[ConfigError]:
        """What is wrong with the files as they are now, one a file."""
        self._all()
        return [read.problem for read in self._read.values() if read.problem]

    def _all(self) -> list[Workflow]:
        found = []
        present = set()
        for directory in (self._home_dir, self._bundled_dir):
            for path in yaml_files(directory):
                present.add(path)
                read = self._load(path)
                if read is not None and read.good is not None:
                    found.append(read.good)
        for gone in self._read.keys() - present:
            del self._read[gone]
        return found

    def _load(self, path: Path) -> _Read | None:
        try:
            status = path.stat()
        except OSError:
            return None
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        known = self._read.get(path)
        if known is not None and known.stamp == stamp:
            return known
        workflow, problems = read_workflow_file(path)
        problem = problems[0] if problems else None
        last_good = None if known is None else known.good
        read = _Read(stamp, workflow or last_good, problem)
        if problem is not None:
            kept = "" if last_good is None else " (the last good version stays in use)"
            _log.warning("workflow.broken: %s%s", problem, kept)
        self._read[path] = read
        return read
