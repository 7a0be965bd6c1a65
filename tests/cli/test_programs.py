"""The program as processes: who starts whom, what a signal does, what is refused."""

import json
import os
import re
import signal
import socket
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cli.conftest import PATIENCE_S, Command, Start, brains_of

pytestmark = pytest.mark.slow


def test_two_runs_at_once_share_one_brain_which_then_leaves(
    home: Path, start: Start
) -> None:
    one, two = (start("run", "clock", "--home", home) for _ in range(2))

    ends = [one.end(), two.end()]
    (brain,) = brains_of(home)
    gone, _ = psutil.wait_procs([brain], timeout=PATIENCE_S)

    assert [(code, out.splitlines()[1]) for code, out, _ in ends] == [(0, "done")] * 2
    assert gone == [brain]
    assert not (home / "brain.json").exists()


def test_a_question_starts_a_brain_where_none_runs(
    home: Path, start: Start, command: Command
) -> None:
    code, out, err = start("ps", "--json", VANCETOPE_HOME=str(home)).end()

    assert (code, out, err) == (0, "[]\n", "")
    assert len(brains_of(home)) == 1


def test_a_run_resumes_no_other_process(
    home: Path, start: Start, command: Command
) -> None:
    waiting = start("run", "files", "--no-wait", "--home", home).line()

    code, _, _ = start("run", "clock", "--home", home).end()
    rows: Any = command.json("ps")

    assert code == 0
    assert {row["id"]: row["status"] for row in rows}[waiting] == "blocked"


def test_a_brain_that_cannot_start_says_why_in_the_run(
    home: Path, start: Start
) -> None:
    (home / "brain.yaml").write_text("gateway: {prot: 1}\n", encoding="utf-8")

    for words in (["run", "clock"], ["serve", "--port", "0"]):
        code, out, err = start(*words, "--home", home).end()

        assert (code, out) == (1, "")
        assert re.match(r"Error: .*brain\.yaml:1: .*prot.*\n$", err)


def test_a_second_brain_on_one_home_is_refused(home: Path, start: Start) -> None:
    first = start("serve", "--port", 0, "--home", home)
    assert first.line().startswith("ready ")

    code, out, err = start("serve", "--port", 0, "--home", home).end()

    assert (code, out) == (1, "")
    assert err.startswith(f"Error: another Brain (process {first.process.pid}) runs")
    assert first.stop(signal.SIGINT) == (0, "", "")


def test_a_port_in_use_is_said_with_its_fix(home: Path, start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = start("serve", "--port", port, "--home", home).end()

    assert (code, out) == (1, "")
    assert re.match(rf"Error: .*{port}.*--port.*\n$", err)


def test_a_client_follows_its_brain_to_another_port(home: Path, start: Start) -> None:
    client = start("client", "--home", home, "--root", home)
    brain = start("serve", "--port", 0, "--home", home)
    first = brain.line()
    connected = client.line()
    brain.stop()

    other = start("serve", "--port", 0, "--home", home)
    second = other.line()

    # It comes back to the same session.
    assert client.line() == connected
    assert first != second
    assert client.stop(signal.SIGINT)[0] == 0
    assert other.stop()[0] == 0


def test_a_run_goes_on_when_its_brain_was_killed_and_comes_back(
    home: Path, start: Start
) -> None:
    brain = start("serve", "--port", 0, "--home", home)
    brain.line()
    run = start("run", "files", "--home", home)
    process_id = run.line()
    brain.stop(signal.SIGKILL)

    start("serve", "--port", 0, "--home", home).line()
    client = start("client", "--home", home, "--root", home)
    code, out, err = run.end()

    assert process_id.startswith("tp_")
    assert (code, out.splitlines()[0]) == (0, "done")
    assert "waiting for it to come back" in err
    client.stop()


def test_check_config_names_every_problem_with_its_line(command: Command) -> None:
    (command.home / "workflows" / "breaks.yaml").unlink()
    assert command("check-config").stdout == f"No problems in {command.home}\n"
    (command.home / "brain.yaml").write_text("gateway:\n  port: many\n")
    (command.home / "workflows" / "bad.yaml").write_text("tasks: [{id: a, tol: x}]")

    result = command("check-config")

    assert result.exit_code == 1
    assert re.search(r"error: .*brain\.yaml:2: gateway\.port: ", result.stdout)
    assert re.search(r"error: .*bad\.yaml:1: ", result.stdout)


def test_check_config_gives_programs_a_row_a_problem(command: Command) -> None:
    (command.home / "brain.yaml").write_text("gateway:\n  port: many\n")

    result = command("check-config", "--json")

    assert result.exit_code == 1
    rows = json.loads(result.stdout)
    (row,) = (row for row in rows if row["field"] == "gateway.port")
    assert row["line"] == 2
    assert row["file"].endswith("brain.yaml")
    # What stands in a field of its own is not said again.
    for said in ("brain.yaml", "gateway.port", row["fix"]):
        assert said not in row["message"]
    assert "many" in row["message"]


def test_migrate_makes_the_database_and_then_has_nothing_to_do(
    command: Command,
) -> None:
    first: Any = command.json("migrate")
    second: Any = command.json("migrate")

    assert (first["from"], second["applied"]) == (0, [])
    assert first["to"] == second["from"] == second["to"]
    assert len(first["applied"]) == first["to"]


@pytest.mark.requirement("000-4-client-absent-blocked", "000-4-requeued-on-connect")
def test_the_demo_shows_what_waits_and_writes_a_report(
    home: Path, tmp_path: Path, start: Start
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "plan.md").write_text("# The plan\n\nWe will build a boat.\n")
    (folder / "empty.md").touch()
    (folder / "picture.md").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")

    demo = start("demo", "--home", home, "--folder", folder, VANCETOPE_PROG="./vt")
    code, out, err = demo.end()

    assert (code, err) == (0, "")
    story = [line.partition("s  ")[2] for line in out.splitlines()]
    blocked = story.index(
        "list: blocked - Waiting for Client for Tool: list_local_files"
    )
    assert blocked < story.index("local client: connected")
    assert story.index("local client: connected") < story.index("list: done on demo")
    assert "now: done on server" in story[: story.index("local client: connected")]
    assert "read: 2 of 3 done, 1 failed on demo" in story
    assert "Done: 2 documents digested, 1 not digested." in out
    report = home / "demo" / "reports" / "digest-documents.md"
    assert f"Report: {report}\n" in out
    assert "We will build a boat." in report.read_text(encoding="utf-8")
    assert "  ./vt serve\n" in out
    assert sorted(path.name for path in folder.iterdir()) == [
        "empty.md",
        "picture.md",
        "plan.md",
    ]


def test_a_brain_of_which_only_the_file_is_left_is_no_brain(
    home: Path, start: Start
) -> None:
    # A process of that number lives (this one), but nobody listens at that port.
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    said = json.dumps({"pid": os.getpid(), "url": url})
    (home / "brain.json").write_text(said, encoding="utf-8")

    assert start("ps", "--json", "--home", home).end() == (0, "[]\n", "")


def test_an_interrupted_run_is_130_and_goes_on_without_its_command(
    home: Path, start: Start, command: Command
) -> None:
    brain = start("serve", "--port", 0, "--home", home)
    brain.line()
    run = start("run", "files", "--home", home)
    process_id = run.line()

    code, _, err = run.stop(signal.SIGINT)

    assert code == 130
    assert "Traceback" not in err
    found: Any = command.json("result", process_id)
    assert found["status"] == "blocked"
    brain.stop()
