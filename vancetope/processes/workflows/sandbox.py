"""The template language: Jinja2's sandbox, cut down until its cost is bounded.

What is left out (macros, includes, imports, blocks, calls of anything but a few
methods, powers, lists grown by `set`) is what could make a short template produce
something exponentially large.  What is left is charged, see `budget`.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from jinja2 import StrictUndefined, Undefined, nodes, pass_context
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from vancetope.config.fields import suggestion
from vancetope.processes.workflows.budget import (
    charge,
    check_length,
    shown,
    weight,
)
from vancetope.processes.workflows.filters import FILTERS, INNER_FILTERS, TESTS

#: What the caller of a template provides; a template may not assign these.
CONTEXT_NAMES: Final = frozenset({"inputs", "tasks", "item", "index", "process"})
_TAKEN: Final = CONTEXT_NAMES | {"range", "loop"}

#: The deepest nesting of a template's syntax.
_NESTING_LIMIT: Final = 60
#: The longest whole number arithmetic goes on with; what is output has 64 bits.
_INT_BITS: Final = 128
#: How many fields an error lists.
_LISTED: Final = 12

_MAPPING_METHODS: Final = frozenset({"get", "items", "keys", "values"})
_TEXT_METHODS: Final = frozenset(
    {
        "endswith",
        "lower",
        "lstrip",
        "removeprefix",
        "removesuffix",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "upper",
    }
)
_LOOP_FIELDS: Final = frozenset(
    {"first", "index", "index0", "last", "length", "revindex", "revindex0"}
)

_BUILDERS: Final = (nodes.List, nodes.Dict, nodes.Tuple)
_ALLOWED: Final = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.For,
    nodes.If,
    nodes.Assign,
    nodes.Name,
    nodes.Const,
    nodes.List,
    nodes.Tuple,
    nodes.Dict,
    nodes.Pair,
    nodes.CondExpr,
    nodes.Filter,
    nodes.Test,
    nodes.Call,
    nodes.Keyword,
    nodes.Getitem,
    nodes.Getattr,
    nodes.Slice,
    nodes.Concat,
    nodes.Compare,
    nodes.Operand,
    nodes.And,
    nodes.Or,
    nodes.Not,
    nodes.Neg,
    nodes.Pos,
    nodes.Add,
    nodes.Sub,
    nodes.Mul,
    nodes.Div,
    nodes.FloorDiv,
    nodes.Mod,
)


class SyntaxProblem(Exception):
    """A template that cannot be used: what is wrong, the fix, the line in it."""

    def __init__(self, message: str, *, fix: str, line: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.line = line


@pass_context
def _finalize(context: Context, value: object) -> str:
    del context  # asked for, so that Jinja does not call this while compiling
    return shown(value)


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """Jinja2's sandbox in which fields are keys and everything is charged."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%"})

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined,
            finalize=_finalize,
            optimized=False,
            keep_trailing_newline=True,
            trim_blocks=True,
            lstrip_blocks=True,
            cache_size=0,
        )
        self.globals = {"range": self.globals["range"]}
        self.filters = {**FILTERS, **INNER_FILTERS}
        self.tests = dict(TESTS)

    def getattr(self, obj: object, attribute: str) -> object:
        """A key of a mapping, else one of a few harmless methods."""
        if isinstance(obj, Undefined):
            str(obj)  # raises, and says what is missing
        if isinstance(obj, Mapping):
            # Asking a lazy mapping first whether it has the key would load it twice.
            with suppress(KeyError):
                return obj[attribute]
            if attribute in _MAPPING_METHODS:
                return getattr(obj, attribute)
        elif isinstance(obj, str):
            if attribute in _TEXT_METHODS:
                return getattr(obj, attribute)
        elif isinstance(obj, LoopContext) and attribute in _LOOP_FIELDS:
            return getattr(obj, attribute)
        return self._missing(obj, attribute)

    def getitem(self, obj: object, argument: object) -> object:
        """A key of a mapping, or an index of a text or sequence."""
        for operand in (obj, argument):
            if isinstance(operand, Undefined):
                str(operand)
        if isinstance(obj, Mapping) and isinstance(argument, str):
            with suppress(KeyError):
                return obj[argument]
        elif isinstance(obj, Sequence) and isinstance(argument, int):
            with suppress(IndexError):
                return obj[argument]
        return self._missing(obj, argument)

    def call(  # noqa: D102 - Jinja's
        self, context: Context, function: object, /, *args: object, **kwargs: object
    ) -> object:
        charge(weight(getattr(function, "__self__", None)) + sum(map(weight, args)))
        return super().call(context, function, *args, **kwargs)

    def call_binop(
        self, context: Context, operator: str, left: object, right: object
    ) -> object:
        """Arithmetic on numbers; `+` joins and `*` repeats a text, within limits."""
        for operand in (left, right):
            if isinstance(operand, Undefined):
                str(operand)
        if isinstance(left, str) and isinstance(right, str) and operator == "+":
            check_length(len(left) + len(right))
            charge(weight(left) + weight(right))
            return left + right
        if isinstance(left, str) and isinstance(right, int) and operator == "*":
            check_length(len(left) * right)
            charge(1 + len(left) * max(right, 0) // 16)
            return left * right
        if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
            kinds = f"{type(left).__name__} and {type(right).__name__}"
            msg = f"{operator} does not work on {kinds}"
            raise TypeError(msg)
        if any(
            isinstance(n, int) and n.bit_length() > _INT_BITS for n in (left, right)
        ):
            raise ValueError("a number is too large")
        return super().call_binop(context, operator, left, right)

    def _missing(self, obj: object, name: object) -> Undefined:
        known = isinstance(name, (str, int))
        shown_name = f"{name!r:.60}" if known else f"a {type(name).__name__} as key"
        if obj is None:
            hint = f"null has no {shown_name}"
        elif isinstance(obj, Mapping):
            hint = f"no field {shown_name}; there are: {_some_keys(obj)}"
        elif isinstance(obj, Sequence) and isinstance(name, int):
            hint = f"no item {name}: the length is {len(obj)}"
        else:
            hint = f"a {type(obj).__name__} has no {shown_name}"
        return self.undefined(hint, name="")


def _some_keys(obj: Mapping[object, object]) -> str:
    return ", ".join(map(str, itertools.islice(obj, _LISTED))) or "none"


def check_grammar(template: nodes.Template) -> None:
    """Refuse what the language does not have.

    Raises:
        SyntaxProblem: the first such thing.
    """
    for node in _walk(template):
        _check_node(node)


def bounded(template: nodes.Template) -> nodes.Template:
    """The template with every loop, joining and comparison made to pay."""
    changed = _Charging().visit(template)
    assert isinstance(changed, nodes.Template)  # noqa: S101 - for the type checker
    return changed


def _walk(top: nodes.Node) -> Iterator[nodes.Node]:
    waiting = [(top, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > _NESTING_LIMIT:
            raise SyntaxProblem(
                "is nested too deeply", fix="Make it simpler.", line=node.lineno or 1
            )
        yield node
        children = [(child, depth + 1) for child in node.iter_child_nodes()]
        waiting += reversed(children)


def _check_node(node: nodes.Node) -> None:
    problem: tuple[str, str] | None = None
    match node:
        case nodes.Call():
            problem = _call_problem(node)
        case nodes.Filter() if node.name not in FILTERS:
            problem = (f"no filter {node.name!r}", suggestion(node.name, FILTERS))
        case nodes.Test() if node.name not in TESTS:
            problem = (f"no test {node.name!r}", suggestion(node.name, TESTS))
        case nodes.Name():
            problem = _name_problem(node)
        case nodes.Assign() if _built(node.node):
            problem = ("set may not build a list or mapping", "Use it where it stands.")
        case nodes.For() if _nested(node.iter):
            problem = ("for may not go over a list built of lists", "Use a plain list.")
        case nodes.For(recursive=True):
            problem = ("recursive loops are not allowed", "Remove `recursive`.")
        case _ if not isinstance(node, _ALLOWED):
            name = type(node).__name__.lower()
            problem = (
                f"{name} is not part of the template language",
                "Use expressions, filters, if, for and set.",
            )
        case _:
            pass
    if problem is not None:
        raise SyntaxProblem(problem[0], fix=problem[1], line=node.lineno or 1)


def _built(node: nodes.Node) -> list[nodes.Node]:
    # The lists and mappings an expression makes out of something.
    found = [node, *node.find_all(_BUILDERS)]
    return [each for each in found if isinstance(each, _BUILDERS) and each.items]


def _nested(node: nodes.Node) -> bool:
    return any(
        _built(part) for each in _built(node) for part in each.iter_child_nodes()
    )


def _name_problem(node: nodes.Name) -> tuple[str, str] | None:
    if node.name.startswith("_"):
        return "names may not begin with _", f"Rename {node.name}."
    if node.ctx == "store" and node.name in _TAKEN:
        return f"{node.name} may not be assigned", "Use another name."
    return None


def _call_problem(node: nodes.Call) -> tuple[str, str] | None:
    methods = _MAPPING_METHODS | _TEXT_METHODS
    match node.node:
        case nodes.Name(name="range"):
            return None
        case nodes.Getattr(attr=attr) if attr in methods:
            return None
        case _:
            pass
    return (
        "only range and methods can be called",
        f"The methods are: {', '.join(sorted(methods))}.",
    )


def _cost(body: Sequence[nodes.Node]) -> int:
    # What one turn evaluates; an inner loop pays for its own turns.
    total = 0
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        total += 1
        if isinstance(node, nodes.For):
            waiting.append(node.iter)
        else:
            waiting += node.iter_child_nodes()
    return total + 1


def _passed(node: nodes.Node, name: str, *args: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(node, name, list(args), [], None, None, lineno=node.lineno)


class _Charging(NodeTransformer):
    """Puts the inner filters in; runs after `check_grammar`."""

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802 - Jinja's form
        cost = nodes.Const(_cost([*node.body, *([node.test] if node.test else [])]))
        self.generic_visit(node)
        node.iter = _passed(node.iter, "_each", cost)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:  # noqa: N802
        self.generic_visit(node)
        parts = nodes.List(node.nodes, lineno=node.lineno)
        return _passed(parts, "_concat")

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Expr:  # noqa: N802
        self.generic_visit(node)
        if not isinstance(node.arg, nodes.Slice):
            return node
        # Jinja compiles slices to Python's own, past `getitem`.
        bounds = (node.arg.start, node.arg.stop, node.arg.step)
        none = nodes.Const(None, lineno=node.lineno)
        return _passed(node.node, "_slice", *(bound or none for bound in bounds))

    def visit_Compare(self, node: nodes.Compare) -> nodes.Compare:  # noqa: N802
        self.generic_visit(node)
        node.expr = _passed(node.expr, "_weigh")
        for operand in node.ops:
            operand.expr = _passed(operand.expr, "_weigh")
        return node
