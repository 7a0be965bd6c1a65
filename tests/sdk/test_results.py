"""What a tool returned, made fit for a frame (PROTOCOL.md, D11)."""

import orjson
import pytest
from hypothesis import given

from tests.wire.strategies import JSON
from vance_sdk.errors import ToolFailed
from vance_sdk.results import fit
from vance_sdk.wire.json import Json
from vance_sdk.wire.limits import INLINE_RESULT_BYTES


@given(JSON)
def test_what_fits_comes_back_as_it_is(value: Json) -> None:
    assert fit(value, limit=10_000_000) == orjson.loads(orjson.dumps(value))


def test_what_python_has_and_json_has_not_becomes_json() -> None:
    assert fit({"pair": (1, 2)}) == {"pair": [1, 2]}


def test_the_usual_limit_is_that_of_a_result_in_a_frame() -> None:
    cut = fit({"text": "x" * 300_000})

    assert isinstance(cut, dict)
    assert cut["total_bytes"] == 300_000
    assert 0 <= INLINE_RESULT_BYTES - len(orjson.dumps(cut)) < 20


@pytest.mark.parametrize("value", [{1, 2}, {"a": "\ud800"}, 2**64, {1: "one"}])
def test_what_json_cannot_carry_is_a_failure(value: object) -> None:
    with pytest.raises(ToolFailed, match="cannot be written as JSON"):
        fit(value)
