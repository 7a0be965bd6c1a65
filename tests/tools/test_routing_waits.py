"""What a parked task waits for is what lets it go on: properties of `decide`."""

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from vancetope.model.status import CauseKind
from vancetope.model.tool import Location, Prefer, Strategy, Target, ToolSpec
from vancetope.tools.registry import Address
from vancetope.tools.routing import (
    Fail,
    Fallback,
    OnClient,
    OnServer,
    Park,
    Question,
    ServerState,
    decide,
)

specs = st.builds(
    ToolSpec,
    name=st.just("tool"),
    location=st.sampled_from(Location),
    prefer=st.sampled_from([None, *Prefer]),
    offline_strategy=st.sampled_from([None, *Strategy]),
    mcp_server=st.sampled_from([None, "jira-mcp"]),
)
clients = st.sampled_from([None, "laptop", "desktop"])
questions = st.builds(
    Question,
    address=st.builds(Address, st.just("tool"), clients),
    spec=st.none() | specs,
    target=st.sampled_from(Target),
    task_strategy=st.sampled_from([None, *Strategy]),
    recipe_strategy=st.sampled_from([None, *Strategy]),
    autonomous=st.booleans(),
    auto_fallback=st.booleans(),
    pin=clients,
    client=clients,
    server=st.sampled_from(ServerState),
    fallback=st.none()
    | st.builds(
        Fallback,
        spec=st.builds(
            ToolSpec,
            name=st.just("other"),
            location=st.sampled_from(Location),
            prefer=st.sampled_from([None, *Prefer]),
        ),
        server=st.sampled_from(ServerState),
        client=clients,
    ),
)


@given(questions)
def test_any_question_has_one_answer_that_says_why(q: Question) -> None:
    answer = decide(q)
    assert decide(q) == answer
    assert answer.message if isinstance(answer, Fail) else answer.reason


@given(questions)
def test_what_a_parked_task_waits_for_lets_it_go_on(q: Question) -> None:
    """When the cause ends, the task runs: nothing waits for an event in vain."""
    parked = decide(q)
    if not isinstance(parked, Park):
        return
    if parked.cause_kind is CauseKind.CLIENT_TOOL:
        woken = attrs.evolve(q, client=q.address.client or q.pin or "laptop")
    else:
        woken = attrs.evolve(q, server=ServerState.UP)
    assert isinstance(decide(woken), OnServer | OnClient)


@settings(max_examples=1000)
@given(questions, st.sampled_from(["client", "server", "fallback"]))
def test_a_change_that_frees_a_task_is_among_its_wakes(q: Question, what: str) -> None:
    parked = decide(q)
    if not isinstance(parked, Park) or q.spec is None:
        return
    named = q.address.client or q.pin
    if what == "client":
        key = f"tool@{named}" if named else "tool"
        changed = attrs.evolve(q, client=named or "laptop")
    elif what == "server" and q.server is not ServerState.UP:
        key = q.spec.mcp_server or "tool"
        changed = attrs.evolve(q, server=ServerState.UP)
        if q.server is ServerState.ABSENT and q.spec.mcp_server is None:
            return
    elif q.fallback is not None and q.fallback.server is not ServerState.UP:
        key = "other"
        changed = attrs.evolve(
            q, fallback=attrs.evolve(q.fallback, server=ServerState.UP)
        )
    else:
        return
    if isinstance(decide(changed), OnServer | OnClient):
        assert key in {parked.key, *(wake.key for wake in parked.also)}
