"""`search_local_files`: lines of text files, upper and lower case alike."""

from pathlib import Path

import pytest

from vance_sdk.wire.json import Json, JsonObject
from vancetope.client import search
from vancetope.client.roots import Roots, ToolError
from vancetope.client.search import search_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.md").write_text("one\nTwo Bees\nthree\nbees again\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.txt").write_text("Große BEES\r\nend")
    (tmp_path / "sub" / "picture.png").write_bytes(b"\x89PNG\0bees")
    (tmp_path / "book.pdf").write_bytes(b"%PDF-1.4 bees")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "x.md").write_text("bees")
    return tmp_path


def matches(answer: JsonObject) -> list[JsonObject]:
    found = answer["matches"]
    assert isinstance(found, list)
    return [row for row in found if isinstance(row, dict)]


@pytest.mark.requirement("000-2-client-native-tools")
def test_every_line_with_the_words_is_found_in_text_files_only(folder: Path) -> None:
    assert search_files(Roots([folder]), query="bees") == {
        "matches": [
            {"path": "a.md", "line": 2, "text": "Two Bees"},
            {"path": "a.md", "line": 4, "text": "bees again"},
            {"path": "sub/b.txt", "line": 1, "text": "Große BEES"},
        ],
        "truncated": False,
        "files_searched": 2,
    }


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"query": "BEES", "pattern": "*.md"}, ["a.md", "a.md"]),
        ({"query": "bees", "path": "sub"}, ["sub/b.txt"]),
        ({"query": "bees", "path": "a.md"}, ["a.md", "a.md"]),
        ({"query": "GROSSE"}, ["sub/b.txt"]),
        ({"query": "b.es"}, []),
    ],
)
def test_where_and_what_is_searched(
    folder: Path, args: dict[str, str], expected: list[str]
) -> None:
    answer = search_files(Roots([folder]), **args)  # type: ignore[arg-type]

    assert [row["path"] for row in matches(answer)] == expected


def test_context_gives_the_lines_around(folder: Path) -> None:
    answer = search_files(Roots([folder]), query="three", context=2)

    assert matches(answer) == [
        {
            "path": "a.md",
            "line": 3,
            "text": "three",
            "before": ["one", "Two Bees"],
            "after": ["bees again"],
        }
    ]


def test_the_search_stops_at_its_limit_and_says_so(folder: Path) -> None:
    cut = search_files(Roots([folder]), query="bees", limit=2)
    exact = search_files(Roots([folder]), query="bees", limit=3)

    assert (len(matches(cut)), cut["truncated"]) == (2, True)
    assert (len(matches(exact)), exact["truncated"]) == (3, False)


@pytest.mark.parametrize("at", [0, 5000, 9990])
def test_a_long_line_is_cut_around_the_match(tmp_path: Path, at: int) -> None:
    line = "x" * at + "needle" + "x" * (10_000 - at)
    (tmp_path / "min.js").write_text(line)

    (found,) = matches(search_files(Roots([tmp_path]), query="NEEDLE"))

    text = str(found["text"])
    assert "needle" in text
    assert len(text) <= search.LINE_CHARACTERS + len("......")


def test_only_the_beginning_of_a_huge_file_is_searched_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SEARCH_FILE_BYTES", 10_000)
    (tmp_path / "big.log").write_text("needle\n" + "x\n" * 10_000 + "needle\n")

    answer = search_files(Roots([tmp_path]), query="needle")

    assert [row["line"] for row in matches(answer)] == [1]
    assert answer["skipped"] == [
        {"path": "big.log", "reason": "only the first 10000 bytes searched"}
    ]


def test_a_search_through_too_many_bytes_ends_truncated(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SEARCH_TOTAL_BYTES", 1)

    answer = search_files(Roots([folder]), query="bees")

    assert (answer["files_searched"], answer["truncated"]) == (1, True)


def test_an_encoding_other_than_utf_8_is_searched_too(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_bytes("Müller\n".encode("cp1252"))
    (tmp_path / "win.txt").write_bytes("Müller\n".encode("utf-16"))

    answer = search_files(Roots([tmp_path]), query="müller")

    assert [row["text"] for row in matches(answer)] == ["Müller", "Müller"]


@pytest.mark.parametrize("query", ["", "  "])
def test_an_empty_query_is_refused(folder: Path, query: str) -> None:
    with pytest.raises(ToolError, match="query is empty"):
        search_files(Roots([folder]), query=query)


def test_a_match_that_casefolding_moves_is_still_shown(tmp_path: Path) -> None:
    line: Json = "ß" * 200 + " needle " + "x" * 400
    (tmp_path / "a.txt").write_text(str(line), encoding="utf-8")

    (found,) = matches(search_files(Roots([tmp_path]), query="needle"))

    assert "needle" in str(found["text"])
