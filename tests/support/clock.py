"""Wall time that keeps step with Trio's clock, virtual or not."""

import attrs
import trio


@attrs.frozen
class TrioClock:
    """A `Clock` that moves exactly as `trio.current_time()` does.

    Under `autojump_clock` one `trio.sleep` moves both the deadlines and the wall.
    """

    start_ms: int = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.start_ms + round(trio.current_time() * 1000)
