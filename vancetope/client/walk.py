"""Walk the files below a folder within the client's roots."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import PurePath

import attrs

from vance_sdk.wire.json import Json
from vancetope.client.globs import Patterns
from vancetope.client.roots import (
    Place,
    Roots,
    ToolError,
    open_file,
    open_folder,
)

# How many names are looked at, matching or not, before the walk is not `complete`.
ENTRIES_MOST = 200_000
DEPTH_MOST = 64
SKIPPED_MOST = 100
# Larger answers travel as blobs (PROTOCOL D11); a listing stays below on its own.
ANSWER_BYTES = 240 * 1024


def _scan(fd: int) -> "Iterator[os.DirEntry[str]]":
    with os.scandir(fd) as entries:
        yield from entries


@attrs.frozen
class Found:
    """A file of a walk: `shown` is its path as a tool takes it."""

    shown: str
    parts: tuple[str, ...]
    place: Place
    stat: os.stat_result


@attrs.frozen
class _Folder:
    parts: tuple[str, ...]
    place: Place


@attrs.define
class Walk:
    """The files below `top`, sorted by path; folders that are links are not entered.

    Iterate once; then `skipped` says what could not be looked at and `complete`
    whether the walk saw everything.  `scan` lists the folder of a descriptor.
    """

    roots: Roots
    top: str
    patterns: Patterns
    recursive: bool
    scan: "Callable[[int], Iterator[os.DirEntry[str]]]" = _scan
    skipped: list[Json] = attrs.field(factory=list, init=False)
    complete: bool = attrs.field(default=True, init=False)
    _seen: int = attrs.field(default=0, init=False)

    def __iter__(self) -> Iterator[Found]:
        """Yield the files that match.

        Raises:
            ToolError: `top` is outside the roots or cannot be listed.
        """
        place = self.roots.resolve_existing(self.top)
        if not place.path.is_dir():
            with open_file(place) as fd:
                yield Found(self.top, (place.name,), place, os.fstat(fd))
            return
        stack: list[_Folder | Found] = list(self._entries(_Folder((), place)))
        while stack:
            item = stack.pop()
            if isinstance(item, Found):
                yield item
                continue
            try:
                stack.extend(self._entries(item))
            except ToolError as error:
                self._skip(item.parts, error.message.partition(": ")[2])

    def skip_file(self, found: Found, reason: str) -> None:
        """Note that a file the walk gave out was not (wholly) looked at."""
        self._skip(found.parts, reason)

    def _entries(self, folder: _Folder) -> list[_Folder | Found]:
        """What a folder holds, last first: the order of a stack."""
        items: list[tuple[str, _Folder | Found]] = []
        with open_folder(folder.place) as fd:
            try:
                for entry in self.scan(fd):
                    if self._seen >= ENTRIES_MOST:
                        self.complete = False
                        break
                    self._seen += 1
                    item = self._entry(folder, entry)
                    if item is not None:
                        # "/" sorts a folder where the paths below it sort.
                        end = "/" if isinstance(item, _Folder) else ""
                        items.append((entry.name + end, item))
            except OSError as error:
                why = (error.strerror or str(error)).lower()
                raise ToolError("failed", f"{folder.place.given}: {why}") from error
        items.sort(key=lambda pair: pair[0], reverse=True)
        return [item for _, item in items]

    def _entry(
        self, folder: _Folder, entry: "os.DirEntry[str]"
    ) -> _Folder | Found | None:
        name = entry.name
        parts = (*folder.parts, name)
        if not self.patterns.show(name):
            return None
        if not _is_utf8(name):
            self._skip(parts, "its name is not UTF-8")
            return None
        shown = self._shown(parts)
        place = attrs.evolve(
            folder.place, parts=(*folder.place.parts, name), given=shown
        )
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:
            return None  # deleted since the folder was listed
        if stat.S_ISDIR(found.st_mode):
            return self._folder(parts, place)
        if not self.patterns.match(parts):
            return None
        if stat.S_ISLNK(found.st_mode):
            return self._link(parts, place)
        if not stat.S_ISREG(found.st_mode):
            self._skip(parts, "not a regular file")
            return None
        return Found(shown, parts, place, found)

    def _folder(self, parts: tuple[str, ...], place: Place) -> _Folder | None:
        if not self.recursive:
            return None
        if len(parts) > DEPTH_MOST:
            self._skip(parts, f"more than {DEPTH_MOST} folders deep")
            return None
        return _Folder(parts, place)

    def _link(self, parts: tuple[str, ...], place: Place) -> Found | None:
        try:
            target = self.roots.resolve_existing(str(place.path))
            with open_file(target) as fd:
                return Found(place.given, parts, target, os.fstat(fd))
        except ToolError:
            self._skip(parts, "a link to a folder, to nothing, or out of the roots")
            return None

    def _shown(self, parts: tuple[str, ...]) -> str:
        shown = str(PurePath(self.top, *parts))
        # A file called "~x" must not be taken for somebody's home.
        if shown.startswith("~") and not self.top.startswith("~"):
            return f"./{shown}"
        return shown

    def _skip(self, parts: tuple[str, ...], reason: str) -> None:
        if len(self.skipped) < SKIPPED_MOST:
            shown = os.fsencode(self._shown(parts))
            path = shown.decode("utf-8", "backslashreplace")
            self.skipped.append({"path": path, "reason": reason})


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
