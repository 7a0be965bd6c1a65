"""`decide` over its whole domain, against invariants stated without it."""

from collections.abc import Callable, Iterator
from itertools import product

import attrs
import pytest

from vancetope.model.status import CauseKind, TaskStatus
from vancetope.model.tool import Location, Prefer, Strategy, Target, ToolSpec
from vancetope.tools.registry import Address
from vancetope.tools.routing import (
    Decision,
    Fail,
    Fallback,
    OnClient,
    OnServer,
    Park,
    Question,
    ServerState,
    Skip,
    decide,
)

PLACES = [
    (Location.SERVER, None),
    (Location.CLIENT, None),
    (Location.BOTH, None),
    (Location.BOTH, Prefer.SERVER),
    (Location.BOTH, Prefer.CLIENT),
]
STRATEGIES = [None, *Strategy]
BOOLS = [False, True]


def _other(
    location: Location,
    server: str = "absent",
    client: str | None = None,
    prefer: Prefer | None = None,
) -> Fallback:
    spec = ToolSpec(name="other", location=location, prefer=prefer)
    return Fallback(spec=spec, server=ServerState(server), client=client)


FALLBACKS = [
    None,
    _other(Location.SERVER, "up", "laptop"),
    _other(Location.SERVER, "down"),
    _other(Location.CLIENT, "absent", "laptop"),
    _other(Location.CLIENT),
    _other(Location.BOTH, "up", "laptop"),
    _other(Location.BOTH, "up", "laptop", Prefer.CLIENT),
    _other(Location.BOTH, "down", "desktop"),
]


def policies() -> Iterator[Question]:
    """Every combination of sides, policies and fallbacks; no client is named."""
    plain = Address("tool")
    for place, tool in product(PLACES, STRATEGIES):
        spec = ToolSpec(
            name="tool", location=place[0], prefer=place[1], offline_strategy=tool
        )
        for target, client, server, task, recipe, auto, fall, fallback in product(
            Target,
            [None, "laptop"],
            ServerState,
            STRATEGIES,
            STRATEGIES,
            BOOLS,
            BOOLS,
            FALLBACKS[:5],
        ):
            yield Question(
                address=plain,
                spec=spec,
                target=target,
                task_strategy=task,
                recipe_strategy=recipe,
                autonomous=auto,
                auto_fallback=fall,
                client=client,
                server=server,
                fallback=fallback,
            )


def names() -> Iterator[Question]:
    """Every combination of sides with named clients, pins and MCP servers."""
    for (
        place,
        mcp,
        address,
        pin,
        target,
        client,
        server,
        task,
        auto,
        fallback,
    ) in product(
        [None, *PLACES],
        [None, "jira-mcp"],
        [Address("tool"), Address("tool", "laptop")],
        [None, "laptop"],
        Target,
        [None, "laptop", "desktop"],
        ServerState,
        STRATEGIES,
        BOOLS,
        FALLBACKS,
    ):
        spec = place and ToolSpec(
            name="tool", location=place[0], prefer=place[1], mcp_server=mcp
        )
        yield Question(
            address=address,
            spec=spec,
            pin=pin,
            target=target,
            client=client,
            server=server,
            task_strategy=task,
            autonomous=auto,
            fallback=fallback,
        )


