"""A Brain that comes back elsewhere, and a token that runs out (PROTOCOL.md 1, D2)."""

from collections.abc import Iterator

import pytest
import trio

from tests.sdk.fake_brain import TOKEN, FakeBrain, MemoryNet, highest, serve_on_loopback
from vance_sdk.client import open_client
from vance_sdk.errors import BadAddress, HandshakeRefused
from vance_sdk.local_tool import LocalTool
from vance_sdk.wire.messages import Json, ToolAccepted, ToolResult

Clock = trio.testing.MockClock


async def stand(
    brain: FakeBrain, gone: trio.Event, *, task_status: trio.TaskStatus[None]
) -> None:
    """Serve a Brain on a port of its own until it is to go away."""
    async with serve_on_loopback(brain):
        task_status.started()
        await gone.wait()


# Seen to fail with a new ToolServer for each connection.
async def test_a_call_that_runs_outlives_a_brain_that_moves(
    nursery: trio.Nursery,
) -> None:
    runs, may_end = list[str](), trio.Event()

    async def work(args: dict[str, Json]) -> Json:
        runs.append(str(args["what"]))
        await may_end.wait()
        return {"done": args["what"]}

    old, gone = FakeBrain(), trio.Event()
    # The same home: the same sessions, on another port.
    new = FakeBrain(sessions=old.sessions)
    await nursery.start(stand, old, gone)
    where = old.url

    async with open_client(
        lambda: where, token=TOKEN, tools=[LocalTool(name="work", run=work)]
    ) as client:
        await client.wait_connected()
        await old.request("work", {"what": "it"})
        await old.until(1, ToolAccepted)
        gone.set()
        await nursery.start(stand, new, trio.Event())
        assert new.url != old.url
        where = new.url
        await new.connections(1)
        await new.request("work", {"what": "it"})
        await new.until(1, ToolAccepted)
        may_end.set()
        [result] = await new.until(1, ToolResult)
        await client.processes()
    nursery.cancel_scope.cancel()

    assert runs == ["it"]
    assert isinstance(result, ToolResult)
    assert result.result == {"done": "it"}
    assert len(new.received(ToolResult)) == 1
    [before], [after] = old.handshakes, new.handshakes
    assert after.session is not None
    assert after.session.resume == "sess_1"
    assert after.client.client_id == before.client.client_id
    assert after.client.boot_id == before.client.boot_id
    assert after.inflight is not None
    assert [(c.request_id, c.state) for c in after.inflight] == [("call_1", "running")]


async def test_without_a_url_nothing_is_tried_and_the_wait_can_be_cut_short(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    where: str | None = None

    async with open_client(
        lambda: where, token=TOKEN, connect=net.connect, uniform=highest
    ) as client:
        await trio.sleep(200)
        assert net.attempts == []
        assert "there is no Brain" in str(client.problem)

        where = net.brain.url
        now = trio.current_time()
        client.try_now()
        await client.wait_connected()

    assert net.attempts == [now]


async def test_a_url_that_is_no_brains_stops_the_client(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    async with open_client(
        lambda: "ftp://host", token=TOKEN, connect=net.connect
    ) as client:
        with pytest.raises(BadAddress):
            await client.wait_stopped()


async def test_a_bad_profile_is_refused_before_the_url_is_asked_for(
    net: MemoryNet,
) -> None:
    asked: list[str] = []

    def where() -> str:
        asked.append("url")
        return net.brain.url

    with pytest.raises(BadAddress):
        async with open_client(where, token=TOKEN, profile="Not a profile"):
            raise NotImplementedError
    assert asked == []


def numbered(made: list[str]) -> Iterator[str]:
    while True:
        made.append(f"token {len(made) + 1}")
        yield made[-1]


async def test_a_token_is_made_anew_only_when_the_earlier_one_has_run_out(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    made: list[str] = []
    tokens = numbered(made)
    net.brain.token = "token 1"

    async with open_client(
        net.brain.url, token=lambda: next(tokens), connect=net.connect
    ) as client:
        await client.wait_connected()
        for number in range(2, 5):
            await net.brain.drop()
            await net.brain.connections(number)
        assert made == ["token 1"]

        net.brain.token = "token 2"
        await net.brain.drop()
        await net.brain.connections(6)
        await client.processes()

    assert made == ["token 1", "token 2"]
    used = [handshake.auth.token for handshake in net.brain.handshakes]
    assert used == [*["token 1"] * 5, "token 2"]


async def test_a_token_that_ran_out_before_the_brain_was_there_is_made_anew(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    made: list[str] = []
    tokens = numbered(made)
    net.brain.token, net.reachable = "token 2", False

    async with open_client(
        net.brain.url, token=lambda: next(tokens), connect=net.connect
    ) as client:
        await trio.sleep(100)
        assert made == ["token 1"]
        net.reachable = True
        await client.wait_connected(60)

    assert made == ["token 1", "token 2"]


@pytest.mark.parametrize("good_first", [False, True])
async def test_a_new_token_that_is_refused_as_well_stops_the_client(
    net: MemoryNet, autojump_clock: Clock, good_first: bool
) -> None:
    made: list[str] = []
    tokens = numbered(made)
    net.brain.token = "token 1" if good_first else "another"

    async with open_client(
        net.brain.url, token=lambda: next(tokens), connect=net.connect
    ) as client:
        if good_first:
            await client.wait_connected()
            net.brain.token = "another"
            await net.brain.drop()
        # Bounded, because one that asks for tokens for ever never stops.
        with trio.fail_after(600), pytest.raises(HandshakeRefused) as refused:
            await client.wait_stopped()
        await trio.sleep(100)

    assert refused.value.code == "unauthorized"
    assert len(made) == (2 if good_first else 1)


async def test_a_fixed_token_that_ran_out_stops_the_client(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    async with open_client(net.brain.url, token=TOKEN, connect=net.connect) as client:
        await client.wait_connected()
        net.brain.token = "another"
        await net.brain.drop()
        with pytest.raises(HandshakeRefused):
            await client.wait_stopped()

    assert len(net.attempts) == 2
