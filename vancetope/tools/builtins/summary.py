"""`summarize_text`: the sentences that say most of what a text says."""

import math
from collections import Counter
from collections.abc import Iterator

import attrs

from vancetope.model.json import Json, JsonObject
from vancetope.tools.builtins.blocks import Document, Kind, read_blocks
from vancetope.tools.builtins.inline import read_inline
from vancetope.tools.builtins.stopwords import STOPWORDS
from vancetope.tools.builtins.words import (
    fold,
    is_cjk,
    join_lines,
    normalize,
    shorten,
    split_sentences,
    words,
)

_PROSE = frozenset({Kind.PARAGRAPH, Kind.QUOTE})
_LISTS = frozenset({Kind.ITEM, Kind.INDENTED})
_LISTS_FROM = 3  # lists that hold most of the text are read like prose
_LEAD = 1.25  # texts say early what they are about
_SHORT = 6
_LONG = 40
_DAMPING = 4
_READABLE = 3
_REPEATED = 0.6
_SENTENCE_CHARACTERS = 500


@attrs.frozen
class _Sentence:
    kind: Kind
    index: int
    text: str
    terms: frozenset[str]
    length: int


def summarize_text(*, text: str, sentences: int = 3) -> JsonObject:
    """Pick the `sentences` most central sentences, in the text's order.

    A sentence is worth the average weight of its terms (how many sentences have
    them, damped), more at the text's beginning, less if very short or long or full of
    signs.  One that repeats most of the terms of a chosen one is passed over.  Lists
    count where they hold most of the text, headings and tables where nothing else is.

    Returns `{summary, sentences: [...]}`, the summary being the sentences joined.
    """
    candidates = _candidates(text)
    weights = Counter(term for one in candidates for term in one.terms)
    lead = candidates[len(candidates) // 10].index if candidates else 0
    ranked = sorted(
        candidates, key=lambda one: (-_worth(one, weights, lead), one.index)
    )
    chosen: list[_Sentence] = []
    for one in ranked:
        if len(chosen) == sentences:
            break
        if not any(_repeats(one, other) for other in chosen):
            chosen.append(one)
    chosen.sort(key=lambda one: one.index)
    found: list[Json] = [one.text for one in chosen]
    return {"summary": _join([one.text for one in chosen]), "sentences": found}


def _candidates(text: str) -> list[_Sentence]:
    found = list(_sentences(read_blocks(normalize(text))))
    prose = [one for one in found if one.kind in _PROSE]
    both = [one for one in found if one.kind in _PROSE or one.kind in _LISTS]
    if prose and len(prose) * _LISTS_FROM >= len(both):
        return prose
    return both or found


def _sentences(document: Document) -> Iterator[_Sentence]:
    index = 0
    for block in document.blocks:
        if block.kind is Kind.CODE:
            continue
        joined = join_lines(block.text.splitlines())
        plain, _ = read_inline(joined, document.references)
        for sentence in split_sentences(plain):
            terms = _terms(sentence)
            telling = frozenset(term for term in terms if term not in STOPWORDS)
            if telling:
                shown = shorten(sentence, _SENTENCE_CHARACTERS)
                yield _Sentence(block.kind, index, shown, telling, len(terms))
                index += 1


def _terms(sentence: str) -> list[str]:
    terms: list[str] = []
    for word in words(sentence):
        if is_cjk(word):
            terms += [word[i : i + 2] for i in range(max(1, len(word) - 1))]
        else:
            terms.append(fold(word))
    return terms


def _worth(one: _Sentence, weights: Counter[str], lead: int) -> float:
    # Damped: one frequent word alone makes no sentence central.
    total = sum(math.log1p(weights[term]) for term in sorted(one.terms))
    worth = total / (len(one.terms) + _DAMPING)
    # Formulas and tables leave few letters behind.
    readable = sum(c.isalpha() or c.isspace() for c in one.text) / len(one.text)
    worth *= readable**_READABLE
    if one.length < _SHORT:
        worth *= one.length / _SHORT
    elif one.length > _LONG:
        worth *= _LONG / one.length
    return worth * (_LEAD if one.index <= lead else 1.0)


def _repeats(one: _Sentence, other: _Sentence) -> bool:
    shared = len(one.terms & other.terms)
    return shared > _REPEATED * min(len(one.terms), len(other.terms))


def _join(found: list[str]) -> str:
    parts: list[str] = []
    for sentence in found:
        # Chinese and Japanese put no space between sentences.
        apart = parts and parts[-1][-1] not in "\u3002\uff01\uff1f\u300d\u300f"
        parts.append(f" {sentence}" if apart else sentence)
    return "".join(parts)
