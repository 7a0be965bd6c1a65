"""The profile of the URL and what the handshake says of the client are two things."""

from pathlib import Path

import pytest
from trio.testing import MockClock

from tests.support.brain import running_brain

TYPES = ("cli", "web", "robot", "external", "never-heard-of")


@pytest.mark.requirement("003-2.1a-type-and-profile-orthogonal")
@pytest.mark.parametrize("profile", ["foot", "web", "mobile", "daemon", "ci-bot"])
async def test_any_type_of_client_may_have_any_profile(
    tmp_path: Path, profile: str, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        for kind in TYPES:
            client = await brain.connect(profile=profile, type=kind)
            assert client.opened["type"] == "session_created"

        rows = brain.rows("SELECT profile, client_type FROM session")
        assert {(row["profile"], row["client_type"]) for row in rows} == {
            (profile, kind) for kind in TYPES
        }


@pytest.mark.requirement("003-2.1a-type-and-profile-orthogonal")
async def test_another_type_of_the_same_profile_may_resume(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        first = await brain.connect(profile="foot", type="cli")
        await first.disconnect()
        second = await brain.connect(
            profile="foot", type="external", resume=first.session_id
        )

        assert second.opened["type"] == "session_resumed"
        [row] = brain.rows("SELECT client_type FROM session")
        assert row["client_type"] == "external"
