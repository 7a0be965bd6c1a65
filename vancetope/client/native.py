"""The registry of the client's native tools: names, schemas, effects, functions."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import attrs

from vancetope.client import files, listing, search
from vancetope.client.roots import Json, JsonObject, RootError, Roots, ToolError

__all__ = [
    "Json",
    "NativeTool",
    "RootError",
    "Roots",
    "ToolError",
    "native_tools",
]

NativeEffect = Literal["read", "idempotent"]

_TYPES: dict[str, tuple[type, str]] = {
    "string": (str, "a text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
}
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
        properties: dict[str, Any] = self.input_schema["properties"]  # type: ignore[assignment]
        required: list[str] = self.input_schema["required"]  # type: ignore[assignment]
        unknown = sorted(set(args) - set(properties))
        missing = [name for name in required if name not in args]
        if unknown or missing:
            what = "unknown" if unknown else "missing"
            names = ", ".join(unknown or missing)
            msg = f"{self.name}: {what} argument {names}; takes {', '.join(properties)}"
            raise ToolError("failed", msg)
        # null means "not given" to most who fill in arguments.
        given = {k: v for k, v in args.items() if v is not None or k in required}
        for name, value in given.items():
            complaint = _complaint(properties[name], value)
            if complaint:
                raise ToolError("failed", f"{self.name}: {name} must be {complaint}")
        return self.function(**given)


def native_tools(roots: Roots) -> dict[str, NativeTool]:
    """The file tools bound to `roots`, by name."""
    tools = [
        NativeTool(
            name="list_local_files",
            description="Lists the files of a local folder",
            effect="read",
            input_schema=_schema(
                ["path"],
                path=_PATH,
                pattern=_PATTERN,
                recursive={"type": "boolean", "default": False},
                limit=_number(1, listing.LIST_LIMIT_MOST, listing.LIST_LIMIT),
            ),
            function=partial(listing.list_files, roots),
        ),
        NativeTool(
            name="read_local_file",
            description="Reads a local text, Markdown or PDF file",
            effect="read",
            input_schema=_schema(
                ["path"],
                path=_PATH,
                max_bytes=_number(1, files.READ_BYTES_MOST, files.READ_BYTES),
            ),
            function=partial(files.read_file, roots),
        ),
        NativeTool(
            name="write_local_file",
            description="Writes a local text file, replacing what was there",
            effect="idempotent",
            input_schema=_schema(
                ["path", "content"], path=_PATH, content={"type": "string"}
            ),
            function=partial(files.write_file, roots),
        ),
        NativeTool(
            name="search_local_files",
            description="Finds lines that contain a text in local text files",
            effect="read",
            input_schema=_schema(
                ["query"],
                query={"type": "string"},
                path={**_PATH, "default": "."},
                pattern=_PATTERN,
                limit=_number(1, search.SEARCH_LIMIT_MOST, search.SEARCH_LIMIT),
                context=_number(0, search.CONTEXT_MOST, 0),
            ),
            function=partial(search.search_files, roots),
        ),
    ]
    return {tool.name: tool for tool in tools}


def _schema(required: list[str], **properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _number(least: int, most: int, default: int) -> JsonObject:
    return {
        "type": "integer",
        "minimum": least,
        "maximum": most,
        "default": default,
    }


def _complaint(schema: dict[str, Any], value: Json) -> str | None:
    """What the value should have been, None when it fits."""
    kind, words = _TYPES[schema["type"]]
    if type(value) is not kind:
        return f"{words} (got {value!r:.60})"
    least, most = schema.get("minimum"), schema.get("maximum")
    if (
        isinstance(value, int)
        and least is not None
        and most is not None
        and not least <= value <= most
    ):
        return f"from {least} to {most} (got {value})"
    return None
