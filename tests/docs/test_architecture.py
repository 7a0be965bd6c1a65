"""ARCHITECTURE.md says what the code does: its tables are made from it."""

import re
from pathlib import Path

import pytest

from scripts import docs

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", docs.DOCUMENTS)
def test_the_generated_parts_are_up_to_date(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")

    assert docs.filled(text) == text, "run: python scripts/docs.py"


def test_every_part_stands_in_the_document() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")

    assert {found["name"] for found in docs.PART.finditer(text)} == set(docs.PARTS)


def test_a_stale_part_is_noticed() -> None:
    text = "<!-- generated: layers -->\n\nold\n\n<!-- end -->"

    assert docs.filled(text) != text


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "DECISIONS.md", "README.md"])
def test_every_file_that_a_document_names_exists(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    pattern = r"`((?:vancetope|vance_sdk|tests|scripts|migrations|docs)/[\w./-]*)`"
    named = re.findall(pattern, text)

    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_module_says_in_one_line_what_it_is_for() -> None:
    rows = docs.the_map().splitlines()[2:]

    assert [row for row in rows if row.endswith("|  |")] == []


def test_decisions_are_numbered_without_a_gap_and_short() -> None:
    text = (ROOT / "DECISIONS.md").read_text(encoding="utf-8")
    entries = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    numbers = [int(entry[:4]) for entry in entries]

    assert numbers == list(range(1, len(entries) + 1))
    assert [entry[:4] for entry in entries if entry.count("\n") > 25] == []
    assert [entry[:4] for entry in entries if "Status: " not in entry] == []
