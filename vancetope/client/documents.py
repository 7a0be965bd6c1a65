"""The text of a file: encodings, binary files, and PDF through pypdf.

pypdf is imported by the first PDF only.  It runs in the caller's thread, bounded by
`PDF_BYTES` of file, `PDF_SECONDS` of work (looked at before every drawing operation),
`PDF_PARTS_SECONDS` for what is not text, and `PDF_TEXT` characters of text, besides
pypdf's own limits for decompression.
"""

import codecs
import logging
import mimetypes
import time
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING, BinaryIO

import attrs

from vance_sdk.wire.json import JsonObject
from vancetope.client import pdf_parts
from vancetope.client.roots import ToolError

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

PDF_BYTES = 128 * 1024 * 1024
PDF_SECONDS = 30.0
PDF_PARTS_SECONDS = 5.0
PDF_TEXT = 16 * 1024 * 1024
SNIFF_BYTES = 8192

# A page of a scan often carries a stamp or a layer's name; a page of text more.
_SCAN_LETTERS_PER_PAGE = 16
_EVIDENCE = 40

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = bytes({*range(32)} - {*b"\t\n\r\f\v\b\x1a\x1b"})
_CONTROL_SHARE = 0.02
# Letters that print as one glyph; nobody searches for them as one character.
_LIGATURES = str.maketrans(
    {
        "\ufb00": "ff",
        "\ufb01": "fi",
        "\ufb02": "fl",
        "\ufb03": "ffi",
        "\ufb04": "ffl",
        "\ufb05": "st",
        "\ufb06": "st",
        # Control characters: glyphs without a known meaning.
        **{chr(code): " " for code in range(32) if chr(code) not in "\t\n\f\r"},
    }
)
_TYPES = mimetypes.MimeTypes()
_TEXT_TYPES = {
    ".canvas": "application/json",
    ".jsonl": "application/x-ndjson",
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".rst": "text/x-rst",
    ".toml": "application/toml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
_MAGIC = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x7fELF", "application/x-executable"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
)


@attrs.frozen
class Text:
    """Decoded text and the name of the encoding it was in."""

    text: str
    encoding: str


@attrs.frozen
class PdfText:
    """Text of a PDF, its number of pages, and whether a limit cut it short.

    `title` is empty if there is no sensible one; `headings` (`{level, text}`) are the
    bookmarks, `links` (`{text, target}`) the addresses its pages lead to.
    """

    text: str
    pages: int
    cut: bool
    title: str = ""
    headings: list[JsonObject] = attrs.field(factory=list)
    links: list[JsonObject] = attrs.field(factory=list)


class _TimeIsUpError(Exception):
    """A PDF took longer than its limit."""


def media_type(name: str) -> str | None:
    """The media type a file's name stands for, the same on every machine."""
    suffix = PurePath(name).suffix.lower()
    return _TEXT_TYPES.get(suffix) or _TYPES.guess_type(f"x{suffix}")[0]


