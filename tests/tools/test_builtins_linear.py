"""Hostile text costs the text tools no more than its length.

Time is not measured: executed lines are counted.  The looks ahead that run in C are
bounded by a constant or remembered, which `test_a_look_ahead_is_remembered` holds.
"""

import sys
from types import FrameType
from typing import Any

import pytest

from vancetope.tools.builtins import BUILTINS
from vancetope.tools.builtins.inline import _Ahead

SIZE = 3000
# Linear work doubles; quadratic work would be four times as much.
MOST = 2.5

HOSTILE: dict[str, str | tuple[str, ...]] = {
    "brackets": "[",
    "closing brackets": "]",
    "wiki links without end": "[[a|",
    "links without end": "[a](",
    "links in open pictures": ("![", "[a](b)"),
    "backticks": "` `` ``` ",
    "one run of backticks": "`",
    "angle brackets": "<a",
    "addresses": "http://a)",
    "brackets after an address": ("http://", ")"),
    "stars": "*",
    "underscores": "_a",
    "full stops": ".",
    "ellipses": "... ",
    "fences": "```\n",
    "tilde fences": "~~~`",
    "hashes": "#",
    "setext headings": "a\n===\n",
    "rules": "- ",
    "table rules": "|-\n",
    "quotes": "> ",
    "items": "1. ",
    "references": "[a]: b\n",
    "uses of references": "[a][b]",
    "comments": "<!--\n-->\n",
    "html headings": "<h1>",
    "small words": "of\n",
    "divided words": "a-\n",
    "han": "学习",
    "han stops": "。",
    "combining marks": "\u0301",
    "spaces": " ",
    "apostrophes": "a'",
    "emails": "a.b@c ",
}


def hostile(kind: str, size: int) -> str:
    units = HOSTILE[kind]
    parts = (units,) if isinstance(units, str) else units
    return "".join(part * (size // (2 * len(parts))) for part in parts)


def lines_executed(tool: str, args: dict[str, str]) -> int:
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    run = BUILTINS[tool].bind({**args})
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("media_type", ["text/markdown", "text/plain"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_an_outline_of_twice_the_text_takes_twice_the_steps(
    kind: str, media_type: str
) -> None:
    # Seen to fail for "links in open pictures" with the brackets that a link makes
    # dead taken out of the stack one by one, at each link.
    steps = [
        lines_executed(
            "outline_document",
            {"text": hostile(kind, size), "media_type": media_type},
        )
        for size in (SIZE, 2 * SIZE)
    ]

    assert steps[1] <= MOST * steps[0] + 200


@pytest.mark.parametrize("tool", ["extract_keywords", "summarize_text"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_words_of_twice_the_text_take_twice_the_steps(kind: str, tool: str) -> None:
    steps = [
        lines_executed(tool, {"text": hostile(kind, size)}) for size in (SIZE, 2 * SIZE)
    ]

    assert steps[1] <= MOST * steps[0] + 200


class CountingText(str):
    """A text that counts how many characters its `find` looked at."""

    __slots__ = ("looked",)

    def __init__(self, text: str) -> None:
        self.looked = 0

    def find(self, needle: str, start: int = 0, *_: Any) -> int:  # type: ignore[override]
        found = super().find(needle, start)
        self.looked += (len(self) if found < 0 else found) - start
        return found


@pytest.mark.parametrize("text", ["[a](" * 500, "[a](" * 500 + ")"])
def test_a_look_ahead_is_remembered(text: str) -> None:
    counting = CountingText(text)
    ahead = _Ahead(counting)

    found = {ahead.find(")", start) for start in range(len(text) - 1)}

    assert found == {len(text) if text[-1] != ")" else len(text) - 1}
    assert counting.looked <= len(text)


@pytest.mark.parametrize("tool", ["extract_keywords", "summarize_text"])
def test_a_quarter_of_a_mebibyte_is_no_trouble(tool: str) -> None:
    text = "".join(f"Word{n % 997} meets word{n % 31} here. " for n in range(9000))

    result = BUILTINS[tool].bind({"text": text})()

    assert result
