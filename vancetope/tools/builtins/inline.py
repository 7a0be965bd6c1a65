"""What stands in a line of Markdown: plain words, and the links among them.

One pass from left to right; every look ahead either moves the position past what it
saw, is bounded by a constant, or is remembered (`_Ahead`), so the time is linear in
the length of the text whatever it holds.
"""

import re
import string
from collections.abc import Mapping

import attrs

_TARGET_MOST = 2048
_LABEL_MOST = 512
_TAG_MOST = 1024
_SPECIAL = re.compile(r"[\\`!\[\]<*_~=]|https?://")
_URL = re.compile(r"https?://[^\s<>\[\]\"\u3000-\u3002\uff00-\uff0f]+")
_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&nbsp;": " "}
_ENTITY = re.compile("|".join(_ENTITIES))
_MARKERS = frozenset("*_~=")
# What an embed shows instead of leading to it.
_MEDIA = re.compile(
    r"\.(?:avif|bmp|gif|heic|ico|jpe?g|png|svg|tiff?|webp"
    r"|3gp|flac|m4a|mp3|oga|ogg|opus|wav|avi|mkv|mov|mp4|ogv|webm)$",
    re.IGNORECASE,
)
_PUNCTUATION = frozenset(string.punctuation)


@attrs.frozen
class Link:
    """A link: the words it stands under and where it leads (a URL, path or note).

    The words of one that is `embedded` do not stand in the text.
    """

    text: str
    target: str
    embedded: bool = attrs.field(default=False, eq=False)


