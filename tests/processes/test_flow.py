"""The decisions of the flow that need no store."""

import itertools

import pytest

from vancetope.model.status import ProcessStatus, TaskStatus
from vancetope.processes.flow import After, after_dependency, settled_status

DONE, FAILED = TaskStatus.DONE, TaskStatus.FAILED
SKIPPED, CANCELLED = TaskStatus.SKIPPED, TaskStatus.CANCELLED


def after(status: TaskStatus, **given: bool) -> After:
    facts = {"overlooked": False, "by_failure": False, "uses": False, **given}
    return after_dependency(status, **facts)


@pytest.mark.parametrize("uses", [True, False])
def test_a_dependent_goes_on_after_a_done_task(uses: bool) -> None:
    assert after(DONE, uses=uses) is After.SATISFIED


@pytest.mark.parametrize("status", [FAILED, CANCELLED])
def test_a_dependent_of_a_failed_or_cancelled_task_is_skipped(
    status: TaskStatus,
) -> None:
    assert after(status) is After.SKIP_FAILED


def test_an_overlooked_failure_is_a_result_but_a_cancel_is_not() -> None:
    assert after(FAILED, overlooked=True, uses=True) is After.SATISFIED
    assert after(CANCELLED, overlooked=True) is After.SKIP_FAILED


def test_a_skipped_task_skips_only_those_that_use_its_result() -> None:
    assert after(SKIPPED, uses=True) is After.SKIP
    assert after(SKIPPED, uses=False) is After.SATISFIED


@pytest.mark.parametrize("uses", [True, False])
def test_a_skip_because_of_a_failure_goes_on_down_the_tree(uses: bool) -> None:
    assert after(SKIPPED, by_failure=True, uses=uses) is After.SKIP_FAILED


def test_what_a_process_does_follows_from_its_tasks() -> None:
    expected = {
        (False, False, False): ProcessStatus.RUNNING,
        (False, False, True): ProcessStatus.WAITING,
        (False, True, False): ProcessStatus.BLOCKED,
        (False, True, True): ProcessStatus.BLOCKED,
    }
    for active, blocked, queued in itertools.product([False, True], repeat=3):
        status = settled_status(active=active, blocked=blocked, queued=queued)
        facts = (active, blocked, queued)
        assert status is expected.get(facts, ProcessStatus.RUNNING)
