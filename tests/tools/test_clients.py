"""Who is connected, what they bring, and whom a process may use."""

from collections.abc import Iterator
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.events import Bus, Event, Subscription
from vancetope.model.json import Json
from vancetope.tools.clients import (
    Clients,
    ConnectedClient,
    ProcessFacts,
    candidates,
    may_serve,
)
from vancetope.tools.registry import Offer

READ = {"read": Offer(name="read")}


def connected(session_id: str = "sess_1", **fields: object) -> ConnectedClient:
    given = {
        "client_id": "cl_1",
        "name": "laptop",
        "owner": True,
        "principal": "owner",
        "epoch": 1,
        "order": 1,
        "window": 2,
        "offers": dict(READ),
        "send": lambda _message: None,
        **fields,
    }
    return ConnectedClient(session_id=session_id, **given)  # type: ignore[arg-type]


def process(**fields: object) -> ProcessFacts:
    given = {
        "process_id": "tp_1",
        "owner": True,
        "principal": "owner",
        "autonomous": False,
        **fields,
    }
    return ProcessFacts(**given)  # type: ignore[arg-type]


@pytest.fixture
def bus() -> Bus:
    return Bus()


@pytest.fixture
def heard(bus: Bus) -> Iterator[Subscription]:
    with bus.subscribe() as subscription:
        yield subscription


@pytest.fixture
def clients(bus: Bus) -> Clients:
    return Clients(bus)


@pytest.mark.requirement("003-2.1a-name-identifies")
def test_a_client_is_named_by_its_name_else_by_its_id() -> None:
    assert connected(name="laptop").key == "laptop"
    assert connected(name=None).key == "cl_1"


@pytest.mark.requirement("000-5-client-tools-are-merged")
def test_a_connection_brings_its_tools_and_says_so(
    clients: Clients, heard: Subscription
) -> None:
    client = connected()
    assert clients.attach(client)
    assert clients.by_session("sess_1") is client
    assert clients.all() == (client,)
    body: Json = {"client": "laptop", "gained": ["read"], "lost": []}
    assert heard.take() == [
        Event(kind="clients.changed", session_id="sess_1", body=body)
    ]


@pytest.mark.requirement("000-5-disconnect-removes-client-tools")
def test_a_disconnect_takes_the_tools_away_and_says_so(
    clients: Clients, heard: Subscription
) -> None:
    client = connected()
    clients.attach(client)
    heard.take()
    assert clients.detach(client)
    assert clients.all() == ()
    assert candidates(clients.all(), "read", process()) == ()
    body = {"client": "laptop", "gained": [], "lost": ["read"]}
    assert [event.body for event in heard.take()] == [body]


def test_the_late_end_of_a_replaced_connection_changes_nothing(
    clients: Clients, heard: Subscription
) -> None:
    old, new = connected(epoch=1), connected(epoch=2, order=2)
    clients.attach(old)
    clients.attach(new)
    heard.take()
    assert not clients.detach(old)
    assert clients.by_session("sess_1") is new
    assert heard.take() == []


def test_an_older_epoch_does_not_replace_a_newer_connection(
    clients: Clients, heard: Subscription
) -> None:
    new = connected(epoch=2)
    clients.attach(new)
    heard.take()
    assert not clients.attach(connected(epoch=1))
    assert clients.by_session("sess_1") is new
    assert heard.take() == []


def test_a_replacement_tells_the_difference_and_keeps_the_calls_in_flight(
    clients: Clients, heard: Subscription
) -> None:
    old = connected(offers={**READ, "git": Offer(name="git")})
    new = connected(epoch=2, offers={**READ, "shell": Offer(name="shell")})
    clients.attach(old)
    clients.started(old, "call_1")
    heard.take()
    clients.attach(new)
    body = {"client": "laptop", "gained": ["shell"], "lost": ["git"]}
    assert [event.body for event in heard.take()] == [body]
    assert new.in_flight == {"call_1"}
    clients.finished("call_1")
    assert new.in_flight == set()


def test_a_replacement_under_another_name_loses_the_old_name(
    clients: Clients, heard: Subscription
) -> None:
    clients.attach(connected(name="laptop"))
    heard.take()
    clients.attach(connected(name="desktop", epoch=2))
    assert [event.body for event in heard.take()] == [
        {"client": "laptop", "gained": [], "lost": ["read"]},
        {"client": "desktop", "gained": ["read"], "lost": []},
    ]


@pytest.mark.requirement("000-5-client-connected-reports-tools")
def test_a_new_offer_replaces_the_old_one(
    clients: Clients, heard: Subscription
) -> None:
    client = connected()
    clients.attach(client)
    heard.take()
    assert clients.offer(client, {"git": Offer(name="git")})
    assert list(client.offers) == ["git"]
    body = {"client": "laptop", "gained": ["git"], "lost": ["read"]}
    assert [event.body for event in heard.take()] == [body]


def test_an_offer_of_a_connection_that_is_gone_changes_nothing(
    clients: Clients, heard: Subscription
) -> None:
    client = connected()
    assert not clients.offer(client, {"git": Offer(name="git")})
    assert client.offers == READ
    assert heard.take() == []


