"""The rules of seed 000 section 4, written down by hand, one literal row each."""

from collections.abc import Mapping
from typing import Any

import pytest

from vancetope.model.status import CauseKind, TaskStatus
from vancetope.model.tool import Location, Prefer, Strategy, Target, ToolSpec
from vancetope.tools.registry import Address
from vancetope.tools.routing import (
    Decision,
    Fallback,
    OnClient,
    OnServer,
    Park,
    Question,
    ServerState,
    Skip,
    Wake,
    decide,
    effective_strategy,
)

UP, DOWN, ABSENT = ServerState.UP, ServerState.DOWN, ServerState.ABSENT
SERVER_TOOL = {"location": Location.SERVER}
BOTH = {"location": Location.BOTH}
PREFER_CLIENT = {"location": Location.BOTH, "prefer": Prefer.CLIENT}
ON_SERVER = Fallback(spec=ToolSpec(name="other", location=Location.SERVER), server=UP)
ON_CLIENT = Fallback(
    spec=ToolSpec(name="other", location=Location.CLIENT), client="laptop"
)


def question(entry: Mapping[str, Any] | None = None, **facts: Any) -> Question:
    fields: dict[str, Any] = {
        "name": "read_local_file",
        "location": Location.CLIENT,
        **(entry or {}),
    }
    given: dict[str, Any] = {
        "address": Address("read_local_file"),
        "spec": ToolSpec(**fields),
        **facts,
    }
    return Question(**given)


def brief(decision: Decision) -> str:
    """The answer in a few words, without the name of the tool that was asked for."""
    match decision:
        case OnServer(tool=tool):
            text = f"server {tool}"
        case OnClient(tool=tool, client=client):
            text = f"{client} {tool}"
        case Park(status=status, cause_kind=kind, key=key):
            text = f"{status} {kind} {key}"
        case Skip():
            text = "skip"
        case _:
            text = f"fail {decision.code}"
    return text.removesuffix(" read_local_file")


#: The tree drawn in seed 000 section 4: entry, client, server, outcome.
DIAGRAM: dict[str, tuple[Any, ...]] = {
    "location-server": (SERVER_TOOL, None, UP, "server"),
    "location-server-client-there": (SERVER_TOOL, "laptop", UP, "server"),
    "location-client-connected": ({}, "laptop", ABSENT, "laptop"),
    "both-without-prefer": (BOTH, "laptop", UP, "server"),
    "both-prefer-server": ({**BOTH, "prefer": Prefer.SERVER}, "laptop", UP, "server"),
    "both-prefer-client-connected": (PREFER_CLIENT, "laptop", UP, "laptop"),
    "both-prefer-client-not-present": (PREFER_CLIENT, None, UP, "server"),
}


@pytest.mark.requirement(
    "000-1-both-sides-server-first",
    "000-3-location-types",
    "000-4-both-fallback-to-server",
    "000-4-router-decides-by-location",
)
@pytest.mark.parametrize("case", DIAGRAM)
def test_the_router_follows_the_diagram(case: str) -> None:
    entry, client, server, where = DIAGRAM[case]
    decision = decide(question(entry, client=client, server=server))
    assert brief(decision) == where


@pytest.mark.requirement("000-4-client-absent-blocked")
def test_a_client_tool_without_a_client_blocks_with_the_words_of_the_seed() -> None:
    assert decide(question()) == Park(
        status=TaskStatus.BLOCKED,
        cause_kind=CauseKind.CLIENT_TOOL,
        what="Waiting for Client for Tool: read_local_file",
        key="read_local_file",
        wakes_on="a client offers read_local_file",
        reason="location client, no client offers it, strategy block (default)",
    )


def test_a_tool_of_one_named_client_waits_for_that_client() -> None:
    decision = decide(question(address=Address("read_local_file", "laptop")))
    assert isinstance(decision, Park)
    assert decision.what == "Waiting for Client laptop for Tool: read_local_file"
    assert decision.key == "read_local_file@laptop"
    assert "client `laptop` away" in decision.reason


@pytest.mark.requirement("000-4-unknown-tool-fails")
@pytest.mark.parametrize("target", Target)
def test_an_unknown_tool_fails(target: Target) -> None:
    decision = decide(question(spec=None, target=target, client="laptop", server=UP))
    assert brief(decision) == "fail unknown_tool"


