"""Which lanes have work: a plain data structure, without I/O.

A lane is one node of one process's definition.  All its tasks want the same tool, so
when the place they would go to is full the whole lane is held, and nothing else is.
Lanes take turns, so a long `foreach` starves nobody.
"""

from collections import OrderedDict
from typing import Final, TypeAlias

import attrs

#: Steps begun for a lane whose destination is not known yet.
FIRST_LOOK: Final = 4
#: Steps begun for one lane in one turn.
TURN: Final = 16

Lane: TypeAlias = tuple[str, str]


@attrs.define
class Lanes:
    """The lanes with ready tasks, those that are held, and the tasks in hand."""

    _ready: "OrderedDict[Lane, None]" = attrs.field(factory=OrderedDict, init=False)
    _held: dict[str, "OrderedDict[Lane, None]"] = attrs.field(factory=dict, init=False)
    _holder: dict[Lane, str] = attrs.field(factory=dict, init=False)
    _in_hand: dict[Lane, set[str]] = attrs.field(factory=dict, init=False)
    _place: dict[Lane, str] = attrs.field(factory=dict, init=False)
    _again: dict[Lane, set[str]] = attrs.field(factory=dict, init=False)

    def add(self, lane: Lane) -> None:
        """The lane has a ready task (or may have).

        That may be any of those in hand, whose steps have looked at them before they
        changed: the lane is looked at again when each of these steps is over.
        """
        self._look_again(lane)
        if lane not in self._holder:
            self._ready.setdefault(lane, None)

    def rest(self, lane: Lane) -> None:
        """Begin nothing more of the lane before one of its steps is over."""
        self._ready.pop(lane, None)
        self._look_again(lane)

    def drop(self, lane: Lane) -> None:
        """The lane has no ready task that is not in hand."""
        self._ready.pop(lane, None)
        self._place.pop(lane, None)

    def hold(self, lane: Lane, place: str) -> None:
        """The lane's tasks would go to `place`, which is full."""
        self._ready.pop(lane, None)
        before = self._holder.get(lane)
        if before is not None:
            self._held[before].pop(lane, None)
        self._holder[lane] = self._place[lane] = place
        self._held.setdefault(place, OrderedDict())[lane] = None

    def freed(self, place: str) -> None:
        """`place` takes calls again: its lanes are ready, in the order they came."""
        for lane in self._held.pop(place, ()):
            del self._holder[lane]
            self._ready[lane] = None

    def release_all(self) -> None:
        """Who is connected has changed: every held lane may go elsewhere now."""
        for place in list(self._held):
            self.freed(place)

    def next(self) -> Lane | None:
        """The lane whose turn it is; it goes to the end of the line."""
        if not self._ready:
            return None
        lane = next(iter(self._ready))
        self._ready.move_to_end(lane)
        return lane

    def went_to(self, lane: Lane, place: str) -> None:
        """A task of the lane was sent there; the next one likely goes there too."""
        self._place[lane] = place

    def last_place(self, lane: Lane) -> str | None:
        """Where the lane's last task went."""
        return self._place.get(lane)

    def in_hand(self, lane: Lane) -> set[str]:
        """The ids of the lane's tasks that have a step under way."""
        return self._in_hand.get(lane, set())

    def take(self, lane: Lane, task_id: str) -> None:
        """A step of this task begins."""
        self._in_hand.setdefault(lane, set()).add(task_id)

    def put_back(self, lane: Lane, task_id: str) -> None:
        """The step is over."""
        tasks = self._in_hand.get(lane, set())
        tasks.discard(task_id)
        if not tasks:
            self._in_hand.pop(lane, None)
        again = self._again.get(lane, set())
        if task_id in again:
            again.discard(task_id)
            if not again:
                del self._again[lane]
            if lane not in self._holder:
                self._ready.setdefault(lane, None)

    def _look_again(self, lane: Lane) -> None:
        in_hand = self._in_hand.get(lane)
        if in_hand:
            self._again.setdefault(lane, set()).update(in_hand)
