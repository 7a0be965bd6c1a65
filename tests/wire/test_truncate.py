"""Results too long for a frame (PROTOCOL.md, D11)."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.strategies import JSON
from vance_sdk.wire.json import Json
from vance_sdk.wire.truncate import HEAD_BYTES, truncated

TEXT = st.text(st.characters(codec="utf-8"), max_size=400)


@given(JSON, st.integers(80, 400))
def test_whatever_it_is_fits_the_limit_afterwards_or_did_before(
    value: Json, limit: int
) -> None:
    cut = truncated(value, limit)

    assert len(orjson.dumps(cut)) <= limit
    if len(orjson.dumps(value)) <= limit:
        assert cut == value
    else:
        assert isinstance(cut, dict)
        assert cut["truncated"] is True


@given(TEXT, st.sampled_from(["text", "content", "stdout"]), st.integers(0, 500))
def test_a_long_text_is_cut_at_a_character_and_says_so(
    text: str, key: str, room: int
) -> None:
    whole: dict[str, Json] = {"path": "a", key: f"{text}..", "lines": 3}
    limit = 120 + room

    cut = truncated(whole, limit)

    assert isinstance(cut, dict)
    assert len(orjson.dumps(cut)) <= limit
    if cut != whole:
        part = cut[key]
        assert isinstance(part, str)
        assert f"{text}..".startswith(part)
        assert cut["truncated"] is True
        assert cut["total_bytes"] == len(text.encode()) + 2
        assert (cut["path"], cut["lines"]) == ("a", 3)


def test_every_limit_is_kept_to_the_byte() -> None:
    # The largest size there is, so that no digit is left over.
    whole: dict[str, Json] = {
        "path": "a" * 30,
        "content": "x" * 1000,
        "truncated": True,
        "total_bytes": 2**63 - 1,
    }
    sizes = {
        limit: len(orjson.dumps(truncated(whole, limit))) for limit in range(80, 300)
    }

    assert all(size <= limit for limit, size in sizes.items())
    assert sizes[299] == 299


def test_a_cut_text_uses_the_room_there_is() -> None:
    cut = truncated({"text": "\n" * 1000}, 1000)

    # Two bytes of JSON for each newline; fewer than four are left over, and the
    # digits that the size did not need.
    assert 975 <= len(orjson.dumps(cut)) <= 1000


def test_the_longest_text_is_the_one_that_is_cut() -> None:
    cut = truncated({"text": "in short", "log": "x" * 1000}, 200)

    assert isinstance(cut, dict)
    assert cut["text"] == "in short"
    assert cut["total_bytes"] == 1000


@pytest.mark.parametrize(
    ("mark", "total"),
    [
        ({"truncated": True, "total_bytes": 5_000_000}, 5_000_000),
        # Somebody else's fields of these names say nothing of the text.
        ({"truncated": False, "total_bytes": 5_000_000}, 1000),
        ({"total_bytes": 5_000_000}, 1000),
        ({"truncated": True, "total_bytes": "many"}, 1000),
        ({"truncated": True, "total_bytes": 3}, 1000),
        ({"truncated": True, "total_bytes": 2**64 - 1}, 1000),
    ],
)
def test_what_was_cut_before_keeps_the_size_of_the_whole(
    mark: dict[str, Json], total: int
) -> None:
    cut = truncated({"content": "x" * 1000, **mark}, 200)

    assert isinstance(cut, dict)
    assert (cut["truncated"], cut["total_bytes"]) == (True, total)


@pytest.mark.parametrize(
    "value",
    [
        "x" * 1000,
        ["x" * 1000],
        {"rows": ["x" * 1000]},
        # Its text is cut away and it is still too long.
        {"text": "short", "rows": ["x" * 1000]},
    ],
)
def test_what_has_no_text_to_cut_keeps_its_head_and_says_its_size(value: Json) -> None:
    encoded = orjson.dumps(value).decode()

    cut = truncated(value, 200)

    assert isinstance(cut, dict)
    assert set(cut) == {"truncated", "total_bytes", "head"}
    assert cut["total_bytes"] == len(encoded)
    assert isinstance(cut["head"], str)
    assert encoded.startswith(cut["head"])
    # Nothing but the escapes of quotes may be missing to the limit.
    assert 198 <= len(orjson.dumps(cut)) <= 200


def test_a_head_is_bounded_and_ends_at_a_character() -> None:
    cut = truncated(["\u20ac" * HEAD_BYTES], 2 * HEAD_BYTES)

    assert isinstance(cut, dict)
    assert isinstance(cut["head"], str)
    assert HEAD_BYTES - 3 < len(cut["head"].encode()) <= HEAD_BYTES
    assert cut["head"].endswith("\u20ac")
