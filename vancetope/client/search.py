"""`search_local_files`: lines of the text files within the client's roots."""

import attrs

from vance_sdk.wire.json import Json, JsonObject
from vancetope.client import documents
from vancetope.client.files import read_up_to
from vancetope.client.globs import Patterns
from vancetope.client.roots import Roots, ToolError, open_file
from vancetope.client.walk import ANSWER_BYTES, Found, Walk

SEARCH_LIMIT = 200
SEARCH_LIMIT_MOST = 2000
CONTEXT_MOST = 5
# Only the beginning of a longer file is searched; `skipped` names it.
SEARCH_FILE_BYTES = 4 * 1024 * 1024
SEARCH_TOTAL_BYTES = 256 * 1024 * 1024
LINE_CHARACTERS = 300


def search_files(
    roots: Roots,
    *,
    query: str,
    path: str = ".",
    pattern: str | None = None,
    limit: int = SEARCH_LIMIT,
    context: int = 0,
) -> JsonObject:
    """Find the lines that contain `query`, upper and lower case alike.

    Binary files and PDFs are left out.  Returns `{matches: [{path, line, text,
    before?, after?}], truncated, files_searched, skipped?}`; lines count from 1,
    `before` and `after` hold up to `context` lines.

    Raises:
        ToolError: empty query, no such folder, or outside the roots.
    """
    if not query.strip():
        raise ToolError("failed", "query is empty")
    walk = Walk(roots, path, Patterns.parse(pattern), recursive=True)
    search = _Search(query.casefold(), limit, context)
    for found in walk:
        if search.full:
            break
        try:
            text = search.load(found)
        except ToolError as error:
            walk.skip_file(found, error.message.partition(": ")[2])
            continue
        if text is None:
            continue
        if found.stat.st_size > SEARCH_FILE_BYTES:
            walk.skip_file(found, f"only the first {SEARCH_FILE_BYTES} bytes searched")
        search.look(found.shown, text)
    answer: JsonObject = {
        "matches": search.matches,
        "truncated": search.full or not walk.complete,
        "files_searched": search.files,
    }
    if walk.skipped:
        answer["skipped"] = walk.skipped
    return answer


@attrs.define
class _Search:
    needle: str
    limit: int
    context: int
    matches: list[Json] = attrs.field(factory=list, init=False)
    files: int = attrs.field(default=0, init=False)
    full: bool = attrs.field(default=False, init=False)
    _read: int = attrs.field(default=0, init=False)
    _size: int = attrs.field(default=0, init=False)

    def load(self, found: Found) -> str | None:
        """The file's text, None for one that is not text."""
        with open_file(found.place) as fd:
            head = read_up_to(fd, documents.SNIFF_BYTES)
            name = found.place.name
            if documents.looks_like_pdf(name, head) or documents.binary_kind(
                name, head
            ):
                return None
            raw = head + read_up_to(fd, SEARCH_FILE_BYTES - len(head))
        self._read += len(raw)
        self.full = self._read > SEARCH_TOTAL_BYTES
        return documents.decode(raw, cut=True).text

    def look(self, shown: str, text: str) -> None:
        """Add the matches of one file, up to the limit."""
        self.files += 1
        if self.needle not in text.casefold():
            return
        lines = text.splitlines()
        for index, line in enumerate(lines):
            at = line.casefold().find(self.needle)
            if at < 0:
                continue
            row = self._match(lines, index, at)
            self._size += len(str(row).encode("utf-8", "replace")) + len(shown)
            if len(self.matches) >= self.limit or self._size > ANSWER_BYTES:
                self.full = True
                return
            self.matches.append({"path": shown, **row})

    def _match(self, lines: list[str], index: int, at: int) -> JsonObject:
        row: JsonObject = {
            "line": index + 1,
            "text": _shorten(lines[index], _unfold(lines[index], at)),
        }
        if self.context:
            before = lines[max(0, index - self.context) : index]
            after = lines[index + 1 : index + 1 + self.context]
            row["before"] = [_shorten(line, 0) for line in before]
            row["after"] = [_shorten(line, 0) for line in after]
        return row


def _unfold(line: str, at: int) -> int:
    """Where in the line a position of its folded form is (a sharp s folds to two)."""
    for index, character in enumerate(line):
        at -= len(character.casefold())
        if at < 0:
            return index
    return len(line)


def _shorten(line: str, at: int) -> str:
    if len(line) <= LINE_CHARACTERS:
        return line
    start = max(0, min(at - LINE_CHARACTERS // 3, len(line) - LINE_CHARACTERS))
    end = start + LINE_CHARACTERS
    head = "..." if start else ""
    tail = "..." if end < len(line) else ""
    return f"{head}{line[start:end]}{tail}"
