"""Homes with workflows, the commands in this process, and the program as a process."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import attrs
import psutil
import pytest
from click.testing import CliRunner, Result

from vancetope.cli.main import cli

ROOT = Path(__file__).parents[2]
#: Far more than anything here takes, on a machine that does much else.
PATIENCE_S = 60.0

WORKFLOWS = {
    "clock": "tasks: [{id: now, tool: now}]\nresult: {day: '{{ tasks.now.result.date }}'}",
    "breaks": "tasks: [{id: odd, tool: nobody_ever_offered_this}]",
    "files": "tasks: [{id: list, tool: list_local_files, args: {path: .}}]",
    "insists": (
        "tasks: [{id: list, tool: list_local_files, args: {path: .},"
        " offline_strategy: block}]"
    ),
    "asks": (
        "inputs: {who: {required: true}}\n"
        "tasks: [{id: say, result: '{{ inputs.who }}'}]"
    ),
}


def make_home(path: Path) -> Path:
    folder = path / "workflows"
    folder.mkdir(parents=True)
    for name, text in WORKFLOWS.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return path


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("VANCETOPE_")}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


@attrs.define(eq=False)
class Program:
    """`vancetope ARGS` as a process of its own."""

    process: "subprocess.Popen[str]"

    def line(self) -> str:
        """The next line on stdout."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def end(self) -> tuple[int, str, str]:
        """Wait for the end: exit code, the rest of stdout, stderr."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, err

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Send a signal and wait for the end."""
        self.process.send_signal(number)
        return self.end()


Start = Callable[..., Program]


@contextlib.contextmanager
def starting() -> Iterator[Start]:
    """Start programs that are ended, by their own ids, with the block."""
    with contextlib.ExitStack() as stack:

        def start(*args: str | Path, **env: str) -> Program:
            process: subprocess.Popen[str] = subprocess.Popen(
                [sys.executable, "-P", "-m", "vancetope.cli.main", *map(str, args)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(**env),
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return Program(process)

        yield start


@pytest.fixture
def start() -> Iterator[Start]:
    with starting() as program:
        yield program


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home of one test; a Brain that was started for a run is ended with it."""
    path = make_home(tmp_path / "home")
    yield path
    for process in brains_of(path):
        process.terminate()
        process.wait(PATIENCE_S)


def brains_of(home: Path) -> list[psutil.Process]:
    """The Brains that were started for a run on this home, and only those."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "--for-a-run" in words and str(home) in words:
            found.append(process)
    return found


@attrs.frozen
class Command:
    """Commands in this process, on one home."""

    home: Path

    def __call__(self, *args: str | Path) -> Result:
        words = [str(arg) for arg in args]
        env = {"VANCETOPE_HOME": str(self.home)}
        return CliRunner(env=env).invoke(cli, words, prog_name="vancetope")

    def json(self, *args: str | Path) -> object:
        result = self(*args, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)


@pytest.fixture
def command(home: Path) -> Command:
    return Command(home)


def text_of(stream: IO[str] | None) -> str:
    return "" if stream is None else stream.read()
