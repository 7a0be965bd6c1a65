"""Clients as the Brain sees them: they run requests, keep journals, and vanish."""

import attrs

from vance_sdk.wire.messages.tables import Outbound
from vance_sdk.wire.messages.tools import ToolRequest
from vancetope.model.principal import OWNER_ID, Principal, PrincipalKind
from vancetope.model.records import SessionRecord
from vancetope.tools.clients import ConnectedClient
from vancetope.tools.outcome import Failed, FailureCode, Outcome, Succeeded

OWNER = Principal(id=OWNER_ID, kind=PrincipalKind.HUMAN)
ROBOT = Principal(id="robot", kind=PrincipalKind.ROBOT)


@attrs.define(eq=False)
class Device:
    """One client; with a `journal_id` it dedupes across its own restarts (D2)."""

    name: str
    who: Principal
    journal_id: str | None
    session_id: str | None = None
    record: SessionRecord | None = None
    client: ConnectedClient | None = None
    inbox: list[ToolRequest] = attrs.field(factory=list)
    outbox: list[tuple[str, Outcome]] = attrs.field(factory=list)
    journal: dict[str, Outcome] = attrs.field(factory=dict)

    def take(self, frame: Outbound) -> None:
        """A frame arrives; cancels are ignored, as a client may."""
        if isinstance(frame, ToolRequest):
            self.inbox.append(frame)

    def cut_off(self, *, forgets: bool) -> None:
        """The connection is gone; a client that forgets was restarted too."""
        self.client = None
        self.inbox.clear()
        if forgets:
            self.outbox.clear()
            if self.journal_id is None:
                self.journal.clear()

    def run(self, how: str, effects: dict[str, int]) -> None:
        """Take the next request and have a result for it."""
        request = self.inbox.pop(0)
        known = self.journal.get(request.request_id)
        if known is not None:
            self.outbox.append((request.request_id, known))
            return
        if how in ("ok", "failed", "outcome_unknown"):
            effects[request.request_id] = effects.get(request.request_id, 0) + 1
        outcome: Outcome = (
            Succeeded(result=request.request_id)
            if how == "ok"
            else Failed(code=FailureCode(how), message=how)
        )
        again = how == "outcome_unknown" and request.effect != "once"
        if how != "expired" and not again:  # an expired request was never begun
            self.journal[request.request_id] = outcome
        self.outbox.append((request.request_id, outcome))
