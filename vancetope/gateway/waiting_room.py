"""The sockets nobody has vouched for yet: a bounded number, oldest out first."""

from typing import Generic, TypeVar

import attrs

GuestT = TypeVar("GuestT")


@attrs.define(eq=False)
class WaitingRoom(Generic[GuestT]):
    """Holds up to `size` guests in the order they came."""

    size: int
    _guests: dict[GuestT, None] = attrs.field(init=False, factory=dict)

    def enter(self, guest: GuestT) -> GuestT | None:
        """Let a guest in; the one who has to go for it, if there was no room."""
        evicted = None
        if len(self._guests) >= self.size:
            evicted = next(iter(self._guests))
            del self._guests[evicted]
        self._guests[guest] = None
        return evicted

    def leave(self, guest: GuestT) -> None:
        """Let a guest out; one that is not there is no fault."""
        self._guests.pop(guest, None)
