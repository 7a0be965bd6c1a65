"""What every session shares, and what one session is."""

import attrs
import trio

from vance_sdk.wire.messages.handshake import Capabilities
from vance_sdk.wire.messages.sessions import Notification
from vance_sdk.wire.messages.tables import Outbound
from vancetope.clock import Clock
from vancetope.config.brain import BrainConfig
from vancetope.events import Bus
from vancetope.gateway.auth import Verifier
from vancetope.gateway.session.outbox import Outbox
from vancetope.gateway.websocket import WebSocket
from vancetope.model.principal import Principal
from vancetope.model.records import SessionRecord
from vancetope.processes.commands.start import Starter
from vancetope.processes.scheduler.desk import Desk
from vancetope.processes.scheduler.results import Results
from vancetope.processes.scheduler.timers import Timers
from vancetope.store.db import Store
from vancetope.tools.clients import Clients, ConnectedClient
from vancetope.tools.registry import Registry
from vancetope.tools.router import Router


@attrs.frozen(eq=False, kw_only=True)
class Hub:
    """The ports a session works with, injected by the composition root.

    Attributes:
        live: the connected sessions by id.
        arrived: set when the first session that only asks has connected; one that
            lends its tools waits for work.
    """

    config: BrainConfig
    clock: Clock
    store: Store
    bus: Bus
    verifier: Verifier
    registry: Registry
    clients: Clients
    router: Router
    timers: Timers
    desk: Desk
    results: Results
    starter: Starter
    live: "dict[str, Session]" = attrs.field(factory=dict)
    arrived: trio.Event = attrs.field(factory=trio.Event)


@attrs.define(eq=False, kw_only=True)
class Session:
    """One connection that is past its handshake.

    Attributes:
        vtp: the client opted into PROTOCOL section 3.
        order: held while a frame is answered, so that the direct answer comes before
            every other frame about what it changed.
        cursor: the last event that was projected for this client.
        left: the client said `disconnect`.
        gone: set when it is recorded that the connection is over.
    """

    hub: Hub
    ws: WebSocket
    who: Principal
    record: SessionRecord
    client: ConnectedClient
    capabilities: Capabilities
    vtp: bool
    cursor: int
    outbox: Outbox
    order: trio.Lock = attrs.field(factory=trio.Lock)
    left: bool = False
    gone: trio.Event = attrs.field(factory=trio.Event)

    def put(self, frame: Outbound) -> None:
        """Send a frame when it is its turn, if the client can do anything with it."""
        if isinstance(frame, Notification) and not self.capabilities.notifications:
            return
        self.outbox.put(frame)
