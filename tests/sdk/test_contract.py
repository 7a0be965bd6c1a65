"""What the SDK and every Brain have to agree on.

The fixture ``under_test`` says which Brains: the fake one shows that the fake is true
to the contract, the real one that the Brain is.
"""

import pytest
import trio

from tests.sdk.contract import BrainUnderTest
from vance_sdk.client import open_client
from vance_sdk.connection import open_connection
from vance_sdk.errors import BrainRefused, HandshakeRefused, ProcessFailed
from vance_sdk.local_tool import LocalTool, tool_from_function
from vance_sdk.wire.messages import (
    ClientInfo,
    MemoryAdd,
    ProcessList,
    ProcessListQuery,
    SessionChoice,
    SessionCreated,
    SessionOpened,
    SessionResumed,
)

BOUND_S = 20
ROBOT = ClientInfo(type="robot", name="contract", is_human=False)


async def test_a_new_session_is_created_and_requests_are_answered(
    under_test: BrainUnderTest,
) -> None:
    async with open_connection(
        under_test.url,
        token=under_test.token,
        client=ROBOT,
        session=SessionChoice(project_id="contract"),
    ) as connection:
        answer = await connection.request(ProcessListQuery())

    assert isinstance(connection.opened, SessionCreated)
    assert connection.opened.project.id == "contract"
    assert isinstance(answer, ProcessList)


async def test_a_token_that_does_not_verify_is_refused(
    under_test: BrainUnderTest,
) -> None:
    with pytest.raises(HandshakeRefused) as refused:
        async with open_connection(under_test.url, token="wrong", client=ROBOT):
            raise NotImplementedError

    assert refused.value.code == "unauthorized"


async def test_a_session_that_never_was_is_not_found(
    under_test: BrainUnderTest,
) -> None:
    with pytest.raises(HandshakeRefused) as refused:
        async with open_connection(
            under_test.url,
            token=under_test.token,
            client=ROBOT,
            session=SessionChoice(resume="sess_never"),
        ):
            raise NotImplementedError

    assert refused.value.code == "not_found"


async def test_a_process_runs_and_its_result_is_found(
    under_test: BrainUnderTest,
) -> None:
    async with open_client(under_test.url, token=under_test.token) as client:
        process_id = await client.start("Echo", under_test.echo_workflow, {"n": 1})
        result = await client.wait(process_id, timeout=BOUND_S)
        row = await client.status(process_id)
        rows = await client.processes()
        tasks = await client.tasks(process_id)

    assert process_id.startswith("tp_")
    assert result == {"n": 1}
    assert (row.goal, row.status, row.result) == ("Echo", "done", {"n": 1})
    assert process_id in [row.id for row in rows]
    assert all(task.status == "done" for task in tasks)


async def test_an_unknown_workflow_is_not_found(under_test: BrainUnderTest) -> None:
    async with open_client(under_test.url, token=under_test.token) as client:
        with pytest.raises(BrainRefused) as refused:
            await client.start("goal", "wf_never")

    assert refused.value.code == "not_found"


async def test_the_same_key_starts_the_same_process(
    under_test: BrainUnderTest,
) -> None:
    async with open_client(under_test.url, token=under_test.token) as client:
        ids = [
            await client.start(
                "Echo", under_test.echo_workflow, {"n": 1}, idempotency_key="once"
            )
            for _ in range(2)
        ]

    assert ids[0] == ids[1]


async def test_a_tool_of_the_client_runs_for_its_process(
    under_test: BrainUnderTest,
) -> None:
    def greet(name: str) -> dict[str, str]:
        return {"greeting": f"Hello {name}"}

    tool = tool_from_function(greet, effect="read")
    async with open_client(
        under_test.url, token=under_test.token, tools=[tool]
    ) as client:
        workflow = under_test.calls("greet")
        process_id = await client.start("Greet", workflow, {"name": "Ada"})
        result = await client.wait(process_id, timeout=BOUND_S)

    assert result == {"greeting": "Hello Ada"}


async def test_a_tool_that_fails_fails_its_process(under_test: BrainUnderTest) -> None:
    async def fail(args: object) -> None:
        raise ValueError("no")

    async with open_client(
        under_test.url,
        token=under_test.token,
        tools=[LocalTool(name="fail", run=fail)],
    ) as client:
        process_id = await client.start("Fail", under_test.calls("fail"))
        with pytest.raises(ProcessFailed) as failed:
            await client.wait(process_id, timeout=BOUND_S)

    assert failed.value.status == "failed"


async def test_a_tool_offered_later_counts_too(under_test: BrainUnderTest) -> None:
    async with open_client(under_test.url, token=under_test.token) as client:
        await client.wait_connected()
        await client.offer(tool_from_function(lambda: "here", name="late"))
        process_id = await client.start("Late", under_test.calls("late"))

        assert await client.wait(process_id, timeout=BOUND_S) == "here"


async def test_a_dropped_client_resumes_and_its_idempotent_call_ends_well(
    under_test: BrainUnderTest,
) -> None:
    opened: list[SessionOpened] = []
    started, go_on = trio.Event(), trio.Event()

    async def slow(args: object) -> str:
        started.set()
        await go_on.wait()
        return "done"

    async with open_client(
        under_test.url,
        token=under_test.token,
        tools=[LocalTool(name="slow", effect="idempotent", run=slow)],
        on_connected=opened.append,
    ) as client:
        process_id = await client.start("Slow", under_test.calls("slow"))
        with trio.fail_after(BOUND_S):
            await started.wait()
        await under_test.drop()
        await client.processes()
        go_on.set()
        result = await client.wait(process_id, timeout=BOUND_S)

    assert result == "done"
    # The first may be a session of an earlier test, which is free again.
    assert isinstance(opened[1], SessionResumed)
    assert opened[0].session_id == opened[1].session_id


async def test_memory_that_is_not_there_is_unavailable_with_a_fix(
    under_test: BrainUnderTest,
) -> None:
    async with open_client(under_test.url, token=under_test.token) as client:
        entity = MemoryAdd(entity_type="document", title="A paper", content="text")
        with pytest.raises(BrainRefused) as refused:
            await client.memory_add(entity)

    assert refused.value.code == "unavailable"
    assert refused.value.context["fix"]
