"""Who is connected, what they offer, and whom a process may use.

In memory only: after a restart nobody is connected until they say so again.
Changes are told on the bus as hints without a row.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import count

import attrs

from vance_sdk.wire.messages.tables import Outbound
from vancetope.events import Bus, Event
from vancetope.model.json import Json
from vancetope.model.tool import Strategy
from vancetope.tools.registry import Offer

CHANGED = "clients.changed"
WINDOW_FREED = "window.freed"


@attrs.define(eq=False, kw_only=True)
class ConnectedClient:
    """One live connection.

    Attributes:
        key: what `tool@client` names: the URL's `name`, else the `client_id`.
        owner: an owner's client; False for a robot's.
        epoch: grows with every connection of the session.
        order: connection counter (`Clients.next_order`); larger is newer.
        window: how many calls may be in flight at once.
        send: hands a wire message to the session's writer; never blocks.
    """

    client_id: str
    session_id: str
    owner: bool
    principal: str
    epoch: int
    order: int
    window: int
    send: Callable[[Outbound], None]
    name: str | None = None
    profile: str = "web"
    project_id: str = "default"
    journal_id: str | None = None
    offers: dict[str, Offer] = attrs.field(factory=dict)
    in_flight: set[str] = attrs.field(factory=set)
    key: str = attrs.field(
        default=attrs.Factory(lambda self: self.name or self.client_id, takes_self=True)
    )

    @property
    def free(self) -> int:
        """Calls that may still be sent."""
        return max(0, self.window - len(self.in_flight))


@attrs.frozen(kw_only=True)
class ProcessFacts:
    """What choosing a client and a side needs to know of a think process.

    Attributes:
        session_id: the session that started it, None for cron and webhooks.
        owner: the owner's, cron's or a webhook's process; False for a robot's.
        pin: key of the only client it may use.
        served_by: key of the client that served it last.
        autonomous: runs without anybody there.
    """

    process_id: str
    owner: bool
    principal: str
    autonomous: bool
    session_id: str | None = None
    pin: str | None = None
    served_by: str | None = None
    recipe_strategy: Strategy | None = None
    auto_fallback: bool = True


def may_serve(client: ConnectedClient, who: ProcessFacts) -> bool:
    """Whose tools (DESIGN section 5): an owner's serve the owner's processes.

    A robot's serve what its own session started, and nothing else.
    """
    if client.owner or who.owner:
        return client.owner and who.owner
    return (client.session_id, client.principal) == (who.session_id, who.principal)


def candidates(
    clients: Iterable[ConnectedClient],
    tool: str,
    who: ProcessFacts,
    address_client: str | None = None,
) -> tuple[ConnectedClient, ...]:
    """The clients that may run `tool` for this process, best first.

    A named client (`tool@client`, else the process's pin) is the only one; else the
    session's own, then the one that served the process last, then the newest.
    """
    able = [c for c in clients if tool in c.offers and may_serve(c, who)]
    named = address_client or who.pin
    if named is not None:
        alike = (c for c in able if c.key == named)
        newest = max(alike, key=lambda c: c.order, default=None)
        return () if newest is None else (newest,)

    def rank(client: ConnectedClient) -> tuple[bool, bool, int]:
        return (
            client.session_id != who.session_id,
            client.key != who.served_by,
            -client.order,
        )

    return tuple(sorted(able, key=rank))


@attrs.define(eq=False)
class Clients:
    """The connected clients, one for each session."""

    _bus: Bus
    _sessions: dict[str, ConnectedClient] = attrs.field(factory=dict, init=False)
    _calls: dict[str, ConnectedClient] = attrs.field(factory=dict, init=False)
    _orders: "count[int]" = attrs.field(factory=lambda: count(1), init=False)

    def next_order(self) -> int:
        """A number for a new connection, larger than all before."""
        return next(self._orders)

    def attach(self, client: ConnectedClient) -> bool:
        """Make this the session's connection, in place of an earlier one.

        The earlier one's calls in flight stay in flight: the session owns them.
        Returns False, and changes nothing, when a newer epoch is attached already.
        """
        old = self._sessions.get(client.session_id)
        if old is not None and old.epoch > client.epoch:
            return False
        before: Mapping[str, Offer] = {}
        if old is not None:
            client.in_flight |= old.in_flight
            if old.key == client.key:
                before = old.offers
            else:
                self._changed(old, old.offers, {})
        self._calls.update(dict.fromkeys(client.in_flight, client))
        self._sessions[client.session_id] = client
        self._changed(client, before, client.offers)
        return True

    def detach(self, client: ConnectedClient) -> bool:
        """Forget a connection; a late end of a replaced one changes nothing.

        Returns whether it was the session's current connection.
        """
        if not self._is_current(client):
            return False
        del self._sessions[client.session_id]
        for call_id in client.in_flight:
            self._calls.pop(call_id, None)
        self._changed(client, client.offers, {})
        return True

    def offer(self, client: ConnectedClient, offers: Mapping[str, Offer]) -> bool:
        """Replace what a client offers; False when it is not connected any more."""
        if not self._is_current(client):
            return False
        before, client.offers = client.offers, dict(offers)
        self._changed(client, before, client.offers)
        return True

    def started(self, client: ConnectedClient, call_id: str) -> bool:
        """Count a call into the client's window; False when it has gone meanwhile."""
        if not self._is_current(client):
            return False
        moved_from = self._calls.get(call_id)
        if moved_from is not None:
            moved_from.in_flight.discard(call_id)
        client.in_flight.add(call_id)
        self._calls[call_id] = client
        return True

    def finished(self, call_id: str) -> None:
        """Take a call out of its window; one nobody has in flight changes nothing."""
        client = self._calls.pop(call_id, None)
        if client is None:
            return
        client.in_flight.discard(call_id)
        # Told every time, not only when the window was full: a dispatcher in the
        # middle of a commit has looked at a smaller number than is free now.
        self._publish(WINDOW_FREED, client, {"client": client.key})

    def remind(self, tools: Iterable[str]) -> None:
        """Tell of every client that still offers one of these tools.

        For calls that were put back because another client has gone: they wait for a
        client that is there already.
        """
        wanted = set(tools)
        for client in self.all():
            self._changed(client, {}, wanted & client.offers.keys())

    def by_session(self, session_id: str) -> ConnectedClient | None:
        """The connection of a session."""
        return self._sessions.get(session_id)

    def by_key(self, key: str) -> ConnectedClient | None:
        """The newest connection of that key, whoever owns it (not for routing)."""
        alike = (c for c in self._sessions.values() if c.key == key)
        return max(alike, key=lambda c: c.order, default=None)

    def all(self) -> tuple[ConnectedClient, ...]:
        """Every connection, oldest first."""
        return tuple(sorted(self._sessions.values(), key=lambda c: c.order))

    def _is_current(self, client: ConnectedClient) -> bool:
        return self._sessions.get(client.session_id) is client

    def _changed(
        self, client: ConnectedClient, before: Collection[str], after: Collection[str]
    ) -> None:
        gained: list[Json] = [*sorted(set(after) - set(before))]
        lost: list[Json] = [*sorted(set(before) - set(after))]
        if not gained and not lost:
            return
        body: dict[str, Json] = {"client": client.key, "gained": gained, "lost": lost}
        self._publish(CHANGED, client, body)

    def _publish(self, kind: str, client: ConnectedClient, body: Json) -> None:
        event = Event(kind=kind, session_id=client.session_id, body=body)
        self._bus.publish([event])
