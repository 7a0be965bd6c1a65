"""`summarize_text` and the sentences it chooses from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.tools.builtins.summary import summarize_text
from vancetope.tools.builtins.words import join_lines, shorten, split_sentences

TEXT = """---
title: not a sentence. Not at all.
---
# Why the queue is a table

A durable queue survives a crash of the program. Unrelated weather was nice that day.
The durable queue is a table, and each row of the queue is a call.

- first point of a list
- second point of a list

```
queue queue queue. durable durable.
```

When the program starts again, the queue table says which calls are left. Fine.
"""


def picked(text: str, count: int = 3) -> list[str]:
    result = summarize_text(text=text, sentences=count)["sentences"]
    assert isinstance(result, list)
    return [str(one) for one in result]


def test_central_sentences_come_in_the_texts_order() -> None:
    assert summarize_text(text=TEXT, sentences=3) == {
        "summary": "A durable queue survives a crash of the program. "
        "The durable queue is a table, and each row of the queue is a call. "
        "When the program starts again, the queue table says which calls are left.",
        "sentences": [
            "A durable queue survives a crash of the program.",
            "The durable queue is a table, and each row of the queue is a call.",
            "When the program starts again, the queue table says which calls are left.",
        ],
    }


def test_front_matter_headings_lists_and_code_are_not_summarized() -> None:
    text = " ".join(picked(TEXT, 50))

    for unwanted in ("not a sentence", "Why the", "point of", "queue queue"):
        assert unwanted not in text


def test_a_text_that_is_mostly_a_list_is_summarized_from_the_list() -> None:
    items = "\n".join(f"- Rule {n} about gardens says water them." for n in range(9))

    assert any("Rule" in one for one in picked(f"Hello there all.\n\n{items}", 3))


@pytest.mark.parametrize("text", ["", "\n\n", "```\ncode\n```", "...", "!?"])
def test_nothing_to_say_is_an_empty_summary(text: str) -> None:
    assert summarize_text(text=text) == {"summary": "", "sentences": []}


def test_a_text_of_headings_alone_is_summarized_from_them() -> None:
    assert picked("# Growing onions\n\n## In pots\n") == ["Growing onions", "In pots"]


def test_a_repeated_sentence_is_chosen_once() -> None:
    assert len(picked("The red barn burned down. " * 20)) == 1


def test_chinese_sentences_are_joined_without_spaces() -> None:
    text = "神经网络由许多层组成。天气很好。训练网络需要数据。"

    result = summarize_text(text=text, sentences=3)

    assert result["summary"] == text
    assert result["sentences"] == [
        "神经网络由许多层组成。",
        "天气很好。",
        "训练网络需要数据。",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith came. He left.", ["Dr. Smith came.", "He left."]),
        ("See e.g. the manual. Done.", ["See e.g. the manual.", "Done."]),
        ("Das gilt z. B. hier. Am 31. Dezember nicht.", None),
        ("J. S. Bach wrote it. It sounds.", ["J. S. Bach wrote it.", "It sounds."]),
        ("It cost 3.50 euros. Cheap!", ["It cost 3.50 euros.", "Cheap!"]),
        ('He said "no." Then he went.', ['He said "no."', "Then he went."]),
        ("Really?! Yes... Maybe", ["Really?!", "Yes...", "Maybe"]),
        ("你好。再见!真的?", ["你好。", "再见!真的?"]),
        ("「はい。」と言った。終わり。", ["「はい。」", "と言った。", "終わり。"]),
        ("ما اسمك؟ اسمي علي.", ["ما اسمك؟", "اسمي علي."]),
        ("Written in 1999. The end.", ["Written in 1999.", "The end."]),
    ],
)
def test_where_sentences_end(text: str, expected: list[str] | None) -> None:
    whole = ["Das gilt z. B. hier.", "Am 31. Dezember nicht."]

    assert split_sentences(text) == (expected or whole)


@given(st.text(max_size=300))
def test_sentences_hold_every_character_but_space(text: str) -> None:
    joined = "".join("".join(split_sentences(text)).split())

    assert joined == "".join(text.split())


def test_a_word_divided_at_a_lines_end_is_mended() -> None:
    assert join_lines(["adip-", "iscing elit"]) == "adipiscing elit"
    assert join_lines(["Schwarz-", "Weiß"]) == "Schwarz- Weiß"
    assert join_lines(["a -", "b"]) == "a - b"


@given(st.text(alphabet="ab ,.", max_size=80), st.integers(min_value=10, max_value=40))
def test_a_shortened_text_keeps_to_its_length(text: str, most: int) -> None:
    assert len(shorten(text, most)) <= most
    assert shorten(text, most) == text or shorten(text, most).endswith("...")


def test_one_endless_sentence_is_cut_short() -> None:
    assert len(picked("garden " * 1000)[0]) <= 500
