"""The table of commands: what is listed, what it costs, what a wrong word says."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from vancetope.cli.lazy import LazyGroup
from vancetope.cli.main import cli
from vancetope.cli.options import program


def commands(group: LazyGroup, *above: str) -> Iterator[tuple[str, ...]]:
    for name in group.lazy:
        yield (*above, name)
        command = group.get_command(click.Context(group), name)
        if isinstance(command, LazyGroup):
            yield from commands(command, *above, name)


ALL = [(), *commands(cli)]


def test_the_commands_of_the_fixed_forms_are_there() -> None:
    expected = {
        ("serve",), ("token", "create"), ("client",), ("run",), ("ps",), ("tasks",),
        ("why",), ("result",), ("tools",), ("project", "create"), ("project", "list"),
        ("check-config",), ("migrate",), ("demo",),
    }  # fmt: skip

    assert expected <= set(ALL)


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_help_has_an_example_and_names_the_home(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, [*words, "--help"], prog_name="vancetope")

    assert result.exit_code == 0
    assert "Example:\n    vancetope " in result.stdout
    assert "--home DIR" in result.stdout


def test_help_imports_nothing_that_takes_long() -> None:
    code = (
        "import sys\n"
        "from vancetope.cli.main import cli\n"
        "try:\n"
        "    cli(['--help'], prog_name='vancetope')\n"
        "except SystemExit:\n"
        "    pass\n"
        "heavy = {'attr', 'cattrs', 'jwt', 'mcp', 'quart', 'rich', 'sqlite3', 'trio'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )

    assert "Commands:" in done.stdout
    assert done.stdout.endswith("loaded: []\n")


def test_an_unknown_command_names_the_nearest_one() -> None:
    result = CliRunner().invoke(cli, ["srve"])

    assert result.exit_code == 2
    assert "Did you mean serve?" in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--home", "H", "token", "create"],
        ["token", "--home", "H", "create"],
        ["token", "create", "--home", "H"],
        ["--home", "other", "token", "create", "--home", "H"],
    ],
    ids=["before", "between", "after", "the last one counts"],
)
def test_the_home_can_be_named_before_and_after_the_command(
    words: list[str], tmp_path: Path
) -> None:
    given = [str(tmp_path / word) if word in {"H", "other"} else word for word in words]

    result = CliRunner().invoke(cli, given)

    assert result.exit_code == 0
    assert (tmp_path / "H" / "secrets.key").exists()
    assert not (tmp_path / "other").exists()


def test_an_empty_home_is_a_wrong_use() -> None:
    assert CliRunner().invoke(cli, ["ps", "--home", ""]).exit_code == 2


def test_a_wrapper_may_say_how_the_program_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VANCETOPE_PROG", "scripts/vancetope")

    assert program() == "scripts/vancetope"
