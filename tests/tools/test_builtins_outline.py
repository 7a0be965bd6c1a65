"""`outline_document`: Markdown as people write it, plain text, and the text of PDFs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.model.json import Json, JsonObject, dumps
from vancetope.tools.builtins.blocks import Kind, read_blocks
from vancetope.tools.builtins.inline import Link, find_urls, read_inline
from vancetope.tools.builtins.outline import outline_document

NOTE = """---
title: "The real title"
author: "[[Jane Roe|Jane]]"
# "[[No property]]"
related:
  - "[[Listed]]"
  - "[[note]]"
also: ["[[One]]", "[[Two#Part]]"]
---
![[cover.png]]
![[Embedded note]] ![[clip.MP4#t=3]]
[Home](index.md) | [Index](all.md)

> A quotation stands here.

The *first* paragraph has a [link](https://a.example/x_(y)), a [[Note|wiki link]],
an ![image](pic.png) and `code [no](link)`.

# Top heading #

Setext heading
--------------

```markdown
# not a heading [not](a-link)
```

- item with <https://auto.example>
- [x] done: https://bare.example/path.

### Deep [[Linked]] heading

See [the reference][Ref], a footnote[^1] and https://bare.example/path again.

[ref]: https://ref.example "Title"
[^1]: A note.
"""


def outline(text: str, **args: Json) -> JsonObject:
    return outline_document(text=text, **args)  # type: ignore[arg-type]


def title(text: str, **args: Json) -> Json:
    return outline(text, **args)["title"]


def test_a_note_with_everything_in_it() -> None:
    assert outline(NOTE, name="note.md") == {
        "title": "The real title",
        "first_paragraph": "The first paragraph has a link, a wiki link, an and code "
        "[no](link).",
        "headings": [
            {"level": 1, "text": "Top heading"},
            {"level": 2, "text": "Setext heading"},
            {"level": 3, "text": "Deep Linked heading"},
        ],
        "links": [
            {"text": "Jane", "target": "Jane Roe"},
            {"text": "Listed", "target": "Listed"},
            {"text": "note", "target": "note"},
            {"text": "One", "target": "One"},
            {"text": "Two#Part", "target": "Two#Part"},
            {"text": "Embedded note", "target": "Embedded note"},
            {"text": "Home", "target": "index.md"},
            {"text": "Index", "target": "all.md"},
            {"text": "link", "target": "https://a.example/x_(y)"},
            {"text": "wiki link", "target": "Note"},
            {"text": "https://auto.example", "target": "https://auto.example"},
            {
                "text": "https://bare.example/path",
                "target": "https://bare.example/path",
            },
            {"text": "Linked", "target": "Linked"},
            {"text": "the reference", "target": "https://ref.example"},
        ],
        "words": 50,
    }


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("# A\n\ntext", "b.md", "A"),
        ("intro\n\n# A\n\ntext", "b.md", "A"),
        ("A\n===\n\ntext", "b.md", "A"),
        ('<h1 align="center">A</h1>\n\ntext', "b.md", "A"),
        ("## Section\n\ntext", "folder/My note.md", "My note"),
        ("## Section\n\n# Late\n", "My note.md", "My note"),
        ("## Project\n\ntext", "README.md", "Project"),
        ("## Section\n\ntext", None, "Section"),
        ("One sentence. Another one.", None, "One sentence."),
        ("---\ntags: [a]\n---\n", "My note.md", "My note"),
        ("+++\ntitle = 'Toml'\n+++\ntext", None, "Toml"),
        ("", "作业 1.md", "作业 1"),
        ("", None, ""),
        ("---\n\nA rule: no front matter.\n\n---\n", None, "A rule: no front matter."),
    ],
)
def test_where_a_markdown_title_comes_from(
    text: str, name: str | None, expected: str
) -> None:
    assert title(text, name=name) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# H\n\n- item\n\nText.", "Text."),
        ("![[embed]]\n\n![p](x.png)\n\nText.", "Text."),
        ("Few ![[words beside a long embed]]\n\nText.", "Few"),
        (
            "# H\n\n- one\n- two.\n  [x](y)\n- three\n\n## I\n\n- no",
            "one; two. x; three",
        ),
        ("- [[a]]\n- [ ]\n- [ ] b", "a; b"),
        ("[a](b) | [c](d)\n\nText.", "Text."),
        ("[only](link)", "only"),
        ("> Quote\n> goes on.", "Quote goes on."),
        ("> [!note] Title\n> Body.", "Title Body."),
        ("| a | b |\n|---|---|\n| c | d |\n\nText.", "Text."),
        ("    indented code\n\nText.", "Text."),
        ("<!-- hidden\ncomment -->\nText.", "Text."),
        ("- item\n\n  goes on\n\nText.", "Text."),
        ("line one\nline two\n", "line one line two"),
        ("a<br>b &amp; c", "a b & c"),
        ("# Only a heading", ""),
        ("```\nnever closed\n\nText.", ""),
    ],
)
def test_what_counts_as_the_first_paragraph(text: str, expected: str) -> None:
    assert outline(text)["first_paragraph"] == expected


def test_a_long_paragraph_is_cut_at_a_word() -> None:
    paragraph = outline("lorem ipsum dolor " * 100)["first_paragraph"]

    assert isinstance(paragraph, str)
    assert 380 < len(paragraph) <= 400
    assert paragraph.removesuffix("...").split()[-1] in {"lorem", "ipsum", "dolor"}


def test_headings_and_links_keep_to_their_limits() -> None:
    text = "".join(f"# H{n}\n\n[l{n}](t{n})\n\n" for n in range(100))

    result = outline(text, max_headings=3, max_links=0)

    assert [len(str(result["headings"]).split("text")) - 1, result["links"]] == [3, []]


PDF_PAGES = """12
Introduction to
Graph Theory
Edition 3, December 2016 Jane Roe

Preface
This text was written for a lecture and holds the notes of the first term, with exer-
cises at the end of each part. See https://notes.example/graphs.
"""


def test_the_text_of_a_pdf_gives_a_joined_title_and_mended_words() -> None:
    assert outline(PDF_PAGES, name="x.pdf", media_type="application/pdf") == {
        "title": "Introduction to Graph Theory",
        "first_paragraph": "This text was written for a lecture and holds the notes of "
        "the first term, with exercises at the end of each part. See "
        "https://notes.example/graphs.",
        "headings": [],
        "links": [
            {
                "text": "https://notes.example/graphs",
                "target": "https://notes.example/graphs",
            }
        ],
        "words": 40,
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("This text starts at once with prose. It has no title.", "This text starts"),
        ("\n\n- 3 -\nxiv\n7/12\n......... 4\nShort report", "Short report"),
        ("https://only.example/link\n1\n", "scan"),
        ("Name\n====\n\nText that follows.", "Name"),
    ],
)
def test_a_plain_title_is_the_first_sensible_line(text: str, expected: str) -> None:
    found = title(text, name="scan.txt")

    assert isinstance(found, str)
    assert found.startswith(expected)


def test_plain_text_is_not_read_as_markdown() -> None:
    result = outline("# a comment in a script\n[a](b)", media_type="text/plain")

    assert result["headings"] == []
    assert result["links"] == []


@pytest.mark.parametrize(
    ("text", "plain", "links"),
    [
        ("[a [b](c) d](e)", "[a b d](e)", [Link("b", "c")]),
        ("[![badge](i.svg)](u)", "", [Link("u", "u")]),
        ("[[a|b]] [[c#d]]", "b c#d", [Link("b", "a"), Link("c#d", "c#d")]),
        ("![[a]] ![b](c)", "", [Link("a", "a")]),
        ("![[a.png|300]] ![[b.pdf|300]]", "", [Link("b.pdf", "b.pdf")]),
        ("![[a v1.2]] [[a v1.2]]", "a v1.2", [Link("a v1.2", "a v1.2")] * 2),
        ("{{ 7*7 }}", "{{ 7*7 }}", []),
        ("*.md and *.txt", "*.md and *.txt", []),
        ("a* and b*", "a* and b*", []),
        ("*a* 2*3 ***b** c* **d", "a 2*3 b c **d", []),
        ("**a*", "*a", []),
        ("_private, __init__ and a==b ~~c", "_private, init and a==b ~~c", []),
        ("*a [b* c](d) e*", "a b c e*", [Link("b c", "d")]),
        ("[*a](b) c* ![*](d) e*", "*a c* e*", [Link("*a", "b")]),
        ("\\*a* b*", "*a* b*", []),
        ("[x](<a b> 't') [y](z 't')", "x y", [Link("x", "a b"), Link("y", "z")]),
        ("\\[a](b) C:\\Users", "[a](b) C:\\Users", []),
        ("snake_case 2 * 3 **b** _i_ ~~s~~", "snake_case 2 * 3 b i s", []),
        ("`` a`b `` and `c", "a`b and c", []),
        (
            "[a](http://b) http://b",
            "a http://b",
            [Link("a", "http://b"), Link("http://b", "http://b")],
        ),
        ("(see http://b/c)", "(see http://b/c)", [Link("http://b/c", "http://b/c")]),
        ("[http://b](http://b)", "http://b", [Link("http://b", "http://b")]),
        ("a < b > c <b>d</b>", "a < b > c d", []),
        ("[unclosed ![x", "[unclosed x", []),
        ("[a]\n[b](", "[a] [b](", []),
    ],
)
def test_inline_markup(text: str, plain: str, links: list[Link]) -> None:
    found, found_links = read_inline(text)

    assert found == plain
    assert found_links == links


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a\n\nb", [Kind.PARAGRAPH, Kind.PARAGRAPH]),
        ("a\n- b\n  c\n\n  d\n\ne", [Kind.PARAGRAPH, Kind.ITEM, Kind.PARAGRAPH]),
        ("#tag is a word", [Kind.PARAGRAPH]),
        ("####### seven", [Kind.PARAGRAPH]),
        ("#\n\n***\n- - -\n", []),
        ("~~~\n```\n~~~\na", [Kind.CODE, Kind.PARAGRAPH]),
        ("> ```\n> code\n> ```\na", [Kind.CODE, Kind.PARAGRAPH]),
        ("a | b\n--|--\nc | d", [Kind.TABLE]),
        ("# a\r\n\r\nb\rc", [Kind.HEADING, Kind.PARAGRAPH]),
        ("\ufeff# a", [Kind.HEADING]),
    ],
)
def test_blocks(text: str, kinds: list[Kind]) -> None:
    assert [block.kind for block in read_blocks(text).blocks] == kinds


def test_the_punctuation_around_an_address_is_not_part_of_it() -> None:
    text = "(http://a.b/c_(d)), http://e.f/?q=1. http:// https://g.h/\uff0c"

    assert [link.target for link in find_urls(text)] == [
        "http://a.b/c_(d)",
        "http://e.f/?q=1",
        "https://g.h/",
    ]


@given(st.text(alphabet="a# \n`*_[]()!<>|-=~:\\.h\t学", max_size=120), st.booleans())
def test_any_text_has_an_outline_that_is_json(text: str, plain: bool) -> None:
    result = outline(text, media_type="text/plain" if plain else "text/markdown")

    assert dumps(result)
    assert isinstance(result["title"], str)
    assert len(result["title"]) <= 120
    assert "\n" not in f"{result['title']}{result['first_paragraph']}"
