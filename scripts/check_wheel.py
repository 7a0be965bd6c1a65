"""Check that a wheel has all that the checkout's packages need at run time.

Usage: check_wheel.py WHEEL. Exit status 1, with the names, if something is missing.
"""

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("vancetope", "vance_sdk")


def expected() -> set[str]:
    """Names inside the wheel: all files of the packages, and the migrations."""
    names = {
        f"vancetope/_migrations/{path.name}"
        for path in (ROOT / "migrations").glob("*.sql")
    }
    for package in PACKAGES:
        names |= {
            str(path.relative_to(ROOT))
            for path in (ROOT / package).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
    return names


def main() -> int:
    """Compare and tell."""
    wheel = Path(sys.argv[1])
    wanted = expected()
    with zipfile.ZipFile(wheel) as archive:
        present = set(archive.namelist())
    missing = sorted(wanted - present)
    for name in missing:
        print(f"{wheel.name} lacks {name}", file=sys.stderr)
    for must in ("vancetope/_migrations/", "vancetope/bundled/"):
        if not any(name.startswith(must) for name in present):
            print(f"{wheel.name} has nothing in {must}", file=sys.stderr)
            missing.append(must)
    if not missing:
        print(f"ok  {wheel.name}: {len(wanted)} files")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
