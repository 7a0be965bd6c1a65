"""The bundled digest, run by hand: its templates over tool results as clients give them."""

from typing import cast

import attrs
import pytest

from vancetope.config.home import bundled_dir
from vancetope.config.tools import load_tools
from vancetope.model.json import Json, JsonObject, dumps
from vancetope.processes.workflows.definition import Workflow
from vancetope.processes.workflows.inputs import resolve_inputs
from vancetope.processes.workflows.parse import check_workflow_file, read_workflow_file
from vancetope.processes.workflows.templating import TemplateError, render

FILE = bundled_dir() / "workflows" / "digest.yaml"
FRAME = 1_048_576

NOW: Json = {"date": "2026-01-31", "time": "12:30", "zone": "UTC"}


@attrs.define
class Run:
    """Renders the tasks in order; the tools' results are given by the test."""

    workflow: Workflow
    inputs: JsonObject
    tasks: dict[str, JsonObject] = attrs.field(factory=dict)

    def args(self, key: str, **names: object) -> JsonObject:
        task = self.workflow.task(key)
        value = task.args if task.tool else task.result
        context = {"inputs": self.inputs, "tasks": self.tasks, **names}
        return cast("JsonObject", render(value, context, field=key))

    def each(self, key: str) -> list[JsonObject]:
        task = self.workflow.task(key)
        items = render(task.foreach, {"inputs": self.inputs, "tasks": self.tasks})
        assert isinstance(items, list)
        return [self.args(key, item=it, index=n) for n, it in enumerate(items)]

    def done(self, key: str, result: Json) -> None:
        self.tasks[key] = {"status": "done", "result": result}


def digest(
    documents: list[tuple[str, JsonObject, JsonObject]],
    *,
    listing: JsonObject | None = None,
    **inputs: Json,
) -> tuple[str, JsonObject]:
    """The report and the workflow's result for (path, read result, outline) rows."""
    workflow, problems = read_workflow_file(FILE)
    assert problems == []
    assert workflow is not None
    run = Run(workflow, resolve_inputs(workflow, inputs))
    files: list[Json] = [
        {"path": f"/docs/{path}", "name": path.rpartition("/")[2], "bytes": 7}
        for path, _, _ in documents
    ]
    run.done("now", NOW)
    run.done("limit", run.args("limit"))
    assert run.args("list")["exclude"] == run.inputs["report"]
    run.done("list", {"path": "/docs", "files": files, **(listing or {})})
    run.done("found", run.args("found"))
    run.done("pick", run.args("pick"))
    picked = cast("list[JsonObject]", run.tasks["pick"]["result"])
    paths = [file["path"] for file in picked]
    kept = [row for row in documents if f"/docs/{row[0]}" in paths]
    assert [args["path"] for args in run.each("read")] == [f["path"] for f in picked]
    run.done("read", [read for _, read, _ in kept])
    texts = [args["text"] for args in run.each("outline")]
    assert texts == [(read or {}).get("text", "") for _, read, _ in kept]
    run.done("outline", [outline for _, _, outline in kept])
    assert [args["text"] for args in run.each("terms")] == texts
    terms: Json = {"keywords": [{"term": "routing", "score": 1.0}]}
    run.done("terms", [terms if text else {"keywords": []} for text in texts])
    run.done("section", cast("Json", run.each("section")))
    report = run.args("report")
    assert len(dumps(report)) < FRAME
    run.done("report", {"path": report["path"], "bytes": len(str(report["content"]))})
    result = render(workflow.result, {"inputs": run.inputs, "tasks": run.tasks})
    return str(report["content"]), cast("JsonObject", result)


def outline(title: str, headings: int = 1, links: int = 1) -> JsonObject:
    return {
        "title": title,
        "first_paragraph": f"About {title}.",
        "headings": [{"level": 2, "text": f"Part {n}"} for n in range(headings)],
        "links": [{"text": f"L{n}", "target": f"t/{n}"} for n in range(links)],
        "words": 10,
    }


EMPTY: JsonObject = {
    "title": "",
    "first_paragraph": "",
    "headings": [],
    "links": [],
    "words": 0,
}


def failed(message: str) -> JsonObject:
    return {"error": {"code": "failed", "message": message}}


def test_the_file_has_no_problem_and_names_only_bundled_tools() -> None:
    tools = load_tools(bundled_dir() / "tools.yaml", None)

    assert check_workflow_file(FILE, frozenset(tools)) == []


