"""Nothing is lost, nothing runs twice, nothing is left behind: in any order."""

import os

from hypothesis import HealthCheck, settings

from tests.machine.machine import QueueMachine

QueueMachine.TestCase.settings = settings(
    max_examples=400 if os.environ.get("HYPOTHESIS_PROFILE") == "check" else 60,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class TestQueue(QueueMachine.TestCase):  # type: ignore[name-defined,misc]
    """`QueueMachine`, as pytest finds it."""
