"""The command line as processes of its own, for tests of the real thing."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue

import pytest

CLI = (sys.executable, "-m", "vancetope.cli.main")
#: A bound for what takes a second or two; nothing waits for it to pass.
BOUND_S = 60


class Process:
    """A child whose standard output is read line by line."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self.child = subprocess.Popen(
            [*CLI, *arguments, "--home", str(home)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        self.lines: Queue[str] = Queue()
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._drain, daemon=True),
        ]
        self.errors: list[str] = []
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            self.lines.put(line.rstrip("\n"))

    def _drain(self) -> None:
        assert self.child.stderr is not None
        self.errors.extend(self.child.stderr)

    def line(self) -> str:
        """The next line."""
        try:
            return self.lines.get(timeout=BOUND_S)
        except Empty:
            pytest.fail(f"no line; standard error: {''.join(self.errors)}")

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait."""
        self.child.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Wait for the end."""
        code = self.child.wait(timeout=BOUND_S)
        for reader in self._readers:
            reader.join(timeout=BOUND_S)
        for stream in (self.child.stdout, self.child.stderr):
            if stream is not None:
                stream.close()
        return code


@contextmanager
def running(home: Path, *arguments: str) -> Iterator[Process]:
    """A process that is gone at the end, whatever happened."""
    process = Process(home, *arguments)
    try:
        yield process
    finally:
        if process.child.poll() is None:
            process.child.kill()
            process.wait()


def cli(home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end."""
    return subprocess.run(
        [*CLI, *arguments, "--home", str(home)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=BOUND_S,
        check=False,
    )
