"""What a tool returned, made fit for a frame (PROTOCOL.md, D11)."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.strategies import JSON
from vance_sdk.errors import ToolFailed
from vance_sdk.results import fit
from vance_sdk.wire.messages import Json

TEXT = st.text(st.characters(codec="utf-8"), max_size=400)


@given(JSON)
def test_what_fits_comes_back_as_it_is(value: Json) -> None:
    assert fit(value, limit=10_000_000) == orjson.loads(orjson.dumps(value))


@given(TEXT, st.sampled_from(["text", "content"]), st.integers(0, 500))
def test_a_long_text_is_cut_at_a_character_and_says_so(
    text: str, key: str, room: int
) -> None:
    whole = {"path": "a.txt", key: text}
    limit = 120 + room

    cut = fit(dict(whole), limit=limit)

    assert isinstance(cut, dict)
    assert len(orjson.dumps(cut)) <= limit
    if cut != whole:
        part = cut[key]
        assert isinstance(part, str)
        assert text.startswith(part)
        assert cut["truncated"] is True
        assert cut["total_bytes"] == len(text.encode())
        assert cut["path"] == "a.txt"


def test_a_cut_text_uses_the_room_there_is() -> None:
    cut = fit({"text": "\n" * 1000}, limit=1000)

    # Two bytes of JSON for each newline; fewer than four are left over, and the
    # digits that the size did not need.
    assert 975 <= len(orjson.dumps(cut)) <= 1000


@pytest.mark.parametrize(
    "value", ["x" * 100, ["x" * 100], {"other": "x" * 100}, {"text": ["x" * 100]}]
)
def test_what_cannot_be_cut_fails_and_names_both_sizes(value: Json) -> None:
    size = len(orjson.dumps(value))

    with pytest.raises(ToolFailed, match=f"is {size} bytes long, over 50 bytes"):
        fit(value, limit=50)


def test_an_object_whose_other_fields_are_too_big_is_not_cut() -> None:
    with pytest.raises(ToolFailed):
        fit({"text": "short", "rows": ["x" * 100]}, limit=100)
