"""What `vancetope run` does once everything is imported."""

import secrets
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import attrs
import click
import trio

from vance_sdk.errors import (
    BrainRefused,
    ConnectionLost,
    HandshakeRefused,
    MessageTooBig,
)
from vance_sdk.wire.errors import BAD_MESSAGE, NOT_FOUND, ProtocolError
from vance_sdk.wire.messages import Json, ProcessStart, ProcessStatus
from vancetope.cli.board import HELD, Board
from vancetope.cli.failure import Failure, WrongUse, line_of
from vancetope.cli.follow import Follower, Show, catch_up
from vancetope.cli.launch import Launcher
from vancetope.cli.link import START_S, Link, open_link
from vancetope.cli.options import program
from vancetope.cli.show import plain, print_json, print_result
from vancetope.cli.story import Story, live_tree
from vancetope.errors import HomeError

DONE: Final = 0
WAITING: Final = 3
BLOCKED: Final = 4
FAILED: Final = 5

#: Statuses in which a process needs something from outside.
STUCK: Final = ("waiting", "blocked", "paused")
#: To ask for the last state of things when the time is up.
FINISH_S: Final = 5.0
#: The partial result is written just after the process began to wait.
PARTIAL_S: Final = 1.0
LOOK_S: Final = 0.05
#: A Brain may leave just when it is asked.
START_TRIES: Final = 3
#: A Brain gets this long to be there, however short the wait for the end shall be.
APPEAR_S: Final = 10.0


class NotStarted(Failure):
    """The Brain did not take the order."""

    exit_code = FAILED


@attrs.frozen(kw_only=True)
class Order:
    """What is to be run.

    Attributes:
        target: a workflow's id, or, in several words, a goal.
        seconds: how long to wait for the end.
    """

    target: str
    inputs: dict[str, Json]
    project: str | None
    autonomous: bool
    wait: bool
    seconds: float
    as_json: bool
    key: str = attrs.field(factory=lambda: secrets.token_hex(16))

    def message(self) -> ProcessStart:
        """The frame that starts it; sent twice it starts it once."""
        goal = len(self.target.split()) > 1
        return ProcessStart(
            goal=self.target if goal else "",
            workflow_id=None if goal else self.target,
            input=self.inputs,
            autonomous=self.autonomous,
            idempotency_key=self.key,
        )


async def run_process(launcher: Launcher, order: Order) -> int:
    """Start, watch and report; returns the exit code.

    Raises:
        WrongUse, NotStarted: it could not be started.
        UserError, VanceError: there is no Brain, or it went away for good.
    """
    with _progress() as show:
        board = await _start_and_watch(launcher, order, show)
    return _report(order, board)


async def _start_and_watch(launcher: Launcher, order: Order, show: Show) -> Board:
    board: Board | None = None
    deadline = float("inf")
    for _ in range(START_TRIES):
        try:
            async with _open(launcher, order) as link:
                board = await _start(link, order)
                if not order.wait:
                    return board
                deadline = trio.current_time() + order.seconds
                return await _watch(link, order, board, show, deadline)
        except ConnectionLost:
            if board is not None:
                break
    if board is None:
        message = "the Brain was gone before it had committed the start"
        raise HomeError(message, fix="Try again.")
    # Another Brain for a run would not go on with it.
    patient = Launcher(launcher.home, may_start=False)
    with trio.move_on_at(deadline + FINISH_S):
        while True:
            _say("the Brain is gone; waiting for it to come back")
            try:
                async with _reopen(patient, board) as link:
                    await catch_up(link, board)
                    return await _watch(link, order, board, show, deadline)
            except ConnectionLost:
                continue
    return board


async def _watch(
    link: Link, order: Order, board: Board, show: Show, deadline: float
) -> Board:
    def enough(board: Board) -> bool:
        return order.autonomous and board.status in STUCK

    with trio.move_on_at(deadline):
        await Follower(link=link, board=board).follow(show, enough)
    if board.status == "waiting":
        with trio.move_on_after(PARTIAL_S):
            while board.result is None:
                await trio.sleep(LOOK_S)
                await catch_up(link, board)
    return board


@asynccontextmanager
async def _open(launcher: Launcher, order: Order) -> AsyncIterator[Link]:
    try:
        opening = open_link(
            launcher,
            project=order.project,
            within_s=min(START_S, max(APPEAR_S, order.seconds)),
        )
        async with opening as link:
            yield link
    except HandshakeRefused as refused:
        if refused.code == BAD_MESSAGE:
            raise WrongUse(line_of(refused)) from None
        raise


@asynccontextmanager
async def _reopen(launcher: Launcher, board: Board) -> AsyncIterator[Link]:
    try:
        async with open_link(launcher) as link:
            yield link
    except HomeError:
        message = f"the Brain is gone, and {board.process_id} is not ended"
        fix = (
            f"It goes on when you start `{program()} serve`; then see"
            f" `{program()} result {board.process_id}`."
        )
        raise HomeError(message, fix=fix) from None


async def _start(link: Link, order: Order) -> Board:
    try:
        started = await link.ask(order.message(), ProcessStatus)
    except BrainRefused as refused:
        if refused.code in {NOT_FOUND, BAD_MESSAGE}:
            raise WrongUse(line_of(refused)) from None
        raise NotStarted(line_of(refused)) from None
    except (MessageTooBig, ProtocolError) as error:
        raise WrongUse(line_of(error)) from None
    click.echo(started.think_process_id)
    sys.stdout.flush()
    return Board(started.think_process_id, started.status, started.result)


@contextmanager
def _progress() -> Iterator[Show]:
    if sys.stderr.isatty():
        with live_tree(stderr=True) as show:
            yield show
    else:
        began = trio.current_time()
        yield Story(out=sys.stderr, since=lambda: trio.current_time() - began).show


def _report(order: Order, board: Board) -> int:
    if order.as_json:
        print_json(
            {
                "thinkProcessId": board.process_id,
                "status": board.status,
                "result": board.result,
            }
        )
    elif order.wait:
        print_result(board.status, board.result)
    if not order.wait:
        return DONE
    if not board.ended:
        _say_what_it_waits_for(board)
    return exit_code(board.status)


def exit_code(status: str) -> int:
    """What the end, or the last state, of a process means for scripts."""
    match status:
        case "done":
            return DONE
        case "failed" | "stopped":
            return FAILED
        case "waiting":
            return WAITING
        case _:
            return BLOCKED


def _say_what_it_waits_for(board: Board) -> None:
    _say(f"{board.process_id} is {board.status}, not ended")
    for line in board.lines():
        if line.status in HELD or line.items.keys() & set(HELD):
            _say(f"{line.key}: {line.reason}")
            _say(f"See `{program()} why {line.task_id}`.")
            return


def _say(text: str) -> None:
    click.echo(plain(text), err=True)
