"""PDF files made for the tests: a page is its text, or a picture."""

from io import BytesIO

from pypdf import PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    IndirectObject,
    NameObject,
    NumberObject,
    TextStringObject,
)


def make_pdf(
    pages: list[str], *, pictures: bool = False, password: str | None = None
) -> bytes:
    """A PDF of these texts; `pictures` puts a picture on each page as scanners do."""
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(width=612, height=792)
        lines = " T* ".join(f"({line}) Tj" for line in text.split("\n"))
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 14 TL 72 720 Td {lines} ET".encode("latin-1"))
        page[NameObject("/Contents")] = writer._add_object(stream)
        resources = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        if pictures:
            drawn = DictionaryObject({NameObject("/Im0"): _picture(writer)})
            resources[NameObject("/XObject")] = drawn
        page[NameObject("/Resources")] = resources
    if password is not None:
        writer.encrypt(password, algorithm="RC4-128")
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def with_parts(
    raw: bytes,
    *,
    title: str | None = None,
    bookmarks: list[tuple[int, str]] | None = None,
    addresses: list[tuple[str, str | None]] | None = None,
) -> bytes:
    """The PDF with a title, bookmarks (level, text) and addresses (target, text).

    The addresses are on the first page.
    """
    writer = PdfWriter(clone_from=PdfReader(BytesIO(raw)))
    if title is not None:
        writer.add_metadata({"/Title": title})
    above: list[IndirectObject] = []
    for level, text in bookmarks or []:
        parent = above[level - 2] if level > 1 else None
        above[level - 1 :] = [
            writer.add_outline_item(title=text, page_number=0, parent=parent)
        ]
    for target, words in addresses or []:
        writer.pages[0].setdefault(NameObject("/Annots"), ArrayObject()).append(
            writer._add_object(_address(target, words))
        )
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def _address(target: str, text: str | None) -> DictionaryObject:
    annotation = DictionaryObject(
        {
            NameObject("/Subtype"): NameObject("/Link"),
            NameObject("/A"): DictionaryObject(
                {
                    NameObject("/S"): NameObject("/URI"),
                    NameObject("/URI"): TextStringObject(target),
                }
            ),
        }
    )
    if text is not None:
        annotation[NameObject("/Contents")] = TextStringObject(text)
    return annotation


def _picture(writer: PdfWriter) -> DecodedStreamObject:
    picture = DecodedStreamObject()
    picture.set_data(b"\xff")
    picture.update(
        {
            NameObject("/Type"): NameObject("/XObject"),
            NameObject("/Subtype"): NameObject("/Image"),
            NameObject("/Width"): NumberObject(1),
            NameObject("/Height"): NumberObject(1),
            NameObject("/ColorSpace"): NameObject("/DeviceGray"),
            NameObject("/BitsPerComponent"): NumberObject(8),
        }
    )
    return picture
