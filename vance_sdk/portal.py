"""A Trio loop in a thread of its own, for callers that know nothing of Trio."""

import threading
from collections.abc import Awaitable, Callable
from concurrent import futures
from concurrent.futures import Future
from typing import Final, TypeVar

import attrs
import trio

from vance_sdk.errors import NotConnected, VanceError

START_SECONDS: Final = 10.0
"""For the thread to begin."""
STOP_SECONDS: Final = 5.0
"""For the loop to end after it was told to."""

# On Windows, waiting for a lock cannot be interrupted, but a slice of it ends.
_SLICE_SECONDS: Final = 0.2

T = TypeVar("T")


@attrs.define(eq=False)
class _Job:
    """One call into the loop, and the way to give it up."""

    future: "Future[object]" = attrs.field(factory=Future)
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)


@attrs.define(eq=False)
class Portal:
    """Runs coroutines in the loop; may be called from any thread but the loop's own.

    The thread is a daemon: a program that forgets to stop it can still end.
    """

    _ended: threading.Event = attrs.field(init=False, factory=threading.Event)
    _ready: "Future[None]" = attrs.field(init=False, factory=Future)
    _thread: threading.Thread = attrs.field(init=False)
    _token: trio.lowlevel.TrioToken = attrs.field(init=False)
    _nursery: trio.Nursery = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._thread = threading.Thread(
            target=self._run_thread, name="vance-sdk", daemon=True
        )
        self._thread.start()
        self._ready.result(START_SECONDS)

    @property
    def nursery(self) -> trio.Nursery:
        """For what shall live as long as the loop; use it from the loop only."""
        return self._nursery

    @property
    def running(self) -> bool:
        """Whether the loop has not ended."""
        return not self._ended.is_set()

    def call(self, function: Callable[[], Awaitable[T]]) -> T:
        """Run a coroutine function in the loop; return or raise what it does.

        What interrupts the waiting thread, such as Ctrl-C, cancels the coroutine.

        Raises:
            NotConnected: The loop has ended, or ends meanwhile.
            VanceError: Called from the loop's own thread, which would never end.
        """
        if threading.current_thread() is self._thread:
            message = "an async tool cannot call the blocking client: it would deadlock"
            raise VanceError(message)
        results: list[T] = []

        async def run() -> None:
            results.append(await function())

        job = _Job()
        try:
            self._soon(lambda: self._start(job, run))
            self._wait(job.future)
        except BaseException:
            if not job.future.done():
                self._soon(job.scope.cancel, quiet=True)
            raise
        return results[0]

    def stop(self) -> None:
        """End the loop within ``STOP_SECONDS``; calls that wait raise."""
        self._soon(self._nursery.cancel_scope.cancel, quiet=True)
        if threading.current_thread() is not self._thread:
            self._ended.wait(STOP_SECONDS)

    def _wait(self, future: "Future[object]") -> None:
        while not futures.wait([future], _SLICE_SECONDS).done:
            if self._ended.is_set() and not future.done():
                raise NotConnected("this client has ended")
        future.result()

    def _soon(self, function: Callable[[], object], *, quiet: bool = False) -> None:
        try:
            self._token.run_sync_soon(function)
        except trio.RunFinishedError:
            if not quiet:
                raise NotConnected("this client has ended") from None

    def _start(self, job: _Job, run: Callable[[], Awaitable[None]]) -> None:
        try:
            self._nursery.start_soon(self._do, job, run)
        except RuntimeError:
            # The nursery has closed, but the loop has not quite ended.
            job.future.set_exception(NotConnected("this client has ended"))

    async def _do(self, job: _Job, run: Callable[[], Awaitable[None]]) -> None:
        try:
            with job.scope:
                await run()
        except Exception as error:  # noqa: BLE001 - raised in the caller's thread
            job.future.set_exception(error)
        except BaseException:
            job.future.set_exception(NotConnected("this client has ended"))
            raise
        else:
            job.future.set_result(None)

    def _run_thread(self) -> None:
        try:
            trio.run(self._main)
        finally:
            self._ended.set()

    async def _main(self) -> None:
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            self._token = trio.lowlevel.current_trio_token()
            self._ready.set_result(None)
            await trio.sleep_forever()
