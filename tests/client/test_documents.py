"""PDFs: text, pages, and a clear word about those that have none."""

import contextlib
import logging
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from itertools import chain, repeat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.client.pdfs import make_pdf
from vancetope.client import documents
from vancetope.client.documents import pdf_text
from vancetope.client.files import read_file
from vancetope.client.roots import Roots, ToolError

PROSE = "A page of text that nobody\nwould take for a scan."


def complaint(raw: bytes) -> str:
    with pytest.raises(ToolError) as failed:
        pdf_text(BytesIO(raw), "x.pdf")
    assert failed.value.code == "failed"
    return failed.value.message


@pytest.mark.requirement("000-7-pdf-extraction")
def test_a_pdf_is_read_as_text_with_its_pages(tmp_path: Path) -> None:
    raw = make_pdf([PROSE, "Second page."])
    (tmp_path / "paper.pdf").write_bytes(raw)

    result = read_file(Roots([tmp_path]), path="paper.pdf")

    assert result["text"] == f"{PROSE}\n\nSecond page."
    assert (result["media_type"], result["pages"]) == ("application/pdf", 2)
    assert result["bytes"] == len(raw)
    assert "truncated" not in result


def test_a_pdf_without_the_ending_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "download").write_bytes(make_pdf([PROSE]))

    result = read_file(Roots([tmp_path]), path="download")

    assert result["media_type"] == "application/pdf"


def test_a_long_pdf_is_cut_with_the_bytes_of_all_its_text(tmp_path: Path) -> None:
    (tmp_path / "book.pdf").write_bytes(make_pdf([PROSE] * 117))

    result = read_file(Roots([tmp_path]), path="book.pdf", max_bytes=100)

    assert len(str(result["text"])) == 100
    assert result["truncated"] is True
    assert result["total_bytes"] == 117 * len(PROSE) + 116 * len("\n\n")
    assert result["pages"] == 117


def test_a_password_protected_pdf_is_called_so() -> None:
    raw = make_pdf([PROSE], password="secret")

    assert complaint(raw) == "x.pdf: password-protected PDF"


def test_a_pdf_encrypted_with_the_empty_password_is_read() -> None:
    raw = make_pdf([PROSE], password="")

    assert pdf_text(BytesIO(raw), "x.pdf").text == PROSE


def test_a_pdf_without_text_is_called_so() -> None:
    assert complaint(make_pdf(["", "", ""])) == (
        "x.pdf: no text in this PDF (3 pages; scanned pictures?)"
    )
    assert complaint(make_pdf([""])) == (
        "x.pdf: no text in this PDF (1 page; a scanned picture?)"
    )


def test_a_scan_with_a_stamp_on_each_page_has_no_text_either() -> None:
    raw = make_pdf(["Scanned"] * 6, pictures=True)

    assert complaint(raw) == (
        "x.pdf: no text in this PDF (6 pages; scanned pictures?), only 'Scanned'"
    )


def test_a_short_text_without_pictures_and_a_text_with_pictures_are_texts() -> None:
    assert pdf_text(BytesIO(make_pdf(["Hi"])), "x.pdf").text == "Hi"
    assert pdf_text(BytesIO(make_pdf([PROSE], pictures=True)), "x").text == PROSE


@pytest.mark.parametrize(
    "raw",
    [
        b"%PDF-1.7\n",
        b"%PDF-1.7\n" + b"x" * 5000,
        make_pdf([PROSE])[:200],
        b"not a pdf at all",
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 1 0 R>>endobj\ntrailer<</Root 1 0 R>>",
    ],
)
def test_a_broken_pdf_is_called_broken(raw: bytes) -> None:
    message = complaint(raw)

    assert message.startswith("x.pdf: ")
    assert "broken PDF (" in message or "no text in this PDF" in message
    assert "\n" not in message


@settings(max_examples=30)
@given(st.data())
def test_a_damaged_pdf_gives_a_text_or_a_complaint(data: st.DataObject) -> None:
    raw = bytearray(make_pdf([PROSE]))
    for _ in range(8):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at] = data.draw(st.integers(0, 255))

    # Any other exception than the tool's own would get through.
    with contextlib.suppress(ToolError):
        assert pdf_text(BytesIO(bytes(raw)), "x.pdf").text.encode() is not None


def ticks(*seconds: float) -> Iterator[float]:
    """A clock that shows these, then the last of them for ever."""
    return chain(seconds, repeat(seconds[-1]))


def test_a_pdf_that_takes_too_long_gives_the_pages_read_so_far() -> None:
    # The clock is asked once at the start, before each page and each operation.
    clock = ticks(*[0.0] * 12, documents.PDF_SECONDS + 1)

    result = pdf_text(
        BytesIO(make_pdf([PROSE] * 50)), "x.pdf", monotonic=lambda: next(clock)
    )

    assert result.cut
    assert result.text == PROSE
    assert result.pages == 50


def test_a_first_page_that_takes_too_long_is_an_error() -> None:
    # The time is up between two operations of one page.
    clock = ticks(0.0, 0.0, 0.0, documents.PDF_SECONDS + 1)

    with pytest.raises(ToolError, match="took more than 30 s"):
        pdf_text(BytesIO(make_pdf([PROSE])), "x.pdf", monotonic=lambda: next(clock))


def test_a_pdf_over_the_size_limit_is_not_even_opened() -> None:
    class Huge(BytesIO):
        def seek(self, offset: int, whence: int = 0) -> int:
            return documents.PDF_BYTES + 1

        def read(self, size: int | None = -1) -> bytes:
            raise NotImplementedError

    with pytest.raises(ToolError, match="more than the"):
        pdf_text(Huge(), "x.pdf")


def test_ligatures_and_control_characters_become_plain_letters() -> None:
    assert documents._clean("\ufb01nd\0 a\x02b \ud83d\ude00 \ud800") == (
        "find  a b \U0001f600 \ufffd"
    )


def test_pypdf_is_silent_and_imported_by_the_first_pdf_only() -> None:
    script = (
        "import sys\n"
        "import vancetope.client.native\n"
        "assert 'pypdf' not in sys.modules\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    pdf_text(BytesIO(make_pdf([PROSE])), "x.pdf")
    assert not logging.getLogger("pypdf._cmap").isEnabledFor(logging.ERROR)
