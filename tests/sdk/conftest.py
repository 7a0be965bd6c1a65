"""A Brain for each test: on the loopback interface, or in memory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from tests.sdk.contract import BrainUnderTest
from tests.sdk.fake_brain import FakeBrain, MemoryNet, serve_on_loopback
from tests.sdk.real_brain import serve_really


@pytest.fixture
async def brain() -> AsyncIterator[FakeBrain]:
    """A fake Brain behind a real socket."""
    async with serve_on_loopback(FakeBrain()) as running:
        yield running


@pytest.fixture(params=["fake", "real"])
async def under_test(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[BrainUnderTest]:
    """Every Brain that has to keep the contract."""
    if request.param == "fake":
        async with serve_on_loopback(FakeBrain()) as fake:
            yield fake
    else:
        async with serve_really(tmp_path / "home") as real:
            yield real


@pytest.fixture
def net(nursery: trio.Nursery) -> MemoryNet:
    """A fake Brain without a network, for virtual time."""
    return MemoryNet(FakeBrain(), nursery)
