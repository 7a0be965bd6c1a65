"""`list_local_files`: the right files, in order, with what could not be looked at."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from vance_sdk.wire.json import JsonObject
from vancetope.client import walk
from vancetope.client.files import read_file
from vancetope.client.globs import Patterns
from vancetope.client.listing import list_files
from vancetope.client.roots import Roots, ToolError
from vancetope.client.walk import Walk

TREE = (
    "README.MD",
    "a/deep/x.md",
    "a/deep/y.PDF",
    "a.md",
    "a/z.txt",
    "b 1/作业 1.md",
    ".git/config.md",
    ".hidden.md",
    ".venv/lib/m.md",
    "node_modules/m/readme.md",
    "__pycache__/c.md",
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in TREE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def rows(answer: JsonObject) -> list[JsonObject]:
    files = answer["files"]
    assert isinstance(files, list)
    return [row for row in files if isinstance(row, dict)]


def paths(root: Path, path: str = ".", **args: object) -> list[str]:
    answer = list_files(Roots([root]), path=path, **args)  # type: ignore[arg-type]
    return [str(row["path"]) for row in rows(answer)]


@pytest.mark.requirement("000-2-client-native-tools")
def test_a_folder_is_listed_with_sizes_times_and_types(tree: Path) -> None:
    os.utime(tree / "a.md", (1_700_000_000, 1_700_000_000))

    assert list_files(Roots([tree]), path=".", pattern="a.*") == {
        "path": ".",
        "files": [
            {
                "path": "a.md",
                "name": "a.md",
                "bytes": 4,
                "modified": "2023-11-14T22:13:20Z",
                "media_type": "text/markdown",
            }
        ],
        "truncated": False,
    }


def test_only_recursive_looks_into_folders_and_all_is_sorted_by_path(
    tree: Path,
) -> None:
    assert paths(tree) == ["README.MD", "a.md"]
    found = paths(tree, recursive=True)
    assert found == sorted(found)
    assert found == [
        "README.MD",
        "a.md",
        "a/deep/x.md",
        "a/deep/y.PDF",
        "a/z.txt",
        "b 1/作业 1.md",
    ]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.md", ["README.MD", "a.md", "a/deep/x.md", "b 1/作业 1.md"]),
        ("*.pdf, *.txt", ["a/deep/y.PDF", "a/z.txt"]),
        ("作业*", ["b 1/作业 1.md"]),
        ("a/*.txt", ["a/z.txt"]),
        ("a/**/*.md", ["a/deep/x.md"]),
        ("**/*.pdf", ["a/deep/y.PDF"]),
        ("*/deep/*", ["a/deep/x.md", "a/deep/y.PDF"]),
        ("[xyz].*", ["a/deep/x.md", "a/deep/y.PDF", "a/z.txt"]),
        ("readme.md", []),
        (".hidden.md", [".hidden.md"]),
        (".git/*", [".git/config.md"]),
        ("**/node_modules/**", ["node_modules/m/readme.md"]),
        ("", ["README.MD", "a.md", "a/deep/x.md", "a/deep/y.PDF", "a/z.txt"]),
    ],
)
def test_patterns(tree: Path, pattern: str, expected: list[str]) -> None:
    found = paths(tree, pattern=pattern, recursive=True)

    assert [path for path in found if pattern or "b 1" not in path] == expected


def test_a_hidden_folder_named_as_the_path_is_listed(tree: Path) -> None:
    assert paths(tree, ".git") == [".git/config.md"]


@pytest.mark.parametrize("pattern", ["*.{md,pdf}", "*" * 600, "**/a/**/b/**/c/**"])
def test_a_pattern_that_cannot_be_used_is_refused(tree: Path, pattern: str) -> None:
    with pytest.raises(ToolError, match="pattern"):
        Patterns.parse(pattern)


@pytest.mark.parametrize("path", [".", "./", "a", "a/", "a/../a", "{root}", "{root}/a"])
def test_a_listed_path_can_be_read_as_it_stands(tree: Path, path: str) -> None:
    roots = Roots([tree])
    answer = list_files(roots, path=path.format(root=tree), recursive=True)

    listed = rows(answer)

    assert listed
    for row in listed:
        if str(row["name"]).endswith("PDF"):
            continue  # only called so
        text = read_file(roots, path=str(row["path"]))
        assert (text["name"], text["bytes"]) == (row["name"], row["bytes"])


def test_a_listed_path_leads_back_to_the_root_it_was_listed_in(tmp_path: Path) -> None:
    for root, name in (("one", "only.md"), ("two", "sub/x.md")):
        (tmp_path / root / name).parent.mkdir(parents=True)
        (tmp_path / root / name).write_text(root)
    roots = Roots([tmp_path / "one", tmp_path / "two"])

    (row,) = rows(list_files(roots, path="sub"))

    assert read_file(roots, path=str(row["path"]))["text"] == "two"


def test_a_file_called_like_a_home_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "~root").write_text("odd")

    (path,) = paths(tmp_path)

    assert read_file(Roots([tmp_path]), path=path)["text"] == "odd"


def test_a_listing_stops_at_its_limit_and_says_so(tree: Path) -> None:
    roots = Roots([tree])

    cut = list_files(roots, path=".", recursive=True, limit=2)
    exact = list_files(roots, path=".", recursive=True, limit=6)

    assert [row["path"] for row in rows(cut)] == ["README.MD", "a.md"]
    assert cut["truncated"] is True
    assert (len(rows(exact)), exact["truncated"]) == (6, False)


def test_a_listing_stays_below_the_size_of_an_answer(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vancetope.client.listing.ANSWER_BYTES", 400)

    answer = list_files(Roots([tree]), path=".", recursive=True)

    assert (len(rows(answer)), answer["truncated"]) == (2, True)


def test_a_walk_that_saw_too_many_names_says_that_it_is_not_complete(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "ENTRIES_MOST", 3)

    answer = list_files(Roots([tree]), path=".", pattern="*.nothing")

    assert (answer["files"], answer["truncated"]) == ([], True)


def test_links_in_a_circle_end_and_links_out_are_reported(tree: Path) -> None:
    (tree / "a" / "loop").symlink_to(tree)
    (tree / "out.md").symlink_to("/etc/hostname")
    (tree / "gone.md").symlink_to("nothing")
    (tree / "good.md").symlink_to("a/z.txt")

    answer = list_files(Roots([tree]), path=".", recursive=True, pattern="*.md,loop")

    assert "good.md" in [row["path"] for row in rows(answer)]
    skipped = answer["skipped"]
    assert isinstance(skipped, list)
    assert sorted(str(row["path"]) for row in skipped if isinstance(row, dict)) == [
        "a/loop",
        "gone.md",
        "out.md",
    ]


def test_a_name_that_is_not_utf_8_is_skipped_in_a_readable_form(tree: Path) -> None:
    odd = os.fsencode(tree) + b"/caf\xe9.md"
    try:
        os.close(os.open(odd, os.O_CREAT | os.O_WRONLY))
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")

    answer = list_files(Roots([tree]), path=".")

    assert answer["skipped"] == [
        {"path": "caf\\xe9.md", "reason": "its name is not UTF-8"}
    ]
    assert "caf" not in str(answer["files"])


def test_a_folder_that_cannot_be_read_is_skipped_not_fatal(tree: Path) -> None:
    # As root every folder can be read, so the refusal comes from the seam.
    forbidden = (tree / "a").stat().st_ino

    def scan(fd: int) -> "Iterator[os.DirEntry[str]]":
        if os.fstat(fd).st_ino == forbidden:
            raise PermissionError(13, "Permission denied")
        return walk._scan(fd)

    walked = Walk(Roots([tree]), ".", Patterns.parse("*.md"), recursive=True, scan=scan)

    assert [found.shown for found in walked] == ["README.MD", "a.md", "b 1/作业 1.md"]
    assert walked.skipped == [{"path": "a", "reason": "permission denied"}]


def test_a_folder_deleted_during_the_walk_is_skipped(tree: Path) -> None:
    walked = iter(Walk(Roots([tree]), ".", Patterns.parse(None), recursive=True))
    next(walked)
    (tree / "b 1" / "作业 1.md").unlink()
    (tree / "b 1").rmdir()

    assert [found.shown for found in walked][-1] == "a/z.txt"


def test_folders_deeper_than_the_limit_are_skipped(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * (walk.DEPTH_MOST + 2))
    deep.mkdir(parents=True)
    (deep / "x.md").write_text("x")

    answer = list_files(Roots([tmp_path]), path=".", recursive=True)

    assert answer["files"] == []
    assert "folders deep" in str(answer["skipped"])


def test_pipes_and_sockets_are_no_files_but_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    os.mkfifo(tmp_path / "other.txt")
    with socket.socket(socket.AF_UNIX) as open_socket:
        # Relative: the path of a socket may have only about 100 characters.
        with contextlib.chdir(tmp_path):
            open_socket.bind("socket.md")

        answer = list_files(Roots([tmp_path]), path=".", pattern="*.md")

    assert answer["files"] == []
    skipped = answer["skipped"]
    assert isinstance(skipped, list)
    assert sorted(skipped, key=str) == [
        {"path": "pipe.md", "reason": "not a regular file"},
        {"path": "socket.md", "reason": "not a regular file"},
    ]


@pytest.mark.parametrize(
    "report", ["a.md", "./a.md", "a/../a.md", "{root}/a.md", "link/../a.md", "to-a.md"]
)
def test_the_file_that_a_write_would_replace_can_be_left_out(
    tree: Path, report: str
) -> None:
    (tree / "link").symlink_to("a")
    (tree / "to-a.md").symlink_to("a.md")
    (tree / "a" / "a.md").write_text("another")

    answer = list_files(
        Roots([tree]),
        path=str(tree),
        pattern="a.md",
        recursive=True,
        exclude=report.format(root=tree),
    )

    assert [row["path"] for row in rows(answer)] == [f"{tree}/a/a.md"]
    assert answer["excluded"] == [f"{tree}/a.md"]


def test_a_file_of_the_name_of_what_will_be_written_elsewhere_is_listed(
    tree: Path,
) -> None:
    for report in ("x.md", "a/x.md", "/nowhere/a/deep/x.md", ""):
        answer = list_files(Roots([tree]), path="a/deep", exclude=report)

        assert "a/deep/x.md" in [row["path"] for row in rows(answer)]
        assert "excluded" not in answer


def test_a_missing_folder_and_one_outside_are_errors(tree: Path) -> None:
    with pytest.raises(ToolError, match="no such file or folder"):
        paths(tree, "nope")
    with pytest.raises(ToolError, match="--root DIR"):
        paths(tree, "..")


def test_the_path_of_a_file_lists_that_file(tree: Path) -> None:
    assert paths(tree, "a.md") == ["a.md"]
