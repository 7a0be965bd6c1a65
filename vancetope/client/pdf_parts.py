"""What a PDF says of itself beside its text: title, bookmarks, links.

All of it is decoration: whatever is broken or takes too long is left out, and what
was found before it is kept.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING

from vance_sdk.wire.json import JsonObject

if TYPE_CHECKING:
    from pypdf import PdfReader
    from pypdf.generic import PdfObject

HEADINGS_MOST = 500
LINKS_MOST = 500
#: UTF-8 of all headings, and of all links: an answer keeps room for the text.
PART_BYTES = 32 * 1024

_TEXT_MOST = 200
_TARGET_MOST = 2048
_LEVELS_MOST = 32
# Entries without a title, and notes that are no links, are looked at too.
_NODES_MOST = 10_000
_NOTES_MOST = 100_000

_NO_TITLES = re.compile(
    r"(?:untitled|unbenannt|sans titre|no title|unknown|none|null|document|title)"
    r"[\s\d_-]*$",
    re.IGNORECASE,
)
_FILE_NAME = re.compile(
    r"microsoft (?:word|powerpoint|excel|office) - "
    r"|.*\.(?:docx?|dotx?|dvi|eps|html?|indd|key|md|od[pst]|pages|pdf|pptx?|ps|qxd"
    r"|rtf|tex|tmp|txt|wpd|xlsx?)$",
    re.IGNORECASE,
)


def title(reader: "PdfReader", name: str) -> str:
    """The title in the document information, empty unless it can be one.

    The name of a file, this one's (`name`) or the one it was made from, is none.
    """
    found = ""
    with suppress(Exception):
        metadata = reader.metadata
        found = _line(metadata.title) if metadata is not None else ""
    stem = PurePath(name).stem
    if (
        not any(map(str.isalpha, found))
        or found.casefold() == stem.casefold()
        or _NO_TITLES.match(found)
        or _FILE_NAME.match(found)
    ):
        return ""
    return found


def headings(reader: "PdfReader", check: Callable[[], None]) -> list[JsonObject]:
    """The bookmarks in order, `{level, text}`, level 1 the outermost.

    `check` is called before each step; what it raises ends the search.
    """
    found: list[JsonObject] = []
    room = PART_BYTES
    with suppress(Exception):
        for level, text in _bookmarks(reader, check):
            room -= len(text.encode())
            if len(found) >= HEADINGS_MOST or room < 0:
                break
            found.append({"level": level, "text": text})
    return found


def links(reader: "PdfReader", check: Callable[[], None]) -> list[JsonObject]:
    """The addresses that places on the pages lead to, `{text, target}`, each once.

    `check` as of `headings`.
    """
    found: dict[str, str] = {}
    room = PART_BYTES
    with suppress(Exception):
        for text, target in _addresses(reader, check):
            if target in found:
                continue
            room -= len(text.encode()) + len(target.encode())
            if len(found) >= LINKS_MOST or room < 0:
                break
            found[target] = text
    return [{"text": text, "target": target} for target, text in found.items()]


def _bookmarks(
    reader: "PdfReader", check: Callable[[], None]
) -> Iterator[tuple[int, str]]:
    """ISO 32000-1, 12.3.3: items linked by /First and /Next."""
    from pypdf.generic import DictionaryObject

    outlines = _under(reader.trailer.get("/Root"), "/Outlines")
    stack = [(1, _under(outlines, "/First", resolved=False))]
    seen: set[object] = set()
    while stack and len(seen) < _NODES_MOST:
        check()
        level, link = stack.pop()
        # A damaged file can link its items in a circle.
        node = _resolved(link)
        key = getattr(link, "idnum", id(node))
        if not isinstance(node, DictionaryObject) or key in seen:
            continue
        seen.add(key)
        stack.append((level, _under(node, "/Next", resolved=False)))
        if level < _LEVELS_MOST:
            stack.append((level + 1, _under(node, "/First", resolved=False)))
        text = _line(_under(node, "/Title"))
        if text:
            yield level, text


def _addresses(
    reader: "PdfReader", check: Callable[[], None]
) -> Iterator[tuple[str, str]]:
    """ISO 32000-1, 12.5.6.5 and 12.6.4.7: annotations with a URI action."""
    from pypdf.generic import ArrayObject

    notes = 0
    for page in reader.pages:
        annotations = _under(page, "/Annots")
        if not isinstance(annotations, ArrayObject):
            continue
        # By index: iterating would stop at the first reference that is broken.
        for at in range(len(annotations)):
            check()
            notes += 1
            if notes > _NOTES_MOST:
                return
            with suppress(Exception):
                yield from _address(annotations[at])


def _address(annotation: "PdfObject") -> Iterator[tuple[str, str]]:
    action = _under(annotation, "/A")
    target = _plain(_under(action, "/URI"))
    if target and len(target) <= _TARGET_MOST:
        yield _line(_under(annotation, "/Contents")) or target, target


def _under(
    holder: "PdfObject | None", key: str, *, resolved: bool = True
) -> "PdfObject | None":
    from pypdf.generic import DictionaryObject

    found = _resolved(holder)
    if not isinstance(found, DictionaryObject):
        return None
    value = found.get(key)
    return _resolved(value) if resolved else value


def _resolved(value: "PdfObject | None") -> "PdfObject | None":
    return None if value is None else value.get_object()


def _line(value: object) -> str:
    """A text in one line, cut at `_TEXT_MOST` characters."""
    text = _plain(value)
    return text if len(text) <= _TEXT_MOST else f"{text[: _TEXT_MOST - 3].rstrip()}..."


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        return ""
    valid = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    shown = "".join(c if c.isprintable() else " " for c in valid)
    return " ".join(shown.split())
