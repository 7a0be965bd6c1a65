"""Lengths of time as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.config.durations import (
    MAX_MS,
    Duration,
    format_duration,
    parse_duration,
)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("150ms", 150),
        ("3s", 3000),
        ("5m", 300_000),
        ("2h", 7_200_000),
        ("30d", 2_592_000_000),
        ("0s", 0),
    ],
)
def test_each_unit_counts_as_it_should(text: str, ms: int) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize(
    "text", ["", "3", "s", "3 s", "-3s", "1.5h", "3S", "1h30m", "٣s", "3651d", "9" * 40]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"length of time|longer than"):
        parse_duration(text)


@given(st.integers(0, MAX_MS))
def test_writing_and_reading_give_the_same_length(ms: int) -> None:
    assert parse_duration(format_duration(ms)) == ms


@given(st.text(max_size=20))
def test_any_text_is_a_length_or_a_value_error(text: str) -> None:
    try:
        ms = parse_duration(text)
    except ValueError:
        return
    assert 0 <= ms <= MAX_MS


def test_a_configured_length_tells_seconds_and_shows_its_shortest_form() -> None:
    assert Duration(1500).seconds == 1.5
    assert str(Duration(600_000)) == "10m"
