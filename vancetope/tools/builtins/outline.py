"""`outline_document`: title, first paragraph, headings and links of a document."""

import re
from pathlib import PurePath

import attrs

from vancetope.model.json import Json, JsonObject
from vancetope.tools.builtins.blocks import (
    Block,
    Document,
    Kind,
    is_markdown,
    read_blocks,
)
from vancetope.tools.builtins.inline import Link, find_urls, read_inline
from vancetope.tools.builtins.stopwords import STOPWORDS
from vancetope.tools.builtins.words import (
    count_words,
    fold,
    is_cjk,
    join_lines,
    shorten,
    split_sentences,
    words,
)

_TITLE_MOST = 120
_PARAGRAPH_MOST = 400
_HEADING_MOST = 200
_PROSE_LINE = 40
_SENTENCE_LOOK = 2000
_PROSE_WORDS = 3
_GENERIC_NAMES = frozenset({"readme", "index", "untitled", ""})
_ENDS = tuple(".!?:;\u2026\u3002\uff01\uff1f\u061f\u0964")
_PAGE_NUMBER = re.compile(
    r"(?:page |seite |p\. ?)?[\divxlc]{1,6}(?: ?(?:/|of|von) ?\d+)?$"
)
_LEADERS = re.compile(r"[. \u00b7]{5,}\d*$")


def outline_document(
    *,
    text: str,
    name: str | None = None,
    media_type: str | None = None,
    max_headings: int = 50,
    max_links: int = 50,
) -> JsonObject:
    """Say what a document is about without reading all of it.

    Markdown unless `media_type` or `name` says otherwise.  The title of Markdown is
    the front matter's, else the first heading if that is of level 1, else the name of
    the file without its ending, else the first heading or sentence; of a plain text
    or PDF it is the first line that can be one, else the name.  `first_paragraph` is the first running
    text, at most 400 characters; where there is none, the first items of a list.
    Links are those of the front matter and of the text, embedded notes among them
    and pictures not; each link is given once.

    Returns `{title, first_paragraph, headings: [{level, text}], links: [{text,
    target}], words}`, headings and links cut at their limits.
    """
    document = read_blocks(text, markdown=is_markdown(name, media_type))
    pieces = [_render(block, document) for block in document.blocks]
    headings: list[Json] = [
        {"level": piece.block.level, "text": shorten(piece.plain, _HEADING_MOST)}
        for piece in pieces
        if piece.block.kind is Kind.HEADING and piece.plain
    ]
    links = dict.fromkeys(_property_links(document))
    links |= dict.fromkeys(link for piece in pieces for link in piece.links)
    stem = PurePath(name).stem if name else ""
    if document.markdown:
        title = _markdown_title(document, pieces, stem)
        paragraph = _markdown_paragraph(pieces)
    else:
        title, paragraph = _plain(pieces)
    return {
        "title": shorten(title or stem, _TITLE_MOST),
        "first_paragraph": shorten(paragraph, _PARAGRAPH_MOST),
        "headings": headings[:max_headings],
        "links": [
            {"text": shorten(link.text, _HEADING_MOST), "target": link.target}
            for link in list(links)[:max_links]
        ],
        "words": sum(count_words(piece.plain) for piece in pieces),
    }


@attrs.frozen
class _Piece:
    """A block with its words and links; code has neither."""

    block: Block
    plain: str
    links: list[Link]


def _render(block: Block, document: Document) -> _Piece:
    if block.kind in {Kind.CODE, Kind.INDENTED}:
        return _Piece(block, "", [])
    joined = join_lines(block.text.splitlines())
    if document.markdown:
        return _Piece(block, *read_inline(joined, document.references))
    return _Piece(block, joined, find_urls(joined))


def _property_links(document: Document) -> list[Link]:
    return [link for text in document.properties for link in read_inline(text)[1]]


