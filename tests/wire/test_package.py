"""What importing the package costs, and the constants both sides rely on."""

import subprocess
import sys

import pytest

import vance_sdk
import vance_sdk.errors as sdk_errors
from vance_sdk.wire import errors, limits
from vance_sdk.wire.codec import decode_inbound
from vance_sdk.wire.messages import Chat


def _output_of(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        timeout=60,
        text=True,
    )
    return done.stdout


def _modules_after(program: str) -> set[str]:
    return set(_output_of(f"{program}\nimport sys\nprint(*sys.modules)").split())


def test_the_package_itself_imports_nothing_heavy() -> None:
    loaded = _modules_after("import vance_sdk, vance_sdk.wire.limits")

    assert not loaded & {"attrs", "attr", "cattrs", "orjson", "trio"}


def test_the_messages_do_without_the_codec() -> None:
    loaded = _modules_after("import vance_sdk.wire.messages")

    assert "vance_sdk.wire.messages.tables" in loaded
    assert "cattrs" not in loaded


# Seen to fail with `_converter()` called at the end of codec.py.
def test_importing_the_codec_makes_no_hooks() -> None:
    program = """
import vance_sdk.wire.codec as c
print(c._converter.cache_info().currsize)
c.decode_inbound('{"type": "disconnect"}')
print(c._converter.cache_info().currsize, c._locating_converter.cache_info().currsize)
"""
    assert _output_of(program).split() == ["0", "1", "0"]


def test_the_package_lists_its_names_and_no_others() -> None:
    assert dir(vance_sdk) == sorted(vance_sdk.__all__)
    for name in vance_sdk.__all__:
        assert getattr(vance_sdk, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = vance_sdk.nonsense


def test_every_error_of_the_library_can_be_caught_by_its_short_name() -> None:
    errors_there_are = {
        name
        for name, value in vars(sdk_errors).items()
        if isinstance(value, type)
        and issubclass(value, Exception)
        and value.__module__ == sdk_errors.__name__
    }

    assert errors_there_are >= {"VanceError", "ToolFailed"}
    for name in errors_there_are:
        assert getattr(vance_sdk, name) is getattr(sdk_errors, name)


def test_a_name_loads_its_own_module_only() -> None:
    loaded = _modules_after("from vance_sdk import VanceError")

    assert "vance_sdk.errors" in loaded
    assert not loaded & {"vance_sdk.blocking", "vance_sdk.client", "trio"}


def test_error_codes_are_those_of_the_protocol() -> None:
    assert set(errors.CODES) == {
        "unauthorized",
        "forbidden",
        "not_found",
        "bad_message",
        "unknown_type",
        "conflict",
        "409",
        "rate_limited",
        "unavailable",
        "internal",
    }
    assert set(errors.TOOL_ERROR_CODES) == {
        "failed",
        "expired",
        "rejected",
        "cancelled",
        "outcome_unknown",
        "approval_required",
    }


def test_limits_and_close_codes_are_those_of_the_protocol() -> None:
    assert (limits.FIRST_FRAME_BYTES, limits.FRAME_BYTES) == (65_536, 1_048_576)
    assert (limits.JSON_DEPTH, limits.WINDOW) == (64, 16)
    assert limits.INLINE_RESULT_BYTES == 262_144
    assert (limits.HANDSHAKE_SECONDS, limits.PING_SECONDS) == (10, 10)
    assert (limits.DEAD_SECONDS, limits.RESUME_WINDOW_SECONDS) == (25, 900)
    assert [code.value for code in limits.CloseCode] == [
        *(1000, 1001, 1003, 1009, 1011, 1012),
        *(4400, 4401, 4403, 4408, 4409, 4410, 4411, 4413, 4429),
    ]


def test_the_default_limit_is_that_of_later_frames() -> None:
    big = "x" * (limits.FIRST_FRAME_BYTES + 1)

    assert decode_inbound(f'{{"type":"chat","message":"{big}"}}') == Chat(message=big)