def looks_like_pdf(name: str, head: bytes) -> bool:
    """Whether a file is to be read as PDF: by its first bytes, else by its name."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"%PDF-") or (
        media_type(name) == "application/pdf"
    )


def binary_kind(name: str, head: bytes) -> str | None:
    """What a binary file is (`image/png`, else `binary data`), None for text."""
    if any(head.startswith(bom) for bom, _ in _BOMS):
        return None
    head = head[:SNIFF_BYTES]
    odd = len(head) - len(head.translate(None, _CONTROL))
    if b"\0" not in head and odd <= _CONTROL_SHARE * len(head):
        return None
    by_magic = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
    by_name = media_type(name)
    if by_name is not None and by_name.startswith("text/"):
        by_name = None
    return by_name or by_magic or "binary data"


def decode(raw: bytes, *, cut: bool = False) -> Text:
    """Decode a file's bytes: by its byte order mark, as UTF-8, else as Windows-1252.

    `cut` says that the bytes are only the beginning of the file, so that half a
    character at their end is no error.  Never fails: what Windows-1252 leaves
    undefined is read as Latin-1.
    """
    for bom, encoding in _BOMS:
        if raw.startswith(bom):
            decoder = codecs.getincrementaldecoder(encoding)("replace")
            return Text(decoder.decode(raw[len(bom) :], final=not cut), encoding)
    for encoding in ("utf-8", "cp1252"):
        try:
            decoder = codecs.getincrementaldecoder(encoding)("strict")
            return Text(decoder.decode(raw, final=not cut), encoding)
        except UnicodeDecodeError:
            continue
    return Text(raw.decode("latin-1"), "latin-1")


def pdf_text(
    file: BinaryIO,
    name: str,
    *,
    monotonic: Callable[[], float] = time.monotonic,
) -> PdfText:
    """Extract a PDF's text, pages separated by an empty line, and what it links.

    Raises:
        ToolError: password-protected, broken, without text, too big or too slow.
    """
    size = file.seek(0, 2)
    file.seek(0)
    if size > PDF_BYTES:
        msg = f"{name}: PDF of {size} bytes, more than the {PDF_BYTES} that are read"
        raise ToolError("failed", msg)
    try:
        reader = _open(file)
        found = _extract(reader, name, monotonic)
        return _with_parts(found, reader, name, monotonic)
    except ToolError:
        raise
    except _TimeIsUpError:
        msg = f"{name}: reading this PDF took more than {PDF_SECONDS:.0f} s"
        raise ToolError("failed", msg) from None
    except Exception as error:
        raise ToolError("failed", f"{name}: {_complaint(error)}") from error


def _open(file: BinaryIO) -> "PdfReader":
    from pypdf import PasswordType, PdfReader
    from pypdf.errors import FileNotDecryptedError

    # One line a font it cannot measure: of no use to whoever reads the text.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    reader = PdfReader(file)
    # Some files are encrypted with the empty password: readable by everyone.
    if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
        raise FileNotDecryptedError
    return reader


def _extract(reader: "PdfReader", name: str, monotonic: Callable[[], float]) -> PdfText:
    deadline = monotonic() + PDF_SECONDS

    def look_at_the_clock(*_: object) -> None:
        if monotonic() > deadline:
            raise _TimeIsUpError

    pages = len(reader.pages)
    found: list[str] = []
    letters = length = 0
    cut = False
    for page in reader.pages:
        try:
            look_at_the_clock()
            text = page.extract_text(visitor_operand_before=look_at_the_clock)
        except _TimeIsUpError:
            if not letters:
                raise
            cut = True
            break
        found.append(_clean(text))
        length += len(text)
        letters += len("".join(text.split()))
        if length > PDF_TEXT:
            cut = True
            break
    whole = "\n\n".join(part for part in found if part)
    if not cut:
        _demand_text(reader, name, whole, letters)
    return PdfText(whole, pages, cut)


def _with_parts(
    found: PdfText, reader: "PdfReader", name: str, monotonic: Callable[[], float]
) -> PdfText:
    deadline = monotonic() + PDF_PARTS_SECONDS

    def look_at_the_clock() -> None:
        if monotonic() > deadline:
            raise _TimeIsUpError

    return attrs.evolve(
        found,
        title=pdf_parts.title(reader, name),
        headings=pdf_parts.headings(reader, look_at_the_clock),
        links=pdf_parts.links(reader, look_at_the_clock),
    )


def _clean(text: str) -> str:
    # pypdf hands on whatever a font maps to, half surrogate pairs included.
    valid = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    lines = valid.translate(_LIGATURES).splitlines()
    return "\n".join(line.rstrip() for line in lines).strip()


def _demand_text(reader: "PdfReader", name: str, whole: str, letters: int) -> None:
    pages = len(reader.pages)
    pictures = letters < _SCAN_LETTERS_PER_PAGE * pages and all(
        _has_picture(page) for page in reader.pages
    )
    if letters and not pictures:
        return
    scanned = "page; a scanned picture?" if pages == 1 else "pages; scanned pictures?"
    seen = " ".join(dict.fromkeys(whole.split()))[:_EVIDENCE]
    but = f", only {seen!r}" if seen else ""
    msg = f"{name}: no text in this PDF ({pages} {scanned}){but}"
    raise ToolError("failed", msg)


def _has_picture(page: "PageObject") -> bool:
    resources = page.get("/Resources")
    drawn = resources.get_object().get("/XObject") if resources is not None else None
    if drawn is None:
        return False
    things = drawn.get_object().values()
    return any(t.get_object().get("/Subtype") == "/Image" for t in things)


def _complaint(error: Exception) -> str:
    from pypdf.errors import DependencyError, FileNotDecryptedError

    if isinstance(error, FileNotDecryptedError):
        return "password-protected PDF"
    if isinstance(error, DependencyError):
        return (
            "password-protected PDF (AES); even with an empty password it can be "
            "opened only where the Python package `cryptography` is installed"
        )
    detail = " ".join(str(error).split()) or type(error).__name__
    return f"broken PDF ({detail[:200]})"
