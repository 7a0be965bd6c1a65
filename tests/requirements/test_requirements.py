"""Manifest and tests fit each other, in both directions.

The rules are functions that complain; each is shown here to complain about what it is
there for, and to have nothing to say about the real manifest.
"""

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import attrs
import pytest

from tests.requirements.marks import Marks, marks_of_folder, read_marks
from tests.requirements.model import (
    SECTIONS,
    Requirement,
    complaints_about_form,
    complaints_about_proof,
    divergences,
    manifests,
)

HERE = Path(__file__).parent
TESTS = HERE.parent


@pytest.fixture(scope="module")
def marks() -> Marks:
    return marks_of_folder(TESTS)


@pytest.mark.parametrize("seed", SECTIONS)
def test_the_entries_of_a_seed_are_well_formed(seed: str) -> None:
    assert list(complaints_about_form(seed, manifests()[seed])) == []


@pytest.mark.parametrize("seed", SECTIONS)
def test_every_section_of_a_seed_has_an_entry_in_the_seeds_order(seed: str) -> None:
    sections = [entry.section for entry in manifests()[seed]]

    assert list(dict.fromkeys(sections)) == list(SECTIONS[seed])


def test_what_is_built_is_proven_and_what_is_proven_is_asked_for(marks: Marks) -> None:
    everything = [entry for manifest in manifests().values() for entry in manifest]

    assert list(complaints_about_proof(everything, marks.tests)) == []


def test_every_mark_of_a_requirement_can_be_read(marks: Marks) -> None:
    assert marks.unreadable == []


@pytest.mark.parametrize("seed", SECTIONS)
def test_a_manifest_can_be_imported_by_itself(seed: str, tmp_path: Path) -> None:
    path = HERE / f"seed_{seed}.py"
    code = dedent(f"""
        import runpy, sys
        sys.path.append({str(Path(attrs.__file__).parents[1])!r})
        print(len(runpy.run_path({str(path)!r})["REQUIREMENTS"]))
    """)

    # -S: without the .pth file of an editable install, which would find `tests`.
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.stderr == ""
    assert int(done.stdout) == len(manifests()[seed])


def test_divergences_are_rows_of_two_cells() -> None:
    rows = list(divergences())

    assert any("`tool_name`" in ours for _, ours in rows)
    assert [cell for row in rows for cell in row if "\n" in cell] == []
    assert [
        cell for row in rows for cell in row if "|" in cell.replace(r"\|", "")
    ] == []


# --------------------------------------------------------- each rule can complain


def entry(name: str = "000-4-a-slug", section: str = "4") -> Requirement:
    return Requirement(name, section, "Something is so")


@pytest.mark.parametrize(
    ("manifest", "complaint"),
    [
        ([entry(), entry()], "000-4-a-slug: stands twice"),
        ([entry("routing")], "routing: the id is not SEED-SECTION-SLUG"),
        ([entry("000-4-A_Slug")], "000-4-A_Slug: the id is not SEED-SECTION-SLUG"),
        (
            [entry("003-4-a-slug")],
            "003-4-a-slug: the id does not begin with the file's seed, 000",
        ),
        (
            [entry(section="5")],
            "000-4-a-slug: the id names another section than 5",
        ),
        (
            [entry("000-44-a-slug", "44")],
            "000-44-a-slug: seed 000 has no section 44",
        ),
        (
            [Requirement("000-4-a-slug", "4", "One\nTwo")],
            "000-4-a-slug: behaviour is not one line of text",
        ),
        (
            [Requirement("000-4-a-slug", "4", "One", divergence="")],
            "000-4-a-slug: divergence is not one line of text",
        ),
        (
            [Requirement("000-4-a-slug", "4", "One", deferred="some day")],
            "000-4-a-slug: no coming work is called 'some day'",
        ),
        (
            [Requirement("000-4-a-slug", "4", "One", deferred="memory, issue 7")],
            "000-4-a-slug: a number of an issue says nothing to a reader",
        ),
    ],
)
def test_a_malformed_entry_is_noticed(
    manifest: list[Requirement], complaint: str
) -> None:
    assert list(complaints_about_form("000", manifest)) == [complaint]