def test_something_runs_without_a_client() -> None:
    workflow, _ = read_workflow_file(FILE)
    assert workflow is not None
    tools = load_tools(bundled_dir() / "tools.yaml", None)

    first = workflow.tasks[0]
    assert first.tool is not None
    assert tools[first.tool].on_server
    assert first.depends_on == ()


def test_a_document_has_title_paragraph_terms_headings_and_links() -> None:
    report, result = digest([("a.md", {"text": "Some text"}, outline("On *Routing*"))])

    assert report.startswith("# Digest of .\n\n- Date: 2026-01-31, 12:30 (UTC)\n")
    assert "- Documents: 1 digested, 0 not digested\n" in report
    assert r"## On \*Routing\*" in report
    assert "File: `/docs/a.md`\n\n" in report
    assert r"About On \*Routing\*." in report
    assert "**Key terms:** routing\n" in report
    assert "**Headings:**\n\n- `##` Part 0\n" in report
    assert "**Links:**\n\n- L0: `t/0`\n" in report
    assert "Not digested" not in report
    assert result == {
        "report": "digest-report.md",
        "bytes": len(report),
        "documents": 1,
        "failed": 0,
        "left_out": 0,
        "replaced": False,
        "words": 10,
    }


def test_what_could_not_be_read_stands_at_the_end_with_its_reason() -> None:
    report, result = digest(
        [
            ("secret.pdf", failed("the PDF has a password"), EMPTY),
            ("a.md", {"text": "Text"}, outline("A")),
            ("scan.pdf", failed("/docs/scan.pdf: only pictures"), failed("-")),
        ]
    )

    head, _, tail = report.partition("## Not digested\n\n")
    assert tail == (
        "- `/docs/secret.pdf`: the PDF has a password\n"
        "- `/docs/scan.pdf`: only pictures\n"
    )
    assert "secret" not in head
    assert "1 digested, 2 not digested" in head
    assert (result["documents"], result["failed"]) == (1, 2)


def test_a_document_of_headings_and_bare_links_says_that_it_has_no_text() -> None:
    bare: JsonObject = {
        **outline("A", 1, 0),
        "first_paragraph": "",
        "links": [{"text": "https://x.org", "target": "https://x.org"}],
    }
    report, _ = digest([("a.md", {"text": "# A", "pages": 1}, bare)])

    assert "File: `/docs/a.md` (1 page)\n\nNo running text.\n" in report
    assert "**Links:**\n\n- `https://x.org`\n" in report


def test_a_document_that_was_skipped_is_not_silently_missing() -> None:
    skipped = cast("JsonObject", None)
    report, result = digest(
        [("a.md", skipped, EMPTY), ("b.md", {"text": "T"}, outline("B"))]
    )

    assert "- `/docs/a.md`: not read\n" in report
    assert (result["documents"], result["failed"]) == (1, 1)


def test_places_the_client_did_not_look_into_are_named() -> None:
    skipped: Json = [{"path": f"d{n}", "reason": "a *link*"} for n in range(22)]
    report, _ = digest([], listing={"skipped": skipped})

    tail = report.partition("## Not looked into\n\n")[2]
    assert tail.startswith("- `d0`: a \\*link\\*\n")
    assert tail.endswith("- `d19`: a \\*link\\*\n- and 2 more\n")


def test_an_empty_file_is_named_by_its_file_name_and_said_to_be_empty() -> None:
    report, _ = digest([("作业 1.md", {"text": " \n"}, EMPTY)])

    assert "## 作业 1.md\n\nFile: `/docs/作业 1.md`\n\nThis file is empty.\n" in report


def test_a_cut_document_says_so_with_the_size_of_the_file() -> None:
    read: JsonObject = {
        "text": "abc",
        "truncated": True,
        "total_bytes": 5_000_000,
        "bytes": 5_000_000,
        "pages": 12,
    }
    report, _ = digest([("big.pdf", read, outline("Big"))])

    assert "(12 pages)" in report
    assert (
        "**Cut:** only the beginning was read, 3 characters of a file of 5000000 bytes."
    ) in report


def test_an_outline_that_failed_does_not_cost_the_document() -> None:
    report, result = digest([("a.md", {"text": "Text"}, failed("odd"))])

    assert "## a.md" in report
    assert "No outline: odd" in report
    assert result["documents"] == 1


