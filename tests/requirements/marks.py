"""Which tests carry which requirement ids, read from their source.

Read and not collected: it costs no import and holds whatever part of the suite is run.
Ids must be literals, and a mark must stand where pytest would hand it to a test;
anything else is listed as unreadable instead of being overlooked.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs

TestFunction = ast.FunctionDef | ast.AsyncFunctionDef


@attrs.define
class Marks:
    """What was found.

    Attributes:
        tests: the tests that carry it, as `FILE::NAME`, by requirement id.
        unreadable: uses of the mark that reach no test or have computed ids.
    """

    tests: dict[str, list[str]] = attrs.field(factory=dict)
    unreadable: list[str] = attrs.field(factory=list)


def marks_of_folder(folder: Path) -> Marks:
    """The marks of every Python file under a folder."""
    found = Marks()
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        read_marks(name, path.read_text(encoding="utf-8"), found)
    return found


def read_marks(name: str, source: str, found: Marks) -> None:
    """Add the marks of one file."""
    tree = ast.parse(source)
    carried: set[ast.Call] = set()
    # pytest collects tests from files of this name only.
    if Path(name).name.startswith("test_"):
        for where, mark in _carried(name, tree.body, _assigned(tree.body)):
            carried.add(mark)
            ids = [arg.value for arg in mark.args if isinstance(arg, ast.Constant)]
            if len(ids) < len(mark.args) or not ids or mark.keywords:
                found.unreadable.append(f"{name}:{mark.lineno}: ids are not literal")
            for one in ids:
                found.tests.setdefault(str(one), []).append(where)
    for mark in _calls([tree], {}):
        if mark not in carried:
            found.unreadable.append(f"{name}:{mark.lineno}: marks no test")


def _carried(
    where: str, body: list[ast.stmt], names: dict[str, ast.AST]
) -> Iterator[tuple[str, ast.Call]]:
    """The marks that tests of a module's or class's body carry."""
    tests: list[TestFunction | ast.ClassDef] = []
    for node in body:
        if isinstance(node, TestFunction) and node.name.startswith("test"):
            tests.append(node)
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from _carried(f"{where}::{node.name}", node.body, names)
            if _holds_a_test(node):
                tests.append(node)
    for test in tests:
        for mark in _calls(test.decorator_list, names):
            yield f"{where}::{test.name}", mark
    of_all = _assigned(body).get("pytestmark")
    if tests and of_all is not None:
        for mark in _calls([of_all], names):
            yield f"{where}::*", mark


def _holds_a_test(node: ast.ClassDef) -> bool:
    return any(
        isinstance(one, TestFunction) and one.name.startswith("test")
        for one in ast.walk(node)
    )


def _assigned(body: list[ast.stmt]) -> dict[str, ast.AST]:
    """What the names of a body stand for, such as a table of cases."""
    found: dict[str, ast.AST] = {}
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name] = value
            case _:
                pass
    return found


def _calls(nodes: Iterable[ast.AST], names: dict[str, ast.AST]) -> Iterator[ast.Call]:
    """Every `pytest.mark.requirement(...)` in these nodes and in what they name."""
    todo, seen = list(nodes), set[str]()
    while todo:
        for node in ast.walk(todo.pop()):
            match node:
                case ast.Call(
                    func=ast.Attribute(
                        value=ast.Attribute(attr="mark"), attr="requirement"
                    )
                ):
                    yield node
                case ast.Name(id=name) if name in names and name not in seen:
                    seen.add(name)
                    todo.append(names[name])
                case _:
                    pass
