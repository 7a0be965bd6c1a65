"""A Brain for each test: on the loopback interface, or in memory."""

from collections.abc import AsyncIterator

import pytest
import trio

from tests.sdk.contract import BrainUnderTest
from tests.sdk.fake_brain import FakeBrain, MemoryNet, serve_on_loopback


@pytest.fixture
async def brain() -> AsyncIterator[FakeBrain]:
    """A fake Brain behind a real socket."""
    async with serve_on_loopback(FakeBrain()) as running:
        yield running


@pytest.fixture(params=["fake"])
async def under_test(brain: FakeBrain) -> BrainUnderTest:
    """Every Brain that has to keep the contract."""
    return brain


@pytest.fixture
def net(nursery: trio.Nursery) -> MemoryNet:
    """A fake Brain without a network, for virtual time."""
    return MemoryNet(FakeBrain(), nursery)