def test_a_well_formed_entry_is_fine() -> None:
    assert list(complaints_about_form("000", [entry()])) == []


def test_a_requirement_without_a_test_is_noticed() -> None:
    complaints = complaints_about_proof([entry()], {})

    assert list(complaints) == ["000-4-a-slug: no test proves it"]


def test_a_test_without_a_requirement_is_noticed() -> None:
    complaints = complaints_about_proof([], {"000-4-a-slug": ["a.py::test_a"]})

    assert list(complaints) == [
        "000-4-a-slug: a.py::test_a proves it, but no seed asks for it"
    ]


def test_a_stale_deferral_is_noticed() -> None:
    later = Requirement("000-4-a-slug", "4", "Something is so", deferred="memory")
    complaints = complaints_about_proof([later], {"000-4-a-slug": ["a.py::test_a"]})

    assert list(complaints) == ["000-4-a-slug: deferred, but a.py::test_a proves it"]


def test_proven_and_deferred_entries_are_fine() -> None:
    later = Requirement("000-4-later", "4", "Something is so", deferred="memory")

    assert list(complaints_about_proof([entry(), later], {entry().id: ["x"]})) == []


# ---------------------------------------------------------------- reading the marks

MARKED = """
    import pytest

    pytestmark = [pytest.mark.slow, pytest.mark.requirement("module")]

    @pytest.mark.requirement("one", "two")
    async def test_plain(): ...

    @pytest.mark.requirement("three")
    @pytest.mark.parametrize(
        "x", [1, pytest.param(2, marks=pytest.mark.requirement("case"))]
    )
    def test_cases(x): ...

    CASES = {"a": pytest.param(2, marks=pytest.mark.requirement("table"))}

    @pytest.mark.parametrize("x", CASES.values())
    def test_table(x): ...

    @pytest.mark.requirement("class")
    class TestOfClass:
        pytestmark = pytest.mark.requirement("inside")

        @pytest.mark.requirement("method")
        def test_method(self): ...
"""

UNREADABLE = {
    "a helper is no test": """
        @pytest.mark.requirement("x")
        def helper(): ...
    """,
    "a class without tests": """
        @pytest.mark.requirement("x")
        class TestNothing: ...
    """,
    "a module without tests": 'pytestmark = pytest.mark.requirement("x")',
    "a table that no test uses": """
        CASES = [pytest.param(1, marks=pytest.mark.requirement("x"))]
        def test_a(): ...
    """,
    "a computed id": """
        @pytest.mark.requirement("x" + y)
        def test_a(): ...
    """,
    "ids from a list": """
        @pytest.mark.requirement(*ids)
        def test_a(): ...
    """,
    "no id": """
        @pytest.mark.requirement()
        def test_a(): ...
    """,
}


def test_marks_are_found_wherever_pytest_takes_them() -> None:
    found = Marks()
    read_marks("test_a.py", dedent(MARKED), found)

    assert found == Marks(
        tests={
            "module": ["test_a.py::*"],
            "one": ["test_a.py::test_plain"],
            "two": ["test_a.py::test_plain"],
            "three": ["test_a.py::test_cases"],
            "case": ["test_a.py::test_cases"],
            "table": ["test_a.py::test_table"],
            "class": ["test_a.py::TestOfClass"],
            "inside": ["test_a.py::TestOfClass::*"],
            "method": ["test_a.py::TestOfClass::test_method"],
        }
    )


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_mark_that_proves_nothing_is_noticed(case: str) -> None:
    found = Marks()
    read_marks("test_a.py", dedent(UNREADABLE[case]), found)

    assert found.tests == {}
    assert len(found.unreadable) == 1


def test_a_mark_in_a_file_that_is_not_collected_is_noticed() -> None:
    found = Marks()
    read_marks("helpers.py", dedent(MARKED), found)

    assert found.tests == {}
    assert len(found.unreadable) == MARKED.count("mark.requirement(")
