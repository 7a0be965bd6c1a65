"""The library of workflows, and the inputs they start with."""

import logging
from pathlib import Path

import pytest

from vancetope.config.home import bundled_dir
from vancetope.errors import BadMessage, ConfigError
from vancetope.processes.workflows.inputs import resolve_inputs
from vancetope.processes.workflows.library import WorkflowLibrary
from vancetope.processes.workflows.parse import parse_workflow

GOOD = "goal: {goal}\ntasks: [{{id: a, tool: now}}]\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    directory = tmp_path / "workflows"
    directory.mkdir()
    return directory


@pytest.fixture
def library(home: Path) -> WorkflowLibrary:
    return WorkflowLibrary(bundled_dir() / "workflows", home)


def write(path: Path, text: str) -> None:
    path.write_text(text)


def goal(library: WorkflowLibrary, name: str) -> str | None:
    workflow = library.get(name)
    return None if workflow is None else workflow.goal


def test_the_bundled_workflow_is_there_and_an_unknown_one_is_not(
    library: WorkflowLibrary,
) -> None:
    assert goal(library, "digest") == "Digest a folder of documents into one report"
    assert library.get("digset") is None
    assert library.nearest("digset") == "digest"
    assert library.get("../workflows/digest") is None


def test_a_change_of_a_file_is_seen_by_the_next_process(
    library: WorkflowLibrary, home: Path
) -> None:
    write(home / "mine.yaml", GOOD.format(goal="one"))
    assert goal(library, "mine") == "one"

    write(home / "mine.yaml", GOOD.format(goal="another"))
    assert goal(library, "mine") == "another"
    assert library.names() == ["digest", "mine"]

    (home / "mine.yaml").unlink()
    assert library.get("mine") is None
    assert library.names() == ["digest"]


def test_a_file_of_the_home_wins_over_the_bundled_one(
    library: WorkflowLibrary, home: Path
) -> None:
    write(home / "digest.yaml", GOOD.format(goal="mine"))

    assert goal(library, "digest") == "mine"


def test_a_workflow_is_found_by_the_id_in_its_file(
    library: WorkflowLibrary, home: Path
) -> None:
    write(home / "some file.yaml", "id: other\n" + GOOD.format(goal="x"))

    assert goal(library, "other") == "x"
    assert library.get("some file") is None


def test_a_broken_file_is_named_and_not_replaced_by_the_bundled_one(
    library: WorkflowLibrary, home: Path
) -> None:
    write(home / "digest.yaml", "tasks: [")

    with pytest.raises(ConfigError) as caught:
        library.get("digest")

    assert caught.value.file == str(home / "digest.yaml")
    assert library.problems() == [caught.value]


def test_a_file_that_breaks_keeps_its_last_good_version_and_says_so(
    library: WorkflowLibrary, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(home / "mine.yaml", GOOD.format(goal="good"))
    assert goal(library, "mine") == "good"
    write(home / "mine.yaml", "tasks: [")

    with caplog.at_level(logging.WARNING):
        assert goal(library, "mine") == "good"
        assert goal(library, "mine") == "good"

    assert len(caplog.records) == 1
    assert "last good version stays in use" in caplog.text
    assert [problem.file for problem in library.problems()] == [str(home / "mine.yaml")]
    assert "mine" in library.names()

    write(home / "mine.yaml", GOOD.format(goal="mended"))
    assert goal(library, "mine") == "mended"
    assert library.problems() == []


def test_an_absent_home_directory_is_no_problem(tmp_path: Path) -> None:
    library = WorkflowLibrary(bundled_dir() / "workflows", tmp_path / "none")

    assert library.names() == ["digest"]


INPUTS = parse_workflow(
    "inputs:\n  folder: {default: [x]}\n  who:\n  other: {required: false}\n"
    "tasks: [{id: a, tool: now}]",
    file="w.yaml",
    stem="w",
)


def test_inputs_not_given_have_their_defaults() -> None:
    inputs = resolve_inputs(INPUTS, {"who": "Ada"})

    assert inputs == {"folder": ["x"], "who": "Ada", "other": None}


def test_a_default_is_never_shared_between_processes() -> None:
    first = resolve_inputs(INPUTS, {"who": 1})
    assert isinstance(first["folder"], list)
    first["folder"].append("y")

    assert resolve_inputs(INPUTS, {"who": 1})["folder"] == ["x"]


def test_an_unknown_input_names_the_nearest() -> None:
    with pytest.raises(BadMessage, match=r"no input 'foldr'. Did you mean folder\?"):
        resolve_inputs(INPUTS, {"who": 1, "foldr": 2})


def test_a_missing_input_is_named_with_the_way_to_give_it() -> None:
    with pytest.raises(BadMessage, match=r"needs the input who.*--input who=VALUE"):
        resolve_inputs(INPUTS, {})
