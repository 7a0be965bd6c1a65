"""News for whoever listens, without ever holding up the reader."""

from hypothesis import given
from hypothesis import strategies as st

from vance_sdk.events import EventFan, EventStream
from vance_sdk.wire.messages import (
    Notification,
    Outbound,
    ProcessStatus,
    StreamChunk,
    TaskUpdate,
)


def status(process_id: str, word: str) -> ProcessStatus:
    return ProcessStatus(think_process_id=process_id, status=word)


def note(number: int) -> Notification:
    return Notification(level="info", message=str(number))


async def drain(stream: EventStream) -> list[Outbound]:
    stream.close()
    return [frame async for frame in stream]


async def test_frames_come_in_order_to_every_stream() -> None:
    fan = EventFan()

    with fan.open() as first, fan.open() as second:
        for number in range(3):
            fan.publish(note(number))

        assert await drain(first) == [note(0), note(1), note(2)]
        assert await drain(second) == [note(0), note(1), note(2)]

    with fan.open() as late:
        assert await drain(late) == []


async def test_a_full_stream_keeps_the_newest_status_of_each() -> None:
    stream = EventStream(3)
    for frame in (status("a", "running"), status("b", "running"), note(1)):
        stream.put(frame)

    stream.put(status("a", "done"))

    assert stream.missed == 0
    assert await drain(stream) == [status("b", "running"), note(1), status("a", "done")]


async def test_without_an_older_one_chunks_go_first() -> None:
    stream = EventStream(2)
    stream.put(note(1))
    stream.put(StreamChunk(think_process_id="a", task_id="t", chunk="text"))

    stream.put(TaskUpdate(task_id="t", status="done"))

    assert stream.missed == 1
    assert await drain(stream) == [note(1), TaskUpdate(task_id="t", status="done")]


async def test_a_status_stays_while_there_is_anything_else_to_drop() -> None:
    stream = EventStream(2)
    stream.put(status("a", "done"))
    stream.put(note(1))

    stream.put(note(2))
    stream.put(status("b", "done"))
    stream.put(status("c", "done"))

    assert stream.missed == 3
    assert await drain(stream) == [status("b", "done"), status("c", "done")]


async def test_a_closed_fan_ends_the_streams_opened_later() -> None:
    fan = EventFan()
    fan.close()

    with fan.open() as stream:
        assert [frame async for frame in stream] == []


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 9)), max_size=60),
    st.integers(4, 8),
)
async def test_the_last_word_about_each_process_always_arrives(
    updates: list[tuple[str, int]], limit: int
) -> None:
    # Fails if `put` drops the oldest frame first.
    stream = EventStream(limit)
    for name, number in updates:
        stream.put(status(name, str(number)))

    seen = {}
    frames = await drain(stream)
    for frame in frames:
        assert isinstance(frame, ProcessStatus)
        seen[frame.think_process_id] = frame.status

    assert len(frames) <= limit
    assert seen == {name: str(number) for name, number in updates}
