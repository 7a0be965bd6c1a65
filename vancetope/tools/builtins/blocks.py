"""The blocks of a document: headings, paragraphs, list items, code, and so on.

Line by line, each line looked at once.  A deliberate subset of CommonMark plus what
note-taking programs add (front matter, `[[wiki]]` links, callouts): enough to tell
prose from everything else.
"""

import re
from enum import StrEnum
from pathlib import PurePath

import attrs

_FRONT_MATTER_LINES = 500
_SETEXT_CHARACTERS = 200
_PROPERTY_LINK = re.compile(r"\[\[[^\[\]]{1,512}\]\]")
_META = re.compile(r"([A-Za-z_][\w-]{0,63})[ \t]*:(.*)")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_SETEXT = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_FENCE = re.compile(r"[ \t]*(?:>[ \t]?)*(`{3,}|~{3,})(.*)$")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+(.*))?$")
_CHECKBOX = re.compile(r"\[[ xX/-]\][ \t]+")
_REFERENCE = re.compile(r" {0,3}\[([^\]\[]{1,200})\]:[ \t]*<?([^\s>]{1,2048})")
_CALLOUT = re.compile(r"^\[![\w-]{1,40}\][+-]?[ \t]*")
_TABLE_RULE = re.compile(r"\|?[ \t]*:?-{2,}:?[ \t]*\|[-:| \t]*$")
_HTML_HEADING = re.compile(r"<h([1-6])[\s>]", re.IGNORECASE)
_UNDERLINE = re.compile(r"([=\-~^*#+])\1{2,}[ \t]*$")

MARKDOWN_SUFFIXES = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx"})
_PLAIN_TYPES = frozenset({"text/plain", "application/pdf"})


class Kind(StrEnum):
    """What a block is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    QUOTE = "quote"
    TABLE = "table"
    CODE = "code"
    INDENTED = "indented"


@attrs.frozen
class Block:
    """One block: its lines joined by newlines, markers removed; a heading's level."""

    kind: Kind
    text: str
    level: int = 0


@attrs.define
class Document:
    """A text taken apart; `meta` is the front matter's one-line values.

    `properties` are the links in the front matter, as they stand: `[[Note]]`.
    """

    markdown: bool
    meta: dict[str, str] = attrs.field(factory=dict)
    properties: list[str] = attrs.field(factory=list)
    references: dict[str, str] = attrs.field(factory=dict)
    blocks: list[Block] = attrs.field(factory=list)


def is_markdown(name: str | None, media_type: str | None) -> bool:
    """Whether a text is to be read as Markdown: by its type, its name, else yes."""
    if media_type:
        return media_type.partition(";")[0].strip().lower() not in _PLAIN_TYPES
    suffix = PurePath(name).suffix.lower() if name else ""
    return suffix in MARKDOWN_SUFFIXES or suffix not in {".txt", ".text", ".pdf"}


def read_blocks(text: str, *, markdown: bool = True) -> Document:
    """Take a document apart; never fails."""
    lines = text.removeprefix("\ufeff").splitlines()
    document = Document(markdown)
    if not markdown:
        _read_plain(lines, document)
        return document
    start, document.meta = _front_matter(lines)
    document.properties = [
        link
        for line in lines[:start]
        if not line.lstrip().startswith("#")
        for link in _PROPERTY_LINK.findall(line)
    ]
    _Reader(document).read(lines[start:])
    return document


def _front_matter(lines: list[str]) -> tuple[int, dict[str, str]]:
    fence = lines[0].rstrip() if lines else ""
    if fence not in {"---", "+++"}:
        return 0, {}
    meta: dict[str, str] = {}
    for index, line in enumerate(lines[1:_FRONT_MATTER_LINES], 1):
        if line.rstrip() in {fence, "..."}:
            return index + 1, meta
        if index == 1 and not line.strip():
            return 0, {}  # a rule above a text, not front matter
        found = _META.match(line.replace(" = ", ": ", 1) if fence == "+++" else line)
        if found:
            meta.setdefault(found[1].lower(), found[2].strip().strip("\"'"))
    return 0, {}