#: Fallback Strategy of seed 000 section 4 and DESIGN section 5, client away:
#: entry, facts, outcome.
AWAY: dict[str, tuple[Any, ...]] = {
    "block": ({"offline_strategy": "block"}, {}, "blocked client_tool"),
    "queue": ({"offline_strategy": "queue"}, {}, "queued client_tool"),
    "skip": ({"offline_strategy": "skip"}, {}, "skip"),
    "default is block": ({}, {}, "blocked client_tool"),
    "default of an autonomous run": ({}, {"autonomous": True}, "queued client_tool"),
    "fallback_tool on the server": (
        {"offline_strategy": "fallback"},
        {"fallback": ON_SERVER},
        "server other",
    ),
    "fallback_tool on a client": (
        {"offline_strategy": "fallback"},
        {"fallback": ON_CLIENT},
        "laptop other",
    ),
    "fallback_tool before the server copy": (
        {**PREFER_CLIENT, "offline_strategy": "fallback"},
        {"fallback": ON_SERVER, "server": UP},
        "server other",
    ),
    "server copy without a fallback_tool": (
        {**PREFER_CLIENT, "offline_strategy": "fallback"},
        {"server": UP, "auto_fallback": False},
        "server",
    ),
    "nothing to fall back on blocks, autonomous or not": (
        {"offline_strategy": "fallback"},
        {"autonomous": True},
        "blocked client_tool",
    ),
}


@pytest.mark.requirement(
    "000-4-strategy-block",
    "000-4-strategy-skip",
    "000-4-strategy-fallback",
    "000-4-strategy-queue",
)
@pytest.mark.parametrize("case", AWAY)
def test_the_strategy_decides_while_the_client_is_away(case: str) -> None:
    entry, facts, outcome = AWAY[case]
    if "offline_strategy" in entry:
        entry = {**entry, "offline_strategy": Strategy(str(entry["offline_strategy"]))}
    assert brief(decide(question(entry, **facts))) == outcome


@pytest.mark.requirement("000-4-strategy-only-while-away")
@pytest.mark.parametrize("strategy", Strategy)
def test_no_strategy_is_asked_while_the_client_is_there(strategy: Strategy) -> None:
    q = question({"offline_strategy": strategy}, client="laptop", fallback=ON_SERVER)
    assert brief(decide(q)) == "laptop"


def test_strategies_rank_task_tool_recipe_mode() -> None:
    tool = {"offline_strategy": Strategy.QUEUE}
    recipe: dict[str, Any] = {"recipe_strategy": Strategy.FALLBACK, "autonomous": True}
    by_task = question(tool, task_strategy=Strategy.SKIP, **recipe)
    assert effective_strategy(by_task) == (Strategy.SKIP, "task")
    assert effective_strategy(question(tool, **recipe)) == (Strategy.QUEUE, "tool")
    assert effective_strategy(question(**recipe)) == (Strategy.FALLBACK, "recipe")
    autonomous = question(autonomous=True)
    assert effective_strategy(autonomous) == (Strategy.QUEUE, "autonomous run")
    assert effective_strategy(question()) == (Strategy.BLOCK, "default")


#: `auto_fallback` of a `both, prefer client` tool, client away, server up.
AUTO_FALLBACK: dict[str, tuple[Any, ...]] = {
    "without a strategy": ({}, {}, "server"),
    "off": ({}, {"auto_fallback": False}, "blocked client_tool"),
    "off, autonomous": (
        {},
        {"auto_fallback": False, "autonomous": True},
        "queued client_tool",
    ),
    "off, recipe skips": (
        {},
        {"auto_fallback": False, "recipe_strategy": Strategy.SKIP},
        "skip",
    ),
    "beside a strategy of the recipe": (
        {},
        {"recipe_strategy": Strategy.QUEUE},
        "server",
    ),
    "gives way to the tool": (
        {"offline_strategy": Strategy.BLOCK},
        {},
        "blocked client_tool",
    ),
    "gives way to the task": ({}, {"task_strategy": Strategy.SKIP}, "skip"),
}


