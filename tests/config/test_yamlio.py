"""The strict YAML subset, and where its values stand."""

import contextlib
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from vancetope.config.yamlio import MAX_BYTES, Document, load_yaml, read_yaml, written
from vancetope.errors import ConfigError
from vancetope.model.json import Json, dumps


def load(text: str) -> Document:
    return load_yaml(text, file="f.yaml")


def refused(text: str | bytes) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_yaml(text, file="f.yaml")
    assert caught.value.file == "f.yaml"
    assert caught.value.fix
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("Yes", "Yes"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("2024-01-31", "2024-01-31"),
        ("12:30", "12:30"),
        ("007", "007"),
        ("0o17", "0o17"),
        ("1_000", "1_000"),
        ("-12", -12),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("'12'", "12"),
        ('"true"', "true"),
        ("|\n  a\n  b\n", "a\nb\n"),
    ],
)
def test_a_scalar_means_what_it_looks_like(text: str, value: Json) -> None:
    data = load(f"key: {text}").data

    assert data == {"key": value}
    assert isinstance(data, dict)
    assert type(data["key"]) is type(value)


def test_keys_are_always_text() -> None:
    assert load("1: a\nyes: b\nnull: c").data == {"1": "a", "yes": "b", "null": "c"}


def test_an_empty_file_has_no_data() -> None:
    assert load("# nothing\n").data is None


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a: &x 1\nb: 2", 1, "anchors"),
        ("a: 1\nb: *x", 2, "anchors"),
        ("a: 1\n&k b: 2", 2, "anchors"),
        ("a:\n  - !!python/object:os.system x", 2, "tags"),
        ("a: 1\n!t b: 2", 2, "tags"),
        ("a: 1\nb: 2\na: 3", 3, "stands twice, first in line 1"),
        ("x: 1\n---\ny: 2", 2, "second document"),
        ("a:\n\t- b", 2, "tabs"),
        ("a: 'open", 1, "quote"),
        ("a: [1, 2", 1, "not valid YAML"),
        ("a: {{ x }}", 1, "plain text"),
        ("a: 1\nb: .inf", 2, "JSON cannot hold"),
        ("a: 1e999", 1, "JSON cannot hold"),
        ("a: 99999999999999999999", 1, "JSON cannot hold"),
        ("a: 1\nb: \x07", 2, "control character"),
        ('a: "\\ud800"', 1, "surrogate"),
    ],
)
def test_what_is_not_in_the_subset_is_refused_with_its_line(
    text: str, line: int, says: str
) -> None:
    error = refused(text)

    assert says in str(error)
    assert error.line == line


def test_an_escape_beyond_unicode_is_refused() -> None:
    # PyYAML itself lets a bare ValueError or OverflowError out for these two.
    assert "escape" in str(refused('a: "\\UFFFFFFFF"'))
    assert "escape" in str(refused('a: "\\U00110000"'))


def test_a_hundred_thousand_brackets_are_refused_at_once() -> None:
    assert "deep" in str(refused("[" * 100_000))
    assert "deep" in str(refused("".join("- " for _ in range(1000)) + "x"))


def test_a_file_that_is_too_large_is_refused_unparsed() -> None:
    assert "too large" in str(refused("#" * (MAX_BYTES + 1)))


def test_bytes_that_are_not_utf_8_are_refused_with_their_line() -> None:
    assert refused(b"a: 1\nb: \xff\n").line == 2


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert load_yaml(b"\xef\xbb\xbfa: 1", file="f.yaml").data == {"a": 1}


def test_a_file_that_cannot_be_read_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_yaml(tmp_path / "absent.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_yaml(tmp_path)


def test_every_value_knows_its_line() -> None:
    document = load("a:\n  - x: 1\n    y: 2\n  - z\ntext: |\n  one\n  two\n")

    assert document.line_of(("a",)) == 1
    assert document.line_of(("a", 0, "y")) == 3
    assert document.line_of(("a", 1)) == 4
    assert document.line_of(("a", 1, "none", "such")) == 4
    assert document.line_of(("text",), inner=2) == 7
    assert written(("a", 0, "y")) == "a[0].y"


json_values: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs", "Cc"))),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("abc _é", max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(json_values)
def test_json_read_as_yaml_is_the_same_data(value: Json) -> None:
    assert dumps(load(dumps(value)).data) == dumps(value)


@given(st.text() | st.text("abz:-[]{}\"'|>&*!#%@` \n\t\\,?01.~", max_size=60))
def test_any_text_is_a_document_or_a_config_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        dumps(load(text).data)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_document_or_a_config_error(content: bytes) -> None:
    with contextlib.suppress(ConfigError):
        dumps(load_yaml(content, file="f").data)


@given(
    st.dictionaries(
        st.text("abc", min_size=1, max_size=3), st.text("ab \n#:'", max_size=8)
    )
)
def test_what_another_writer_wrote_is_read_back(value: dict[str, str]) -> None:
    assert load(yaml.safe_dump(value)).data == value
