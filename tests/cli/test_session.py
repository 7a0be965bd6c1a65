"""The local client: a token that runs out, a Brain that is late, a tool that refuses."""

from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
import trio
import trio.testing

from tests.sdk.fake_brain import TOKEN, FakeBrain, MemoryNet
from vance_sdk.errors import HandshakeRefused
from vance_sdk.wire.messages import SessionOpened, ToolError, ToolResult
from vancetope.client.native import Roots
from vancetope.client.session import LocalClient

BOUND_S = 20


@pytest.fixture
def net(nursery: trio.Nursery) -> MemoryNet:
    return MemoryNet(FakeBrain(), nursery)


@pytest.fixture
def brain(net: MemoryNet) -> FakeBrain:
    return net.brain


@attrs.define(eq=False)
class Watched:
    """A client and what it said."""

    client: LocalClient
    connected: list[SessionOpened]
    trouble: list[str]


@pytest.fixture
def local(net: MemoryNet, tmp_path: Path) -> Callable[..., Watched]:
    def make(
        token: Callable[[], str] = lambda: TOKEN,
        locate: Callable[[], str | None] = lambda: net.brain.url,
    ) -> Watched:
        connected: list[SessionOpened] = []
        trouble: list[str] = []
        client = LocalClient(
            locate=locate,
            token=token,
            roots=Roots([tmp_path]),
            name="desk",
            profile="foot",
            on_connected=connected.append,
            on_trouble=trouble.append,
            connect=net.connect,
        )
        return Watched(client, connected, trouble)

    return make


async def test_it_offers_the_file_tools_under_its_name(
    brain: FakeBrain, local: Callable[..., Watched], nursery: trio.Nursery
) -> None:
    stop = trio.Event()
    nursery.start_soon(local().client.run, stop)
    with trio.fail_after(BOUND_S):
        await brain.connections(1)
        stop.set()

    assert "profile=foot&name=desk" in brain.resource
    assert {tool.name: tool.effect for tool in brain.tools} == {
        "list_local_files": "read",
        "read_local_file": "read",
        "search_local_files": "read",
        "write_local_file": "idempotent",
    }


async def test_a_refusal_of_a_tool_keeps_its_code(
    brain: FakeBrain, local: Callable[..., Watched], nursery: trio.Nursery
) -> None:
    stop = trio.Event()
    nursery.start_soon(local().client.run, stop)
    with trio.fail_after(BOUND_S):
        await brain.connections(1)
        await brain.request("read_local_file", {"path": "/etc/passwd"})
        (result,) = await brain.until(1, ToolResult)
        stop.set()

    assert isinstance(result, ToolResult)
    assert isinstance(result.error, ToolError)
    assert result.error.code == "rejected"
    assert "--root DIR" in result.error.message


async def test_a_token_that_ran_out_is_made_anew(
    brain: FakeBrain, local: Callable[..., Watched], nursery: trio.Nursery
) -> None:
    tokens = iter([TOKEN, "the next one"])
    watched = local(token=lambda: next(tokens))
    stop = trio.Event()
    nursery.start_soon(watched.client.run, stop)
    with trio.fail_after(BOUND_S):
        await brain.connections(1)
        brain.token = "the next one"
        pipe = brain.current.pipe
        assert pipe is not None
        await pipe.drop()
        await brain.connections(3)
        await trio.testing.wait_all_tasks_blocked()
        stop.set()

    first, second = watched.connected
    assert first.session_id == second.session_id


async def test_a_token_that_never_was_good_ends_it(
    brain: FakeBrain, local: Callable[..., Watched]
) -> None:
    with trio.fail_after(BOUND_S), pytest.raises(HandshakeRefused) as refused:
        await local(token=lambda: "bad").client.run(trio.Event())

    assert refused.value.code == "unauthorized"


async def test_it_says_once_that_it_waits_for_its_brain(
    brain: FakeBrain,
    local: Callable[..., Watched],
    nursery: trio.Nursery,
    autojump_clock: trio.testing.MockClock,
) -> None:
    watched = local(locate=lambda: None)
    stop = trio.Event()
    nursery.start_soon(watched.client.run, stop)
    await trio.sleep(60)
    stop.set()

    assert watched.trouble == ["there is no Brain yet; waiting for it"]
    assert brain.opened_at == []
