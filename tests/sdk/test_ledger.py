"""What a client remembers of its calls."""

from vance_sdk.ledger import MemoryLedger
from vance_sdk.wire.messages import ToolError, ToolResult


def result(request_id: str) -> ToolResult:
    return ToolResult(request_id=request_id, result=request_id)


async def code_of(ledger: MemoryLedger, request_id: str) -> str | None:
    entry = await ledger.look_up(request_id)
    assert entry is not None
    assert entry.result is not None
    error = entry.result.error
    return error.code if isinstance(error, ToolError) else None


async def test_a_call_goes_from_unknown_to_running_to_done_to_a_tombstone() -> None:
    ledger = MemoryLedger()
    assert await ledger.look_up("a") is None

    await ledger.accept("a", "digest")
    running = await ledger.look_up("a")
    assert running is not None
    assert running.result is None
    assert ledger.unacknowledged() == []

    await ledger.finish(result("a"))
    assert ledger.unacknowledged() == [result("a")]
    assert await code_of(ledger, "a") is None

    await ledger.forget("a")
    assert ledger.unacknowledged() == []
    assert ledger.inflight() == []
    assert await code_of(ledger, "a") == "outcome_unknown"


async def test_forgetting_touches_no_running_call() -> None:
    ledger = MemoryLedger()
    await ledger.accept("a", "digest")

    await ledger.forget("a")
    await ledger.forget("never seen")

    assert [call.state for call in ledger.inflight()] == ["running"]


async def test_tombstones_and_results_are_bounded_oldest_first() -> None:
    ledger = MemoryLedger(max_results=2, max_tombstones=2)
    for name in "abcde":
        await ledger.accept(name, name)
        await ledger.finish(result(name))

    assert ledger.unacknowledged() == [result("d"), result("e")]
    assert await ledger.look_up("a") is None
    assert await code_of(ledger, "b") == "outcome_unknown"

    await ledger.bury("f")
    assert await ledger.look_up("b") is None
    assert await code_of(ledger, "f") == "cancelled"
