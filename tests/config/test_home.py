"""Where a home is, what its files are called, and what is wrong in them."""

from pathlib import Path

import pytest

from vancetope.config.check import Level, Problem, check_home
from vancetope.config.home import Home, bundled_dir, cascade, default_home
from vancetope.errors import ConfigError


def no_workflows(path: Path, tools: frozenset[str]) -> list[Problem]:
    raise NotImplementedError


def test_the_variable_names_the_home_and_a_tilde_expands() -> None:
    home = default_home({"VANCETOPE_HOME": "~/brain"})

    assert home.path == Path.home() / "brain"


@pytest.mark.parametrize("environ", [{}, {"VANCETOPE_HOME": ""}])
def test_without_the_variable_it_is_the_user_s_data_directory(
    environ: dict[str, str],
) -> None:
    assert default_home(environ).path.name == "vancetope"


def test_every_file_has_the_name_of_the_design() -> None:
    home = Home(Path("h"))
    paths = {
        home.brain_config,
        home.tools,
        home.mcp,
        home.recipes,
        home.workflows,
        home.schedules,
        home.hooks,
        home.vaults,
        home.secrets,
        home.database,
        home.lock,
        home.runtime,
    }

    assert {path.name for path in paths} == {
        "brain.yaml",
        "tools.yaml",
        "mcp.json",
        "recipes",
        "workflows",
        "schedules",
        "hooks",
        "vaults.json",
        "secrets.key",
        "brain.db",
        "brain.lock",
        "brain.json",
    }
    assert {path.parent for path in paths} == {home.path}


def test_a_later_directory_of_the_cascade_wins(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for directory, names in ((one, "ab"), (two, "bc")):
        directory.mkdir()
        for name in names:
            (directory / f"{name}.yaml").touch()
    (two / "d.txt").touch()
    (two / ".e.yaml").touch()

    assert cascade(one, two, tmp_path / "absent") == {
        "a": one / "a.yaml",
        "b": two / "b.yaml",
        "c": two / "c.yaml",
    }


def test_the_bundled_files_are_found() -> None:
    assert (bundled_dir() / "tools.yaml").is_file()


def test_an_empty_home_has_no_problem(tmp_path: Path) -> None:
    assert check_home(Home(tmp_path / "none"), no_workflows) == []
    assert check_home(Home(tmp_path), no_workflows) == []


def test_every_broken_file_is_told_and_not_only_the_first(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.brain_config.write_text("gateway:\n  port: x\n")
    home.tools.write_text("tools: [{name: t, location: client}, {name: b}]\n")
    home.workflows.mkdir()
    (home.workflows / "w.yaml").write_text("x")
    (home.workflows / "v.yml").write_text("x")
    asked = []

    def check(path: Path, tools: frozenset[str]) -> list[Problem]:
        asked.append((path.name, {"t", "now"} <= tools, "b" in tools))
        error = ConfigError("is odd", file=str(path), fix="Mend it.")
        return [Problem(level=Level.WARNING, error=error)]

    problems = check_home(home, check)

    assert asked == [("w.yaml", True, False)]
    assert [(Path(p.error.file).name, p.level.value) for p in problems] == [
        ("brain.yaml", "error"),
        ("tools.yaml", "error"),
        ("w.yaml", "warning"),
        ("v.yml", "warning"),
    ]
    assert str(problems[2]).startswith("warning: ")
    assert str(problems[2]).endswith("is odd. Mend it.")
