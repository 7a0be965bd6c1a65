"""When a client tries again, and when not (PROTOCOL.md section 1)."""

import itertools
import random

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from tests.sdk.fake_brain import TOKEN, MemoryNet, highest, lowest
from vance_sdk.client import open_client
from vance_sdk.errors import ConnectionLost, HandshakeRefused
from vance_sdk.reconnect import Backoff, Uniform, is_final
from vance_sdk.wire.errors import CODES
from vance_sdk.wire.limits import CloseCode
from vance_sdk.wire.messages import Error, GoAway

LOST = ConnectionLost(1006)


async def attempts_after_loss(
    net: MemoryNet, uniform: Uniform, until: float
) -> list[float]:
    """Return when a client tries, in seconds since its Brain went away."""
    async with open_client(
        net.brain.url, token=TOKEN, connect=net.connect, uniform=uniform
    ) as client:
        await client.wait_connected()
        await trio.sleep(60)
        net.reachable = False
        lost_at = trio.current_time()
        await net.brain.drop()
        await trio.sleep(until)
        return [at - lost_at for at in net.attempts if at >= lost_at]


@pytest.mark.parametrize("uniform", [lowest, highest, random.Random(7).uniform])
async def test_the_schedule_keeps_to_its_bounds_on_both_sides(
    net: MemoryNet, autojump_clock: trio.testing.MockClock, uniform: Uniform
) -> None:
    attempts = await attempts_after_loss(net, uniform, 300)

    assert 0 <= attempts[0] <= 0.1 + 1e-9
    gaps = [(before, after - before) for before, after in itertools.pairwise(attempts)]
    quick = [gap for before, gap in gaps if before < 3]
    slow = [gap for before, gap in gaps if before >= 3]
    assert 10 <= len(quick) <= 30
    assert all(0.1 - 1e-9 <= gap <= 0.3 + 1e-9 for gap in quick)
    assert all(0.5 - 1e-9 <= gap <= 30 + 1e-9 for gap in slow)
    if uniform is highest:
        assert slow[:6] == pytest.approx([1, 2, 4, 8, 16, 30])
    # It never stops.
    assert attempts[-1] > 300 - 31


async def test_a_client_is_back_within_100_ms_of_a_drop(
    net: MemoryNet, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_client(
        net.brain.url, token=TOKEN, connect=net.connect, uniform=highest
    ) as client:
        await client.wait_connected()
        for number in range(2, 5):
            await trio.sleep(60)
            lost_at = trio.current_time()
            await net.brain.drop()
            await net.brain.connections(number)

            assert net.brain.opened_at[-1] - lost_at <= 0.1 + 1e-9


async def test_goaway_says_when_to_come_back(
    net: MemoryNet, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_client(
        net.brain.url, token=TOKEN, connect=net.connect, uniform=highest
    ) as client:
        await client.wait_connected()
        await net.brain.push(GoAway(reason="restart", retry_in_ms=7000), durable=False)
        await trio.sleep(1)
        lost_at = trio.current_time()
        await net.brain.close(CloseCode.RESTART)
        await net.brain.connections(2)

    assert 7 <= net.brain.opened_at[-1] - lost_at <= 7.2


async def test_a_brain_that_drops_at_once_is_not_stormed(
    net: MemoryNet, autojump_clock: trio.testing.MockClock
) -> None:
    # Resetting the schedule with every connection makes 1,000 of them.
    net.brain.refusal = None

    async with open_client(
        net.brain.url, token=TOKEN, connect=net.connect, uniform=highest
    ):
        with trio.move_on_after(100):
            while True:
                await net.brain.connections(len(net.brain.opened_at) + 1)
                await net.brain.drop()

    assert 10 < len(net.brain.opened_at) < 40


@pytest.mark.parametrize(
    ("code", "close_code"),
    [("unauthorized", 4401), ("forbidden", 4403), ("409", 4411), ("bad_message", 4400)],
)
async def test_a_refusal_for_good_stops_the_client_with_that_error(
    net: MemoryNet,
    autojump_clock: trio.testing.MockClock,
    code: str,
    close_code: int,
) -> None:
    net.brain.refusal = (Error(code=code, message="no"), close_code)

    async with open_client(net.brain.url, token=TOKEN, connect=net.connect) as client:
        with pytest.raises(HandshakeRefused) as refused:
            await client.wait_stopped()
        with pytest.raises(HandshakeRefused):
            await client.start("too late")
        await trio.sleep(100)

    assert refused.value.code == code
    assert len(net.attempts) == 1


@pytest.mark.parametrize(("again", "attempts"), [(False, 1), (True, 2)])
async def test_a_replaced_client_stays_away_unless_told_otherwise(
    net: MemoryNet,
    autojump_clock: trio.testing.MockClock,
    again: bool,
    attempts: int,
) -> None:
    async with open_client(
        net.brain.url,
        token=TOKEN,
        connect=net.connect,
        reconnect_when_replaced=again,
    ) as client:
        await client.wait_connected()
        await net.brain.close(CloseCode.REPLACED, "a newer one")
        await trio.sleep(100)

    assert len(net.attempts) == attempts


@given(st.sampled_from([*CODES, "http_404", "http_429", "http_503", "tls"]))
def test_only_what_trying_again_cannot_change_is_final(code: str) -> None:
    may_change = {"conflict", "rate_limited", "unavailable", "internal"}
    may_change |= {"http_429", "http_503", "unknown_type"}

    assert is_final(HandshakeRefused(code, "")) is (code not in may_change)


@pytest.mark.parametrize("code", [1000, 1001, 1006, 1009, 1011, 1012, 4408, 4410, 4429])
def test_these_closes_are_not_final(code: int) -> None:
    assert not is_final(ConnectionLost(code))


async def test_a_crowded_brain_gets_no_quick_attempts(
    autojump_clock: trio.testing.MockClock,
) -> None:
    backoff = Backoff(lowest)

    assert backoff.next_delay(ConnectionLost(CloseCode.TOO_SLOW)) == 0.5
    assert Backoff(lowest).next_delay(LOST) == 0
