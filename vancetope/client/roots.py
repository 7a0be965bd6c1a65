"""The folders this client may touch, and the only way its tools open a path.

A path is resolved first (symbolic links, `..`, `~`) and must then lie in a root,
compared component by component: `/data_old` is not inside `/data`.  The resolved
path is opened from the root down, one component at a time relative to the folder
above it and never through a symbolic link.  So a link that somebody swaps in between
the check and the opening makes the opening fail; it never leads outside.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Literal

import attrs

ErrorCode = Literal["failed", "rejected"]

DIR_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
# O_NONBLOCK: opening a FIFO that replaced the file must not wait for its writer.
FILE_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISLNK, "a symbolic link that just appeared"),
)


class ToolError(Exception):
    """A native tool's answer when it has no result.

    `code` is one of PROTOCOL section 2's `tool-result.error` codes: `rejected` when
    the tool refused and nothing was touched, `failed` for everything else.
    """

    def __init__(self, code: ErrorCode, message: str) -> None:
        # A root's own name may not be UTF-8; the message must be all the same.
        readable = message.encode("utf-8", "backslashreplace").decode()
        super().__init__(readable)
        self.code = code
        self.message = readable


class RootError(ValueError):
    """A folder given as a root cannot be one; the text says why and what to do."""


@attrs.frozen
class Place:
    """A resolved path inside a root: `root / parts` holds no link when resolved."""

    root: Path
    parts: tuple[str, ...]
    given: str

    @property
    def path(self) -> Path:
        """The absolute, resolved path."""
        return self.root.joinpath(*self.parts)

    @property
    def name(self) -> str:
        """The last component (the root's own name for the root)."""
        return self.path.name


class Roots:
    """The folders the person opened to the Brain, in the order they were given."""

    supported: ClassVar[bool] = os.open in os.supports_dir_fd

    def __init__(self, paths: list[Path] | tuple[Path, ...]) -> None:
        """Resolve the folders.

        Raises:
            RootError: none was given, one is no folder, or this system cannot open
                files relative to a folder (Windows).
        """
        if not self.supported:
            msg = (
                "file tools need openat(2), which this system lacks: run the client "
                "on Linux or macOS (or in WSL)"
            )
            raise RootError(msg)
        if not paths:
            raise RootError("no folder is open to the Brain: give --root DIR")
        roots: list[Path] = []
        for given in paths:
            root = _resolve(given.expanduser())
            if root is None or not root.is_dir():
                msg = f"--root {given}: no such folder"
                raise RootError(msg)
            if root not in roots:
                roots.append(root)
        self.paths = tuple(roots)

    def __str__(self) -> str:
        """The roots, for people."""
        return ", ".join(str(root) for root in self.paths)

    def resolve_existing(self, path: str) -> Place:
        """Find an existing file or folder.

        A relative path belongs to the first root that has it.

        Raises:
            ToolError: `rejected` outside the roots, `failed` for no such file.
        """
        inside = outside = False
        for real in self._candidates(path):
            place = self._place(real, path)
            if place is None:
                outside = outside or os.path.lexists(real)
                continue
            inside = True
            if os.path.lexists(place.path):
                return place
        # What one root leads to outside of all is no missing file of another.
        if outside or not inside:
            raise self._refusal(path)
        raise ToolError("failed", f"{path}: no such file or folder in {self}")

    def resolve_for_write(self, path: str) -> Place:
        """Say where a file would be written; its folders need not exist yet.

        A relative path belongs to the first root.

        Raises:
            ToolError: `rejected` outside the roots.
        """
        place = self._place(self._candidates(path)[0], path)
        if place is None:
            raise self._refusal(path)
        return place

    def _candidates(self, path: str) -> list[Path]:
        if not path or "\0" in path:
            what = "contains a NUL byte" if path else "is empty"
            raise ToolError("failed", f"path {what}")
        try:
            os.fsencode(path)
            # Not Path.expanduser(): it would also expand "./~x".
            wanted = Path(os.path.expanduser(path))  # noqa: PTH111
        except UnicodeEncodeError:
            raise ToolError("failed", f"{path}: not a path") from None
        found = [_resolve(root / wanted) for root in self.paths]
        real = [place for place in found if place is not None]
        if not real:
            msg = f"{path}: its symbolic links run in a circle or it is too long"
            raise ToolError("failed", msg)
        return real

    def _place(self, real: Path, given: str) -> Place | None:
        for root in self.paths:
            if real.is_relative_to(root):
                return Place(root, real.relative_to(root).parts, given)
        return None

    def _refusal(self, path: str) -> ToolError:
        msg = (
            f"{path} is outside the folders this client opens to the Brain ({self}). "
            "Start the client with --root DIR to open another"
        )
        return ToolError("rejected", msg)


@contextmanager
def open_folder(place: Place, *, make: bool = False) -> Iterator[int]:
    """Open a folder as a file descriptor for the time of the `with` block.

    `make` creates the folders that are missing.

    Raises:
        ToolError: it is no folder, cannot be opened, or a link replaced part of it.
    """
    with _errors(place):
        fd = os.open(place.root, DIR_FLAGS)
    try:
        for part in place.parts:
            with _errors(place):
                below = _step(fd, part, make=make)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


@contextmanager
def open_parent(place: Place, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Open the folder a file is in; gives its descriptor and the file's name."""
    if not place.parts:
        raise ToolError("failed", f"{place.given}: is a folder")
    above = attrs.evolve(place, parts=place.parts[:-1])
    with open_folder(above, make=make) as fd:
        yield fd, place.parts[-1]


@contextmanager
def open_file(place: Place) -> Iterator[int]:
    """Open a regular file for reading; gives its descriptor.

    Never waits: folders, pipes, sockets and devices are refused by what they are.

    Raises:
        ToolError: not a regular file, cannot be opened, or a link replaced it.
    """
    with open_parent(place) as (above, name):
        with _errors(place):
            # Opening a device can act on it, so its kind is asked first.
            _demand_regular(place, os.stat(name, dir_fd=above, follow_symlinks=False))
            fd = os.open(name, FILE_FLAGS, dir_fd=above)
    try:
        _demand_regular(place, os.fstat(fd))
        yield fd
    finally:
        os.close(fd)


def _resolve(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return None


def _step(fd: int, part: str, *, make: bool) -> int:
    try:
        return os.open(part, DIR_FLAGS, dir_fd=fd)
    except FileNotFoundError:
        if not make:
            raise
    try:
        os.mkdir(part, dir_fd=fd)
        os.fsync(fd)
    except FileExistsError:
        pass  # another writer made it a moment ago
    return os.open(part, DIR_FLAGS, dir_fd=fd)


def _demand_regular(place: Place, found: os.stat_result) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    kind = next((k for test, k in _KINDS if test(found.st_mode)), "no regular file")
    raise ToolError("failed", f"{place.given}: is {kind}, not a file")


@contextmanager
def _errors(place: Place) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ToolError("failed", f"{place.given}: {why}") from error
