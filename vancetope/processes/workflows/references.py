"""What a template refers to, found without rendering it."""

from collections.abc import Iterator
from typing import Final

import attrs
from jinja2 import meta, nodes

from vancetope.config.yamlio import Place
from vancetope.model.json import Json
from vancetope.processes.workflows.sandbox import CONTEXT_NAMES
from vancetope.processes.workflows.templating import is_template, parse_template

#: What a template may read of a task.
TASK_FIELDS: Final = ("result", "status", "error")


@attrs.frozen
class Reference:
    """One mention: of an input or a task by its key, or of a bare name.

    Attributes:
        name: `inputs`, `tasks`, `item`, `index`, `process`, or an unknown name.
        key: The input or task; None when the template does not name one.
        field: For a task, what is read of it; None when nothing is.
        line: The line within the template, from 1.
    """

    name: str
    key: str | None
    field: str | None
    line: int


def templates(value: Json, place: Place) -> Iterator[tuple[Place, str]]:
    """Every template in a value, and where it stands."""
    if isinstance(value, str):
        if is_template(value):
            yield place, value
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from templates(item, (*place, number))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from templates(item, (*place, key))


def references(source: str) -> list[Reference]:
    """What a template mentions, in its order.

    Raises:
        SyntaxProblem: it is no template of this language.
    """
    tree = parse_template(source)
    found = list(_mentions(tree, None, None))
    known = {each.name for each in found}
    for name in sorted(meta.find_undeclared_variables(tree) - known - {"range"}):
        line = _line_of_name(tree, name)
        found.append(Reference(name, None, None, line))
    return found


def _mentions(
    node: nodes.Node, key: str | None, field: str | None
) -> Iterator[Reference]:
    # `tasks.read.result` is Getattr(Getattr(Name(tasks), read), result): on the way
    # down the last two steps before the name are its key and its field.
    if isinstance(node, nodes.Name):
        if node.name in CONTEXT_NAMES:
            yield Reference(node.name, key, field, node.lineno)
        return
    step = _step(node)
    if step is not None:
        assert isinstance(node, (nodes.Getattr, nodes.Getitem))  # noqa: S101
        yield from _mentions(node.node, step, key)
        return
    for child in node.iter_child_nodes():
        yield from _mentions(child, None, None)


def _step(node: nodes.Node) -> str | None:
    match node:
        case nodes.Getattr(attr=attr):
            return attr
        case nodes.Getitem(arg=nodes.Const(value=str() as text)):
            return text
        case _:
            return None


def _line_of_name(tree: nodes.Template, name: str) -> int:
    for node in tree.find_all(nodes.Name):
        if node.name == name:
            return node.lineno
    return 1
