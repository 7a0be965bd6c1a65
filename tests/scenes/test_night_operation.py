"""Night operation: nobody is there, and in the morning the laptop is opened."""

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.support.brain import running_brain

HOUR = 3600.0
REPORT = """\
inputs: {folder: {}}
tasks:
  - {id: date, tool: now, args: {zone: UTC}}
  - {id: words, tool: extract_keywords, args: {text: "Night falls. The night is long."}}
  - {id: list, tool: read, args: {path: "{{ inputs.folder }}"}}
  - id: each
    foreach: "{{ tasks.list.result }}"
    tool: read
    args: {path: "{{ item }}"}
  - id: report
    tool: write
    args: {content: "{{ tasks.each.result | join(', ') }} on {{ tasks.date.result.date }}"}
result: {date: "{{ tasks.date.result.date }}", said: "{{ tasks.report.result }}"}
"""


@pytest.mark.requirement(
    "000-7-autonomous-night",
    "000-4-strategy-queue",
    "000-4-requeued-on-connect",
    "003-3.3-brain-continues-autonomously",
    "000-1-autonomous-work-on-the-server",
    "000-7-night-client-tasks-wait",
)
async def test_the_brain_works_alone_and_the_morning_finishes_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows={"report": REPORT}) as brain:
        # Evening: started from the page, which is then closed.
        page = await brain.connect("page")
        process = await page.start("report", autonomous=True, folder="notes")
        await page.disconnect()

        # Night: what the server can do is done, the rest is queued, nothing is failed.
        await brain.until_status(process, "waiting")
        await trio.sleep(8 * HOUR)
        assert brain.status(process) == "waiting"
        assert brain.statuses(process) == {
            "date": "done",
            "words": "done",
            "list": "queued",
            "each": "pending",
            "report": "pending",
        }
        why = brain.task(process, "list")
        assert why["cause_what"] == "Waiting for Client for Tool: read"

        # Before breakfast somebody looks: there is a partial result, and the reason.
        phone = await brain.connect("phone", profile="mobile")
        [active] = phone.opened["active_think_processes"]
        assert (active["id"], active["status"]) == (process, "waiting")
        assert active["pending_tasks"] == 3
        detail = (await phone.ask("process-get", thinkProcessId=process))["process"]
        assert detail["blocked_reason"] == "Waiting for Client for Tool: read"
        assert detail["result"] is not None
        report = brain.task(process, "report")["id"]
        answer = await phone.ask("why", task_id=report)
        assert [cause["kind"] for cause in answer["chain"]] == [
            "dependency",
            "dependency",
            "client_tool",
        ]

        # Morning: the laptop is opened, and everything finishes by itself.
        written: list[str] = []

        def write(args: dict[str, str]) -> str:
            written.append(args["content"])
            return "written"

        def read(args: dict[str, str]) -> object:
            return ["a.md", "b.md"] if args["path"] == "notes" else args["path"].upper()

        await brain.connect("laptop", serve={"read": read, "write": write})
        end = await phone.finished(process)
        assert end["status"] == "done"
        assert end["result"] == {"date": "2023-11-14", "said": "written"}
        assert written == ["A.MD, B.MD on 2023-11-14"]


async def test_a_process_may_wait_for_more_than_one_morning(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    flow = (
        "tasks:\n  - {id: a, tool: read, args: {path: a}}\n"
        "  - {id: b, tool: write, args: {path: b}, depends_on: [a]}\n"
    )
    async with running_brain(tmp_path, workflows={"flow": flow}) as brain:
        page = await brain.connect("page")
        process = await page.start("flow", autonomous=True)
        await brain.until_status(process, "waiting")
        laptop = await brain.connect("laptop", serve={"read": "text"})
        await brain.until_task(process, "b", "queued")
        assert brain.status(process) == "waiting"
        await laptop.disconnect()
        await trio.sleep(24 * HOUR)
        detail = await page.ask("process-get", thinkProcessId=process)
        assert detail["process"]["status"] == "waiting"
        await brain.connect("desk", serve={"write": "ok"})
        assert (await page.finished(process))["result"] == {"b": "ok"}
