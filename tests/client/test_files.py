"""`read_local_file` and `write_local_file` on the files people have."""

import hashlib
import os
import stat
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vance_sdk.results import fit
from vance_sdk.wire.json import JsonObject
from vance_sdk.wire.limits import INLINE_RESULT_BYTES
from vance_sdk.wire.messages.tools import ToolResult
from vancetope.client.documents import decode, media_type
from vancetope.client.files import iso, read_file, write_file
from vancetope.client.native import native_tools
from vancetope.client.roots import Roots, ToolError
from vancetope.gateway.session.handlers.client_tools import outcome_of
from vancetope.tools.outcome import Succeeded


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    return Roots([tmp_path])


def read(roots: Roots, raw: bytes, name: str = "note.md", **args: int) -> JsonObject:
    (roots.paths[0] / name).write_bytes(raw)
    return read_file(roots, path=name, **args)


def failure(roots: Roots, raw: bytes, name: str) -> str:
    with pytest.raises(ToolError) as failed:
        read(roots, raw, name)
    assert failed.value.code == "failed"
    return failed.value.message


@pytest.mark.requirement("000-2-client-native-tools")
def test_a_text_is_given_with_what_is_known_of_its_file(
    roots: Roots, tmp_path: Path
) -> None:
    (tmp_path / "作业 1.md").write_text("# 作业\n", encoding="utf-8")
    os.utime(tmp_path / "作业 1.md", (1_700_000_000, 1_700_000_000))

    assert read_file(roots, path="作业 1.md") == {
        "path": "作业 1.md",
        "name": "作业 1.md",
        "media_type": "text/markdown",
        "text": "# 作业\n",
        "bytes": 9,
        "modified": "2023-11-14T22:13:20Z",
    }


def test_an_empty_file_is_an_empty_text(roots: Roots) -> None:
    result = read(roots, b"", "empty.txt")

    assert (result["text"], result["bytes"]) == ("", 0)
    assert "truncated" not in result


@pytest.mark.parametrize(
    ("raw", "text", "encoding"),
    [
        ("naïve 作业".encode(), "naïve 作业", None),
        (b"\xef\xbb\xbfwith a mark", "with a mark", None),
        ("naïve".encode("utf-16"), "naïve", "utf-16-le"),
        (b"\xfe\xff\x00a", "a", "utf-16-be"),
        ("naïve".encode("utf-32"), "naïve", "utf-32-le"),
        ("naïve \u20ac".encode("cp1252"), "naïve \u20ac", "cp1252"),
        (b"na\xefve \x81", "naïve \x81", "latin-1"),
    ],
)
def test_encodings_other_than_utf_8_are_named(
    roots: Roots, raw: bytes, text: str, encoding: str | None
) -> None:
    result = read(roots, raw)

    assert result["text"] == text
    assert result.get("encoding") == encoding


@pytest.mark.parametrize(
    ("raw", "name", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "x.png", "image/png"),
        (b"\x89PNG\r\n\x1a\n\0\0", "x.md", "image/png"),
        (b"PK\x03\x04\0\0", "x.unknown", "application/zip"),
        (b"\0" * 100, "x.txt", "binary data"),
        (bytes(range(1, 30)) * 9, "x", "binary data"),
    ],
)
def test_a_binary_file_is_named_as_such(
    roots: Roots, raw: bytes, name: str, kind: str
) -> None:
    assert failure(roots, raw, name) == (
        f"{name}: binary file ({kind}, {len(raw)} bytes); only text and PDF can be read"
    )


def test_text_with_colour_codes_and_form_feeds_is_text(roots: Roots) -> None:
    raw = b"\x1b[31mred\x1b[0m\f" * 20

    assert read(roots, raw, "log.txt")["text"] == raw.decode()


