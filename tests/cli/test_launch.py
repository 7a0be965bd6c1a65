"""Which Brain is said to run, and when one is started."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vancetope.cli.launch import Launcher, Running, running_brain
from vancetope.config.home import Home
from vancetope.errors import HomeError

URL = "http://127.0.0.1:7717"


@pytest.fixture
def at(tmp_path: Path) -> Home:
    return Home(tmp_path)


def ended_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        return process.pid


def test_a_brain_that_announced_itself_and_lives_is_found(at: Home) -> None:
    at.runtime.write_text(json.dumps({"pid": os.getpid(), "url": URL, "since": 1}))

    assert running_brain(at) == Running(pid=os.getpid(), url=URL)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        "[" * 10_000,
        '{"pid": "1", "url": 2}',
        '{"pid": 0, "url": "x"}',
        "\xff",
    ],
)
def test_a_file_that_says_nothing_is_no_brain(at: Home, text: str) -> None:
    at.runtime.write_bytes(text.encode("latin-1"))

    assert running_brain(at) is None


def test_a_file_that_a_dead_brain_left_is_ignored(at: Home) -> None:
    at.runtime.write_text(json.dumps({"pid": ended_process(), "url": URL}))

    assert running_brain(at) is None


def test_one_that_may_not_start_only_looks(at: Home) -> None:
    launcher = Launcher(at, may_start=False)

    assert launcher.look() is None
    assert list(at.path.iterdir()) == []


def test_a_home_that_cannot_be_made_is_said_with_its_fix(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(HomeError, match="--home DIR"):
        Launcher(Home(tmp_path / "file" / "home")).look()


def test_a_brain_that_starts_or_stops_just_now_is_waited_for(at: Home) -> None:
    at.lock.write_text(f"{os.getpid()}\n")

    assert Launcher(at).look() is None
    assert [path.name for path in at.path.iterdir()] == ["brain.lock"]
