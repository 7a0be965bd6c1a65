"""The outbox: bounded, and everybody who waits for room is told."""

import trio
import trio.testing

from vance_sdk.wire.messages.sessions import Ack
from vancetope.gateway.session.outbox import BUSY, OVERFLOW, Outbox


async def test_everybody_who_waits_for_room_is_woken(
    autojump_clock: trio.testing.MockClock,
) -> None:
    # The reader and the projection both wait; each once made an event of its own, and
    # the first of them slept for ever.
    outbox = Outbox(vtp=True)
    for _ in range(BUSY):
        outbox.put(Ack())
    woken: list[str] = []

    async def wait(name: str) -> None:
        await outbox.room()
        woken.append(name)

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait, "reader")
            nursery.start_soon(wait, "projection")
            await trio.testing.wait_all_tasks_blocked()
            assert woken == []
            for _ in range(BUSY):
                await outbox.get()

    assert sorted(woken) == ["projection", "reader"]


async def test_room_is_waited_for_again_when_it_is_taken_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    outbox = Outbox(vtp=True)
    for _ in range(3):
        for _ in range(BUSY):
            outbox.put(Ack())
        with trio.move_on_after(1) as waited:
            await outbox.room()
        assert waited.cancelled_caught
        for _ in range(BUSY):
            await outbox.get()
        with trio.fail_after(1):
            await outbox.room()


def test_past_the_bound_it_says_so_and_keeps_what_it_has() -> None:
    outbox = Outbox(vtp=True)
    for _ in range(OVERFLOW):
        outbox.put(Ack())
    assert not outbox.overflowed.is_set()
    outbox.put(Ack())
    assert outbox.overflowed.is_set()
