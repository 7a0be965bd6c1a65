"""The clock that goes on while a machine sleeps."""

import time
from collections.abc import Callable
from typing import TypeAlias

WallClock: TypeAlias = Callable[[], float]


def wall_seconds() -> float:
    """Return seconds of the wall clock.

    Only differences are used, to notice a suspended laptop: the monotonic clock
    stands still meanwhile on Linux.
    """
    return time.time()  # noqa: TID251 - the SDK has no Clock; tests pass their own
