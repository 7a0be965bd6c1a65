"""Workflows as Hypothesis makes them, and the tools they use."""

from typing import Final

from hypothesis import strategies as st

from vancetope.model.json import Json
from vancetope.model.tool import Effect, Location, Prefer, Strategy, Target, ToolSpec
from vancetope.processes.workflows.definition import (
    OnError,
    Workflow,
    WorkflowTask,
)
from vancetope.tools.registry import Registry

TIMEOUT_MS: Final = 10_000
START_WITHIN_MS: Final = 5_000

REGISTRY = Registry(
    {
        spec.name: spec
        for spec in (
            ToolSpec(name="s_read", location=Location.SERVER, effect=Effect.READ),
            ToolSpec(name="s_once", location=Location.SERVER),
            ToolSpec(
                name="m_idem",
                location=Location.SERVER,
                effect=Effect.IDEMPOTENT,
                mcp_server="mcp",
            ),
            ToolSpec(name="c_read", location=Location.CLIENT, effect=Effect.READ),
            ToolSpec(
                name="c_idem",
                location=Location.CLIENT,
                effect=Effect.IDEMPOTENT,
                offline_strategy=Strategy.FALLBACK,
                fallback_tool="s_once",
            ),
            ToolSpec(name="c_once", location=Location.CLIENT),
            ToolSpec(name="both", location=Location.BOTH, prefer=Prefer.CLIENT),
        )
    }
)
CLIENT_TOOLS = ("c_read", "c_idem", "c_once", "both", "c_free")
SERVER_TOOLS = ("s_read", "s_once", "m_idem")

_TOOLS = st.sampled_from(
    (*SERVER_TOOLS, *CLIENT_TOOLS, "c_read@laptop", "c_once@desktop", None)
)


_FOREACH: Final[tuple[Json, ...]] = (None, None, [], [1], [1, 2, 3])


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    """A small DAG of tools, values and `foreach` tasks."""
    made: list[WorkflowTask] = []
    for number in range(draw(st.integers(1, 5))):
        before = [task.key for task in made]
        needs = draw(st.lists(st.sampled_from(before), unique=True)) if before else []
        uses = draw(st.lists(st.sampled_from(needs), unique=True)) if needs else []
        tool = draw(_TOOLS)
        foreach = draw(st.sampled_from(_FOREACH))
        made.append(
            WorkflowTask(
                key=f"t{number}",
                tool=tool,
                tools=draw(st.sampled_from(((), (), ("c_read",), ("m_idem",)))),
                depends_on=tuple(needs),
                uses=frozenset(uses),
                args={} if foreach is None else {"item": "{{ item }}"},
                foreach=foreach,
                target=_target(draw, tool),
                offline_strategy=draw(st.sampled_from((None, None, *Strategy))),
                timeout_ms=TIMEOUT_MS,
                start_within_ms=draw(st.sampled_from((None, None, START_WITHIN_MS))),
                on_error=draw(st.sampled_from(OnError)),
                result=1,
            )
        )
    return Workflow(id="any", tasks=tuple(made))


def _target(draw: st.DrawFn, tool: str | None) -> Target:
    return draw(st.sampled_from(Target)) if tool == "both" else Target.AUTO