class _Ahead:
    """`str.find` for positions that only grow: each needle is looked for once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: dict[str, int] = {}

    def find(self, needle: str, start: int) -> int:
        at = self._found.get(needle, start - 1)
        if at != len(self._text) and at < start:
            at = self._text.find(needle, start)
            self._found[needle] = at = len(self._text) if at < 0 else at
        return at


class _Ticks:
    """Where runs of backticks close, by the length of the run."""

    def __init__(self, text: str) -> None:
        self._runs: dict[int, list[int]] = {}
        for run in re.finditer("`+", text):
            self._runs.setdefault(len(run[0]), []).append(run.start())
        for starts in self._runs.values():
            starts.reverse()

    def close(self, length: int, start: int) -> int:
        starts = self._runs.get(length, [])
        while starts and starts[-1] < start:
            starts.pop()
        return starts[-1] if starts else -1


class _Scanner:
    def __init__(self, text: str, references: Mapping[str, str], *, urls: bool) -> None:
        self.text = text
        self._urls = urls
        self.at = 0
        self.out: list[str] = []
        self.links: list[Link] = []
        self._references = references
        self._ahead = _Ahead(text)
        self._ticks = _Ticks(text)
        # Open brackets: index into `out`, count of links before, whether an image.
        self._open: list[tuple[int, int, bool]] = []
        # A link holds no link: brackets opened before one that closed are words.
        self._dead = 0
        # Markers that may still be closed, by character: where each is in `out`.
        self._markers: dict[str, list[int]] = {mark: [] for mark in _MARKERS}

    def run(self) -> None:
        text = self.text
        while found := _SPECIAL.search(text, self.at):
            self.out.append(text[self.at : found.start()])
            self.at = found.start()
            self._special(found[0])
        self.out.append(text[self.at :])

    def _special(self, mark: str) -> None:
        match mark:
            case "\\":
                self._escape()
            case "`":
                self._code()
            case "!":
                self._picture()
            case "[" if self.text.startswith("[[", self.at):
                self._wiki(self.at + 2, embed=False)
            case "[":
                self._bracket()
            case "]":
                self._close()
            case "<":
                self._tag()
            case _ if mark in _MARKERS:
                self._marker(mark)
            case _:
                self._bare()

    def _keep(self, words: str, length: int) -> None:
        self.out.append(words)
        self.at += length

    def _escape(self) -> None:
        after = self.text[self.at + 1 : self.at + 2]
        escapes = after in _PUNCTUATION
        self._keep(after if escapes else "\\", 2 if escapes else 1)

    def _bracket(self) -> None:
        self._open.append((len(self.out), len(self.links), False))
        self._keep("[", 1)

    def _picture(self) -> None:
        if self.text.startswith("![[", self.at):
            self._wiki(self.at + 3, embed=True)
        elif self.text.startswith("![", self.at):
            self._open.append((len(self.out), len(self.links), True))
            self._keep("", 2)
        else:
            self._keep("!", 1)

    def _code(self) -> None:
        length = 1
        while self.text.startswith("`", self.at + length):
            length += 1
        end = self._ticks.close(length, self.at + length)
        if end < 0:
            self._keep("", length)
        else:
            words = self.text[self.at + length : end].strip()
            self._keep(words, end + length - self.at)

    def _wiki(self, start: int, *, embed: bool) -> None:
        end = self._ahead.find("]]", start)
        # Within a table the bar is escaped.
        inner = self.text[start : min(end, start + _LABEL_MOST)].replace("\\|", "|")
        if end > start + _LABEL_MOST or end == len(self.text) or "[" in inner:
            if embed:
                self._keep("!", 1)
            else:
                self._bracket()
            return
        target, _, alias = inner.partition("|")
        target, words = target.strip(), (alias or target).strip().lstrip("#")
        self.at = end + 2
        if not words or (embed and _MEDIA.search(target.partition("#")[0])):
            return
        # What follows the bar of an embed is its size as often as its name.
        self.links.append(Link(target if embed else words, target, embed))
        if not embed:
            self.out.append(words)

    def _close(self) -> None:
        if not self._open:
            self._keep("]", 1)
            return
        start, links, image = self._open.pop()
        dead = len(self._open) < self._dead
        self._dead = min(self._dead, len(self._open))
        target, end = self._target(self.at + 1)
        if image:
            self._drop(start)
            del self.links[links:]
            self.at = end
        elif target and not dead:
            words = " ".join("".join(self.out[start + 1 :]).split())
            self._drop(start)
            del self.links[links:]
            self.links.append(Link(words or target, target))
            self.out.append(words)
            self._dead = len(self._open)
            self.at = end
        else:
            self._footnote(start)

    def _footnote(self, start: int) -> None:
        if self.out[start + 1 : start + 2] and self.out[start + 1].startswith("^"):
            self._drop(start)
            self._keep("", 1)
        else:
            self._keep("]", 1)

    def _drop(self, start: int) -> None:
        """Take back what was put out since, with the markers opened in it."""
        del self.out[start:]
        for opened in self._markers.values():
            while opened and opened[-1] >= start:
                opened.pop()

    def _target(self, start: int) -> tuple[str, int]:
        """Where the bracket just closed leads, and the position after it."""
        text = self.text
        if text.startswith("(", start):
            return self._inline_target(start + 1)
        label = start
        if text.startswith("[", start):
            end = self._ahead.find("]", start + 1)
            if end - start < _LABEL_MOST:
                key = text[start + 1 : end].casefold()
                if key in self._references:
                    return self._references[key], min(end + 1, len(text))
        return "", label

    def _inline_target(self, start: int) -> tuple[str, int]:
        text = self.text
        end = self._ahead.find(")", start)
        if end == len(text) or end - start > _TARGET_MOST:
            return "", start - 1
        # One pair of brackets within, as in the addresses of encyclopedias.
        if "(" in text[start:end] and text.startswith(")", end + 1):
            end += 1
        inner = text[start:end].strip()
        if inner.startswith("<"):
            return inner[1:].partition(">")[0], end + 1
        return (inner.split(maxsplit=1) or [""])[0], end + 1

    def _tag(self) -> None:
        url = _URL.match(self.text, self.at + 1)
        if url and self.text.startswith(">", url.end()):
            self.links.append(Link(url[0], url[0]))
            self._keep(url[0] if self._urls else " ", len(url[0]) + 2)
            return
        after = self.text[self.at + 1 : self.at + 2]
        end = self._ahead.find(">", self.at)
        if (after.isalpha() or after in {"/", "!"}) and (
            end < len(self.text) and end - self.at <= _TAG_MOST
        ):
            self._keep(" ", end + 1 - self.at)
        else:
            self._keep("<", 1)

    def _marker(self, mark: str) -> None:
        length = 1
        while self.text.startswith(mark, self.at + length):
            length += 1
        before = self.text[self.at - 1 : self.at] if self.at else " "
        after = self.text[self.at + length : self.at + length + 1] or " "
        apart = before.isspace() and after.isspace()
        within = mark == "_" and before.isalnum() and after.isalnum()
        single = mark in "~=" and length == 1
        if apart or within or single:
            self._keep(mark * length, length)
            return
        rest = length if before.isspace() else self._pair(mark, length)
        if rest and not after.isspace():
            self._markers[mark].append(len(self.out))
        self._keep(mark * rest, length)

    def _pair(self, mark: str, length: int) -> int:
        """Let a run of markers close what is open; returns how many are left of it."""
        opened = self._markers[mark]
        while length and opened:
            open_run = len(self.out[opened[-1]])
            both = min(open_run, length)
            self.out[opened[-1]] = mark * (open_run - both)
            length -= both
            if both == open_run:
                opened.pop()
        return length

    def _bare(self) -> None:
        found = _URL.match(self.text, self.at)
        if found is None:
            self._keep(self.text[self.at], 1)
            return
        url = _trim(found[0])
        if not url.endswith("://"):
            self.links.append(Link(url, url))
        self._keep(url if self._urls else " ", len(url))


def read_inline(
    text: str, references: Mapping[str, str] | None = None, *, urls: bool = True
) -> tuple[str, list[Link]]:
    """The plain words of a piece of Markdown, spaces folded, and its links in order.

    Pictures and embeds vanish, as do markers of emphasis that are opened and closed;
    an embedded note is a link all the same.  Code keeps its words; `references` are the targets of
    `[words][label]` by lower-case label.  `urls=False` leaves bare addresses out of
    the words (they stay links).
    """
    scanner = _Scanner(text, references or {}, urls=urls)
    scanner.run()
    words = _ENTITY.sub(lambda found: _ENTITIES[found[0]], "".join(scanner.out))
    return " ".join(words.split()), scanner.links


def find_urls(text: str) -> list[Link]:
    """The web addresses in a plain text, in order."""
    urls = [_trim(found[0]) for found in _URL.finditer(text)]
    return [Link(url, url) for url in urls if not url.endswith("://")]


def _trim(url: str) -> str:
    """An address without the punctuation of the sentence around it."""
    url = url.rstrip(".,;:!?'*_~]")
    # A bracket that closes one opened before the address is not part of it.
    trailing = len(url) - len(url.rstrip(")"))
    unopened = url.count(")") - url.count("(")
    return url[: len(url) - max(0, min(trailing, unopened))].rstrip(".,;:!?'")
