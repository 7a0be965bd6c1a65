"""A Brain that was started for a run ends when nobody needs it any more."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.support.brain import TestBrain, running_brain
from vancetope.brain import FIRST_CLIENT_S, LINGER_S, _stop_when_idle

FLOWS = {"read": "tasks: [{id: a, tool: read, args: {path: x}}]\n"}
#: More than it takes to notice that nobody is there.
SOON_S = 3 * LINGER_S


@asynccontextmanager
async def for_a_run(tmp_path: Path) -> AsyncIterator[tuple[TestBrain, trio.Event]]:
    """A Brain for a run, and the event that it sets when it wants to leave."""
    async with running_brain(tmp_path, workflows=FLOWS, own_only=True) as brain:
        stop = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_stop_when_idle, brain.brain, stop)
            yield brain, stop
            nursery.cancel_scope.cancel()


async def test_a_client_that_lends_tools_does_not_hold_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with for_a_run(tmp_path) as (brain, stop):
        await brain.connect("laptop", serve={"read": "text"})
        page = await brain.connect("page")
        process = await page.start("read")
        assert (await page.finished(process))["status"] == "done"
        await trio.sleep(3600)
        assert not stop.is_set()  # somebody looks at the result
        await page.disconnect()
        await trio.sleep(SOON_S)
        assert stop.is_set()
        assert len(brain.brain.hub.live) == 1


async def test_a_blocked_process_does_not_hold_it_but_one_at_a_client_does(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with for_a_run(tmp_path) as (brain, stop):
        page = await brain.connect("page")
        process = await page.start("read")
        await brain.until_status(process, "blocked")
        laptop = await brain.connect("laptop", tools=["read"])
        call = await laptop.request("read")
        await page.disconnect()
        assert brain.status(process) == "running"
        await trio.sleep(300)
        assert not stop.is_set()
        await laptop.answer(call, "text")
        await brain.until_status(process, "done")
        await trio.sleep(SOON_S)
        assert stop.is_set()


async def test_what_only_an_absent_client_can_do_does_not_hold_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with for_a_run(tmp_path) as (brain, stop):
        await brain.connect("other", tools=["send"])
        page = await brain.connect("page")
        process = await page.start("read")
        await brain.until_status(process, "blocked")
        await page.disconnect()
        await trio.sleep(SOON_S)
        assert stop.is_set()


@pytest.mark.parametrize("tools", [[], ["read"]], ids=["asks", "lends"])
async def test_it_waits_for_the_run_even_when_a_client_was_faster(
    tmp_path: Path, tools: list[str], autojump_clock: MockClock
) -> None:
    # It was seen leaving before the run had come, when the client counted as it.
    async with for_a_run(tmp_path) as (brain, stop):
        early = await brain.connect("early", tools=tools)
        if not tools:
            await early.disconnect()
        await trio.sleep(FIRST_CLIENT_S - LINGER_S)
        assert stop.is_set() is not bool(tools)
        await trio.sleep(LINGER_S + SOON_S)
        assert stop.is_set()
