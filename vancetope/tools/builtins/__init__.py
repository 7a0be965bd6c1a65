"""The Brain's own tools: no model, no state, nothing outside but the clock."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

import attrs

from vance_sdk.wire.arguments import (
    BadArguments,
    checked,
    object_schema,
    whole_number,
)
from vancetope.clock import Clock, SystemClock
from vancetope.errors import ToolFailed
from vancetope.model.json import Json, JsonObject
from vancetope.tools.builtins.keywords import extract_keywords
from vancetope.tools.builtins.now import now
from vancetope.tools.builtins.outline import outline_document
from vancetope.tools.builtins.summary import summarize_text

__all__ = ["BUILTINS", "BuiltIn", "built_ins"]

Run: TypeAlias = "Callable[..., Json | Awaitable[Json]]"


@attrs.frozen(kw_only=True)
class BuiltIn:
    """A tool the Brain runs itself: a function over keyword arguments.

    `input_schema` is JSON Schema; `cpu` says that the function computes long enough
    to need a thread.
    """

    name: str
    description: str
    input_schema: JsonObject
    run: Run
    cpu: bool = False

    def bind(self, args: JsonObject) -> "Callable[[], Json | Awaitable[Json]]":
        """The call with checked arguments, to be made here or in a thread.

        Raises:
            ToolFailed: the arguments do not fit the schema.
        """
        try:
            return partial(self.run, **checked(self.input_schema, args))
        except BadArguments as error:
            raise ToolFailed(f"{self.name}: {error}") from None


def built_ins(clock: Clock) -> dict[str, BuiltIn]:
    """All built-in tools by name, reading the time from `clock`."""
    text: JsonObject = {"type": "string"}
    tools = [
        BuiltIn(
            name="now",
            description="The current date and time in a time zone",
            input_schema=object_schema(
                [],
                zone={
                    "type": "string",
                    "description": "IANA name such as Europe/Berlin; default UTC",
                },
            ),
            run=partial(now, clock),
        ),
        BuiltIn(
            name="extract_keywords",
            description="The words and phrases a text is about, best first",
            input_schema=object_schema(
                ["text"], text=text, count=whole_number(1, 100, 8)
            ),
            run=extract_keywords,
            cpu=True,
        ),
        BuiltIn(
            name="summarize_text",
            description="The most telling sentences of a text, in its order",
            input_schema=object_schema(
                ["text"], text=text, sentences=whole_number(1, 50, 3)
            ),
            run=summarize_text,
            cpu=True,
        ),
        BuiltIn(
            name="outline_document",
            description="A document's title, first paragraph, headings and links",
            input_schema=object_schema(
                ["text"],
                text=text,
                name={"type": "string", "description": "The file's name"},
                media_type={"type": "string"},
                max_headings=whole_number(0, 1000, 50),
                max_links=whole_number(0, 1000, 50),
            ),
            run=outline_document,
            cpu=True,
        ),
    ]
    return {tool.name: tool for tool in tools}


BUILTINS = built_ins(SystemClock())
