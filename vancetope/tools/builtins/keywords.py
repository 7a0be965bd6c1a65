"""`extract_keywords`: the terms a text is about, by a TF-IDF of its own sentences."""

import math
from collections import Counter
from collections.abc import Iterator

import attrs

from vancetope.model.json import Json, JsonObject
from vancetope.tools.builtins.blocks import Kind, read_blocks
from vancetope.tools.builtins.inline import read_inline
from vancetope.tools.builtins.stopwords import CJK_STOP, STOPWORDS
from vancetope.tools.builtins.words import (
    cjk_words,
    fold,
    is_cjk,
    join_lines,
    normalize,
    split_sentences,
    words,
)

_HEADING_WEIGHT = 2
_PHRASE_WEIGHT = 1.5
_ONCE = 0.3
_LONGEST_WORD = 40
_CJK_LONGEST = 4


@attrs.define
class _Counts:
    """What is known of the candidates, by folded term."""

    sentences: int = 0
    tf: Counter[str] = attrs.field(factory=Counter)
    df: Counter[str] = attrs.field(factory=Counter)
    whole: set[str] = attrs.field(factory=set)
    seen: Counter[str] = attrs.field(factory=Counter)
    parts: dict[str, tuple[str, str]] = attrs.field(factory=dict)
    spellings: Counter[str] = attrs.field(factory=Counter)


def extract_keywords(*, text: str, count: int = 8) -> JsonObject:
    """The `count` most telling terms: single words and two-word phrases.

    There is no collection of documents to compare with, so the text's sentences (and
    headings, list items) are the collection: tf is a term's occurrences (in a heading
    they count double), df the number of sentences with it out of n, the score
    `tf * log(1 + n / df) * w`.  Stop words stand for everyday language.  The weight
    `w` is lower for short words, which say less, and for words seen once; for a
    phrase it grows with the share of its words' occurrences that are together.
    Han, written without spaces, counts by two characters and, as phrases, by three
    and four; Katakana by words.  Of two terms within each other the better one stays.

    Returns `{keywords: [{term, score}]}`, best first, scores relative to the best.
    """
    counts = _Counts()
    for sentence, weight in _sentences(text):
        _count(counts, sentence, weight)
    _merge_plurals(counts)
    ranked = sorted(
        ((_score(counts, term), term) for term in counts.tf),
        key=lambda pair: (-pair[0], pair[1]),
    )
    chosen: dict[str, float] = {}
    for score, term in ranked:
        if len(chosen) == count or score == 0:
            break
        if not any(_overlap(term, other) for other in chosen):
            chosen[term] = score
    best = max(chosen.values(), default=1.0)
    shown = _spell(counts, chosen)
    keywords: list[Json] = [
        {"term": shown[term], "score": round(score / best, 3)}
        for term, score in chosen.items()
    ]
    return {"keywords": keywords}


def _sentences(text: str) -> Iterator[tuple[list[str], int]]:
    document = read_blocks(normalize(text))
    for block in document.blocks:
        if block.kind is Kind.CODE:
            continue
        joined = join_lines(block.text.splitlines())
        plain, _ = read_inline(joined, document.references, urls=False)
        weight = _HEADING_WEIGHT if block.kind is Kind.HEADING else 1
        for sentence in split_sentences(plain):
            yield words(sentence), weight


def _count(counts: _Counts, sentence: list[str], weight: int) -> None:
    terms: list[str] = []
    before = ("", "")
    for word in sentence:
        if is_cjk(word):
            terms += _pieces(counts, word)
            before = ("", "")
            continue
        key = fold(word)
        if not _telling(word, key):
            before = ("", "")
            continue
        terms.append(key)
        counts.spellings[word] += 1
        if before[0] not in {"", key}:
            phrase = f"{before[0]} {key}"
            terms.append(phrase)
            counts.parts[phrase] = (before[0], key)
            counts.spellings[f"{before[1]} {word}"] += 1
        before = (key, word)
    counts.sentences += 1
    counts.seen.update(terms)
    counts.df.update(set(terms))
    for term in terms:
        counts.tf[term] += weight


def _pieces(counts: _Counts, run: str) -> Iterator[str]:
    for word in cjk_words(run):
        if 1 < len(word) <= _CJK_LONGEST:
            counts.whole.add(word)
        if "\u30a0" <= word[0] <= "\u30ff":
            yield word  # Katakana spells one word, sound by sound
            continue
        for size in range(2, _CJK_LONGEST + 1):
            for start in range(len(word) - size + 1):
                piece = word[start : start + size]
                if CJK_STOP.isdisjoint(piece):
                    if size > 2:
                        counts.parts[piece] = (piece[:2], piece[-2:])
                    yield piece


def _telling(word: str, key: str) -> bool:
    if key in STOPWORDS or not any(map(str.isalpha, key)):
        return False
    short = len(key) < 2 or (len(key) == 2 and key.isascii() and not word.isupper())
    return not short and len(key) <= _LONGEST_WORD


def _merge_plurals(counts: _Counts) -> None:
    for plural in [term for term in counts.tf if term.endswith("s")]:
        singular = plural[:-1]
        if singular in counts.tf:
            for counter in (counts.tf, counts.df, counts.seen):
                counter[singular] += counter.pop(plural)


def _score(counts: _Counts, term: str) -> float:
    df = min(counts.df[term], counts.sentences)
    score = counts.tf[term] * math.log(1 + counts.sentences / df)
    parts = counts.parts.get(term)
    cjk = is_cjk(term)
    if counts.seen[term] == 1:
        # A phrase or piece of Han seen once may be no word at all.
        doubtful = term not in counts.whole if cjk else parts is not None
        return 0.0 if doubtful else score * _ONCE
    if parts is None:
        return score * (1.0 if cjk else min(1.0, 0.4 + 0.1 * len(term)))
    rarer = min(counts.tf[part] or counts.tf[part.removesuffix("s")] for part in parts)
    # A longer run of Han is the word of which the shorter ones are pieces.
    longer = len(term) - 2 if cjk else 1
    return score * _PHRASE_WEIGHT**longer * min(1.0, counts.tf[term] / max(1, rarer))


def _overlap(term: str, other: str) -> bool:
    if is_cjk(term) or is_cjk(other):
        return term in other or other in term
    a, b = set(term.split()), set(other.split())
    return a <= b or b <= a


def _spell(counts: _Counts, chosen: dict[str, float]) -> dict[str, str]:
    """Each term as it is written most often; lower case where that is a tie."""
    best = {term: (0, False, term) for term in chosen}
    for spelled, times in counts.spellings.items():
        key = " ".join(map(fold, spelled.split(" ")))
        term = key if key in best else key.removesuffix("s")
        if term in best:
            best[term] = max(best[term], (times, spelled.islower(), spelled))
    return {term: spelled for term, (_, _, spelled) in best.items()}