@pytest.mark.parametrize("max_bytes", range(1, 12))
def test_a_long_text_is_cut_before_a_character(roots: Roots, max_bytes: int) -> None:
    whole = "aé作\U0001f332b"
    raw = whole.encode()

    result = read(roots, raw, max_bytes=max_bytes)

    text = str(result["text"])
    assert whole.startswith(text)
    assert max_bytes - 3 <= len(text.encode()) <= max_bytes or text == whole
    assert result.get("truncated", False) is (max_bytes < len(raw))
    assert result.get("total_bytes", len(raw)) == len(raw)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_a_cut_in_the_middle_of_a_character_changes_no_encoding(
    roots: Roots, encoding: str
) -> None:
    raw = ("é" * 5000).encode(encoding)

    for max_bytes in (99, 100, 101):
        result = read(roots, raw, max_bytes=max_bytes)

        assert result["text"] == "é" * (max_bytes // 2)
        assert result["truncated"] is True


def test_a_file_of_gigabytes_is_not_read_into_memory(
    roots: Roots, tmp_path: Path
) -> None:
    # Sparse: takes no room on the disk. Seen to fail with read_bytes().
    size = 3 * 1024**3
    with (tmp_path / "huge.log").open("wb") as file:
        file.write(b"line\n" * 10_000)
        file.truncate(size)
    tracemalloc.start()

    result = read_file(roots, path="huge.log", max_bytes=1000)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result["text"] == "line\n" * 200
    assert (result["truncated"], result["total_bytes"]) == (True, size)
    assert peak < 2 * 1024 * 1024


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_decode_to_text_that_is_utf_8(raw: bytes, cut: bool) -> None:
    assert decode(raw, cut=cut).text.encode() is not None


def test_media_types_are_the_same_on_every_machine() -> None:
    assert media_type("A.MD") == "text/markdown"
    assert media_type("a.pdf") == "application/pdf"
    assert media_type("a.yaml") == "application/yaml"
    assert media_type("Makefile") is None


def test_an_instant_no_calendar_has_does_not_matter() -> None:
    assert iso(1e30) == "1970-01-01T00:00:00Z"


@pytest.mark.requirement("000-2-client-native-tools")
def test_a_file_is_written_with_its_folders(roots: Roots, tmp_path: Path) -> None:
    result = write_file(roots, path="new/deep/作业 1.md", content="# Hé\n")

    raw = "# Hé\n".encode()
    assert result == {
        "path": "new/deep/作业 1.md",
        "bytes": len(raw),
        "sha256": hashlib.sha256(raw).hexdigest(),
    }
    assert (tmp_path / "new/deep/作业 1.md").read_bytes() == raw
    assert [p.name for p in (tmp_path / "new/deep").iterdir()] == ["作业 1.md"]


def test_writing_the_same_twice_gives_the_same(roots: Roots, tmp_path: Path) -> None:
    first = write_file(roots, path="a.txt", content="same")

    assert write_file(roots, path="a.txt", content="same") == first
    assert (tmp_path / "a.txt").read_text() == "same"


def test_an_existing_file_keeps_its_mode(roots: Roots, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("old")
    script.chmod(0o751)

    write_file(roots, path="run.sh", content="new")

    assert stat.S_IMODE(script.stat().st_mode) == 0o751
    assert script.read_text() == "new"


def test_a_reader_of_the_old_file_sees_the_old_content(
    roots: Roots, tmp_path: Path
) -> None:
    # Seen to fail with the file opened for writing in place.
    (tmp_path / "a.txt").write_text("old content")
    with (tmp_path / "a.txt").open() as reader:
        write_file(roots, path="a.txt", content="new")

        assert reader.read() == "old content"


@pytest.mark.parametrize("path", ["sub", "sub/", ".", "new/", "sub/."])
def test_a_folder_is_not_written(roots: Roots, tmp_path: Path, path: str) -> None:
    (tmp_path / "sub").mkdir()

    with pytest.raises(ToolError, match="folder"):
        write_file(roots, path=path, content="x")

    assert [p.name for p in tmp_path.rglob("*")] == ["sub"]


def test_a_file_in_the_way_of_a_folder_is_an_error(
    roots: Roots, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("file")

    with pytest.raises(ToolError, match="not a directory"):
        write_file(roots, path="a/b.txt", content="x")


def test_writing_through_a_link_within_the_root_writes_its_target(
    roots: Roots, tmp_path: Path
) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")

    write_file(roots, path="link.txt", content="new")

    assert (tmp_path / "real.txt").read_text() == "new"
    assert (tmp_path / "link.txt").is_symlink()


def test_writing_outside_is_refused_and_makes_nothing(
    roots: Roots, tmp_path: Path
) -> None:
    with pytest.raises(ToolError, match="--root DIR"):
        write_file(roots, path="../made/x.txt", content="x")

    assert not (tmp_path.parent / "made").exists()


def test_a_name_too_long_leaves_no_temporary_file(roots: Roots, tmp_path: Path) -> None:
    with pytest.raises(ToolError):
        write_file(roots, path="x" * 300, content="x")

    assert list(tmp_path.iterdir()) == []


def test_a_failed_replacement_leaves_no_temporary_file(
    roots: Roots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(ToolError, match=r"a\.txt: cannot be written: no space left"):
        write_file(roots, path="a.txt", content="x")

    assert list(tmp_path.iterdir()) == []


def test_half_a_character_cannot_be_written(roots: Roots, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="not valid text"):
        write_file(roots, path="a.txt", content="\ud800")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("limit", [INLINE_RESULT_BYTES, 100_000])
@pytest.mark.parametrize("size", [4_200_000, 262_140])
def test_what_both_sides_cut_still_says_the_size_of_the_file(
    roots: Roots, size: int, limit: int
) -> None:
    # 262,140 bytes: read as a whole, too long for a result in a frame.
    raw = (b"A line of text.\n" * (size // 16 + 1))[:size]
    (roots.paths[0] / "big.txt").write_bytes(raw)

    sent = fit(native_tools(roots)["read_local_file"].run({"path": "big.txt"}))
    message = ToolResult(request_id="call_1", result=sent)
    kept = outcome_of(message, limit)

    assert isinstance(kept, Succeeded)
    assert isinstance(kept.result, dict)
    text = str(kept.result["text"])
    assert raw.startswith(text.encode())
    assert limit * 3 // 4 < len(text) < min(limit, size)
    assert (kept.result["truncated"], kept.result["total_bytes"]) == (True, size)
    assert kept.result["bytes"] == size
