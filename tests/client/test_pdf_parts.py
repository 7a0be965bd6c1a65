"""What a PDF says beside its text: title, bookmarks, links."""

from io import BytesIO
from pathlib import Path

import orjson
import pytest

from tests.client.pdfs import make_pdf, with_parts
from vance_sdk.results import fit
from vance_sdk.wire.limits import INLINE_RESULT_BYTES
from vancetope.client import documents, pdf_parts
from vancetope.client.documents import PdfText, pdf_text
from vancetope.client.files import READ_BYTES, read_file
from vancetope.client.roots import Roots

PLAIN = make_pdf(["A page of text.", "And another."])


def read(raw: bytes, name: str = "x.pdf") -> PdfText:
    return pdf_text(BytesIO(raw), name)


def test_a_pdf_is_read_with_title_bookmarks_and_links(tmp_path: Path) -> None:
    raw = with_parts(
        PLAIN,
        title="Geometry",
        bookmarks=[(1, "One"), (2, "One\n a"), (3, "Deep"), (1, "Two"), (2, "")],
        addresses=[
            ("https://a.example/x", None),
            ("https://b.example", "The B"),
            ("https://a.example/x", "again"),
            ("", None),
        ],
    )
    (tmp_path / "x.pdf").write_bytes(raw)

    result = read_file(Roots([tmp_path]), path="x.pdf")

    assert result["title"] == "Geometry"
    assert result["headings"] == [
        {"level": 1, "text": "One"},
        {"level": 2, "text": "One a"},
        {"level": 3, "text": "Deep"},
        {"level": 1, "text": "Two"},
    ]
    assert result["links"] == [
        {"text": "https://a.example/x", "target": "https://a.example/x"},
        {"text": "The B", "target": "https://b.example"},
    ]
    assert result["text"] == "A page of text.\n\nAnd another."


def test_a_pdf_without_any_of_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "x.pdf").write_bytes(PLAIN)

    result = read_file(Roots([tmp_path]), path="x.pdf")

    assert (result["headings"], result["links"]) == ([], [])
    assert "title" not in result


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        (" A  title\n of two lines ", "A title of two lines"),
        ("", ""),
        ("- 12 -", ""),
        ("Untitled", ""),
        ("untitled 1", ""),
        ("Untitled thoughts", "Untitled thoughts"),
        ("Microsoft Word - x.doc", ""),
        ("microsoft word - Thesis", ""),
        ("thesis_final.TEX", ""),
        ("X", ""),
        ("About Node.js", "About Node.js"),
        ("w" * 300, "w" * 197 + "..."),
    ],
)
def test_which_title_is_sensible(title: str, expected: str) -> None:
    assert read(with_parts(PLAIN, title=title), "folder/x.pdf").title == expected


def test_bookmarks_and_links_are_bounded() -> None:
    raw = with_parts(
        PLAIN,
        bookmarks=[(1, f"H{n}") for n in range(510)],
        addresses=[(f"https://a.example/{n}", None) for n in range(510)],
    )

    found = read(raw)

    assert len(found.headings) == pdf_parts.HEADINGS_MOST
    assert len(found.links) == pdf_parts.LINKS_MOST
    assert found.links[-1]["target"] == "https://a.example/499"


def test_the_result_keeps_room_for_the_text_and_the_text_its_size(
    tmp_path: Path,
) -> None:
    # The worst of what can be: each character is three bytes, all limits are reached.
    raw = with_parts(
        make_pdf(["x" * 60_000 + "\n" + "y" * 60_000] * 2 + ["z" * READ_BYTES]),
        bookmarks=[(1, "\u4f5c" * 300) for _ in range(300)],
        addresses=[
            (f"https://a.example/{n}/" + "\u4f5c" * 1500, None) for n in range(40)
        ],
    )
    (tmp_path / "x.pdf").write_bytes(raw)
    total = 2 * 120_001 + READ_BYTES + 2 * len("\n\n")

    result = read_file(Roots([tmp_path]), path="x.pdf")
    sent = fit(result)

    parts = orjson.dumps([result["headings"], result["links"]])
    assert pdf_parts.PART_BYTES < len(parts) < INLINE_RESULT_BYTES // 2
    assert isinstance(sent, dict)
    assert len(orjson.dumps(sent)) <= INLINE_RESULT_BYTES
    assert (sent["truncated"], sent["total_bytes"]) == (True, total)
    assert sent["headings"] == result["headings"]
    assert len(str(sent["text"])) > INLINE_RESULT_BYTES // 2


def broken_outline(kind: bytes) -> bytes:
    raw = with_parts(PLAIN, bookmarks=[(1, "One"), (1, "Two"), (1, "Three")])
    names = [b"/Title (Two)", b"/Title (Three)"]
    assert all(name in raw for name in names)
    return raw.replace(names[0], kind.ljust(len(names[0])))


@pytest.mark.parametrize("kind", [b"/Title 9 9 R", b"/Title [1]", b"/Title <<>>", b""])
def test_a_broken_bookmark_costs_neither_the_text_nor_the_others(kind: bytes) -> None:
    found = read(broken_outline(kind))

    assert found.text.startswith("A page of text.")
    assert [row["text"] for row in found.headings] == ["One", "Three"]


def test_bookmarks_in_a_circle_end() -> None:
    raw = with_parts(PLAIN, bookmarks=[(1, "One"), (1, "Two")])
    # The second one's /Prev becomes its /Next.
    assert raw.count(b"/Prev") == 1

    found = read(raw.replace(b"/Prev", b"/Next"))

    assert [row["text"] for row in found.headings] == ["One", "Two"]


def test_an_outline_that_is_none_is_left_out() -> None:
    raw = with_parts(PLAIN, bookmarks=[(1, "One")])
    assert raw.count(b"/Outlines") >= 1

    for other in (b"/Outlinex", b"/Pages  /"):
        assert read(raw.replace(b"/Outlines", other)).text.startswith("A page")


def test_a_link_that_is_broken_costs_only_itself() -> None:
    raw = with_parts(
        PLAIN, addresses=[(f"https://{n}.example", None) for n in ("a", "b", "c")]
    )
    # pypdf writes the punctuation of a text as octal numbers.
    target = rb"(https\072\057\057b\056example)"
    assert target in raw

    for other in (b"[ 1 ]", b"9 9 R", b"<< >>", b"(", b""):
        found = read(raw.replace(target, other.ljust(len(target))))
        targets = [row["target"] for row in found.links]

        assert found.text.startswith("A page of text.")
        assert targets == ["https://a.example", "https://c.example"]


def test_when_the_time_is_up_what_was_found_is_kept() -> None:
    raw = with_parts(PLAIN, bookmarks=[(1, f"H{n}") for n in range(9)])
    calls = 0

    def monotonic() -> float:
        nonlocal calls
        calls += 1
        return 0.0 if calls < limit else documents.PDF_SECONDS + 1

    limit = 10**9
    pdf_text(BytesIO(raw), "x.pdf", monotonic=monotonic)
    limit, calls = calls - 8, 0

    found = pdf_text(BytesIO(raw), "x.pdf", monotonic=monotonic)

    assert found.text.startswith("A page of text.")
    assert 0 < len(found.headings) < 9
