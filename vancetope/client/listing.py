"""`list_local_files`: what a folder within the client's roots holds."""

import os

from vance_sdk.wire.json import Json, JsonObject
from vancetope.client import documents
from vancetope.client.files import iso
from vancetope.client.globs import Patterns
from vancetope.client.roots import Roots
from vancetope.client.walk import ANSWER_BYTES, Found, Walk

LIST_LIMIT = 2000
LIST_LIMIT_MOST = 20_000
_ENTRY_OVERHEAD = 140


def list_files(
    roots: Roots,
    *,
    path: str,
    pattern: str | None = None,
    recursive: bool = False,
    limit: int = LIST_LIMIT,
) -> JsonObject:
    """List a folder's files, sorted by path.

    Returns `{path, files: [{path, name, bytes, modified, media_type?}], truncated,
    skipped?: [{path, reason}]}`; each `path` can be passed to `read_file`.

    Raises:
        ToolError: no such folder, outside the roots, or not readable.
    """
    walk = Walk(roots, path, Patterns.parse(pattern), recursive)
    files: list[Json] = []
    size = 0
    truncated = False
    for found in walk:
        size += 2 * len(os.fsencode(found.shown)) + _ENTRY_OVERHEAD
        if len(files) >= limit or size > ANSWER_BYTES:
            truncated = True
            break
        files.append(_row(found))
    answer: JsonObject = {
        "path": path,
        "files": files,
        "truncated": truncated or not walk.complete,
    }
    if walk.skipped:
        answer["skipped"] = walk.skipped
    return answer


def _row(found: Found) -> JsonObject:
    row: JsonObject = {
        "path": found.shown,
        "name": found.parts[-1],
        "bytes": found.stat.st_size,
        "modified": iso(found.stat.st_mtime),
    }
    kind = documents.media_type(found.parts[-1])
    if kind is not None:
        row["media_type"] = kind
    return row