def test_long_lists_are_cut_and_say_how_much_is_missing() -> None:
    report, _ = digest([("a.md", {"text": "T"}, outline("A", 15, 25))])

    assert report.count("- `##` Part") == 12
    assert "- and 3 more\n" in report
    assert report.count(": `t/") == 20
    assert "- and 5 more\n" in report


def test_the_limit_leaves_documents_out_and_counts_them() -> None:
    rows = [(f"{n}.md", {"text": "T"}, outline(f"D{n}")) for n in range(5)]
    report, result = digest(
        cast("list[tuple[str, JsonObject, JsonObject]]", rows),
        limit="2",
        listing={"truncated": True},
    )

    assert "- Left out because of the limit of 2: 3\n" in report
    assert "more files than one listing shows" in report
    assert (result["documents"], result["left_out"]) == (2, 3)


@pytest.mark.parametrize("limit", ["abc", "", [3], None, {}, True, "3 files", 0, "-1"])
def test_a_limit_that_is_none_fails_before_anything_is_looked_for(limit: Json) -> None:
    with pytest.raises(TemplateError, match=r"limit.*(is no number|at least 1, not)"):
        digest([("a.md", {"text": "T"}, outline("A"))], limit=limit)
    workflow, _ = read_workflow_file(FILE)
    assert workflow is not None
    assert workflow.task("list").depends_on == ("limit",)


def test_a_document_called_like_the_report_is_a_document() -> None:
    report, result = digest(
        [("sub/digest.md", {"text": "T"}, outline("Another"))], report="digest.md"
    )

    assert "## Another" in report
    assert "which this report replaces" not in report
    assert (result["documents"], result["replaced"]) == (1, False)


def test_the_file_that_the_report_replaces_is_left_out_and_named() -> None:
    rows = [
        ("digest.md", {"text": "T"}, outline("old")),
        ("a.md", {"text": "T"}, outline("A")),
    ]
    by_path, result = digest(
        cast("list[tuple[str, JsonObject, JsonObject]]", rows), report="/docs/digest.md"
    )
    by_client, told = digest(
        cast("list[tuple[str, JsonObject, JsonObject]]", rows[1:]),
        report="digest.md",
        listing={"excluded": ["/docs/digest.md"]},
    )

    line = "- Left out: `/docs/digest.md`, which this report replaces\n"
    assert line in by_path
    assert line in by_client
    assert (result["documents"], result["replaced"]) == (1, True)
    assert (told["documents"], told["replaced"]) == (1, True)
    assert result["left_out"] == 0


def test_a_pdf_has_its_own_title_bookmarks_and_links() -> None:
    own: JsonObject = {
        "text": "Text",
        "pages": 2,
        "title": "Own *title*",
        "headings": [{"level": 1, "text": "Own part"}],
        "links": [{"text": "there", "target": "https://own.example"}],
    }
    bare: JsonObject = {"text": "Text", "pages": 2, "headings": [], "links": []}

    report, _ = digest(
        [("own.pdf", own, outline("Guess")), ("bare.pdf", bare, outline("Bare"))]
    )

    mine, _, other = report.partition("## Bare")
    assert "## Own \\*title\\*\n" in mine
    assert "**Headings:**\n\n- `#` Own part\n" in mine
    assert "**Links:**\n\n- there: `https://own.example`\n" in mine
    assert "Part 0" not in mine
    assert "- `##` Part 0\n" in other
    assert "- L0: `t/0`\n" in other


def test_a_folder_without_documents_gives_a_report_that_says_so() -> None:
    report, result = digest([], pattern="*.tex")

    assert "No file matches `*.tex`." in report
    assert result["documents"] == 0


@pytest.mark.slow
def test_a_report_of_very_many_documents_still_fits_a_frame() -> None:
    long = "\\*長い" * 40
    rows = [
        (f"{n}.md", {"text": "T"}, outline(long, 15, 25))
        if n % 2
        else (f"{n}{long}.pdf", failed(long * 3), EMPTY)
        for n in range(1200)
    ]
    report, result = digest(
        cast("list[tuple[str, JsonObject, JsonObject]]", rows), limit=1200
    )

    assert result["documents"] == 600
    assert "were digested but are not shown" in " ".join(report.split())
    assert "more\n" in report.partition("## Not digested")[2]
