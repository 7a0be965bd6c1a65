"""`list_local_files`: what a folder within the client's roots holds."""

import os
from pathlib import Path

from vance_sdk.wire.json import Json, JsonObject
from vancetope.client import documents
from vancetope.client.files import iso
from vancetope.client.globs import Patterns
from vancetope.client.roots import Roots, ToolError
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
    exclude: str | None = None,
) -> JsonObject:
    """List a folder's files, sorted by path, without the one that a write to
    `exclude` would replace.

    Returns `{path, files: [{path, name, bytes, modified, media_type?}], truncated,
    skipped?: [{path, reason}], excluded?: [path]}`; each `path` can be passed to
    `read_file`.

    Raises:
        ToolError: no such folder, outside the roots, or not readable.
    """
    walk = Walk(roots, path, Patterns.parse(pattern), recursive)
    without = _replaced_by(roots, exclude)
    files: list[Json] = []
    excluded: list[Json] = []
    size = 0
    truncated = False
    for found in walk:
        if found.place.path == without:
            excluded.append(found.shown)
            continue
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
    if excluded:
        answer["excluded"] = excluded
    return answer


def _replaced_by(roots: Roots, path: str | None) -> Path | None:
    """The file that writing to `path` would replace; None: none can be written."""
    if path is None:
        return None
    try:
        return roots.resolve_for_write(path).path
    except ToolError:
        return None


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
