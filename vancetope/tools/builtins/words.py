"""Words and sentences in any script."""

import re
import unicodedata

# Marks belong to the letter before them, but `\w` leaves them out: combining accents,
# Hebrew and Arabic vowels, the scripts of India, Thai and Lao.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"
    "\u0900-\u0963\u0971-\u0dff\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ecd"
)
_LETTERS = rf"(?:[^\W_]|[{_MARKS}])+"
_WORD = re.compile(rf"{_LETTERS}(?:['\u2019-]{_LETTERS})*")
# Scripts written without spaces: Han, Hiragana, Katakana.
_CJK = re.compile("[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_CJK_WORD = re.compile(
    "[\u30a0-\u30ff]+|[\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)
_VOWEL_SIGNS = re.compile("[\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]+")

# The lookbehind starts at the first mark of a run only: "....." is looked at once.
_SENTENCE_END = re.compile(
    r"(?<![.!?\u2026\u061f\u0964])[.!?\u2026\u061f\u0964]++"
    r"[\"'\u2019\u201d\u00bb)\]]*+(?=\s|$)"
    r"|[\u3002\uff01\uff1f]++[\"'\u2019\u201d\u300d\u300f\uff09]*+"
)
_LOOK_BACK = 16
_ABBREVIATIONS = frozenset(
    [
        "al",
        "art",
        "bd",
        "bzw",
        "ca",
        "cf",
        "ch",
        "chap",
        "dipl",
        "dr",
        "ed",
        "eds",
        "eg",
        "etc",
        "evtl",
        "fig",
        "figs",
        "geb",
        "gen",
        "gov",
        "hl",
        "hr",
        "hrsg",
        "ie",
        "inc",
        "inkl",
        "jr",
        "kap",
        "lt",
        "ltd",
        "max",
        "min",
        "mio",
        "mme",
        "mr",
        "mrs",
        "mlle",
        "ms",
        "mt",
        "nr",
        "no",
        "op",
        "p",
        "par",
        "phil",
        "pp",
        "prof",
        "resp",
        "rev",
        "s",
        "sec",
        "sen",
        "sr",
        "sra",
        "st",
        "str",
        "tab",
        "ud",
        "usw",
        "v",
        "var",
        "vgl",
        "vol",
        "vs",
        "z",
        "zb",
        "zzgl",
        "abb",
        "abs",
        "approx",
        "aufl",
        "dept",
        "est",
        "ex",
        "ing",
        "inh",
        "inst",
        "jan",
        "feb",
        "mar",
        "apr",
        "jun",
        "jul",
        "aug",
        "sep",
        "sept",
        "oct",
        "nov",
        "dec",
        "dez",
        "okt",
    ]
)


def normalize(text: str) -> str:
    """Compatibility forms unified (full-width letters, ligatures, accents)."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def words(text: str) -> list[str]:
    """The words of a text in order; a run of Han or Kana is one word here."""
    found: list[str] = []
    for word in _WORD.findall(text):
        if max(word) < "\u3005" or not _CJK.search(word):
            found.append(word)
        else:
            found.extend(part for part in _split_cjk(word) if part)
    return found


def cjk_words(run: str) -> list[str]:
    """The pieces of Han or Katakana in a run; Hiragana joins them in Japanese."""
    return _CJK_WORD.findall(run)


def is_cjk(word: str) -> bool:
    """Whether the word is a run of a script written without spaces."""
    return _CJK.match(word) is not None


def fold(word: str) -> str:
    """What two spellings of one word have in common: case, vowel signs, quotes."""
    folded = word.casefold().replace("\u2019", "'").removesuffix("'s")
    return folded if folded.isascii() else _VOWEL_SIGNS.sub("", folded)


def count_words(text: str) -> int:
    """How many words a text has; each Han or Kana character counts as one."""
    return sum(len(word) if is_cjk(word) else 1 for word in words(text))


def split_sentences(text: str) -> list[str]:
    """Cut running text into sentences, spaces folded.

    Abbreviations, initials, and numbers such as `31. Dezember` end none.
    """
    flat = " ".join(text.split())
    found: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(flat):
        if end[0] == "." and _goes_on(flat, end.start()):
            continue
        found.append(flat[start : end.end()])
        start = end.end()
    found.append(flat[start:])
    return [one.strip() for one in found if one.strip()]


def shorten(text: str, most: int) -> str:
    """Cut at a word's end so that `most` characters, dots included, are not passed."""
    if len(text) <= most:
        return text
    head = text[: most - 3]
    if not text[most - 3].isspace():
        at = head.rfind(" ")
        head = head[:at] if at > most // 2 else head
    return head.rstrip(" .,;:-") + "..."


def join_lines(lines: list[str]) -> str:
    """Join the lines of running text; a word divided at a line's end is mended."""
    parts: list[str] = []
    for line in lines:
        divided = (
            parts
            and parts[-1][-1:] in {"-", "\u00ad"}
            and parts[-1][-2:-1].isalpha()
            and line[:1].islower()
        )
        if divided:
            parts[-1] = parts[-1][:-1]
        elif parts:
            parts.append(" ")
        parts.append(line.strip())
    return "".join(parts)


def _split_cjk(word: str) -> list[str]:
    parts: list[str] = []
    at = 0
    for run in _CJK.finditer(word):
        parts += [word[at : run.start()], run[0]]
        at = run.end()
    return [*parts, word[at:]]


def _goes_on(text: str, dot: int) -> bool:
    """Whether the full stop at `dot` ends no sentence."""
    before = text[max(0, dot - _LOOK_BACK) : dot].rpartition(" ")[2].lstrip("(\"'[")
    after = text[dot + 1 : dot + 3].strip()
    if after[:1].islower():
        return True
    if before.isdigit():
        return len(before) <= 2 and after[:1].isalpha()
    bare = before.replace(".", "").lower()
    return (len(before) == 1 and before.isupper()) or bare in _ABBREVIATIONS
