"""The real `vancetope serve` and `vancetope client`, as processes of their own."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.support.processes import BOUND_S, cli, running


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


@pytest.mark.requirement(
    "000-2-client-runtime",
    "000-1-local-files-on-the-client",
    "000-4-requeued-on-connect",
)
def test_a_digest_runs_through_brain_and_client(tmp_path: Path, papers: Path) -> None:
    home = tmp_path / "home"
    with running(home, "serve", "--port", "0") as brain:
        assert brain.line().startswith("ready http://127.0.0.1:")
        started = cli(home, "run", "digest", "--no-wait", "--input", f"folder={papers}")
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


@pytest.mark.requirement("003-2.1-connection-breaks")
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
