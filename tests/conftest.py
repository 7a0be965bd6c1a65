"""What every test has: Hypothesis profiles and a leak check.

Stacks of all threads on a crash or a hang are pytest's own faulthandler plugin,
switched on in pyproject.toml.
"""

import contextlib
import os
import threading
from collections.abc import Iterator

import psutil
import pytest
from hypothesis import HealthCheck, settings

END_GRACE_S = 2.0
"""How long what a test has already told to end may take to do so."""

# HYPOTHESIS_PROFILE chooses. No deadlines: how fast a shared machine is proves
# nothing about the code. `check` finds the same examples on every run.
settings.register_profile(
    "dev",
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "check",
    parent=settings.get_profile("dev"),
    max_examples=200,
    derandomize=True,
    database=None,
)
settings.register_profile(
    "soak", parent=settings.get_profile("dev"), max_examples=20_000
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def _threads() -> set[threading.Thread]:
    """Those that would keep the interpreter from ending (Trio's own are daemons)."""
    return {thread for thread in threading.enumerate() if not thread.daemon}


def _children() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))


def _describe(process: psutil.Process) -> str:
    try:
        return f"{process.pid}: {' '.join(process.cmdline())}"
    except psutil.Error:
        return f"{process.pid}"


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    """Fail a test that leaves a thread or a process behind.

    What fixtures of a wider scope started before the test does not count.
    tests/house/test_leak_check.py shows it failing.
    """
    threads, children = _threads(), _children()
    yield
    for thread in _threads() - threads:
        thread.join(END_GRACE_S)
    left_threads = sorted(thread.name for thread in _threads() - threads)
    _, left = psutil.wait_procs(_children() - children, timeout=END_GRACE_S)
    left_processes = [_describe(process) for process in left]
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(left, timeout=END_GRACE_S)
    assert not left_threads, f"threads left behind: {left_threads}"
    assert not left_processes, f"processes left behind: {left_processes}"
