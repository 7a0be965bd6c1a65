"""`vancetope token`: credentials made with the home's key."""

from typing import Final

import click

from vancetope.cli.lazy import LazyGroup
from vancetope.cli.options import as_json, chosen_home, common, example

_TOKEN: Final = {
    "create": ("vancetope.cli.token:create", "Print a new token."),
}


@click.group(
    cls=LazyGroup,
    lazy=_TOKEN,
    epilog=example("vancetope token create --name laptop --ttl 90d"),
)
@common
def token() -> None:
    """Make tokens for clients."""


@click.command(
    epilog=example(
        "vancetope token create --name laptop --ttl 90d",
        "TOKEN=$(vancetope token create --kind internal)",
    )
)
@click.option("--name", default="", metavar="N", help="Whose token it is, for logs.")
@click.option(
    "--kind",
    type=click.Choice(["human", "internal"]),
    default="human",
    show_default=True,
    help="For a person's client, or for a program of the owner's.",
)
@click.option(
    "--ttl",
    default="30d",
    show_default=True,
    metavar="TIME",
    help="How long it holds, such as 12h or 30d.",
)
@as_json
@common
def create(name: str, kind: str, ttl: str, as_json: bool) -> None:  # noqa: FBT001
    """Print a new token, and nothing else.

    Needs the home's key file only; a Brain may run or not. Whoever has the token is
    let in until it ends.
    """
    from vancetope.clock import SystemClock
    from vancetope.config.durations import parse_duration
    from vancetope.crypto import SigningKey
    from vancetope.model.principal import PrincipalKind

    try:
        ttl_ms = parse_duration(ttl)
    except ValueError as exc:
        raise click.BadParameter(str(exc), param_hint="--ttl") from None
    if ttl_ms < 1000:
        raise click.BadParameter("shorter than a second", param_hint="--ttl")
    key = SigningKey.of_home(chosen_home().secrets)
    made = key.mint(SystemClock(), kind=PrincipalKind(kind), name=name, ttl_ms=ttl_ms)
    if as_json:
        from vancetope.cli.show import print_json

        print_json({"token": made})
    else:
        click.echo(made)