def test_the_window_counts_calls_until_they_finish(
    clients: Clients, heard: Subscription
) -> None:
    client = connected(window=2)
    clients.attach(client)
    heard.take()
    for call_id in ("call_1", "call_2"):
        assert clients.started(client, call_id)
    assert client.free == 0
    assert heard.take() == []
    clients.finished("call_1")
    assert client.free == 1
    freed = Event(kind="window.freed", session_id="sess_1", body={"client": "laptop"})
    assert heard.take() == [freed]


def test_finishing_a_call_nobody_has_changes_nothing(
    clients: Clients, heard: Subscription
) -> None:
    client = connected()
    clients.attach(client)
    clients.started(client, "call_1")
    clients.detach(client)
    heard.take()
    for call_id in ("call_1", "call_2"):
        clients.finished(call_id)
    assert heard.take() == []


def test_a_call_is_not_started_on_a_connection_that_is_gone(clients: Clients) -> None:
    client = connected()
    assert not clients.started(client, "call_1")
    assert client.in_flight == set()


def test_a_call_that_moves_leaves_the_first_window(clients: Clients) -> None:
    first, second = connected("sess_1"), connected("sess_2")
    for client in (first, second):
        clients.attach(client)
        clients.started(client, "call_1")
    assert (first.in_flight, second.in_flight) == (set(), {"call_1"})


def test_of_two_equal_names_the_newest_counts(clients: Clients) -> None:
    older = connected("sess_1", order=clients.next_order())
    newer = connected("sess_2", order=clients.next_order())
    for client in (newer, older):
        clients.attach(client)
    assert clients.by_key("laptop") is newer
    assert clients.by_key("phone") is None
    assert clients.all() == (older, newer)
    assert candidates(clients.all(), "read", process(), "laptop") == (newer,)


SESSIONS = ("sess_own", "sess_served", "sess_old", "sess_new")
CROWD = [
    connected(session, name=session.removeprefix("sess_"), order=order)
    for order, session in enumerate(SESSIONS)
]
FACTS = {"session_id": "sess_own", "served_by": "served"}


def chosen(who: ProcessFacts, address: str | None = None) -> list[str]:
    return [client.key for client in candidates(CROWD, "read", who, address)]


def test_candidates_are_own_session_then_last_served_then_newest() -> None:
    assert chosen(process(**FACTS)) == ["own", "served", "new", "old"]
    assert chosen(process(served_by="served")) == ["served", "new", "old", "own"]
    assert chosen(process()) == ["new", "old", "served", "own"]


def test_a_named_client_is_the_only_candidate() -> None:
    assert chosen(process(**FACTS), "old") == ["old"]
    assert chosen(process(pin="served", **FACTS)) == ["served"]
    assert chosen(process(pin="served", **FACTS), "old") == ["old"]
    assert chosen(process(**FACTS), "phone") == []


def test_the_order_of_the_clients_does_not_matter() -> None:
    who = process(**FACTS)
    for crowd in permutations(CROWD):
        found = candidates(crowd, "read", who)
        assert [client.key for client in found] == ["own", "served", "new", "old"]


def test_who_does_not_offer_the_tool_is_no_candidate() -> None:
    assert candidates(CROWD, "git", process(**FACTS)) == ()


ROBOT = {"owner": False, "principal": "robot"}


def test_the_owners_clients_serve_cron_and_webhooks() -> None:
    assert may_serve(connected(), process(session_id=None, autonomous=True))


@pytest.mark.requirement("003-3.4-robot-tools-stay-its-own")
def test_a_robots_tools_serve_its_own_session_only() -> None:
    robot = connected("sess_robot", **ROBOT)
    assert may_serve(robot, process(session_id="sess_robot", **ROBOT))
    assert not may_serve(robot, process(session_id="sess_other", **ROBOT))
    assert not may_serve(robot, process(session_id="sess_robot"))
    assert not may_serve(robot, process(session_id="sess_robot", principal="robot"))


def test_a_robots_process_never_reaches_the_owners_clients() -> None:
    who = process(session_id="sess_1", **ROBOT)
    assert candidates([connected("sess_1")], "read", who) == ()


def test_a_robot_that_takes_the_owners_name_does_not_hide_the_owners_client() -> None:
    mine = connected("sess_1", order=1)
    robot = connected("sess_2", order=2, **ROBOT)
    assert candidates([mine, robot], "read", process(), "laptop") == (mine,)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["attach", "detach", "started", "finished"]),
            st.integers(0, 3),
            st.integers(0, 5),
        )
    )
)
def test_a_call_is_in_one_window_at_most(steps: list[tuple[str, int, int]]) -> None:
    clients = Clients(Bus())
    pool = [connected(f"sess_{n % 2}", epoch=n, order=n) for n in range(4)]
    for action, who, call in steps:
        client, call_id = pool[who], f"call_{call}"
        match action:
            case "attach" if client.session_id not in {
                c.session_id for c in clients.all() if c.epoch >= client.epoch
            }:
                client.in_flight.clear()  # a new connection
                clients.attach(client)
            case "detach":
                clients.detach(client)
            case "started":
                clients.started(client, call_id)
            case "finished":
                clients.finished(call_id)
                assert all(call_id not in c.in_flight for c in clients.all())
            case _:
                pass
        held = [call_id for c in clients.all() for call_id in c.in_flight]
        assert len(held) == len(set(held))
