"""Lanes: who has work, who is held, whose turn it is."""

from hypothesis import given
from hypothesis import strategies as st

from vancetope.processes.scheduler.lanes import Lane, Lanes

A: Lane = ("tp_1", "a")
B: Lane = ("tp_1", "b")


def test_a_lane_held_at_another_place_leaves_the_first() -> None:
    # It stood in both lists, and freeing the second one broke the scheduler.
    lanes = Lanes()
    lanes.add(A)
    lanes.hold(A, "x")
    lanes.hold(A, "y")
    lanes.freed("x")
    assert lanes.next() is None
    lanes.freed("y")
    assert lanes.next() == A
    lanes.freed("x")
    lanes.freed("y")


def test_a_hint_during_several_steps_counts_for_each_of_them() -> None:
    # The client was gone before three calls could leave; all three were ready again
    # at once, and only the first step to end had its lane looked at.
    lanes = Lanes()
    lanes.add(A)
    for task in ("t1", "t2", "t3"):
        lanes.take(A, task)
    lanes.drop(A)
    lanes.add(A)
    for task in ("t1", "t2", "t3"):
        lanes.drop(A)  # what is ready is in hand
        lanes.put_back(A, task)
        assert lanes.next() == A
    lanes.drop(A)
    assert lanes.next() is None


def test_lanes_take_turns() -> None:
    lanes = Lanes()
    lanes.add(A)
    lanes.add(B)
    assert [lanes.next() for _ in range(4)] == [A, B, A, B]


LANES = st.sampled_from([A, B, ("tp_2", "a")])
PLACES = st.sampled_from(["server", "x", "y"])
MOVES = st.one_of(
    st.tuples(st.just("add"), LANES),
    st.tuples(st.just("drop"), LANES),
    st.tuples(st.just("rest"), LANES),
    st.tuples(st.just("hold"), LANES, PLACES),
    st.tuples(st.just("freed"), PLACES),
    st.tuples(st.just("release_all")),
    st.tuples(st.just("take"), LANES, st.sampled_from(["t1", "t2"])),
    st.tuples(st.just("put_back"), LANES, st.sampled_from(["t1", "t2"])),
    st.tuples(st.just("next")),
)


@given(st.lists(MOVES, max_size=60))
def test_no_order_of_moves_loses_a_lane_that_is_held(
    moves: list[tuple[str, ...]],
) -> None:
    lanes = Lanes()
    held: dict[Lane, str] = {}
    for name, *arguments in moves:
        getattr(lanes, name)(*arguments)
        if name == "hold":
            held[arguments[0]] = arguments[1]  # type: ignore[index]
        elif name == "freed":
            held = {lane: at for lane, at in held.items() if at != arguments[0]}
        elif name == "release_all":
            held = {}
    lanes.release_all()
    ready = {lanes.next() for _ in range(10)}
    assert set(held) <= ready
