"""`vancetope run`: start a process and wait for what comes of it."""

import json
from typing import Any, NoReturn

import click

from vancetope.cli.options import as_json, chosen_home, common, example


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def input_value(text: str) -> Any:
    """The value of `--input k=TEXT`: JSON if it is JSON, else the text itself."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text


def _inputs(
    _ctx: click.Context, _param: click.Parameter, given: tuple[str, ...]
) -> dict[str, Any]:
    inputs = {}
    for each in given:
        name, equals, text = each.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"{each!r} is not of the form NAME=VALUE")
        inputs[name] = input_value(text)
    return inputs


def _seconds(_ctx: click.Context, _param: click.Parameter, text: str) -> float:
    from vancetope.config.durations import parse_duration

    try:
        return parse_duration(text) / 1000
    except ValueError as exc:
        raise click.BadParameter(str(exc)) from None


def _target(_ctx: click.Context, _param: click.Parameter, text: str) -> str:
    if not text.strip():
        raise click.BadParameter("is empty: name a workflow")
    return text.strip()


@click.command(
    epilog=example(
        "vancetope run digest --input folder=~/Documents --timeout 10m",
        "vancetope run digest --autonomous --json",
    )
)
@click.argument("target", metavar="WORKFLOW|GOAL", callback=_target)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="K=V",
    callback=_inputs,
    help="An input of the workflow; V is JSON, or text ('n=\"5\"' is the text 5).",
)
@click.option("--project", metavar="P", help="The project it belongs to. [default]")
@click.option(
    "--autonomous", is_flag=True, help="Nobody is there: calls for a client are queued."
)
@click.option("--no-wait", is_flag=True, help="Leave once the start is committed.")
@click.option(
    "--timeout",
    "seconds",
    default="30m",
    show_default=True,
    metavar="TIME",
    callback=_seconds,
    help="How long to wait for the end.",
)
@as_json
@common
def run(
    target: str,
    inputs: dict[str, Any],
    project: str | None,
    autonomous: bool,  # noqa: FBT001
    no_wait: bool,  # noqa: FBT001
    seconds: float,
    as_json: bool,  # noqa: FBT001
) -> None:
    """Run a workflow, or pursue a goal of several words, and wait for the end.

    The first line on stdout is the id of the process, `tp_...`; its result follows at
    the end, with --json as one object `{thinkProcessId, status, result}`. What
    happens meanwhile is shown on stderr.

    Uses the Brain that runs on the home, or starts one for the time of the run.

    \b
    Exit code: 0  done
               2  no such workflow, or a wrong input
               3  all done but calls that wait for a client
               4  blocked (after --timeout; with --autonomous at once)
               5  failed, stopped, or could not be started
    """
    from vancetope.cli.launch import Launcher

    launcher = Launcher(chosen_home())
    # While a Brain starts, there is time to import.
    launcher.look()
    import trio

    from vancetope.cli.running import Order, run_process

    order = Order(
        target=target,
        inputs=inputs,
        project=project,
        autonomous=autonomous,
        wait=not no_wait,
        seconds=seconds,
        as_json=as_json,
    )
    raise click.exceptions.Exit(trio.run(run_process, launcher, order))
