"""`vancetope ps`, `tasks`, `why` and `result`: look at processes."""

from typing import TYPE_CHECKING

import click

from vancetope.cli.options import as_json, common, example

if TYPE_CHECKING:
    from vance_sdk.wire.messages import Cause


@click.command(epilog=example("vancetope ps", "vancetope ps --all --json"))
@click.option("--all", "everything", is_flag=True, help="Also what ended earlier.")
@click.option("--project", metavar="P", help="Only processes of this project.")
@as_json
@common
def ps(everything: bool, project: str | None, as_json: bool) -> None:  # noqa: FBT001
    """List the processes that are open, and those that ended within a day."""
    from vancetope.cli.asking import asker

    ask = asker()
    from vance_sdk.wire.codec import to_json
    from vance_sdk.wire.messages import ProcessList, ProcessListQuery

    query = ProcessListQuery(all=everything, project_id=project)
    rows = ask.ask(query, ProcessList).processes
    from vancetope.cli.show import print_json, print_table, status_text

    if as_json:
        print_json([to_json(row) for row in rows])
        return
    print_table(
        ("ID", "STATUS", "PROJECT", "WORKFLOW", "OPEN", "TITLE OR WAIT"),
        (
            (
                row.id,
                status_text(row.status),
                row.project_id,
                row.workflow_id or "",
                str(row.pending_tasks),
                row.blocked_reason or row.title,
            )
            for row in rows
        ),
    )


@click.command(epilog=example("vancetope tasks tp_01hzx5...", "vancetope ps"))
@click.argument("process")
@as_json
@common
def tasks(process: str, as_json: bool) -> None:  # noqa: FBT001
    """List the tasks of a process in order of execution, planned ones included."""
    from vancetope.cli.asking import asker

    ask = asker()
    from vance_sdk.wire.codec import to_json
    from vance_sdk.wire.messages import TaskList, TaskListQuery

    rows = ask.ask(TaskListQuery(think_process_id=process), TaskList).tasks
    from vancetope.cli.show import print_json, print_table, status_text

    if as_json:
        print_json([to_json(row) for row in rows])
        return
    print_table(
        ("ID", "TASK", "STATUS", "WHERE", "GOAL OR WAIT"),
        (
            (
                row.task_id,
                f"  {row.key}" if row.parent else row.key,
                status_text(row.status),
                row.where or "",
                _wait(row.cause) or row.goal + (f" ({row.tool})" if row.tool else ""),
            )
            for row in rows
        ),
    )


def _wait(cause: "Cause | None") -> str:
    """What is waited for; being ready is no wait."""
    return "" if cause is None or cause.kind == "ready" else cause.what


@click.command(epilog=example("vancetope why task_01hzx5...", "vancetope tasks tp_..."))
@click.argument("task")
@as_json
@common
def why(task: str, as_json: bool) -> None:  # noqa: FBT001
    """Say why a task is not running, down to what is really waited for."""
    from vancetope.cli.asking import asker

    ask = asker()
    from vance_sdk.wire.codec import to_json
    from vance_sdk.wire.messages import Why, WhyQuery

    answer = ask.ask(WhyQuery(task_id=task), Why)
    from vancetope.cli.show import plain, print_json

    if as_json:
        print_json(
            {
                "task_id": answer.task_id,
                "status": answer.status,
                "text": answer.text,
                "chain": [to_json(cause) for cause in answer.chain],
            }
        )
    else:
        click.echo(plain(answer.text))


@click.command(epilog=example("vancetope result tp_01hzx5... --json"))
@click.argument("process")
@as_json
@common
def result(process: str, as_json: bool) -> None:  # noqa: FBT001
    """Show the status of a process and its result, as far as there is one."""
    from vancetope.cli.asking import asker

    ask = asker()
    from vance_sdk.wire.messages import ProcessGet, ProcessGetQuery

    query = ProcessGetQuery(think_process_id=process)
    found = ask.ask(query, ProcessGet).process
    from vancetope.cli.show import print_json, print_result

    if as_json:
        print_json(
            {
                "thinkProcessId": found.id,
                "status": found.status,
                "result": found.result,
            }
        )
    else:
        print_result(found.status, found.result)
