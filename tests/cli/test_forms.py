"""The fixed forms against a real Brain: what scripts read and which codes they get."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command, make_home, starting
from vancetope.cli import demo
from vancetope.store.home_lock import hold_home

pytestmark = pytest.mark.slow

ROW = {
    "id", "title", "status", "project_id", "workflow_id", "connectionProfile",
    "pending_tasks", "blocked_reason", "cause",
}  # fmt: skip
WAITS = "Waiting for Client for Tool: list_local_files"


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    """Commands on the home of one Brain that runs for all tests of this file."""
    home = make_home(tmp_path_factory.mktemp("forms") / "home")
    with starting() as start:
        brain = start("serve", "--home", home, "--port", 0)
        assert re.fullmatch(r"ready http://127\.0\.0\.1:\d+", brain.line())
        yield Command(home)
        assert brain.stop() == (0, "", "")


def ran(command: Command, *args: str, code: int) -> tuple[str, Any]:
    """Run with --json: the id on the first line, the object on the last."""
    result = command("run", *args, "--json")
    assert result.exit_code == code, result.stderr
    first, last = result.stdout.splitlines()
    assert re.fullmatch(r"tp_[0-9a-z]{26}", first)
    found = json.loads(last)
    assert set(found) == {"thinkProcessId", "status", "result"}
    assert found["thinkProcessId"] == first
    return first, found


def test_a_run_that_is_done_exits_0_with_its_result(command: Command) -> None:
    process_id, found = ran(command, "clock", code=0)

    assert found["status"] == "done"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["result"]["day"])
    assert command.json("result", process_id) == found


def test_a_run_for_people_ends_with_the_result_as_lines(command: Command) -> None:
    result = command("run", "asks", "--input", "who=7")

    assert result.exit_code == 0
    first, *rest = result.stdout.splitlines()
    assert first.startswith("tp_")
    assert rest == ["done", "say: 7"]
    assert "say: done" in result.stderr


def test_a_run_that_failed_exits_5_and_tells_why(command: Command) -> None:
    result = command("run", "breaks")

    assert result.exit_code == 5
    assert result.stdout.splitlines()[1] == "failed"
    assert "odd: failed" in result.stderr


@pytest.mark.requirement("000-4-strategy-queue")
def test_a_run_that_only_a_client_can_finish_exits_3_when_autonomous(
    command: Command,
) -> None:
    process_id, found = ran(command, "files", "--autonomous", code=3)

    assert found["status"] == "waiting"
    assert isinstance(found["result"], dict)
    tasks: Any = command.json("tasks", process_id)
    (task,) = tasks
    assert (task["status"], task["blocked_reason"]) == ("queued", WAITS)


def test_a_blocked_autonomous_run_exits_4_at_once(command: Command) -> None:
    result = command("run", "insists", "--autonomous")

    assert result.exit_code == 4
    assert WAITS in result.stderr
    assert "vancetope why task_" in result.stderr


def test_a_blocked_run_waits_until_its_timeout_and_exits_4(command: Command) -> None:
    _, found = ran(command, "files", "--timeout", "300ms", code=4)

    assert (found["status"], found["result"]) == ("blocked", None)


def test_no_wait_exits_0_once_the_start_is_committed(command: Command) -> None:
    result = command("run", "files", "--no-wait", "--project", "other")

    assert result.exit_code == 0
    (process_id,) = result.stdout.splitlines()
    rows: Any = command.json("ps", "--project", "other")
    assert [row["id"] for row in rows] == [process_id]


def test_a_word_that_names_no_workflow_exits_2_with_the_nearest(
    command: Command,
) -> None:
    result = command("run", "clcok")

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: No workflow clcok; did you mean clock?\n"


def test_a_word_like_no_workflow_exits_2_with_all_there_are(command: Command) -> None:
    result = command("run", "qqq")

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "Error: No workflow qqq. Workflows: asks, breaks, clock, digest, files, insists"
        "\n"
    )


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["asks"], "needs the input who"),
        (["clock", "--input", "zone=UTC"], "has no input 'zone'"),
        (["clock", "--project", "not/one"], "a project's id is"),
        (["asks", "--input", f"who={10**30}"], "64-bit"),
    ],
    ids=["missing", "unknown", "project", "number"],
)
def test_a_wrong_input_exits_2(
    command: Command, args: list[str], complaint: str
) -> None:
    result = command("run", *args)

    assert (result.exit_code, result.stdout) == (2, "")
    assert complaint in result.stderr


def test_a_goal_of_several_words_exits_5_with_the_fix(command: Command) -> None:
    result = command("run", "tidy up my notes")

    assert (result.exit_code, result.stdout) == (5, "")
    assert result.stderr == (
        "Error: A free goal needs a model, and this version of the Brain has none."
        " Name a workflow, as in `vancetope run digest`\n"
    )


def test_ps_and_tasks_and_why_print_the_rows_of_the_protocol(command: Command) -> None:
    process_id = command("run", "files", "--no-wait").stdout.strip()

    rows: Any = command.json("ps")
    row = next(row for row in rows if row["id"] == process_id)
    assert set(row) == ROW
    assert (row["workflow_id"], row["pending_tasks"]) == ("files", 1)

    tasks: Any = command.json("tasks", process_id)
    (task,) = tasks
    assert {"task_id", "key", "goal", "status", "depends_on"} <= set(task)
    assert (task["key"], task["tool"]) == ("list", "list_local_files")

    reasons: Any = command.json("why", task["task_id"])
    assert set(reasons) == {"task_id", "status", "text", "chain"}
    assert (reasons["status"], reasons["chain"][0]["kind"]) == (
        "blocked",
        "client_tool",
    )
    assert WAITS in reasons["text"]


def test_tables_keep_every_id_whole_when_nobody_looks(command: Command) -> None:
    process_id = command("run", "clock").stdout.splitlines()[0]
    task_id = command.json("tasks", process_id)[0]["task_id"]  # type: ignore[index]

    assert any(
        line.startswith(f"{process_id}  done")
        for line in command("ps").stdout.split("\n")
    )
    assert task_id in command("tasks", process_id).stdout
    assert command("why", task_id).stdout == "now is done\n"


@pytest.mark.parametrize("words", ["tasks tp_none", "result tp_none", "why task_none"])
def test_an_unknown_id_exits_1_with_the_words_of_the_brain(
    command: Command, words: str
) -> None:
    result = command(*words.split())

    assert (result.exit_code, result.stdout) == (1, "")
    assert re.fullmatch(r"Error: No (process|task) \w+_none\n", result.stderr)


def test_tools_say_where_they_can_run(command: Command) -> None:
    rows: Any = command.json("tools")

    found = {row["name"]: row for row in rows}
    assert found["now"]["server"] == "up"
    assert found["list_local_files"]["clients"] == []
    assert "list_local_files" in command("tools").stdout


def test_a_project_is_created_and_listed(command: Command) -> None:
    made = command.json("project", "create", "thesis", "--name", "My thesis")

    assert made == {"id": "thesis", "name": "My thesis"}
    assert made in command.json("project", "list")  # type: ignore[operator]
    assert "thesis" in command("project", "list").stdout


def test_a_token_is_alone_on_stdout(command: Command) -> None:
    result = command("token", "create", "--name", "desk", "--ttl", "1h")

    assert re.fullmatch(r"[\w-]+\.[\w-]+\.[\w-]+\n", result.stdout)


def test_migrate_refuses_the_home_of_a_running_brain(command: Command) -> None:
    result = command("migrate")

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: another Brain (process ")
    assert result.stderr.count("\n") == 1


def test_a_demo_runs_beside_the_brain_of_its_home_but_not_beside_another(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "note.md").write_text("# Hello", encoding="utf-8")
    own = command.home / "demo"
    with hold_home(own):
        refused = command("demo", "--folder", tmp_path)
    shown = command("demo", "--folder", tmp_path)

    assert refused.exit_code == 1
    assert refused.stderr == (
        f"Error: the demo's home {own} is in use, perhaps by another demo."
        " Try again in a moment, or name another home with --home DIR.\n"
    )
    assert shown.exit_code == 0, shown.stderr
    assert f"--home {own}\n" in shown.stdout
    assert (own / "reports").is_dir()


def test_a_demo_of_the_programs_own_folder_takes_its_markdown_only(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "note.md").write_text("# Hello", encoding="utf-8")
    (tmp_path / "lock.txt").write_text("click==8.2", encoding="utf-8")
    monkeypatch.setattr(demo, "_own_folder", lambda: tmp_path)

    assert "Done: 1 documents digested" in command("demo").stdout
    assert "Done: 2 documents digested" in command("demo", "--folder", tmp_path).stdout


def test_a_client_serves_what_waits_and_leaves_at_a_signal(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "note.md").write_text("# Hello", encoding="utf-8")
    process_id = command("run", "files", "--no-wait").stdout.strip()

    with starting() as start:
        words = ["--home", command.home, "--root", tmp_path, "--name", "desk"]
        client = start("client", *words, "--allow-shell")
        assert re.fullmatch(r"connected sess_[0-9a-z]{26}", client.line())
        _, found = ran(command, "files", code=0)
        code, _, err = client.stop()

    assert found["result"]["list"]["files"][0]["name"] == "note.md"
    assert code == 0
    assert "no shell tool" in err
    result: Any = command.json("result", process_id)
    assert result["status"] == "done"


def test_a_client_with_a_bad_token_ends_with_the_reason(
    command: Command, tmp_path: Path
) -> None:
    result = command("client", "--root", tmp_path, "--token", "nonsense")

    assert result.exit_code == 1
    assert result.stderr.startswith(
        "Error: the Brain refused the connection: The token does not verify. Make a"
    )


def test_a_client_of_a_brain_elsewhere_learns_whose_token_it_used(
    command: Command, tmp_path: Path
) -> None:
    url = json.loads((command.home / "brain.json").read_bytes())["url"]
    here = tmp_path / "here"

    result = Command(here)("client", "--url", url, "--root", tmp_path)

    assert result.exit_code == 1
    assert result.stderr == (
        f"Error: the Brain at {url} refused the connection: it does not know the token,"
        f" which was made with the key of this machine's home {here}. Make one on the"
        " Brain's machine with `vancetope token create`, and give it here with"
        " --token.\n"
    )


def test_the_help_of_run_says_that_5_is_also_a_start_that_failed(
    command: Command,
) -> None:
    assert (
        "5  failed, stopped, or could not be started" in command("run", "--help").stdout
    )