def _markdown_title(document: Document, pieces: list[_Piece], stem: str) -> str:
    shown = [p for p in pieces if p.plain]
    heading = next((p for p in shown if p.block.kind is Kind.HEADING), None)
    # A later or lower heading names a section, unless no file name is better.
    telling = heading is not None and (
        heading.block.level == 1
        or (stem.casefold() in _GENERIC_NAMES and heading is shown[0])
    )
    top = heading.plain if heading is not None and telling else ""
    return (
        document.meta.get("title")
        or top
        or stem
        or (heading.plain if heading is not None else "")
        or next((_first_sentence(p.plain) for p in shown if _sensible(p.plain)), "")
    )


def _first_sentence(text: str) -> str:
    return (split_sentences(text[:_SENTENCE_LOOK]) or [""])[0]


def _markdown_paragraph(pieces: list[_Piece]) -> str:
    for kind in (Kind.PARAGRAPH, Kind.QUOTE):
        of_kind = [p for p in pieces if p.block.kind is kind and _letters(p.plain)]
        # A row of links is navigation, not a paragraph.
        for piece in of_kind:
            shown = [link for link in piece.links if not link.embedded]
            linked = sum(_letters(link.text) for link in shown)
            if _letters(piece.plain) > linked:
                return piece.plain
        if of_kind:
            return of_kind[0].plain
    return _first_items(pieces)


def _first_items(pieces: list[_Piece]) -> str:
    """The words of the first list, as much as a paragraph takes."""
    text = ""
    for piece in pieces:
        item = piece.block.kind is Kind.ITEM
        if item and _letters(piece.plain) and len(text) <= _PARAGRAPH_MOST:
            between = " " if text.endswith(_ENDS) else "; "
            text = f"{text}{between}{piece.plain}" if text else piece.plain
        elif text and not item:
            break
    return text


def _plain(pieces: list[_Piece]) -> tuple[str, str]:
    """Title and first paragraph of a text without markup, such as a PDF's."""
    lines = [
        (line, piece.block.kind is Kind.HEADING, index)
        for index, piece in enumerate(pieces)
        for line in piece.block.text.splitlines()
    ]
    at = next((i for i, (line, _, _) in enumerate(lines) if _sensible(line)), None)
    if at is None:
        return "", ""
    title = lines[at][0]
    below = at
    if _is_prose(title):
        title = _first_sentence(title)
    else:
        below += 1
        while below < len(lines) and _goes_on(title, lines[below][0]):
            title = join_lines([title, lines[below][0]])
            below += 1
    rest = lines[below:]
    start = next(
        (i for i, (x, head, _) in enumerate(rest) if not head and _is_prose(x)), 0
    )
    block = rest[start][2] if rest else 0
    paragraph = [
        line for line, head, index in rest[start:] if index == block and not head
    ]
    return title, join_lines(paragraph)


def _sensible(line: str) -> bool:
    """Whether a line can be a title: words, not a page number or a row of dots."""
    bare = line.strip()
    return (
        _letters(bare[:_PARAGRAPH_MOST]) > 1
        and not _PAGE_NUMBER.match(bare.casefold())
        and not _LEADERS.search(bare[-_PARAGRAPH_MOST:])
        and not bare.startswith(("http://", "https://"))
    )


def _goes_on(title: str, line: str) -> bool:
    """Whether a title's next line still belongs to it: it ends with a small word."""
    last = title.rpartition(" ")[2]
    return fold(last) in STOPWORDS and len(title) + len(line) < _TITLE_MOST


def _is_prose(line: str) -> bool:
    found = words(line)
    if any(is_cjk(word) for word in found):
        return len(line) >= _PROSE_LINE // 2 or line.endswith(_ENDS)
    if len(found) < _PROSE_WORDS:
        return False
    small = any(fold(word) in STOPWORDS for word in found)
    return line.endswith(_ENDS) or (small and len(line) >= _PROSE_LINE)


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))
