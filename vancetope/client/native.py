"""The registry of the client's native tools: names, schemas, effects, functions."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import attrs

from vance_sdk.wire.arguments import (
    BadArguments,
    checked,
    object_schema,
    whole_number,
)
from vance_sdk.wire.json import Json, JsonObject
from vancetope.client import files, listing, search
from vancetope.client.roots import RootError, Roots, ToolError

__all__ = [
    "NativeTool",
    "RootError",
    "Roots",
    "ToolError",
    "native_tools",
]

NativeEffect = Literal["read", "idempotent"]

_PATH: JsonObject = {"type": "string", "description": "File or folder, ~ expands"}
_PATTERN: JsonObject = {
    "type": "string",
    "description": "One glob or several, separated by commas: *.md,*.pdf",
}


@attrs.frozen(kw_only=True)
class NativeTool:
    """A tool the client itself runs.

    `input_schema` is JSON Schema (types, `required`, `minimum`, `maximum`; no
    additional properties); `effect` is PROTOCOL section 3's class.
    """

    name: str
    description: str
    input_schema: JsonObject
    effect: NativeEffect
    function: Callable[..., JsonObject]

    def run(self, args: JsonObject) -> Json:
        """Check the arguments and do the work; blocks, so call it in a thread.

        Raises:
            ToolError: arguments that do not fit the schema, or the tool's own.
        """
        try:
            given = checked(self.input_schema, args)
        except BadArguments as error:
            raise ToolError("failed", f"{self.name}: {error}") from None
        return self.function(**given)


def native_tools(roots: Roots) -> dict[str, NativeTool]:
    """The file tools bound to `roots`, by name."""
    tools = [
        NativeTool(
            name="list_local_files",
            description="Lists the files of a local folder",
            effect="read",
            input_schema=object_schema(
                ["path"],
                path=_PATH,
                pattern=_PATTERN,
                recursive={"type": "boolean", "default": False},
                limit=whole_number(1, listing.LIST_LIMIT_MOST, listing.LIST_LIMIT),
                exclude={
                    "type": "string",
                    "description": "A file not to list: one about to be written",
                },
            ),
            function=partial(listing.list_files, roots),
        ),
        NativeTool(
            name="read_local_file",
            description="Reads a local text, Markdown or PDF file",
            effect="read",
            input_schema=object_schema(
                ["path"],
                path=_PATH,
                max_bytes=whole_number(1, files.READ_BYTES_MOST, files.READ_BYTES),
            ),
            function=partial(files.read_file, roots),
        ),
        NativeTool(
            name="write_local_file",
            description="Writes a local text file, replacing what was there",
            effect="idempotent",
            input_schema=object_schema(
                ["path", "content"], path=_PATH, content={"type": "string"}
            ),
            function=partial(files.write_file, roots),
        ),
        NativeTool(
            name="search_local_files",
            description="Finds lines that contain a text in local text files",
            effect="read",
            input_schema=object_schema(
                ["query"],
                query={"type": "string"},
                path={**_PATH, "default": "."},
                pattern=_PATTERN,
                limit=whole_number(1, search.SEARCH_LIMIT_MOST, search.SEARCH_LIMIT),
                context=whole_number(0, search.CONTEXT_MOST, 0),
            ),
            function=partial(search.search_files, roots),
        ),
    ]
    return {tool.name: tool for tool in tools}