@attrs.frozen
class View:
    """What the invariants are stated in, derived from a question on their own."""

    q: Question
    spec: ToolSpec

    @property
    def client_asked(self) -> bool:
        return self.q.target is Target.CLIENT or self.q.address.client is not None

    @property
    def server_asked(self) -> bool:
        return self.q.target is Target.SERVER

    @property
    def prefers_client(self) -> bool:
        return self.spec.prefer is Prefer.CLIENT

    @property
    def strategy(self) -> Strategy:
        q = self.q
        given = (q.task_strategy, self.spec.offline_strategy, q.recipe_strategy)
        mode = Strategy.QUEUE if q.autonomous else Strategy.BLOCK
        return next((s for s in given if s is not None), mode)

    @property
    def fallback_applies(self) -> bool:
        return self.strategy is Strategy.FALLBACK

    @property
    def impossible(self) -> bool:
        return (
            (self.client_asked and self.spec.location is Location.SERVER)
            or (self.server_asked and self.spec.location is Location.CLIENT)
            or (self.server_asked and self.q.address.client is not None)
        )

    def reachable(self, client: str | None) -> bool:
        named = self.q.address.client or self.q.pin
        return client is not None and named in {None, client}

    @property
    def client_can(self) -> bool:
        on_client = self.spec.location is not Location.SERVER
        return on_client and not self.server_asked and self.reachable(self.q.client)

    @property
    def server_can(self) -> bool:
        on_server = self.spec.location is not Location.CLIENT
        up = self.q.server is ServerState.UP
        return on_server and not self.client_asked and up

    @property
    def server_may_stay_idle(self) -> bool:
        """Whether a rule lets a task wait for a client beside a usable server."""
        written = self.q.task_strategy or self.spec.offline_strategy
        return (
            self.spec.location is Location.BOTH
            and self.prefers_client
            and self.q.target is Target.AUTO
            and not self.fallback_applies
            and (written is not None or not self.q.auto_fallback)
        )

    @property
    def fallback_can(self) -> bool:
        other = self.q.fallback
        if other is None or self.server_asked:
            return False
        on_server = other.spec.location is not Location.CLIENT
        on_client = other.spec.location is not Location.SERVER
        return (
            on_server and other.server is ServerState.UP and not self.client_asked
        ) or (on_client and self.reachable(other.client))


def violations(q: Question, d: Decision) -> list[str]:
    """The invariants this answer breaks."""
    if q.spec is None:
        known = not (isinstance(d, Fail) and d.code == "unknown_tool")
        return ["an unknown tool must fail"] if known else []
    view = View(q, q.spec)
    if isinstance(d, Fail):
        hopeless = q.server is ServerState.ABSENT and not q.spec.mcp_server
        only_server = view.server_asked or q.spec.location is Location.SERVER
        broken = {
            "fails though an event could help": not view.impossible
            and not (hopeless and only_server),
            "fails with another code": (d.code == "wrong_target")
            is not view.impossible,
        }
    elif isinstance(d, OnServer | OnClient):
        broken = _of_a_run(view, d)
    else:
        broken = _of_a_wait(view, d)
    broken["does not fail at once"] = view.impossible and not isinstance(d, Fail)
    return [name for name, it_is in broken.items() if it_is]


def _of_a_run(view: View, d: OnServer | OnClient) -> dict[str, bool]:
    own = d.tool == view.spec.name
    usual = OnClient if view.prefers_client else OnServer
    both_can = view.client_can and view.server_can
    broken = {
        "no reason": not d.reason,
        "fallback without the strategy": not own and not view.fallback_applies,
        "fallback though the client is there": not own and view.client_can,
        "not the preferred side": own and both_can and not isinstance(d, usual),
    }
    if isinstance(d, OnServer):
        broken["server outside the target"] = view.client_asked
        broken["server that cannot"] = own and not view.server_can
        broken["server against the strategy"] = (
            own and not view.client_can and view.server_may_stay_idle
        )
    else:
        broken["client outside the target"] = view.server_asked
        broken["client that cannot"] = own and not (
            view.client_can and d.client == view.q.client
        )
    if not own:
        other = view.q.fallback
        broken["fallback that cannot"] = not view.fallback_can
        broken["fallback nobody named"] = other is None or d.tool != other.spec.name
        if isinstance(d, OnClient):
            broken["fallback on no client"] = not view.reachable(d.client)
    return broken


def _of_a_wait(view: View, d: Park | Skip) -> dict[str, bool]:
    q, spec = view.q, view.spec
    waits_for_server = isinstance(d, Park) and d.cause_kind is CauseKind.SERVER_TOOL
    broken = {
        "no reason": not d.reason,
        "waits though a client can": view.client_can,
        "waits though the server can": view.server_can
        and not view.server_may_stay_idle,
        "waits though the fallback can": view.fallback_applies
        and view.fallback_can
        and spec.location is not Location.SERVER
        and not (waits_for_server and not view.prefers_client),
    }
    if isinstance(d, Skip):
        broken["skips without the strategy"] = view.strategy is not Strategy.SKIP
        broken["skips for a server"] = (
            view.server_asked or spec.location is Location.SERVER
        )
        return broken
    if waits_for_server:
        broken["waits for a server that cannot help"] = (
            view.client_asked
            or spec.location is Location.CLIENT
            or q.server is ServerState.UP
        )
        broken["queued for a server"] = d.status is not TaskStatus.BLOCKED
        broken["wrong key"] = d.key != (spec.mcp_server or spec.name)
        return broken
    named = q.address.client or q.pin
    whom = f"Client {named}" if named else "Client"
    queued = view.strategy is Strategy.QUEUE
    broken["waits for a client that cannot help"] = (
        view.server_asked or spec.location is Location.SERVER
    )
    broken["parks against skip"] = view.strategy is Strategy.SKIP
    broken["wrong status"] = d.status is not (
        TaskStatus.QUEUED if queued else TaskStatus.BLOCKED
    )
    broken["wrong words"] = d.what != f"Waiting for {whom} for Tool: tool"
    broken["wrong key"] = d.key != (f"tool@{named}" if named else "tool")
    return broken


