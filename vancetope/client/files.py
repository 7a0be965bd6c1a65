"""Read and write one file within the client's roots.

Synchronous: the client runs these in threads.
"""

import hashlib
import os
import secrets
import stat
from datetime import UTC, datetime

from vance_sdk.wire.json import JsonObject
from vancetope.client import documents
from vancetope.client.roots import (
    Place,
    Roots,
    ToolError,
    open_file,
    open_parent,
)

READ_BYTES = 256 * 1024
READ_BYTES_MOST = 8 * 1024 * 1024
_CHUNK = 1024 * 1024


def read_file(roots: Roots, *, path: str, max_bytes: int = READ_BYTES) -> JsonObject:
    """Read a text or PDF file.

    Returns `{path, name, media_type, text, bytes, modified, encoding?}` and of a PDF
    `{pages, headings: [{level, text}], links: [{text, target}], title?}`: `bytes` is
    the file's size, `encoding` is there when it is not UTF-8; headings are a PDF's
    bookmarks, links its annotations with an address.  Text longer than `max_bytes` of UTF-8 is cut before a character:
    `truncated: true` and `total_bytes`, the size of all the text (of a PDF: of the
    text extracted; of a text file: of the file).

    Raises:
        ToolError: no such file, outside the roots, binary, or a PDF without text.
    """
    place = roots.resolve_existing(path)
    with open_file(place) as fd:
        found = os.fstat(fd)
        head = read_up_to(fd, documents.SNIFF_BYTES)
        body = (
            _pdf(fd, path, max_bytes)
            if documents.looks_like_pdf(place.name, head) and head
            else _text(fd, head, place, found.st_size, max_bytes)
        )
    return {
        "path": path,
        "name": place.name,
        "bytes": found.st_size,
        "modified": iso(found.st_mtime),
        **body,
    }


def write_file(roots: Roots, *, path: str, content: str) -> JsonObject:
    """Write a text file as UTF-8, replacing what was there in one step.

    Missing folders are made.  The content goes to a temporary file beside the target
    and reaches the disk before it takes the target's name, so a crash leaves the old
    content or the new, never half of it.  An existing file keeps its mode.

    Returns `{path, bytes, sha256}`.

    Raises:
        ToolError: outside the roots, a folder, or the disk refuses.
    """
    try:
        data = content.encode()
    except UnicodeEncodeError as error:
        raise ToolError("failed", f"content is not valid text: {error}") from None
    if path.endswith(("/", "/.", "/..")):
        raise ToolError("failed", f"{path}: names a folder, not a file")
    place = roots.resolve_for_write(path)
    with open_parent(place, make=True) as (folder, name):
        mode = _mode_to_keep(folder, name, place)
        try:
            _replace(folder, name, data, mode)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise ToolError("failed", f"{path}: cannot be written: {why}") from error
    digest = hashlib.sha256(data).hexdigest()
    return {"path": path, "bytes": len(data), "sha256": digest}


def read_up_to(fd: int, size: int) -> bytes:
    """Read `size` bytes, fewer only at the end of the file."""
    parts: list[bytes] = []
    missing = size
    while missing > 0 and (part := os.read(fd, min(missing, _CHUNK))):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def iso(seconds: float) -> str:
    """An instant of the file system as `2026-04-23T10:00:00Z`."""
    try:
        instant = datetime.fromtimestamp(int(seconds), UTC)
    except (OverflowError, ValueError, OSError):
        instant = datetime.fromtimestamp(0, UTC)
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")


def _pdf(fd: int, path: str, max_bytes: int) -> JsonObject:
    with os.fdopen(os.dup(fd), "rb") as file:
        pdf = documents.pdf_text(file, path)
    text, total = _cut(pdf.text, max_bytes)
    body: JsonObject = {
        "media_type": "application/pdf",
        "text": text,
        "pages": pdf.pages,
        "headings": [*pdf.headings],
        "links": [*pdf.links],
    }
    if pdf.title:
        body["title"] = pdf.title
    if pdf.cut or total > max_bytes:
        body |= {"truncated": True, "total_bytes": total}
    return body


def _text(fd: int, head: bytes, place: Place, size: int, max_bytes: int) -> JsonObject:
    kind = documents.binary_kind(place.name, head)
    if kind is not None:
        msg = (
            f"{place.given}: binary file ({kind}, {size} bytes); "
            "only text and PDF can be read"
        )
        raise ToolError("failed", msg)
    # Twice the cap: ASCII in UTF-16 shrinks to half when it becomes UTF-8.
    raw = head + read_up_to(fd, 2 * max_bytes + 4 - len(head))
    whole = len(raw) >= size
    decoded = documents.decode(raw, cut=not whole)
    text, total = _cut(decoded.text, max_bytes)
    body: JsonObject = {
        "media_type": documents.media_type(place.name) or "text/plain",
        "text": text,
    }
    if decoded.encoding != "utf-8":
        body["encoding"] = decoded.encoding
    if not whole or total > max_bytes:
        body |= {"truncated": True, "total_bytes": total if whole else size}
    return body


def _cut(text: str, max_bytes: int) -> tuple[str, int]:
    data = text.encode()
    if len(data) <= max_bytes:
        return text, len(data)
    return data[:max_bytes].decode("utf-8", "ignore"), len(data)


def _mode_to_keep(folder: int, name: str, place: Place) -> int | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ToolError("failed", f"{place.given}: {why}") from error
    if not stat.S_ISREG(found.st_mode):
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file"
        raise ToolError("failed", f"{place.given}: is {what}; nothing was written")
    return stat.S_IMODE(found.st_mode)


def _replace(folder: int, name: str, data: bytes, mode: int | None) -> None:
    temporary = f".{secrets.token_hex(8)}.vancetope-tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o666 if mode is None else mode, dir_fd=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(temporary, dir_fd=folder)
        raise
    os.fsync(folder)
