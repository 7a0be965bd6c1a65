"""The leak check of tests/conftest.py catches what it is there for."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"

INNER_TESTS = """
import subprocess, sys, threading, trio
kept = []

def test_leaves_a_process():
    kept.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1))

def test_leaves_a_thread():
    threading.Thread(target=threading.Event().wait, args=(1,), name="stray").start()

async def work():
    await trio.to_thread.run_sync(int)
    await trio.run_process([sys.executable, "-c", ""])

def test_tidies_up():
    trio.run(work)
    threading.Thread(target=int).start()
"""


@pytest.mark.slow
def test_a_test_that_leaves_something_running_fails(tmp_path: Path) -> None:
    code, shortened = re.subn(
        r"^END_GRACE_S = .*",
        "END_GRACE_S = 0.1",
        CONFTEST.read_text(),
        flags=re.MULTILINE,
    )
    (tmp_path / "conftest.py").write_text(code)
    (tmp_path / "test_inner.py").write_text(INNER_TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rE", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert shortened == 1
    assert "processes left behind: [" in done.stdout
    assert "threads left behind: ['stray']" in done.stdout
    assert "ERROR test_inner.py::test_leaves_a_process" in done.stdout
    assert "ERROR test_inner.py::test_leaves_a_thread" in done.stdout
    assert "3 passed, 2 errors" in done.stdout
