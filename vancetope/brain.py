"""The composition root: opens everything in order, in one nursery tree.

    brain
    +- store                    opened first, closed last
    +- router, timers, scheduler
    +- listener                 one session a connection: reader, writer, pings

Nothing is decided here.
"""

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

import attrs
import trio

from vance_sdk.wire.errors import ProtocolError
from vance_sdk.wire.params import ConnectionParams, parse_params
from vancetope.clock import Clock
from vancetope.config.brain import BrainConfig, load_brain_config
from vancetope.config.home import Home, bundled_dir
from vancetope.config.tools import load_tools
from vancetope.crypto import SigningKey
from vancetope.events import Bus
from vancetope.gateway.auth import TokenVerifier, Verifier
from vancetope.gateway.edge import EdgeConfig
from vancetope.gateway.http_side import load_app
from vancetope.gateway.listener import Listener
from vancetope.gateway.session.connection import serve_connection
from vancetope.gateway.session.context import Hub
from vancetope.processes.commands.start import Starter
from vancetope.processes.conclude import Concluder
from vancetope.processes.engines.workflow import WorkflowEngine
from vancetope.processes.recovery import recover
from vancetope.processes.scheduler.desk import Desk
from vancetope.processes.scheduler.loop import Scheduler
from vancetope.processes.scheduler.results import Results
from vancetope.processes.scheduler.steps import Steps
from vancetope.processes.scheduler.timers import Timers
from vancetope.processes.workflows.library import WorkflowLibrary
from vancetope.store.connection import Runner
from vancetope.store.db import Store, open_store
from vancetope.store.home_lock import hold_home
from vancetope.tools.clients import Clients
from vancetope.tools.local import RunCpu, in_thread, local_tools
from vancetope.tools.outcome import Outcome
from vancetope.tools.registry import Registry
from vancetope.tools.router import Router
from vancetope.tools.servers import Servers

logger = logging.getLogger(__name__)

#: A Brain that was started for a run waits this long for its first client.
FIRST_CLIENT_S: Final = 15.0
#: And this long after its last one has left.
LINGER_S: Final = 1.0
#: It is for the commands of this machine, wherever `brain.yaml` has others call.
FOR_A_RUN_HOST: Final = "127.0.0.1"


@attrs.frozen(kw_only=True)
class Seams:
    """What tests replace: where connections and computations run."""

    runner: Runner | None = None
    run_cpu: RunCpu = in_thread


