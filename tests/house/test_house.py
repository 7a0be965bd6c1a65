"""The house rules that no linter knows."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("vancetope", "vance_sdk")
MAX_LINES = 400
NOT_OURS = {"__pycache__", "build", "dist", "htmlcov", "node_modules"}
BINARY = {".db", ".gif", ".ico", ".jpg", ".pdf", ".png", ".whl", ".woff2"}
LOCKS = ROOT / "scripts" / "requirements"

# Written so that this file does not contain what it looks for.
FORBIDDEN = {
    "a folder of somebody's machine": r"(?<![\w.~-])/(?:roo[t]|wor[k]|User[s])/",
    "a package index's address": r"pyp[i]\.org|pythonhoste[d]|registry\.npmj[s]",
    "a distribution's address": r"deb\.debia[n]|archive\.ubunt[u]",
    "work that was put off": r"\b(?:TOD[O]|FIXM[E]|XX[X])\b",
}


def project_files() -> Iterator[Path]:
    """Every file of the checkout that git has or would add, text or not."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        names = [name for name in listed.stdout.decode().split("\0") if name]
        candidates = [ROOT / name for name in names]
    else:  # an unpacked archive
        candidates = list(ROOT.rglob("*"))
    for path in candidates:
        parts = path.relative_to(ROOT).parts
        hidden = any(p.startswith(".") and p != ".ci" for p in parts[:-1])
        if path.is_file() and not hidden and not NOT_OURS.intersection(parts):
            yield path


def modules() -> list[Path]:
    return [path for name in PACKAGES for path in (ROOT / name).rglob("*.py")]


def pins(name: str) -> dict[str, str]:
    """Distribution and marker -> version, of one lock file."""
    found = re.findall(
        r"^(\S+)==(\S+)(.*?)\\?$", (LOCKS / name).read_text(), re.MULTILINE
    )
    return {package + marker.strip(): version for package, version, marker in found}


def test_no_module_is_longer_than_400_lines() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for path in modules()
    }

    assert {name: n for name, n in lengths.items() if n > MAX_LINES} == {}


@pytest.mark.parametrize(
    "name",
    [".ci/run", "scripts/check", "scripts/lock", "scripts/test", "scripts/vancetope"],
)
def test_a_script_can_be_executed(name: str) -> None:
    script = ROOT / name

    assert script.stat().st_mode & 0o111
    assert script.read_text().startswith("#!/")


def test_nothing_forbidden_stands_in_the_project() -> None:
    found = []
    for path in project_files():
        name = str(path.relative_to(ROOT))
        if path.suffix in BINARY or name == "LICENSE":
            continue
        for number, line in enumerate(
            path.read_text(errors="replace").splitlines(), start=1
        ):
            found += [
                f"{name}:{number}: {what}: {line.strip()[:80]}"
                for what, pattern in FORBIDDEN.items()
                if re.search(pattern, line)
            ]

    assert found == []


def test_the_lock_names_no_address_and_hashes_every_version() -> None:
    for lock in LOCKS.glob("*.txt"):
        text = lock.read_text()
        entries = re.split(r"\n(?=\S)", text.strip())

        assert "://" not in text
        assert "--index" not in text
        assert [e for e in entries[1:] if "--hash=sha256:" not in e] == []


def test_users_and_developers_get_the_same_versions() -> None:
    runtime, dev = pins("runtime.txt"), pins("dev.txt")

    assert runtime
    assert {k: v for k, v in runtime.items() if dev.get(k) != v} == {}


def test_every_dependency_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {normalized(entry) for entry in project["dependencies"]}
    locked = {normalized(pin) for pin in pins("runtime.txt")}

    assert wanted - locked == set()


def test_every_import_is_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {normalized(entry) for entry in project["dependencies"]}
    providers = metadata.packages_distributions()
    undeclared = {}
    for path in modules():
        for name in imported(path) - set(sys.stdlib_module_names) - {*PACKAGES}:
            names = {normalized(dist) for dist in providers.get(name, [name])}
            if not names & declared:
                undeclared[name] = str(path.relative_to(ROOT))

    assert undeclared == {}


def normalized(requirement: str) -> str:
    """The distribution's name in the one spelling that compares (PEP 503)."""
    name = re.match(r"[\w.-]+", requirement)
    assert name is not None
    return re.sub(r"[-_.]+", "-", name.group()).lower()


def imported(path: Path) -> set[str]:
    """Top-level names of all that a module imports, wherever it does so."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found