class _Reader:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._lines: list[str] = []
        self._kind = Kind.PARAGRAPH
        self._fence = ""
        self._comment = False
        self._blank = True

    def read(self, lines: list[str]) -> None:
        for line in lines:
            if self._fence:
                self._in_fence(line)
            elif self._comment:
                self._in_comment(line)
            else:
                self._line(line)
                self._blank = not line.strip()
        self._flush()

    def _flush(self, kind: Kind | None = None, level: int = 0) -> None:
        text = "\n".join(self._lines).strip()
        if text:
            html = _HTML_HEADING.match(text)
            if html and kind is None and self._kind is Kind.PARAGRAPH:
                heading, _, text = text.partition("</h")
                block = Block(Kind.HEADING, heading, int(html[1]))
                self._document.blocks.append(block)
                text = text.partition(">")[2].strip()
            if text:
                block = Block(kind or self._kind, text, level)
                self._document.blocks.append(block)
        self._lines = []
        self._kind = Kind.PARAGRAPH

    def _begin(self, kind: Kind, line: str) -> None:
        self._flush()
        self._kind = kind
        self._lines.append(line)

    def _in_fence(self, line: str) -> None:
        bare = line.strip().lstrip("> ")
        if bare.startswith(self._fence) and not bare.strip(self._fence[0]):
            self._fence = ""
            self._flush()
        else:
            self._lines.append(line)

    def _in_comment(self, line: str) -> None:
        self._comment = "-->" not in line

    def _line(self, line: str) -> None:
        fence = _FENCE.match(line)
        if fence and not ("`" in fence[1] and "`" in fence[2]):
            self._flush()
            self._kind = Kind.CODE
            self._fence = fence[1]
            return
        bare = line.strip()
        if not bare:
            self._empty()
        elif bare.startswith("<!--"):
            self._flush()
            self._comment = "-->" not in bare
        elif not self._marked(line, bare):
            self._prose(line, bare)

    def _empty(self) -> None:
        # A list item goes on after an empty line if what follows is indented.
        if self._kind is not Kind.ITEM:
            self._flush()

    def _marked(self, line: str, bare: str) -> bool:
        """Whether the line's first characters say what it is; then it is done."""
        setext = _SETEXT.match(line)
        if setext and self._lines and self._kind is Kind.PARAGRAPH and not self._blank:
            short = sum(map(len, self._lines)) <= _SETEXT_CHARACTERS
            level = 1 if "=" in setext[1] else 2
            self._flush(Kind.HEADING if short else None, level if short else 0)
            return True
        atx = _ATX.match(line)
        if atx:
            self._flush()
            words = (atx[2] or "").strip()
            closed = words.rstrip("#")
            if closed != words and (not closed or closed[-1].isspace()):
                words = closed.strip()
            self._lines.append(words)
            self._flush(Kind.HEADING, len(atx[1]))
            return True
        if _RULE.match(line):
            self._flush()
            return True
        return self._reference(line) or self._container(line, bare)

    def _reference(self, line: str) -> bool:
        found = _REFERENCE.match(line)
        if found is None or self._lines or found[1].startswith("^"):
            return False
        self._document.references.setdefault(found[1].casefold(), found[2])
        return True

    def _container(self, line: str, bare: str) -> bool:
        if bare.startswith(">"):
            inner = bare.lstrip("> ").rstrip()
            if not inner or self._kind is not Kind.QUOTE:
                self._flush()
                self._kind = Kind.QUOTE
                inner = _CALLOUT.sub("", inner, count=1)
            self._lines.append(inner)
            return True
        item = _ITEM.match(line)
        if item and (item[1] or self._kind is not Kind.PARAGRAPH or not self._lines):
            self._begin(Kind.ITEM, _CHECKBOX.sub("", item[1] or "", count=1))
            return True
        if _TABLE_RULE.match(bare) and self._lines:
            self._kind = Kind.TABLE
            return True
        if bare.startswith("|"):
            if self._kind is not Kind.TABLE:
                self._flush()
                self._kind = Kind.TABLE
            self._lines.append(bare.strip("|"))
            return True
        return False

    def _prose(self, line: str, bare: str) -> None:
        indented = line.startswith(("    ", "\t"))
        if self._blank and self._kind is Kind.ITEM and not line[:1].isspace():
            self._flush()
        if self._blank and indented and not self._lines:
            self._kind = Kind.INDENTED
        elif self._kind is Kind.INDENTED and not indented:
            self._flush()
        self._lines.append(bare)


def _read_plain(lines: list[str], document: Document) -> None:
    paragraph: list[str] = []

    def flush() -> None:
        if paragraph:
            block = Block(Kind.PARAGRAPH, "\n".join(paragraph))
            document.blocks.append(block)
            paragraph.clear()

    for line in lines:
        bare = line.strip()
        underline = _UNDERLINE.match(bare)
        if underline and len(paragraph) == 1 and len(bare) >= len(paragraph[0]) // 2:
            level = 1 if underline[1] in "=*#" else 2
            document.blocks.append(Block(Kind.HEADING, paragraph.pop(), level))
        elif bare:
            paragraph.append(bare)
        else:
            flush()
    flush()
