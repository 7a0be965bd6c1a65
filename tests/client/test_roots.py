"""Nothing a tool is asked for leaves the client's roots."""

import os
import socket
import threading
from pathlib import Path

import pytest

from vancetope.client.files import read_up_to
from vancetope.client.roots import (
    Place,
    RootError,
    Roots,
    ToolError,
    open_file,
    open_folder,
)

SWAPS = 2000


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    root = tmp_path / "allowed"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "note.md").write_text("inside")
    (tmp_path / "allowed_evil").mkdir()
    (tmp_path / "allowed_evil" / "secret.txt").write_text("secret")
    (tmp_path / "secret.txt").write_text("secret")
    return root


def content(place: Place) -> bytes:
    with open_file(place) as fd:
        return read_up_to(fd, 100)


def refusal(roots: Roots, path: str) -> ToolError:
    with pytest.raises(ToolError) as refused:
        content(roots.resolve_existing(path))
    return refused.value


@pytest.mark.requirement("000-2-client-native-tools")
@pytest.mark.parametrize(
    "path",
    [
        "sub/note.md",
        "./sub/../sub//note.md",
        "{root}/sub/note.md",
        "../allowed/sub/note.md",
    ],
)
def test_a_file_within_is_opened_however_its_path_is_written(
    inside: Path, path: str
) -> None:
    place = Roots([inside]).resolve_existing(path.format(root=inside))

    assert content(place) == b"inside"
    assert place.path == inside / "sub" / "note.md"


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "{root}/../secret.txt",
        "{root}_evil/secret.txt",
        "../allowed_evil/secret.txt",
        "/etc/passwd",
        "sub/../../secret.txt",
        "..",
        "../nothing/there",
    ],
)
def test_a_path_outside_is_refused_and_told_how_to_open_it(
    inside: Path, path: str
) -> None:
    roots = Roots([inside])
    given = path.format(root=inside)

    refused = refusal(roots, given)

    assert refused.code == "rejected"
    assert refused.message == (
        f"{given} is outside the folders this client opens to the Brain ({inside}). "
        "Start the client with --root DIR to open another"
    )
    with pytest.raises(ToolError, match="--root DIR"):
        roots.resolve_for_write(given)


def test_a_refusal_does_not_tell_whether_the_file_exists(inside: Path) -> None:
    there = refusal(Roots([inside]), "../secret.txt").message
    absent = refusal(Roots([inside]), "../absent.txt").message

    assert there.replace("secret", "absent") == absent


def test_links_within_the_root_work_and_links_out_of_it_do_not(inside: Path) -> None:
    (inside / "good").symlink_to(inside / "sub")
    (inside / "bad").symlink_to(inside.parent)
    (inside / "bad.txt").symlink_to(inside.parent / "secret.txt")
    (inside / "relative.txt").symlink_to("../secret.txt")
    roots = Roots([inside])

    assert content(roots.resolve_existing("good/note.md")) == b"inside"
    for path in ("bad/secret.txt", "bad.txt", "relative.txt", "bad", "good/../bad.txt"):
        assert refusal(roots, path).code == "rejected"


def test_a_link_out_of_one_of_two_roots_is_refused_not_missing(
    inside: Path, tmp_path: Path
) -> None:
    other, secret = tmp_path / "other", tmp_path / "secret.txt"
    other.mkdir()
    secret.write_text("s", encoding="utf-8")
    (inside / "out").symlink_to(secret)
    roots = Roots([inside, other])
    with pytest.raises(ToolError, match="--root"):
        roots.resolve_existing("out")
    with pytest.raises(ToolError, match="no such file"):
        roots.resolve_existing("missing")
    (other / "out").write_text("mine", encoding="utf-8")
    assert roots.resolve_existing("out").path == other / "out"


def test_writing_through_a_dangling_link_out_of_the_root_is_refused(
    inside: Path,
) -> None:
    (inside / "dangling").symlink_to(inside.parent / "new.txt")

    with pytest.raises(ToolError) as refused:
        Roots([inside]).resolve_for_write("dangling")

    assert refused.value.code == "rejected"


def test_a_link_in_a_circle_is_an_error_not_a_hang(inside: Path) -> None:
    (inside / "a").symlink_to(inside / "b")
    (inside / "b").symlink_to(inside / "a")

    assert refusal(Roots([inside]), "a").code == "failed"


def test_a_folder_replaced_by_a_link_after_the_check_is_not_followed(
    inside: Path,
) -> None:
    # The race, step by step: checked, then swapped, then opened.
    outside = inside.parent / "outside"
    outside.mkdir()
    (outside / "note.md").write_text("secret")
    place = Roots([inside]).resolve_existing("sub/note.md")
    (inside / "sub").rename(inside / "was")
    (inside / "sub").symlink_to(outside)

    with pytest.raises(ToolError):
        content(place)


