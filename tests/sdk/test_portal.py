"""A loop in a thread: what comes back, and what is given up."""

import _thread
import threading
from collections.abc import Iterator

import pytest
import trio

from vance_sdk.errors import NotConnected, Timeout
from vance_sdk.portal import Portal


@pytest.fixture
def portal() -> Iterator[Portal]:
    portal = Portal()
    yield portal
    portal.stop()
    assert not portal.running


def test_results_and_errors_come_back_to_the_caller(portal: Portal) -> None:
    async def answer() -> int:
        return 42

    async def late() -> None:
        raise Timeout("mine")

    assert portal.call(answer) == 42
    # It is a TimeoutError too, which waiting itself may raise.
    with pytest.raises(Timeout, match="mine"):
        portal.call(late)
    assert portal.call(answer) == 42


def test_what_interrupts_the_caller_cancels_the_coroutine(portal: Portal) -> None:
    ended = threading.Event()

    async def work() -> None:
        try:
            _thread.interrupt_main()
            await trio.sleep_forever()
        finally:
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        portal.call(work)

    assert ended.wait(5)


def test_stopping_wakes_whoever_waits_and_nothing_can_be_called_after() -> None:
    portal, waiting = Portal(), threading.Event()
    raised: list[BaseException] = []

    async def forever() -> None:
        waiting.set()
        await trio.sleep_forever()

    def call() -> None:
        try:
            portal.call(forever)
        except NotConnected as error:
            raised.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert waiting.wait(5)
    portal.stop()
    thread.join(5)

    assert len(raised) == 1
    with pytest.raises(NotConnected):
        portal.call(forever)
    portal.stop()
