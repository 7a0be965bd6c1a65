"""Gathers what is true now and asks `routing.decide` about every tool of a task."""

import attrs

from vancetope.model.records import CallRecord, ProcessRecord
from vancetope.model.tool import Effect, ToolSpec, ToolType
from vancetope.processes.engines.base import CallTool
from vancetope.store import Connection
from vancetope.store.queries import sessions
from vancetope.tools.clients import Clients, ConnectedClient, ProcessFacts, candidates
from vancetope.tools.registry import (
    Address,
    Offer,
    Registry,
    RememberedOffer,
    nearest,
    resolve,
)
from vancetope.tools.routing import (
    Decision,
    Fail,
    Fallback,
    OnClient,
    OnServer,
    Question,
    ServerState,
    decide,
)
from vancetope.tools.servers import Servers


@attrs.frozen(kw_only=True)
class Routed:
    """A decision with what carrying it out needs.

    Attributes:
        client: whom it goes to, when it goes to a client.
        effect: what a repetition of the tool that will run would do.
    """

    decision: Decision
    client: ConnectedClient | None
    effect: Effect


def facts_of(process: ProcessRecord) -> ProcessFacts:
    """What choosing a client needs to know of a process."""
    return ProcessFacts(
        process_id=process.id,
        owner=process.owner,
        principal=process.principal,
        autonomous=process.autonomous,
        session_id=process.session_id,
        pin=process.pin,
        served_by=process.served_by,
    )


@attrs.define(eq=False)
class Desk:
    """The registry, the connected clients and the Brain's own tools, as of now."""

    registry: Registry
    clients: Clients
    servers: Servers

    def route(self, conn: Connection, process: ProcessRecord, step: CallTool) -> Routed:
        """Where the call runs; every other required tool must be routable too."""
        facts = facts_of(process)
        for text in step.requires:
            if text == step.tool:
                continue
            other = self._one(conn, facts, text, step)
            if not isinstance(other.decision, OnServer | OnClient):
                return _for_the_sake_of(other, text)
        return self._one(conn, facts, step.tool, step)

    def back_to(self, process: ProcessRecord, call: CallRecord) -> Routed | None:
        """The connected client whose journal knows a call that must not move (D3).

        A journal's id is the client's word, so that it gives no access by itself.
        """
        for client in candidates(self.clients.all(), call.tool, facts_of(process)):
            if client.journal_id is not None and client.journal_id == call.journal_id:
                reason = f"client `{client.key}` is back with its journal"
                decision = OnClient(tool=call.tool, client=client.key, reason=reason)
                return Routed(decision=decision, client=client, effect=call.effect)
        return None

    def spec(self, conn: Connection, tool: str) -> ToolSpec | None:
        """The entry a bare name stands for, offers and remembered ones included."""
        return self._spec(conn, Address(tool))

    def _one(
        self,
        conn: Connection,
        facts: ProcessFacts,
        text: str,
        step: CallTool,
    ) -> Routed:
        try:
            address = Address.parse(text)
        except ValueError as exc:
            fail = Fail(code="unknown_tool", message=str(exc))
            return Routed(decision=fail, client=None, effect=Effect.ONCE)
        spec = self._spec(conn, address)
        found = self._candidates(address.tool, facts, address.client)
        fallback = self._fallback(conn, spec, facts, address.client)
        decision = decide(
            Question(
                address=address,
                spec=spec,
                target=step.target,
                task_strategy=step.strategy,
                recipe_strategy=facts.recipe_strategy,
                autonomous=facts.autonomous,
                auto_fallback=facts.auto_fallback,
                pin=facts.pin,
                client=found[0].key if found else None,
                server=ServerState.ABSENT if spec is None else self.servers.state(spec),
                fallback=fallback,
            )
        )
        if spec is None and isinstance(decision, Fail):
            decision = self._with_hint(conn, decision, address.tool)
        return self._routed(conn, decision, facts, address, spec)

    def _routed(
        self,
        conn: Connection,
        decision: Decision,
        facts: ProcessFacts,
        address: Address,
        spec: ToolSpec | None,
    ) -> Routed:
        client = None
        if isinstance(decision, OnServer | OnClient) and (
            spec is None or decision.tool != spec.name
        ):
            spec = self._spec(conn, Address(decision.tool))
        if isinstance(decision, OnClient):
            found = self._candidates(decision.tool, facts, address.client)
            client = next((c for c in found if c.key == decision.client), None)
        effect = Effect.ONCE if spec is None else spec.effect
        return Routed(decision=decision, client=client, effect=effect)

    def _candidates(
        self, tool: str, facts: ProcessFacts, named: str | None
    ) -> tuple[ConnectedClient, ...]:
        return candidates(self.clients.all(), tool, facts, named)

    def _fallback(
        self,
        conn: Connection,
        spec: ToolSpec | None,
        facts: ProcessFacts,
        named: str | None,
    ) -> Fallback | None:
        if spec is None or spec.fallback_tool is None:
            return None
        other = self._spec(conn, Address(spec.fallback_tool))
        if other is None:
            return None
        found = self._candidates(other.name, facts, named)
        return Fallback(
            spec=other,
            server=self.servers.state(other),
            client=found[0].key if found else None,
        )

    def _spec(self, conn: Connection, address: Address) -> ToolSpec | None:
        entry = self.registry.get(address.tool)
        if entry is not None:
            return entry
        offer = self._offer(address)
        remembered = None if offer is not None else _remembered(conn, address)
        return resolve(address, self.registry, offer, remembered)

    def _offer(self, address: Address) -> Offer | None:
        for client in reversed(self.clients.all()):
            if address.client in (None, client.key) and address.tool in client.offers:
                return client.offers[address.tool]
        return None

    def _with_hint(self, conn: Connection, fail: Fail, tool: str) -> Fail:
        offered = [row["tool"] for row in sessions.remembered_tools(conn)]
        close = nearest(tool, [*self.registry.specs, *offered])
        if close is None:
            return fail
        return attrs.evolve(fail, message=f"{fail.message}. Did you mean {close}?")


def _remembered(conn: Connection, address: Address) -> RememberedOffer | None:
    row = sessions.remembered_offer(conn, address.tool, address.client)
    if row is None:
        return None
    kind = row["type"]
    return RememberedOffer(
        name=row["tool"],
        type=ToolType(kind) if kind in set(ToolType) else None,
        mcp_server=row["mcp_server"],
        description=row["description"],
        client=row["client_key"],
        seen_at=row["last_at"],
    )


def _for_the_sake_of(other: Routed, text: str) -> Routed:
    """The decision about a required tool, as the decision about the call."""
    decision = other.decision
    if isinstance(decision, Fail):
        message = f"required tool {text}: {decision.message}"
        return attrs.evolve(other, decision=attrs.evolve(decision, message=message))
    reason = f"required tool {text}: {getattr(decision, 'reason', '')}"
    return attrs.evolve(other, decision=attrs.evolve(decision, reason=reason))