def test_a_file_replaced_by_a_link_after_the_check_is_not_followed(
    inside: Path,
) -> None:
    place = Roots([inside]).resolve_existing("sub/note.md")
    (inside / "sub" / "note.md").unlink()
    (inside / "sub" / "note.md").symlink_to(inside.parent / "secret.txt")

    with pytest.raises(ToolError, match="symbolic link"):
        content(place)


def test_a_link_swapped_in_thousands_of_times_never_gives_the_secret(
    inside: Path,
) -> None:
    # Seen to fail with os.open(place.path) instead of the walk: the secret came out.
    target = inside / "sub" / "note.md"
    honest, link = inside / "honest", inside / "link"
    stop = threading.Event()

    def swap() -> None:
        for _ in range(SWAPS):
            link.symlink_to(inside.parent / "secret.txt")
            link.replace(target)
            honest.write_text("inside")
            honest.replace(target)
        stop.set()

    roots = Roots([inside])
    seen = set()
    swapper = threading.Thread(target=swap)
    swapper.start()
    while not stop.is_set():
        try:
            seen.add(content(roots.resolve_existing("sub/note.md")))
        except ToolError:
            seen.add(b"refused")
    swapper.join()

    assert b"secret" not in seen
    assert b"inside" in seen


def test_a_relative_path_belongs_to_the_first_root_that_has_it(tmp_path: Path) -> None:
    for root, names in (("one", ["a"]), ("two", ["a", "b"])):
        (tmp_path / root).mkdir()
        for name in names:
            (tmp_path / root / name).write_text(f"{root} {name}")
    roots = Roots([tmp_path / "one", tmp_path / "two"])

    assert content(roots.resolve_existing("a")) == b"one a"
    assert content(roots.resolve_existing("b")) == b"two b"
    assert content(roots.resolve_existing("../two/a")) == b"two a"
    assert roots.resolve_for_write("b").path == tmp_path / "one" / "b"


def test_a_missing_file_names_the_roots_it_was_looked_for_in(inside: Path) -> None:
    missing = refusal(Roots([inside]), "nope.md")

    assert missing.code == "failed"
    assert missing.message == f"nope.md: no such file or folder in {inside}"


def test_home_is_expanded(inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(inside))
    (inside / "~odd").write_text("odd")
    roots = Roots([Path("~")])

    assert content(roots.resolve_existing("~/sub/note.md")) == b"inside"
    assert content(roots.resolve_existing("./~odd")) == b"odd"


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("", "path is empty"),
        ("sub\0/note.md", "path contains a NUL byte"),
        ("\ud800", "not a path"),
        ("x" * 5000, "x"),
    ],
)
def test_what_is_no_path_is_refused_in_words(
    inside: Path, path: str, complaint: str
) -> None:
    refused = refusal(Roots([inside]), path)

    assert complaint in refused.message
    assert refused.message.encode()


def test_pipes_sockets_devices_and_folders_are_not_opened(inside: Path) -> None:
    # A hang here would be a reader that waits for the pipe's writer.
    os.mkfifo(inside / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(inside / "socket"))
        roots = Roots([inside])

        assert "is a named pipe" in refusal(roots, "pipe").message
        assert "is a socket" in refusal(roots, "socket").message
        assert "is a folder" in refusal(roots, "sub").message
        assert "is a folder" in refusal(roots, ".").message
    assert "is a device" in refusal(Roots([Path("/dev")]), "null").message


def test_a_root_that_is_itself_a_link_is_the_folder_it_leads_to(inside: Path) -> None:
    (inside.parent / "alias").symlink_to(inside)
    roots = Roots([inside.parent / "alias", inside])

    assert roots.paths == (inside,)
    assert content(roots.resolve_existing("sub/note.md")) == b"inside"


@pytest.mark.parametrize("name", ["absent", "allowed/sub/note.md"])
def test_a_root_that_is_no_folder_is_refused(inside: Path, name: str) -> None:
    with pytest.raises(RootError, match="no such folder"):
        Roots([inside.parent / name])


def test_no_root_at_all_is_refused_with_the_flag() -> None:
    with pytest.raises(RootError, match="--root DIR"):
        Roots([])


def test_a_system_without_openat_is_refused_with_what_is_missing(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Roots, "supported", False)

    with pytest.raises(RootError, match="Linux or macOS"):
        Roots([inside])


def test_no_descriptor_stays_open_after_refusals(inside: Path) -> None:
    roots = Roots([inside])
    descriptors = Path("/dev/fd")
    before = len(list(descriptors.iterdir()))

    for _ in range(50):
        refusal(roots, "sub")
        with (
            pytest.raises(ToolError),
            open_folder(roots.resolve_existing("sub/note.md")),
        ):
            pass

    assert len(list(descriptors.iterdir())) == before
