"""Templates: values, text, lazy data, and everything they may not do."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import overload

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.model.json import Json
from vancetope.processes.workflows import budget
from vancetope.processes.workflows.templating import TemplateError, render

CONTEXT: dict[str, object] = {
    "inputs": {
        "name": "Ada",
        "n": 3,
        "items": [1, 2],
        "keys": "k",
        "none": None,
        "big": "x" * 100_000,
    },
    "tasks": {
        "read": {
            "status": "done",
            "result": [
                {"text": "hi", "count": 5, "values": "v"},
                {"error": {"code": "failed", "message": "no"}},
            ],
        }
    },
    "index": 0,
}


def text(source: str) -> Json:
    return render(source, CONTEXT, field="args.x")


def refused(source: str) -> str:
    with pytest.raises(TemplateError) as caught:
        text(source)
    message = str(caught.value)
    assert message.startswith("args.x")
    assert "\n" not in message
    assert len(message) < 400
    return message


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("{{ inputs.n }}", 3),
        ("{{inputs.items}}", [1, 2]),
        ("{{ inputs.none }}", None),
        ("{{ inputs.n > 2 }}", True),
        ("{{ {'a': [inputs.n]} }}", {"a": [3]}),
        ("{{ tasks.read.result[index].text }}", "hi"),
        ("{{ tasks.read.result[0].count }}", 5),
        ("{{ tasks.read.result[0].values }}", "v"),
        ("{{ inputs.keys }}", "k"),
        ("{{ inputs['name'] }}", "Ada"),
        ("{{ tasks.read.result[1].text | default('') }}", ""),
        ("{{ tasks.read.result | map(attribute='error') | first is defined }}", False),
        ("{{ range(3) }}", [0, 1, 2]),
        ("{{ inputs.name.upper() }}", "ADA"),
        ("{{ 7 // 2 + 1 }}", 4),
    ],
)
def test_exactly_one_expression_gives_its_own_value(source: str, value: Json) -> None:
    result = text(source)

    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (" {{ inputs.n }}", " 3"),
        ("{{ inputs.n }}\n", "3\n"),
        ("{{ inputs.n }}{{ inputs.n }}", "33"),
        ("a {{ inputs.items }}", "a [1,2]"),
        ("a {{ inputs.none }}", "a "),
        ("a {{ inputs.n == 3 }}", "a true"),
        ("{% if inputs.n %}yes{% endif %}", "yes"),
        (
            "{% for i in inputs.items %}\n{{ loop.index }}:{{ i }}\n{% endfor %}\n",
            "1:1\n2:2\n",
        ),
        ("{% set a = inputs.n %}{{ a ~ '-' ~ a }}", "3-3"),
    ],
)
def test_any_other_template_gives_text(source: str, value: str) -> None:
    assert text(source) == value


def test_templates_are_found_inside_lists_and_mappings_but_not_in_keys() -> None:
    value: Json = {"{{ a }}": ["{{ inputs.n }}", {"b": "{{ inputs.name }}!"}], "c": 1}

    assert render(value, CONTEXT) == {"{{ a }}": [3, {"b": "Ada!"}], "c": 1}


def test_what_a_template_gives_is_not_rendered_again() -> None:
    context = {"inputs": {"evil": "{{ inputs.secret }}{% for %}", "secret": "s"}}

    assert render("{{ inputs.evil }}", context) == "{{ inputs.secret }}{% for %}"
    assert render("a {{ inputs.evil }}", context) == "a {{ inputs.secret }}{% for %}"


plain_json: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=10,
).filter(lambda value: "{{" not in repr(value) and "{%" not in repr(value))


@given(plain_json)
def test_what_holds_no_template_is_left_as_it_is(value: Json) -> None:
    assert render(value, {}) == value


def test_a_comment_mark_alone_is_no_template() -> None:
    assert text("# Title {#anchor}\r\n") == "# Title {#anchor}\r\n"


@given(st.text("{}%# ainputs.tk|'()[]~*+0\n", max_size=40))
def test_any_text_renders_or_is_a_template_error(source: str) -> None:
    with contextlib.suppress(TemplateError):
        render(source, CONTEXT)


@attrs.define
class LazyTasks(Mapping[str, object]):
    """Loads a task only when it is looked at."""

    results: dict[str, object]
    loaded: list[str] = attrs.field(factory=list)

    def __getitem__(self, key: str) -> object:
        self.loaded.append(key)
        return {"result": self.results[key]}

    def __contains__(self, key: object) -> bool:
        return key in self.results

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)


@attrs.define
class LazyItems(Sequence[object]):
    """Knows indices only, no slices."""

    length: int
    loaded: list[int] = attrs.field(factory=list)

    @overload
    def __getitem__(self, number: int) -> object: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[object]: ...
    def __getitem__(self, number: int | slice) -> object:
        assert isinstance(number, int)
        if not -self.length <= number < self.length:
            raise IndexError(number)
        self.loaded.append(number)
        return {"text": f"t{number}"}

    def __len__(self) -> int:
        return self.length


def test_lazy_data_is_loaded_only_where_it_is_looked_at() -> None:
    items = LazyItems(1000)
    tasks = LazyTasks({"read": items, "other": 1})
    context = {"tasks": tasks, "index": 7}

    assert render("{{ tasks.read.result[index].text }}", context) == "t7"
    assert render("{{ tasks.read.result | length }}", context) == 1000
    assert render("{{ tasks.read.result[2:4] | map(attribute='text') }}", context) == [
        "t2",
        "t3",
    ]
    assert items.loaded == [7, 2, 3]
    assert "other" not in tasks.loaded


def test_lazy_data_becomes_plain_data() -> None:
    tasks = LazyTasks({"read": LazyItems(2)})

    assert render("{{ tasks }}", {"tasks": tasks}) == {
        "read": {"result": [{"text": "t0"}, {"text": "t1"}]}
    }
    assert render("a {{ tasks.read.result }}", {"tasks": tasks}) == (
        'a [{"text":"t0"},{"text":"t1"}]'
    )


def test_a_failure_of_the_data_itself_is_not_called_a_template_error() -> None:
    class Broken(LazyTasks):
        def __getitem__(self, key: str) -> object:
            raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        render("{{ tasks.a.result }}", {"tasks": Broken({"a": 1})})


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("{{ inputs.nme }}", "no field 'nme'; there are: name, n"),
        ("{{ tasks.read.result[5].text }}", "no item 5: the length is 2"),
        ("{{ tasks.read.result[1].text }}", "no field 'text'; there are: error"),
        ("{{ inputs.none.x }}", "null has no 'x'"),
        ("{{ nothing }}", "'nothing' is undefined"),
        ("a {{ inputs.nme }} b", "no field 'nme'"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ inputs.name + 1 }}", "+ does not work on str and int"),
        ("{{ inputs.name.upper }}", "is () missing?"),
        ("{{ {1: 2} }}", "must be text"),
        ("{{ 1e308 * 10 }}", "JSON cannot hold"),
        ("{{ 9007199254740993 * 9007199254740993 }}", "64 bits"),
        ("{{ inputs.n }", "unexpected '}'"),
    ],
)
def test_an_error_names_the_expression_and_the_reason(source: str, says: str) -> None:
    message = refused(source)

    assert source in message
    assert says in message


def test_an_error_in_a_long_template_names_the_line() -> None:
    message = refused("one\n{% if true %}\ntwo {{ inputs.nme }}\n{% endif %}\n")

    assert message.startswith("args.x line 3: two {{ inputs.nme }}: no field")


def test_an_error_inside_a_list_names_the_place() -> None:
    with pytest.raises(TemplateError, match=r"^args\.a\[1\]: \{\{ x \}\}: 'x'"):
        render({"a": [1, "{{ x }}"]}, {}, field="args")


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__ }}",
        "{{ inputs.__class__ }}",
        "{{ inputs['__class__'] }}",
        "{{ tasks.read.result.append }}",
        "{{ ''['__class__'] }}",
        "{{ inputs | attr('__class__') }}",
        "{{ inputs | map(attribute='__class__') | list }}",
        "{{ inputs.name.format(1) }}",
        "{{ inputs.items.append(3) }}",
        "{{ cycler(1) }}",
        "{{ lipsum() }}",
        "{{ self }}",
        "{{ loop }}",
        "{% for x in inputs.items %}{{ loop }}{% endfor %}",
        "{% for x in inputs.items recursive %}{{ loop(x) }}{% endfor %}",
        "{% include 'x' %}",
        "{% import 'x' as x %}",
        "{% extends 'x' %}",
        "{% block x %}{% endblock %}",
        "{% macro m() %}{% endmacro %}",
        "{% filter upper %}{% endfilter %}",
        "{% set x %}{% endset %}",
        "{{ _ }}",
        "{{ nothing._undefined_exception }}",
        "{{ inputs.items | _each(0) }}",
    ],
)
def test_nothing_reaches_out_of_the_sandbox(source: str) -> None:
    refused(source)


DOUBLE = 40

BOMBS = [
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{{ 'a' * 1000000000 }}",
    "{{ 'a' * 3000000 }}{{ 'a' * 3000000 }}",
    "{{ 9 ** 9 ** 9 }}",
    "{% set x = 9 %}" + "{% set x = x * x %}" * DOUBLE + "{{ x }}",
    "{% set x = 'aa' %}" + "{% set x = x ~ x %}" * DOUBLE,
    "{% set x = 'aa' %}" + "{% set x = x + x %}" * DOUBLE,
    "{% set x = 'aa' %}" + "{% set x = x | replace('a', 'aa') %}" * DOUBLE,
    "{% set x = 'aa' %}" + "{% set x = [x, x] | join %}" * DOUBLE,
    "{% set x = inputs.items %}" + "{% set x = [x, x] %}" * DOUBLE,
    "{% for x in [[inputs.n, inputs.n]] %}" * 15 + "{% endfor %}" * 15,
    "{% for i in range(90000) %}{{ 'q' in inputs.big }}{% endfor %}",
    "{% for i in range(90000) %}{% if inputs.big | upper %}{% endif %}{% endfor %}",
    "{% for i in range(90000) %}{% if inputs.big.split('x') %}{% endif %}{% endfor %}",
    "{% for i in range(90000) %}{% if inputs.big is eq 'a' %}{% endif %}{% endfor %}",
    "{{ range(1000000000) | list }}",
    "{% for i in range(90000) %}" + "{{ inputs.n }}" * 500 + "{% endfor %}",
    "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "{{ " + "[" * 100 + "]" * 100 + " }}",
    "{{ " + "-" * 5000 + "1 }}",
    "{{ " + "9" * 5000 + " }}",
    "{% if 1 %}" * 100 + "{% endif %}" * 100,
]


@pytest.mark.parametrize("source", BOMBS, ids=range(len(BOMBS)))
def test_a_bomb_ends_with_an_error(source: str) -> None:
    # Without the charges most of these do not end, or end with the machine.
    refused(source)


def test_a_large_honest_report_is_well_within_the_limits() -> None:
    files = [{"links": [{"text": "t", "target": "u"}] * 20}] * 500
    source = (
        "{% for f in inputs.files %}{% for l in f.links %}"
        "- {{ l.text | md }}: {{ l.target | code }}\n{% endfor %}{% endfor %}"
    )

    result = render(source, {"inputs": {"files": files}})

    assert isinstance(result, str)
    assert result.count("\n") == 10_000


def test_one_rendering_has_one_budget_for_all_its_templates() -> None:
    large = "{{ inputs.big * 30 }}"
    assert len(str(render(large, CONTEXT))) == 3_000_000

    with pytest.raises(TemplateError, match="more than 4096 KiB"):
        render([large, large], CONTEXT)


def test_the_budget_does_not_leak_out_of_a_failed_rendering() -> None:
    refused(BOMBS[0])

    assert budget._current.get() is None


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("{{ 'a\nb *c* _d_ e_f [x](y) <b> 1 | `q`' | md }}",
         r"a b \*c\* \_d\_ e_f \[x\](y) \<b\> 1 \| \`q\`"),
        ("{{ '# no heading' | md }}", r"\# no heading"),
        ("{{ '- no item' | md }}", r"\- no item"),
        ("{{ '1. no item' | md }}", r"1\. no item"),
        ("{{ '&amp; & co' | md }}", r"\&amp; & co"),
        ("{{ 'a`b' | code }}", "`` a`b ``"),
        ("{{ 'plain' | code }}", "`plain`"),
        ("{{ '' | code }}", ""),
        ("{{ 'a/b/c.md' | basename }}", "c.md"),
        ("{{ 'C:\\\\x\\\\c.md' | basename }}", "c.md"),
        ("{{ inputs.items | join(', ') }}", "1, 2"),
        ("{{ {'b': 1, 'a': [none]} | tojson }}", '{"b":1,"a":[null]}'),
        ("{{ ['aa', 'bb', 'cc'] | fit(8) }}", ["aa", "bb"]),
        ("{{ ['a', '\n'] | fit(6) }}", ["a"]),
        ("{{ [{'n': 1}, {'n': 2}] | sum('n') }}", 3),
        ("{{ 'hello world' | truncate(8, true) }}", "hello..."),
        ("{{ ' 12 ' | int }}", 12),
        ("{{ '-1.9e1' | int }}", -19),
        ("{{ 2.9 | int }}", 2),
        ("{{ '9007199254740993' | int }}", 9007199254740993),
        ("{{ 'x' | int(0) }}", 0),
        ("{{ [] | int(none) }}", None),
        ("{{ '1e999' | int(7) }}", 7),
        ("{{ '.5' | float }}", 0.5),
        ("{{ 3 | float }}", 3.0),
        ("{{ 'x' | float(default=1.5) }}", 1.5),
        ("{{ '4' | at_least(4) }}", 4),
        ("{{ {'a': 1} | items | list }}", [["a", 1]]),
        ("{{ none | trim }}", ""),
        ("{{ none | wordcount }}", 0),
        ("{{ none | upper }}", ""),
        ("{{ ['a'] | upper }}", '["A"]'),
        ("{{ 'xax' | trim(chars='x') }}", "a"),
    ],
)  # fmt: skip
def test_a_filter_gives(source: str, value: Json) -> None:
    result = text(source)

    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("{{ 'abc' | int }}", "int: 'abc' is no number"),
        ("{{ '' | int }}", "int: '' is no number"),
        ("{{ '1 2' | int }}", "int: '1 2' is no number"),
        ("{{ 'nan' | float }}", "float: 'nan' is no number"),
        ("{{ '0x10' | int }}", "is no number"),
        ("{{ inputs.items | int }}", "int: [1,2] is no number"),
        ("{{ inputs.none | float }}", "float: null is no number"),
        ("{{ true | int }}", "int: true is no number"),
        ("{{ inputs.nme | int }}", "no field 'nme'"),
        ("{{ inputs.big | int }}", "...' is no number"),
        ("{{ '1e999' | int }}", "infinity"),
        ("{{ ('9' * 300) | int }}", "64 bits"),
        ("{{ 'x' | at_least(1) }}", "at_least: 'x' is no number"),
        ("{{ 0 | at_least(1) }}", "must be at least 1, not 0"),
        ("{{ inputs.nme | items | list }}", "no field 'nme'"),
        ("{{ inputs.items | items | list }}", "items: a list is no mapping"),
        ("{{ inputs.nme | trim }}", "no field 'nme'"),
        ("{{ [true] | sum }}", "sum adds numbers, not a bool"),
    ],
)
def test_a_filter_does_not_pass_over_wrong_data(source: str, says: str) -> None:
    assert says in refused(source)
