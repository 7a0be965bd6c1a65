"""When to try again, and when not to (PROTOCOL.md section 1)."""

import random
from collections.abc import Callable
from typing import Final, TypeAlias

import attrs
import trio

from vance_sdk.errors import ConnectionLost, HandshakeRefused
from vance_sdk.wire.errors import (
    BAD_MESSAGE,
    FORBIDDEN,
    NOT_FOUND,
    PROFILE_MISMATCH,
    UNAUTHORIZED,
)
from vance_sdk.wire.limits import CloseCode

FIRST_SECONDS: Final = (0.0, 0.1)
QUICK_SECONDS: Final = (0.1, 0.3)
QUICK_PHASE_SECONDS: Final = 3.0
SLOW_SECONDS: Final = (0.5, 30.0)
STABLE_SECONDS: Final = 5.0
"""A connection that lives shorter counts as a failed attempt, after a few."""
MAX_ASKED_SECONDS: Final = 300.0
"""The longest wait that a ``goaway`` can ask for."""

_SHORT_ONES_FORGIVEN: Final = 3
_FIRST_SLOW_CEILING: Final = 1.0

Uniform: TypeAlias = Callable[[float, float], float]
"""A random number between two, such as ``random.Random().uniform``."""

system_uniform: Final[Uniform] = random.SystemRandom().uniform

_FINAL_CODES: Final = {
    BAD_MESSAGE,
    FORBIDDEN,
    NOT_FOUND,
    PROFILE_MISMATCH,
    UNAUTHORIZED,
    "tls",
}
_FINAL_CLOSES: Final = {
    CloseCode.BAD_FRAME,
    CloseCode.UNAUTHORIZED,
    CloseCode.FORBIDDEN,
    CloseCode.PROFILE_MISMATCH,
}
_CROWDED: Final = {CloseCode.TOO_SLOW}
_HTTP_AGAIN: Final = {"http_408", "http_425", "http_429"}


def slow_delay(uniform: Uniform, before: int) -> float:
    """Return how many seconds to wait after ``before`` such waits in vain.

    With full jitter, between 0.5 s and a ceiling that doubles from 1 s to 30 s.
    """
    lowest, highest = SLOW_SECONDS
    ceiling = min(highest, _FIRST_SLOW_CEILING * 2.0 ** min(before, 16))
    return uniform(lowest, ceiling)


@attrs.define(eq=False)
class Backoff:
    """How long to wait before each attempt since a connection was lost.

    At once within 100 ms, then every 100 to 300 ms for 3 s, then ``slow_delay``.
    """

    _uniform: Uniform = system_uniform
    _lost_at: float | None = attrs.field(init=False, default=None)
    _slow_ones: int = attrs.field(init=False, default=0)
    _short_ones: int = attrs.field(init=False, default=0)
    _hurry: trio.Event = attrs.field(init=False, factory=trio.Event)

    def connected_for(self, seconds: float) -> None:
        """Begin anew after a connection, unless short ones come one after another."""
        self._short_ones = 0 if seconds >= STABLE_SECONDS else self._short_ones + 1
        if self._short_ones <= _SHORT_ONES_FORGIVEN:
            self._lost_at = None
            self._slow_ones = 0

    async def rest(self, error: ConnectionLost | HandshakeRefused) -> None:
        """Wait before the next attempt, or until ``hurry``."""
        self._hurry = trio.Event()
        with trio.move_on_after(self.next_delay(error)):
            await self._hurry.wait()

    def hurry(self) -> None:
        """End the wait there is."""
        self._hurry.set()

    def next_delay(self, error: ConnectionLost | HandshakeRefused) -> float:
        """Return how many seconds to wait before the next attempt."""
        if isinstance(error, ConnectionLost) and error.retry_in_ms is not None:
            asked = min(error.retry_in_ms / 1000, MAX_ASKED_SECONDS)
            return asked + self._uniform(*FIRST_SECONDS)
        now = trio.current_time()
        first = self._lost_at is None
        if self._lost_at is None:
            self._lost_at = now
        if not _is_crowded(error):
            if first:
                return self._uniform(*FIRST_SECONDS)
            if now - self._lost_at < QUICK_PHASE_SECONDS:
                return self._uniform(*QUICK_SECONDS)
        self._slow_ones += 1
        return slow_delay(self._uniform, self._slow_ones - 1)


def _is_crowded(error: ConnectionLost | HandshakeRefused) -> bool:
    """Tell whether the Brain asked for fewer attempts."""
    if isinstance(error, ConnectionLost):
        return error.code in _CROWDED
    return error.close_code in _CROWDED or error.code in {"http_429", "rate_limited"}


def is_final(
    error: ConnectionLost | HandshakeRefused, *, stay_replaced: bool = True
) -> bool:
    """Tell whether trying again cannot help.

    Args:
        error: Why there is no connection.
        stay_replaced: A newer connection of the same client ends this one for good.
    """
    if isinstance(error, ConnectionLost):
        if error.code == CloseCode.REPLACED:
            return stay_replaced
        return error.code in _FINAL_CLOSES
    if error.code.startswith("http_4"):
        return error.code not in _HTTP_AGAIN
    return error.code in _FINAL_CODES


def is_unauthorized(error: ConnectionLost | HandshakeRefused) -> bool:
    """Tell whether another token may be taken where this one is not."""
    if isinstance(error, ConnectionLost):
        return error.code == CloseCode.UNAUTHORIZED
    return error.code == UNAUTHORIZED


def is_session_gone(error: ConnectionLost | HandshakeRefused) -> bool:
    """Tell whether another session may be had where this one cannot."""
    if isinstance(error, ConnectionLost):
        return error.code == CloseCode.SESSION_GONE
    return error.code == NOT_FOUND