@pytest.mark.requirement("000-8-auto-fallback")
@pytest.mark.parametrize("case", AUTO_FALLBACK)
def test_auto_fallback_lets_the_server_stand_in(case: str) -> None:
    entry, facts, outcome = AUTO_FALLBACK[case]
    q = question({**PREFER_CLIENT, **entry}, server=UP, **facts)
    assert brief(decide(q)) == outcome


#: Targets of seed 000 section 6: entry, target, client, server, outcome.
TARGETS: dict[str, tuple[Any, ...]] = {
    "server tool on a client": (
        SERVER_TOOL,
        "client",
        "laptop",
        UP,
        "fail wrong_target",
    ),
    "client tool on the server": ({}, "server", "laptop", UP, "fail wrong_target"),
    "client leaves a preferred server": (BOTH, "client", "laptop", UP, "laptop"),
    "client waits beside a server": (BOTH, "client", None, UP, "blocked client_tool"),
    "server leaves a preferred client": (
        PREFER_CLIENT,
        "server",
        "laptop",
        UP,
        "server",
    ),
    "server waits beside a client": (
        PREFER_CLIENT,
        "server",
        "laptop",
        DOWN,
        "blocked server_tool",
    ),
    "any prefers the preferred": (PREFER_CLIENT, "any", "laptop", UP, "laptop"),
    "any takes the server": (PREFER_CLIENT, "any", None, UP, "server"),
    "any takes the client": (BOTH, "any", "laptop", DOWN, "laptop"),
    "any of a client tool": ({}, "any", "laptop", UP, "laptop"),
    "any of a server tool": (SERVER_TOOL, "any", "laptop", UP, "server"),
}


@pytest.mark.requirement(
    "000-6-target-auto",
    "000-6-target-server",
    "000-6-target-client",
    "000-6-target-any",
)
@pytest.mark.parametrize("case", TARGETS)
def test_a_task_runs_where_its_target_says(case: str) -> None:
    entry, target, client, server, outcome = TARGETS[case]
    q = question(entry, target=Target(target), client=client, server=server)
    assert brief(decide(q)) == outcome


@pytest.mark.requirement("000-6-target-any")
@pytest.mark.parametrize("strategy", [Strategy.BLOCK, Strategy.QUEUE, Strategy.SKIP])
def test_any_takes_the_server_whatever_the_strategy(strategy: Strategy) -> None:
    q = question(PREFER_CLIENT, target=Target.ANY, task_strategy=strategy, server=UP)
    assert brief(decide(q)) == "server"


def test_any_takes_the_server_copy_before_the_fallback_tool() -> None:
    facts = {"task_strategy": Strategy.FALLBACK, "fallback": ON_SERVER, "server": UP}
    q = question(PREFER_CLIENT, target=Target.ANY, **facts)
    assert brief(decide(q)) == "server"


def test_a_fallback_tool_runs_on_the_side_it_prefers() -> None:
    for prefer, outcome in ((None, "server other"), (Prefer.CLIENT, "laptop other")):
        spec = ToolSpec(name="other", location=Location.BOTH, prefer=prefer)
        other = Fallback(spec=spec, server=UP, client="laptop")
        q = question(task_strategy=Strategy.FALLBACK, fallback=other)
        assert brief(decide(q)) == outcome


@pytest.mark.requirement("000-6-target-client")
def test_target_client_falls_back_to_a_client_only() -> None:
    facts: dict[str, Any] = {
        "target": Target.CLIENT,
        "task_strategy": Strategy.FALLBACK,
        "server": UP,
    }
    to_server = question(PREFER_CLIENT, fallback=ON_SERVER, **facts)
    to_client = question(PREFER_CLIENT, fallback=ON_CLIENT, **facts)
    assert brief(decide(to_server)) == "blocked client_tool"
    assert brief(decide(to_client)) == "laptop other"


def test_a_named_client_excludes_the_server_and_every_other_client() -> None:
    named: dict[str, Any] = {
        "address": Address("read_local_file", "laptop"),
        "server": UP,
    }
    there = question(BOTH, client="laptop", **named)
    away = question(BOTH, task_strategy=Strategy.FALLBACK, **named)
    other = question(BOTH, client="desktop", **named)
    parked = "blocked client_tool read_local_file@laptop"
    assert brief(decide(there)) == "laptop"
    assert brief(decide(away)) == parked
    assert brief(decide(other)) == parked


