"""`extract_keywords`: the right terms in front, in any script, whatever the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.tools.builtins.keywords import extract_keywords
from vancetope.tools.builtins.words import count_words, fold, words

BEES = """# Keeping bees

Bees need flowers from spring to autumn. A bee colony without flowers starves.
In winter a bee colony lives on the honey of the summer.
[Buy honey](https://shop.example/honey) only from people you know.

```python
varroa = varroa + varroa + varroa
```

![A swarm of drones](swarm-swarm-swarm.png) See https://swarm.example/swarm/swarm too.
"""


def terms(text: str, count: int = 8) -> list[str]:
    keywords = extract_keywords(text=text, count=count)["keywords"]
    assert isinstance(keywords, list)
    return [str(row["term"]) for row in keywords if isinstance(row, dict)]


def test_what_the_text_repeats_comes_first_and_phrases_stay_together() -> None:
    assert terms(BEES, 3) == ["bee colony", "flowers", "honey"]


def test_code_pictures_and_addresses_are_not_what_a_text_is_about() -> None:
    found = " ".join(terms(BEES, 100)).lower()

    for unwanted in ("varroa", "swarm", "drones", "https", "python", "shop"):
        assert unwanted not in found


def test_scores_fall_from_one() -> None:
    keywords = extract_keywords(text=BEES)["keywords"]
    assert isinstance(keywords, list)
    scores = [row["score"] for row in keywords if isinstance(row, dict)]

    assert scores[0] == 1.0
    assert scores == sorted(scores, key=lambda s: -float(str(s)))
    assert all(0 < float(str(score)) <= 1 for score in scores)


@pytest.mark.parametrize(
    "text", ["", " \n ", "the of and", "...", "```\ncode\n```", "7"]
)
def test_a_text_without_words_has_no_keywords(text: str) -> None:
    assert extract_keywords(text=text) == {"keywords": []}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Der Raum ist offen. Ein Raum heißt kompakt. Die Abbildung ist stetig.",
            "Raum",
        ),
        (
            "Les étoiles naissent ici. Les étoiles très massives meurent vite.",
            "étoiles",
        ),
        (
            "El río crece en primavera. Desde el río se ve la montaña también.",
            "río",
        ),
        ("作业一:完成作业。学生的作业很多。老师检查作业。", "作业"),
        ("機械学習は面白い。機械学習の本を読む。機械学習が好きだ。", "機械学習"),
        ("الكتاب في البيت. قرأت الكتاب كله. هذا الكِتاب جديد.", "الكتاب"),
        ("हिन्दी भाषा सरल है। हिन्दी सीखना अच्छा है।", "हिन्दी"),
    ],
)
def test_the_term_a_text_is_about_is_found_in_any_script(
    text: str, expected: str
) -> None:
    assert terms(text, 1) == [expected]


def test_a_piece_of_a_longer_han_word_does_not_stand_beside_it() -> None:
    text = "神经网络是基础。神经网络很大。神经网络学习。"

    found = terms(text)

    assert found[0] == "神经网络"
    assert not {"神经", "经网", "网络", "神经网", "经网络"} & set(found)


def test_singular_and_plural_are_one_term() -> None:
    text = "A note is short. Notes link to notes. The note about trees. Trees grow."

    assert min(terms(text, 2), key=str.lower).lower() in {"note", "notes"}
    assert len({term.lower().rstrip("s") for term in terms(text)}) == len(terms(text))


def test_full_width_letters_and_accents_count_as_the_letters_they_are() -> None:
    decomposed = "cafe\u0301 Cafe\u0301 caf\u00e9"

    assert terms(decomposed) == ["café"]
    assert terms("\uff30\uff39\uff34\uff28\uff2f\uff2e python") == ["python"]


@given(st.text(max_size=400), st.integers(min_value=1, max_value=20))
def test_any_text_gives_at_most_count_terms_and_always_the_same(
    text: str, count: int
) -> None:
    first = extract_keywords(text=text, count=count)

    assert first == extract_keywords(text=text, count=count)
    found = terms(text, count)
    assert len(found) == len(set(found)) <= count


@given(st.text(alphabet="ab' -_\u0301学あー", max_size=60))
def test_words_lose_no_letter(text: str) -> None:
    # Seen to fail with `_split_cjk` dropping what stands before a run.
    kept = "".join(words(text))

    assert [c for c in text if c.isalnum()] == [c for c in kept if c.isalnum()]
    assert count_words(text) >= len(words(text))


def test_folding_joins_case_possessives_and_arabic_vowels() -> None:
    assert fold("Brain\u2019s") == fold("brain's") == fold("BRAIN") == "brain"
    assert fold("كِتَاب") == fold("كتاب")
