"""Templates in workflow files: `{{ inputs.folder }}` and what surrounds it.

A text that is exactly one `{{ expression }}` gives the expression's own value (a
list stays a list); any other text with `{{` or `{%` gives text; everything else is
left as it is.  What a template looks at: `inputs`, `tasks.KEY.result|status|error`,
in a `foreach` also `item` and `index` (from 0), and `process {id, title,
started_at}`.  A field of data always wins over a method of the same name.
"""

import functools
from collections.abc import Mapping
from types import TracebackType
from typing import Final

import attrs
import jinja2
from jinja2 import nodes

from vancetope.errors import BrainError
from vancetope.model.json import Json
from vancetope.processes.workflows.budget import (
    Budget,
    LimitReached,
    charge_output,
    plain,
    shown,
    spending,
)
from vancetope.processes.workflows.sandbox import (
    SyntaxProblem,
    TemplateEnvironment,
    bounded,
    check_grammar,
)

#: Compiled templates that are kept.
_CACHE_SIZE: Final = 512
#: How much of an expression an error shows.
_SHOWN: Final = 80
#: What data that does not fit the template raises; all else is a fault of ours.
_DATA_ERRORS: Final = (
    LimitReached,
    jinja2.TemplateError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)

_ENVIRONMENT: Final = TemplateEnvironment()


class TemplateError(BrainError):
    """A template cannot be rendered; one line that names the field and expression."""

    code = "failed"


@attrs.frozen(kw_only=True)
class Compiled:
    """A template ready to use; `native` when it is exactly one expression."""

    source: str
    native: bool
    template: jinja2.Template


def is_template(text: str) -> bool:
    """Whether a text is rendered at all."""
    return "{{" in text or "{%" in text


def parse_template(source: str) -> nodes.Template:
    """The syntax tree of a template that is allowed.

    Raises:
        SyntaxProblem: it is no template of this language.
    """
    try:
        tree = _ENVIRONMENT.parse(source)
    except jinja2.TemplateSyntaxError as error:
        raise SyntaxProblem(
            (error.message or "bad syntax").rstrip("."),
            fix="Check the braces and the spelling.",
            line=error.lineno,
        ) from error
    except (RecursionError, ValueError) as error:
        raise SyntaxProblem("is too complicated", fix="Make it simpler.") from error
    check_grammar(tree)
    return tree


@functools.lru_cache(maxsize=_CACHE_SIZE)
def compiled(source: str) -> Compiled:
    """Compile a template, or take it from the cache.

    Raises:
        SyntaxProblem: it is no template of this language.
    """
    tree = parse_template(source)
    expression = _only_expression(tree)
    if expression is not None:
        target = nodes.Name("result", "store", lineno=1)
        tree = nodes.Template([nodes.Assign(target, expression, lineno=1)], lineno=1)
    try:
        code = _ENVIRONMENT.compile(bounded(tree))
    except (SyntaxError, RecursionError, jinja2.TemplateSyntaxError) as error:
        raise SyntaxProblem("is too complicated", fix="Make it simpler.") from error
    template = jinja2.Template.from_code(_ENVIRONMENT, code, _ENVIRONMENT.globals)
    return Compiled(source=source, native=expression is not None, template=template)


def render(value: Json, context: Mapping[str, object], *, field: str = "") -> Json:
    """The value with every template in it replaced by what it gives.

    `context` maps the names above to JSON data or to lazy mappings and sequences;
    `field` is where the value stands, for errors.  Keys are not rendered, and what
    a template gives is not rendered again.

    Raises:
        TemplateError: a template is wrong, does not fit the data, or is too costly.
    """
    with spending(Budget()):
        return _rendered(value, context, field)


def _rendered(value: Json, context: Mapping[str, object], field: str) -> Json:
    if isinstance(value, str):
        return _text(value, context, field) if is_template(value) else value
    if isinstance(value, list):
        return [
            _rendered(item, context, f"{field}[{number}]")
            for number, item in enumerate(value)
        ]
    if isinstance(value, dict):
        return {
            key: _rendered(item, context, f"{field}.{key}" if field else key)
            for key, item in value.items()
        }
    return value


def _text(source: str, context: Mapping[str, object], field: str) -> Json:
    try:
        form = compiled(source)
    except SyntaxProblem as error:
        raise TemplateError(
            _message(field, source, error.line, error.message)
        ) from error
    frame = form.template.new_context(dict(context))
    try:
        pieces: list[str] = []
        for piece in form.template.root_render_func(frame):
            charge_output(piece)
            pieces.append(piece)
        if not form.native:
            return "".join(pieces)
        value = plain(frame.vars["result"])
        charge_output(shown(value))
    except _DATA_ERRORS as error:
        line = _template_line(error.__traceback__)
        raise TemplateError(_message(field, source, line, str(error))) from error
    return value


def _only_expression(tree: nodes.Template) -> nodes.Expr | None:
    match tree.body:
        case [nodes.Output(nodes=[expression])]:
            data = isinstance(expression, nodes.TemplateData)
            return None if data else expression
        case _:
            return None


def _template_line(traceback: TracebackType | None) -> int:
    line = 1
    while traceback is not None:
        template = traceback.tb_frame.f_globals.get("__jinja_template__")
        if isinstance(template, jinja2.Template):
            line = template.get_corresponding_lineno(traceback.tb_lineno)
        traceback = traceback.tb_next
    return line


def _message(field: str, source: str, line: int, reason: str) -> str:
    lines = source.splitlines() or [""]
    text = lines[min(max(line, 1), len(lines)) - 1].strip()
    if len(text) > _SHOWN:
        text = text[: _SHOWN - 3] + "..."
    where = f"{field or 'template'}"
    if len(lines) > 1:
        where += f" line {line}"
    reason = " ".join(reason.split()) or "cannot be rendered"
    return f"{where}: {text}: {reason}"
