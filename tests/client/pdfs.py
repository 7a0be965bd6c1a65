"""PDF files made for the tests: a page is its text, or a picture."""

from io import BytesIO

from pypdf import PdfWriter
from pypdf.generic import (
    DecodedStreamObject,
    DictionaryObject,
    NameObject,
    NumberObject,
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