@pytest.mark.slow
@pytest.mark.requirement("000-4-routing-is-total")
@pytest.mark.parametrize("domain", [policies, names])
def test_every_decision_keeps_every_invariant(
    domain: Callable[[], Iterator[Question]],
) -> None:
    for q in domain():
        decision = decide(q)
        assert not violations(q, decision), (violations(q, decision), q, decision)


def _flip(q: Question) -> Question:
    if q.spec is None or q.spec.location is not Location.BOTH:
        return q
    prefer = Prefer.SERVER if q.spec.prefer is Prefer.CLIENT else Prefer.CLIENT
    return attrs.evolve(q, spec=attrs.evolve(q.spec, prefer=prefer))


def _always_client_first(q: Question) -> Decision:
    decision = decide(q)
    if isinstance(decision, OnServer) and q.client:
        return OnClient(tool="tool", client=q.client, reason="a client is there")
    return decision


def _never_queues(q: Question) -> Decision:
    decision = decide(q)
    if isinstance(decision, Park):
        return attrs.evolve(decision, status=TaskStatus.BLOCKED)
    return decision


def _runs_the_unknown(q: Question) -> Decision:
    if q.spec is None:
        return OnServer(tool="tool", reason="try it")
    return decide(q)


#: A wrong router and the invariant that has to notice it.
WRONG: dict[str, Callable[[Question], Decision]] = {
    "server outside the target": lambda q: decide(
        attrs.evolve(q, target=Target.AUTO)
        if q.target is Target.CLIENT and q.address.client is None
        else q
    ),
    "client outside the target": lambda q: decide(
        attrs.evolve(q, target=Target.AUTO) if q.target is Target.SERVER else q
    ),
    "does not fail at once": lambda q: decide(attrs.evolve(q, target=Target.ANY)),
    "server that cannot": lambda q: decide(attrs.evolve(q, server=ServerState.UP)),
    "client that cannot": lambda q: decide(attrs.evolve(q, client="ghost")),
    "waits though a client can": lambda q: decide(attrs.evolve(q, client=None)),
    "waits though the server can": lambda q: decide(
        attrs.evolve(q, server=ServerState.DOWN)
    ),
    "waits though the fallback can": lambda q: decide(attrs.evolve(q, fallback=None)),
    "parks against skip": lambda q: decide(
        attrs.evolve(q, task_strategy=Strategy.BLOCK)
    ),
    "skips without the strategy": lambda q: decide(
        attrs.evolve(q, task_strategy=Strategy.SKIP)
    ),
    "fallback without the strategy": lambda q: decide(
        attrs.evolve(q, task_strategy=Strategy.FALLBACK)
    ),
    "server against the strategy": lambda q: decide(
        attrs.evolve(q, task_strategy=None)
    ),
    "not the preferred side": lambda q: decide(_flip(q)),
    "client that cannot, of a server tool": _always_client_first,
    "wrong status": _never_queues,
    "an unknown tool must fail": _runs_the_unknown,
    "wrong key": lambda q: decide(attrs.evolve(q, address=Address("tool"))),
}


@pytest.mark.parametrize("invariant", WRONG)
def test_the_invariants_notice_a_wrong_router(invariant: str) -> None:
    """Without this the exhaustive tests above could pass by checking nothing."""
    wrong = WRONG[invariant]
    expected = invariant.split(",", maxsplit=1)[0]
    assert any(expected in violations(q, wrong(q)) for q in names())
