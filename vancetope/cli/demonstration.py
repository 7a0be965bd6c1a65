"""What `vancetope demo` does: a Brain, a client that comes late, and a report."""

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import click
import trio

from vance_sdk.wire.messages import Json, ProcessStart, ProcessStatus
from vancetope.brain import run_brain
from vancetope.cli.board import Board
from vancetope.cli.follow import Follower, Show
from vancetope.cli.launch import Launcher, running_brain
from vancetope.cli.link import Link, open_link
from vancetope.cli.options import program
from vancetope.cli.running import exit_code
from vancetope.cli.show import plain, print_result
from vancetope.cli.story import Story, live_tree
from vancetope.client.native import Roots
from vancetope.client.session import LocalClient
from vancetope.clock import SystemClock
from vancetope.config.home import Home
from vancetope.crypto import SigningKey
from vancetope.errors import HomeError

WORKFLOW: Final = "digest"
CLIENT: Final = "demo"
#: The client comes this long after the run began, so that one can see it wait.
CLIENT_AFTER_S: Final = 1.5
#: A folder that takes longer is too big for a demo.
DEMO_S: Final = 300.0


@attrs.define(eq=False, kw_only=True)
class Demonstration:
    """One run of the demo.

    Attributes:
        home: the demo's own home; its reports are kept there.
        folder: the documents.
        pattern: which of its files; None: those that the workflow takes.
    """

    home: Home
    folder: Path
    pattern: str | None = None
    _began: float = attrs.field(init=False, default=0.0)
    _client_is: str = attrs.field(init=False, default="not connected")
    _story: Story | None = attrs.field(init=False, default=None)

    @property
    def report(self) -> Path:
        """The file that is written."""
        name = re.sub(r"[^\w.-]+", "-", self.folder.name).strip("-.") or "folder"
        return self.home.path / "reports" / f"{WORKFLOW}-{name}.md"

    async def run(self) -> int:
        """Show it; returns the exit code, 0 if the report is there.

        Raises:
            UserError: the home cannot be used.
        """
        stop = trio.Event()
        async with trio.open_nursery() as nursery:
            url = await nursery.start(
                partial(
                    run_brain,
                    self.home,
                    clock=SystemClock(),
                    stop=stop,
                    host="127.0.0.1",
                    port=0,
                    # What an earlier demo left unfinished stays as it is.
                    for_a_run=True,
                )
            )
            async with open_link(Launcher(self.home, may_start=False)) as link:
                board = await self._start(link, url)
                with self._shown() as show, trio.move_on_after(DEMO_S):
                    await self._watch(link, board, show)
            stop.set()
        return self._conclude(board)

    async def _start(self, link: Link, url: str) -> Board:
        inputs: dict[str, Json] = {
            "folder": str(self.folder),
            "report": str(self.report),
        }
        if self.pattern is not None:
            inputs["pattern"] = self.pattern
        message = ProcessStart(goal="", workflow_id=WORKFLOW, input=inputs)
        started = await link.ask(message, ProcessStatus)
        self._began = trio.current_time()
        click.echo(f"Brain:     {url}")
        click.echo(f"Workflow:  {WORKFLOW} over {plain(str(self.folder))}")
        click.echo(f"Process:   {started.think_process_id}")
        click.echo()
        return Board(started.think_process_id, started.status, started.result)

    async def _watch(self, link: Link, board: Board, show: Show) -> None:
        async with trio.open_nursery() as nursery:
            over = trio.Event()
            nursery.start_soon(self._connect_later, over)
            await Follower(link=link, board=board).follow(show, lambda _: False)
            over.set()

    async def _connect_later(self, over: trio.Event) -> None:
        """The local client: the same one as `vancetope client`."""
        reports = self.report.parent
        try:
            reports.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as exc:
            message = f"the folder {reports} cannot be made: {exc.strerror}"
            raise HomeError(message, fix="Name another home with --home.") from exc
        key = SigningKey.of_home(self.home.secrets)
        client = LocalClient(
            locate=self._url,
            token=lambda: key.mint(SystemClock(), name=CLIENT),
            roots=Roots([self.folder, reports]),
            name=CLIENT,
            profile="foot",
            on_connected=lambda _: self._client_turns("connected"),
            on_trouble=self._client_turns,
        )
        with trio.move_on_after(CLIENT_AFTER_S):
            await over.wait()
        await client.run(over)

    def _url(self) -> str | None:
        found = running_brain(self.home)
        return None if found is None else found.url

    def _client_turns(self, state: str) -> None:
        self._client_is = state
        if self._story is not None:
            self._story.say(f"local client: {state}")

    @contextmanager
    def _shown(self) -> Iterator[Show]:
        if sys.stdout.isatty():
            with live_tree(head=lambda: f"Local client: {self._client_is}") as show:
                yield show
            return
        self._story = Story(
            out=sys.stdout, since=lambda: trio.current_time() - self._began
        )
        yield self._story.show

    def _conclude(self, board: Board) -> int:
        click.echo()
        code = exit_code(board.status)
        if code != 0:
            print_result(board.status, board.result)
            return code
        numbers = board.result if isinstance(board.result, dict) else {}
        digested, failed = numbers.get("documents"), numbers.get("failed")
        click.echo(f"Done: {digested} documents digested, {failed} not digested.")
        click.echo(f"Report: {plain(str(self.report))}")
        click.echo()
        _say_next(board.process_id, self.home)
        return code


def _say_next(process_id: str, home: Home) -> None:
    mine, named = program(), f"--home {shlex.quote(str(home.path))}"
    run = f"{mine} run {WORKFLOW} --input folder=~/Documents"
    steps = {
        f"{mine} tasks {process_id} {named}": "what ran where",
        f"{mine} demo --folder ~/Documents": "the same over documents of yours",
        f"{mine} serve": "a Brain that stays; then, in another terminal:",
        f"{mine} client --root ~/Documents": "lend it your files; and in a third:",
        f"{run} --input report=~/Documents/digest.md": "run the workflow",
    }
    click.echo("What to do next:")
    for command, what in steps.items():
        click.echo(f"  {command}")
        click.echo(f"      {what}")
