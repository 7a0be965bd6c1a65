"""Frames that answer no request, fanned out to whoever listens."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import attrs
import trio

from vance_sdk.wire.messages import Outbound, ProcessStatus, StreamChunk, TaskUpdate

STREAM_FRAMES: Final = 256
"""How many frames a slow listener may lie behind."""

_Subject = tuple[str, str]


@attrs.define(eq=False)
class EventStream:
    """The frames since it was opened, in order; bounded, and never in the way.

    When it is full, a status goes first that a newer one of the same think process
    or task has overtaken, then chunks of a model's output, then the oldest frame
    that is no status, then the oldest.

    Attributes:
        missed: How many frames were dropped without a newer one of their kind.
    """

    missed: int = attrs.field(init=False, default=0)
    _limit: int = STREAM_FRAMES
    _frames: dict[int, Outbound] = attrs.field(init=False, factory=dict)
    _newest: dict[_Subject, int] = attrs.field(init=False, factory=dict)
    _overtaken: dict[int, None] = attrs.field(init=False, factory=dict)
    _numbers: "itertools.count[int]" = attrs.field(init=False, factory=itertools.count)
    _closed: bool = attrs.field(init=False, default=False)
    _changed: trio.Event = attrs.field(init=False, factory=trio.Event)

    def __aiter__(self) -> "EventStream":
        return self

    async def __anext__(self) -> Outbound:
        """Return the next frame; ends when the client does."""
        while not self._frames:
            if self._closed:
                raise StopAsyncIteration
            await self._changed.wait()
        await trio.lowlevel.checkpoint()
        key = next(iter(self._frames))
        frame = self._take(key)
        if not self._frames and not self._closed:
            self._changed = trio.Event()
        return frame

    def put(self, frame: Outbound) -> None:
        """Add a frame, dropping another one if there is no room."""
        subject = _subject(frame)
        if subject and subject in self._newest:
            self._overtaken[self._newest[subject]] = None
        if len(self._frames) >= self._limit:
            self._make_room()
        key = next(self._numbers)
        self._frames[key] = frame
        if subject:
            self._newest[subject] = key
        self._changed.set()

    def close(self) -> None:
        """End the stream after the frames it has."""
        self._closed = True
        self._changed.set()

    def _take(self, key: int) -> Outbound:
        frame = self._frames.pop(key)
        self._overtaken.pop(key, None)
        subject = _subject(frame)
        if subject and self._newest.get(subject) == key:
            del self._newest[subject]
        return frame

    def _make_room(self) -> None:
        if self._overtaken:
            self._take(next(iter(self._overtaken)))
            return
        self.missed += 1
        for is_spare in (_is_chunk, _is_no_status):
            for key, frame in self._frames.items():
                if is_spare(frame):
                    self._take(key)
                    return
        self._take(next(iter(self._frames)))


def _is_chunk(frame: Outbound) -> bool:
    return isinstance(frame, StreamChunk)


def _is_no_status(frame: Outbound) -> bool:
    return _subject(frame) is None


def _subject(frame: Outbound) -> _Subject | None:
    if isinstance(frame, ProcessStatus):
        return ("process", frame.think_process_id)
    if isinstance(frame, TaskUpdate):
        return ("task", frame.task_id)
    return None


@attrs.define(eq=False)
class EventFan:
    """Gives each frame to every open stream."""

    _streams: list[EventStream] = attrs.field(init=False, factory=list)
    _closed: bool = attrs.field(init=False, default=False)

    @contextmanager
    def open(self, limit: int = STREAM_FRAMES) -> Iterator[EventStream]:
        """Open a stream for the length of the block."""
        stream = EventStream(limit)
        if self._closed:
            stream.close()
        self._streams.append(stream)
        try:
            yield stream
        finally:
            self._streams.remove(stream)

    def publish(self, frame: Outbound) -> None:
        """Give a frame to every open stream; never blocks."""
        for stream in self._streams:
            stream.put(frame)

    def close(self) -> None:
        """End all streams, also those opened later."""
        self._closed = True
        for stream in self._streams:
            stream.close()