def test_a_named_client_for_a_server_tool_or_target_fails() -> None:
    address = Address("read_local_file", "laptop")
    server_tool = question(SERVER_TOOL, address=address, server=UP)
    server_target = question(BOTH, address=address, target=Target.SERVER, server=UP)
    assert brief(decide(server_tool)) == "fail wrong_target"
    assert brief(decide(server_target)) == "fail wrong_target"


def test_a_pin_binds_to_one_client_but_leaves_the_server() -> None:
    pinned = question(PREFER_CLIENT, pin="laptop", client="desktop", server=UP)
    client_only = question(pin="laptop", client="desktop")
    assert brief(decide(pinned)) == "server"
    parked = "blocked client_tool read_local_file@laptop"
    assert brief(decide(client_only)) == parked


def test_a_server_that_is_down_blocks_even_where_the_strategy_is_queue() -> None:
    jira = {"location": Location.SERVER, "mcp_server": "jira-mcp"}
    facts: dict[str, Any] = {
        "server": DOWN,
        "task_strategy": Strategy.QUEUE,
        "autonomous": True,
    }
    decision = decide(question(jira, **facts))
    assert isinstance(decision, Park)
    assert decision.status is TaskStatus.BLOCKED
    assert decision.what == "Waiting for Server jira-mcp for Tool: read_local_file"
    assert (decision.cause_kind, decision.key) == (CauseKind.SERVER_TOOL, "jira-mcp")


def test_both_sides_away_waits_for_the_server_and_wakes_on_the_client_too() -> None:
    client = Wake(cause_kind=CauseKind.CLIENT_TOOL, key="read_local_file")
    for entry in (BOTH, PREFER_CLIENT):
        decision = decide(question(entry, server=DOWN))
        assert isinstance(decision, Park)
        assert decision.cause_kind is CauseKind.SERVER_TOOL
        assert decision.also == (client,)


def test_a_written_block_waits_for_the_client_alone_though_the_server_is_down() -> None:
    decision = decide(
        question(PREFER_CLIENT, server=DOWN, task_strategy=Strategy.BLOCK)
    )
    assert brief(decision) == "blocked client_tool"
    assert isinstance(decision, Park)
    assert decision.also == ()


def test_a_fallback_that_cannot_run_now_wakes_the_task_later() -> None:
    spec = ToolSpec(name="other", location=Location.SERVER, mcp_server="files-mcp")
    q = question(
        task_strategy=Strategy.FALLBACK, fallback=Fallback(spec=spec, server=DOWN)
    )
    decision = decide(q)
    assert isinstance(decision, Park)
    assert decision.key == "read_local_file"
    assert decision.also == (Wake(cause_kind=CauseKind.SERVER_TOOL, key="files-mcp"),)


def test_a_server_tool_nobody_runs_fails_unless_a_server_may_bring_it() -> None:
    never = question(SERVER_TOOL)
    later = question({"location": Location.SERVER, "mcp_server": "jira-mcp"})
    assert brief(decide(never)) == "fail no_server_copy"
    assert brief(decide(later)) == "blocked server_tool jira-mcp"


def test_a_both_tool_without_a_server_copy_is_a_client_tool() -> None:
    there = question(BOTH, client="laptop")
    away = question(BOTH, task_strategy=Strategy.SKIP)
    assert brief(decide(there)) == "laptop"
    assert brief(decide(away)) == "skip"


def test_a_client_tool_whose_server_may_still_come_wakes_on_it_too() -> None:
    decision = decide(question({**BOTH, "mcp_server": "drive-mcp"}))
    assert brief(decision) == "blocked client_tool"
    assert isinstance(decision, Park)
    assert decision.also == (Wake(cause_kind=CauseKind.SERVER_TOOL, key="drive-mcp"),)


def test_reasons_name_the_rule_that_decided() -> None:
    there = decide(question(client="laptop"))
    fell = decide(question(PREFER_CLIENT, server=UP))
    assert isinstance(there, OnClient)
    assert isinstance(fell, OnServer)
    assert there.reason == "location client, client `laptop` connected"
    assert fell.reason == (
        "prefer client, no client offers it, fell back to the server (auto_fallback)"
    )