@attrs.define(eq=False, kw_only=True)
class Brain:
    """The parts of a running Brain, wired together."""

    config: BrainConfig
    clock: Clock
    bus: Bus
    store: Store
    hub: Hub
    router: Router
    timers: Timers
    scheduler: Scheduler

    async def work(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Reconcile, then run router, timers and scheduler until cancelled."""
        waiting_for = await recover(self.store)
        async with trio.open_nursery() as nursery:
            await nursery.start(self.router.run)
            await nursery.start(self.timers.run)
            for session_id in waiting_for:
                self.timers.session_left(session_id)
            await nursery.start(self.scheduler.run)
            task_status.started()


def assemble(
    store: Store,
    *,
    home: Home,
    config: BrainConfig,
    clock: Clock,
    bus: Bus,
    verifier: Verifier,
    own_only: bool = False,
    run_cpu: RunCpu = in_thread,
) -> Brain:
    """Wire the parts of a Brain over an open store.

    Raises:
        ConfigError: `tools.yaml` is broken.
    """
    registry = Registry(load_tools(bundled_dir() / "tools.yaml", home.tools))
    limits = config.limits
    tools = local_tools(clock, result_limit=limits.inline_result_bytes, run_cpu=run_cpu)
    servers = Servers(tools)
    clients = Clients(bus)
    engine = WorkflowEngine()
    engines = {engine.name: engine}

    async def report(call_id: str, outcome: Outcome) -> None:
        await results.from_server(call_id, outcome)

    router = Router(
        clients=clients,
        servers=servers,
        bus=bus,
        report=report,
        server_window=limits.parallel_tasks,
    )
    timers = Timers(
        store=store,
        clock=clock,
        router=router,
        resume_window_s=config.gateway.resume_window.seconds,
    )
    library = WorkflowLibrary(bundled_dir() / "workflows", home.workflows)
    desk = Desk(registry=registry, clients=clients, servers=servers)
    steps = Steps(
        store=store,
        clock=clock,
        engines=engines,
        desk=desk,
        router=router,
        timers=timers,
    )
    scheduler = Scheduler(
        store=store,
        bus=bus,
        steps=steps,
        timers=timers,
        concluder=Concluder(store, engines),
        own_only=own_only,
    )
    results = Results(store, steps, scheduler.serves)
    hub = Hub(
        config=config,
        clock=clock,
        store=store,
        bus=bus,
        verifier=verifier,
        registry=registry,
        clients=clients,
        router=router,
        timers=timers,
        desk=desk,
        results=results,
        starter=Starter(store, clock, library, engine, run_cpu),
    )
    return Brain(
        config=config,
        clock=clock,
        bus=bus,
        store=store,
        hub=hub,
        router=router,
        timers=timers,
        scheduler=scheduler,
    )


async def run_brain(
    home: Home,
    *,
    clock: Clock,
    stop: trio.Event,
    host: str | None = None,
    port: int | None = None,
    for_a_run: bool = False,
    seams: Seams = Seams(),
    task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Run a Brain on a home until `stop` is set; started with its URL when ready.

    Args:
        home: the directory; it is locked for the life of the Brain.
        clock: the wall clock.
        stop: set it to stop cleanly.
        host: overrides `gateway.host` of `brain.yaml`.
        port: overrides `gateway.port`.
        for_a_run: serve only what is started from now on, on the loopback only, and
            stop when nothing of it goes on and nobody is connected but clients that
            lend their tools.
        seams: replaced in tests.
        task_status: gets `http://HOST:PORT`.

    Raises:
        UserError: the home, its files, the database or the port cannot be used.
    """
    with hold_home(home.path):
        config = load_brain_config(home.brain_config)
        key = SigningKey.of_home(home.secrets)
        bus = Bus()
        async with open_store(
            home.database, clock=clock, bus=bus, runner=seams.runner
        ) as store:
            brain = assemble(
                store,
                home=home,
                config=config,
                clock=clock,
                bus=bus,
                verifier=TokenVerifier(key, clock),
                own_only=for_a_run,
                run_cpu=seams.run_cpu,
            )
            where = FOR_A_RUN_HOST if for_a_run else host
            listener = listener_for(brain, where, port, http_on_demand=for_a_run)
            async with trio.open_nursery() as nursery:
                await nursery.start(brain.work)
                async with trio.open_nursery() as edge:
                    address = await edge.start(listener.serve)
                    with _announced(home, address.local_url, clock):
                        task_status.started(address.url)
                        if store.unclean_stop:
                            nursery.start_soon(store.check)
                        if for_a_run:
                            nursery.start_soon(_stop_when_idle, brain, stop)
                        await stop.wait()
                    listener.stop()
                nursery.cancel_scope.cancel()


def listener_for(
    brain: Brain, host: str | None, port: int | None, *, http_on_demand: bool = False
) -> Listener[ConnectionParams]:
    """The edge of a Brain, to be served; host and port override its configuration."""
    gateway = brain.config.gateway
    edge = EdgeConfig(
        host=host or gateway.host,
        port=gateway.port if port is None else port,
        allowed_hosts=gateway.allowed_hosts,
        allowed_origins=gateway.allowed_origins,
        head_timeout_s=gateway.handshake_timeout.seconds,
        first_frame_limit=gateway.first_frame_bytes,
        frame_limit=gateway.frame_bytes,
        max_unauthenticated=gateway.pre_auth_sockets,
        send_timeout_s=gateway.send_timeout.seconds,
        ping_timeout_s=(gateway.dead_after.ms - gateway.ping_interval.ms) / 1000,
        shutdown_grace_s=gateway.shutdown_grace.seconds,
        http_on_demand=http_on_demand,
    )
    return Listener(
        config=edge,
        app_factory=load_app(lambda: brain.store.write_fault),
        on_websocket=partial(serve_connection, brain.hub),
        parse_query=parse_params,
        bad_query=ProtocolError,
    )


async def _stop_when_idle(brain: Brain, stop: trio.Event) -> None:
    """A Brain for a run leaves when nobody needs it any more.

    A client that lends its tools stays for ever: it holds nothing by being there, but
    what uses its tools is at work.
    """
    with trio.move_on_after(FIRST_CLIENT_S):
        await brain.hub.arrived.wait()
    idle = False
    while True:
        await trio.sleep(LINGER_S)
        # Twice: a client may just have brought what a blocked process waited for.
        was_idle, idle = idle, _is_idle(brain)
        if idle and was_idle:
            stop.set()
            return


def _is_idle(brain: Brain) -> bool:
    asked = any(not session.client.offers for session in brain.hub.live.values())
    return not asked and not brain.scheduler.own_at_work()


@contextmanager
def _announced(home: Home, url: str, clock: Clock) -> Iterator[None]:
    """While the Brain runs, its home says where it can be reached."""
    said = {"pid": os.getpid(), "url": url, "since": clock.now_ms()}
    draft = home.runtime.with_suffix(".new")
    draft.write_text(json.dumps(said), encoding="utf-8")
    draft.replace(home.runtime)
    try:
        yield
    finally:
        home.runtime.unlink(missing_ok=True)
