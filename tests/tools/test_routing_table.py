"""The generated table says what `decide` does, once for every case."""

from itertools import product

from vancetope.tools.table import (
    COLUMNS,
    VALUES,
    ask,
    render_markdown,
    rows,
    summary,
)

#: A person reads it in one go.
READABLE = 60


def test_every_case_stands_in_exactly_one_row_with_its_decision() -> None:
    table = rows()
    for values in product(*VALUES):
        found = [
            row.decision
            for row in table
            if all(value in cell for value, cell in zip(values, row.cells, strict=True))
        ]
        assert found == [summary(ask(values))]


def test_the_table_is_short_enough_to_read() -> None:
    assert len(rows()) <= READABLE


def test_the_markdown_is_the_rows_under_one_heading() -> None:
    lines = [line for line in render_markdown().splitlines() if line.startswith("|")]
    heading, rule, *body = lines
    assert heading == f"| {' | '.join(COLUMNS)} |"
    assert rule == "| --- | --- | --- | --- | --- | --- |"
    assert body == [f"| {' | '.join(row.texts())} |" for row in rows()]


def test_the_table_shows_the_rule_a_night_run_lives_by() -> None:
    assert (
        "| client | auto / client / any | no | any value | queue "
        "| queued (client_tool) |\n"
    ) in render_markdown()
