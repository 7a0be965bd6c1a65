"""A fake Brain in a thread of its own, for tests of what blocks."""

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import attrs
import trio

from tests.sdk.fake_brain import FakeBrain, serve_on_loopback


@attrs.define(eq=False)
class BrainThread:
    """``brain`` may be read from anywhere; ``do`` runs a coroutine beside it."""

    brain: FakeBrain = attrs.field(factory=FakeBrain)
    _ready: threading.Event = attrs.field(init=False, factory=threading.Event)
    _token: trio.lowlevel.TrioToken = attrs.field(init=False)
    _stop: trio.Event = attrs.field(init=False)

    def do(self, function: Callable[..., Awaitable[object]], *args: object) -> object:
        return trio.from_thread.run(function, *args, trio_token=self._token)

    async def _main(self) -> None:
        self._stop = trio.Event()
        async with serve_on_loopback(self.brain):
            self._token = trio.lowlevel.current_trio_token()
            self._ready.set()
            await self._stop.wait()


@contextmanager
def brain_thread() -> Iterator[BrainThread]:
    running = BrainThread()
    thread = threading.Thread(target=trio.run, args=[running._main])
    thread.start()
    assert running._ready.wait(10)
    try:
        yield running
    finally:
        running._token.run_sync_soon(running._stop.set)
        thread.join(10)
