"""The real `vancetope serve` and `vancetope client`, as processes of their own."""

import json
import os
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


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "作业 1.md").write_text("# 家庭作业\n\n一段文字。\n", encoding="utf-8")
    (folder / "bees.md").write_text(
        "# On bees\n\nBees dance to tell where the flowers are.\n\n"
        "## Dance\n\nSee [the paper](https://example.org/bees).\n",
        encoding="utf-8",
    )
    (folder / "empty.md").write_bytes(b"")
    (folder / "binary.md").write_bytes(bytes(range(256)) * 8)
    (folder / "huge.txt").write_text("A long line of text. " * 40_000, encoding="utf-8")
    return folder


@pytest.mark.requirement("000-2-client-runtime", "000-5-requeue-on-connect")
def test_a_digest_runs_through_brain_and_client(tmp_path: Path, papers: Path) -> None:
    home = tmp_path / "home"
    with running(home, "serve", "--port", "0") as brain:
        assert brain.line().startswith("ready http://127.0.0.1:")
        started = cli(
            home, "run", "digest", "--no-wait", "--input", f"folder={papers}"
        )
        assert started.returncode == 0, started.stderr
        process_id = started.stdout.split()[0]
        blocked = cli(home, "run", "digest", "--timeout", "1s")
        assert blocked.returncode == 4, blocked.stderr

        with running(
            home, "client", "--root", str(papers), "--name", "laptop"
        ) as client:
            assert client.line().startswith("connected sess_")
            wait_until_ended(home, process_id)
            assert client.end() == 0

        report = (papers / "digest-report.md").read_text(encoding="utf-8")
        result = json.loads(cli(home, "result", process_id, "--json").stdout)
        assert brain.end() == 0

    assert result["status"] == "done"
    assert "## On bees" in report
    assert "Bees dance to tell where the flowers are." in report
    assert "https://example.org/bees" in report
    assert "家庭作业" in report
    assert "This file is empty." in report
    assert "**Cut:**" in report
    assert "binary" in report.partition("## Not digested")[2]


@pytest.mark.requirement("000-5-requeue-on-connect")
def test_a_killed_brain_is_started_again_and_the_run_finishes(
    tmp_path: Path, papers: Path
) -> None:
    for number in range(60):
        text = f"# Note {number}\n\nThe note of number {number}.\n"
        (papers / f"note-{number}.md").write_text(text, encoding="utf-8")
    home = tmp_path / "home"
    with running(home, "serve", "--port", "0") as brain:
        url = brain.line().split()[1]
        port = url.rpartition(":")[2]
        with running(
            home, "client", "--root", str(papers), "--name", "laptop"
        ) as client:
            client.line()
            started = cli(
                home, "run", "digest", "--no-wait", "--input", f"folder={papers}"
            )
            process_id = started.stdout.split()[0]
            wait_until_running(home, process_id)
            assert brain.end(signal.SIGKILL) == -signal.SIGKILL

            with running(home, "serve", "--port", port) as again:
                assert again.line() == f"ready {url}"
                assert client.line().startswith("connected sess_")
                wait_until_ended(home, process_id)
                result = json.loads(cli(home, "result", process_id, "--json").stdout)
                assert again.end(signal.SIGINT) == 0
            client.end()

    report = (papers / "digest-report.md").read_text(encoding="utf-8")
    assert result["status"] == "done"
    assert all(f"## Note {number}\n" in report for number in range(60))


def wait_until_ended(home: Path, process_id: str) -> None:
    """Ask until the process has ended; each question is a command of its own."""
    for _ in range(BOUND_S * 4):
        if status_of(home, process_id) in {"done", "failed", "stopped"}:
            return
    pytest.fail(cli(home, "tasks", process_id).stdout)


def wait_until_running(home: Path, process_id: str) -> None:
    """Ask until some document has been read and some has not."""
    for _ in range(BOUND_S * 4):
        rows = json.loads(cli(home, "tasks", process_id, "--json").stdout)
        states = [row["status"] for row in rows if row["key"].startswith("read[")]
        if "done" in states:
            return
    pytest.fail("nothing was read")


def status_of(home: Path, process_id: str) -> str:
    """Where the process stands."""
    answer = cli(home, "result", process_id, "--json")
    assert answer.returncode == 0, answer.stderr
    return str(json.loads(answer.stdout)["status"])


def test_a_second_brain_on_one_home_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running(home, "serve", "--port", "0") as brain:
        brain.line()
        second = cli(home, "serve", "--port", "0")
        assert brain.end() == 0

    assert second.returncode == 1
    assert str(os.getpid()) not in second.stdout
    assert "another Brain" in second.stderr
    assert "Traceback" not in second.stderr
