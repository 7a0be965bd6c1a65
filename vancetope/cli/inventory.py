"""`vancetope tools` and `project`: what the Brain has."""

from typing import Final

import click

from vancetope.cli.lazy import LazyGroup
from vancetope.cli.options import as_json, common, example

_PROJECT: Final = {
    "create": ("vancetope.cli.inventory:create", "Create a project."),
    "list": ("vancetope.cli.inventory:list_", "List the projects."),
}


@click.command(epilog=example("vancetope tools", "vancetope tools --json"))
@as_json
@common
def tools(as_json: bool) -> None:  # noqa: FBT001
    """List the tools, and where each of them could run now."""
    from vancetope.cli.asking import asker

    ask = asker()
    from vance_sdk.wire.codec import to_json
    from vance_sdk.wire.messages.inventory import ToolList, ToolListQuery

    rows = ask.ask(ToolListQuery(), ToolList).tools
    from vancetope.cli.show import print_json, print_table

    if as_json:
        print_json([to_json(row) for row in rows])
        return
    print_table(
        ("TOOL", "RUNS ON", "NOW ON", "EFFECT", "DESCRIPTION"),
        (
            (
                row.name,
                row.location + (f" ({row.prefer} first)" if row.prefer else ""),
                ", ".join((*(["server"] * (row.server == "up")), *row.clients)) or "-",
                row.effect,
                row.description,
            )
            for row in rows
        ),
    )


@click.group(
    cls=LazyGroup,
    lazy=_PROJECT,
    epilog=example("vancetope project create thesis", "vancetope project list"),
)
@common
def project() -> None:
    """Create and list projects."""


@click.command(epilog=example('vancetope project create thesis --name "My thesis"'))
@click.argument("project_id", metavar="ID")
@click.option("--name", metavar="N", help="For people; else the id.")
@as_json
@common
def create(project_id: str, name: str | None, as_json: bool) -> None:  # noqa: FBT001
    """Create a project; one that is there already stays as it is."""
    from vancetope.cli.asking import asker

    ask = asker()
    from vance_sdk.wire.codec import to_json
    from vance_sdk.wire.messages.inventory import ProjectCreate, ProjectCreated

    message = ProjectCreate(project_id=project_id, name=name)
    made = ask.ask(message, ProjectCreated).project
    from vancetope.cli.show import plain, print_json

    if as_json:
        print_json(to_json(made))
    else:
        click.echo(f"{plain(made.id)}  {plain(made.name)}")


@click.command("list", epilog=example("vancetope project list --json"))
@as_json
@common
def list_(as_json: bool) -> None:  # noqa: FBT001
    """List the projects, oldest first."""
    from vancetope.cli.asking import asker

    ask = asker()
    from vance_sdk.wire.codec import to_json
    from vance_sdk.wire.messages.inventory import ProjectList, ProjectListQuery

    found = ask.ask(ProjectListQuery(), ProjectList).projects
    from vancetope.cli.show import print_json, print_table

    if as_json:
        print_json([to_json(one) for one in found])
    else:
        print_table(("ID", "NAME"), ((one.id, one.name) for one in found))
