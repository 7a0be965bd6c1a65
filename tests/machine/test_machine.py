"""Nothing is lost, nothing runs twice, nothing is left behind: in any order."""

import os

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.machine.machine import QueueMachine

EXAMPLES = {"check": 400, "soak": 20_000}


def test_whatever_happens_in_any_order_the_queue_stays_sound() -> None:
    examples = EXAMPLES.get(os.environ.get("HYPOTHESIS_PROFILE", ""), 150)
    looking = settings(
        max_examples=examples,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    run_state_machine_as_test(QueueMachine, settings=looking)
