"""Make the checkout's virtual environment, or bring it up to date.

Usage: prepare.py ROOT VENV runtime|dev (scripts/lib.sh calls it when the environment
is not what the checkout asks for). Needs nothing but the standard library. Only one
runs at a time for a folder; one that was interrupted is redone from the start.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

LOCK_WAIT_S = 900.0
"""How long to wait for another set-up of the same folder."""

LOG_TAIL_LINES = 12

READY = ".ready"
"""Folder in the environment: copies of what it was made from, written last."""

MADE_HERE = ".made-here"
"""File in an environment that this program made, and so may remove."""

UNFINISHED = ".unfinished"
"""File in the environment from the first step of a set-up to the last."""

OFFLINE_SIGNS = (
    "Failed to establish a new connection",
    "Name or service not known",
    "NameResolutionError",
    "NewConnectionError",
    "Network is unreachable",
    "Temporary failure in name resolution",
    "nodename nor servname",
    "timed out",
)


def say(text: str) -> None:
    """Tell the person at the terminal; stdout belongs to the command."""
    print(f"vancetope: {text}", file=sys.stderr, flush=True)


def fail(text: str, fix: str) -> NoReturn:
    """End with an error and its remedy."""
    say(text)
    print(f"  {fix}", file=sys.stderr, flush=True)
    raise SystemExit(1)


@contextlib.contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Hold the file `lock`; the system lets go of it however the process ends."""
    with lock.open("w") as file:
        deadline = time.monotonic() + LOCK_WAIT_S
        told = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    fail(
                        "another set-up has not ended within 15 minutes.",
                        f"End it, or remove {lock}.",
                    )
            if not told:
                say("another set-up of this folder is running; waiting for it ...")
                told = True
            time.sleep(0.2)
        yield


class Environment:
    """The virtual environment `venv` of the checkout `root`."""

    def __init__(self, root: Path, venv: Path) -> None:
        self.root = root
        self.venv = venv
        self.python = venv / "bin" / "python"
        self.log = venv / "setup.log"

    def requirements(self, kind: str) -> Path:
        """The lock file of `kind`."""
        return self.root / "scripts" / "requirements" / f"{kind}.txt"

    def has(self, source: Path) -> bool:
        """Was the environment made from `source` as it is now?"""
        copy = self.venv / READY / source.name
        return copy.is_file() and copy.read_bytes() == source.read_bytes()

    def belongs_here(self) -> bool:
        """Was it made for the checkout in this place?"""
        mark = self.venv / READY / "root"
        return mark.is_file() and mark.read_text() == f"{self.root}\n"

    def is_ready(self, kind: str) -> bool:
        """Is nothing left to do?"""
        return (
            not (self.venv / UNFINISHED).exists()
            and self.works()
            and self.belongs_here()
            and self.has(self.root / "pyproject.toml")
            and self.has(self.requirements(kind))
        )

    def works(self) -> bool:
        """Does its Python still start? (The one it was made with may be gone.)"""
        try:
            done = subprocess.run(
                [self.python, "-c", "import pip"], capture_output=True, check=False
            )
        except OSError:
            return False
        return done.returncode == 0

    def create(self) -> None:
        """Make it anew unless a good one is there; a person's own is never removed."""
        if (self.venv / MADE_HERE).exists():
            moved = (self.venv / READY).is_dir() and not self.belongs_here()
            if (self.venv / UNFINISHED).exists() or moved or not self.works():
                shutil.rmtree(self.venv)
        self.venv.mkdir(parents=True, exist_ok=True)
        if self.works():
            (self.venv / UNFINISHED).touch()
            return
        if any(self.venv.iterdir()):
            fail(
                f"{self.venv} is there, but is no virtual environment that works.",
                "Move it away, or set VANCETOPE_VENV to another folder.",
            )
        need_venv_module()
        (self.venv / MADE_HERE).touch()
        (self.venv / UNFINISHED).touch()
        self.run(
            [sys.executable, "-m", "venv", "--prompt", "vancetope", self.venv],
            f"{sys.executable} could not make a virtual environment.",
        )

    def install(self, kind: str) -> None:
        """Install the locked packages of `kind` and the checkout itself."""
        pip: list[str | Path] = [self.python, "-m", "pip", "install", "--no-input"]
        pip += ["--retries", "2", "--disable-pip-version-check"]
        lock = self.requirements(kind)
        if not self.has(lock):
            say("installing the pinned packages (once; they are downloaded) ...")
            self.run(
                [*pip, "--require-hashes", "-r", lock],
                "the packages could not be installed.",
            )
        self.run(
            [*pip, "--no-deps", "--no-build-isolation", "-e", self.root],
            "the checkout could not be installed into its own environment.",
        )
        # The first command should not pay for it; a file that does not compile is
        # that command's to report.
        subprocess.run(
            [self.python, "-m", "compileall", "-q", "vancetope", "vance_sdk"],
            cwd=self.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )

    def run(self, command: list[str | Path], complaint: str) -> None:
        """Run a step of the set-up, its output into the log, or end with why."""
        with self.log.open("ab") as log:
            start = log.tell()
            done = subprocess.run(command, stdout=log, stderr=log, check=False)
        if done.returncode == 0:
            return
        with self.log.open("rb") as log:
            log.seek(start)
            lines = log.read().decode(errors="replace").splitlines()
        if any(sign in line for line in lines for sign in OFFLINE_SIGNS):
            fail(
                "the package index could not be reached.",
                "Check the connection (or pip's index and proxy settings) and run "
                f"the same command again. All that was said stands in {self.log}.",
            )
        for line in lines[-LOG_TAIL_LINES:]:
            print(f"  | {line}", file=sys.stderr)
        fail(complaint, f"All that was said stands in {self.log}.")

    def mark(self, kinds: list[str]) -> None:
        """Write down, as the last step, what the environment was made from."""
        fresh = self.venv / f"{READY}.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        (fresh / "root").write_text(f"{self.root}\n")
        for source in [self.root / "pyproject.toml", *map(self.requirements, kinds)]:
            shutil.copyfile(source, fresh / source.name)
        fresh.rename(self.venv / READY)
        (self.venv / UNFINISHED).unlink()


def need_venv_module() -> None:
    """Say what to install where the system's Python was packaged without it."""
    try:
        import ensurepip
        import venv

        ensurepip.version()
        venv.EnvBuilder()
    except (ImportError, OSError):
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        fail(
            f"{sys.executable} (Python {version}) has no `venv` or `ensurepip` module, "
            "so it cannot make a virtual environment.",
            "Fix (Debian, Ubuntu): sudo apt install python3-venv    "
            "Or name another Python: PYTHON=/path/to/python3",
        )


def prepare(root: Path, venv: Path, kind: str) -> None:
    """Bring `venv` up to date for `kind`, alone and all or nothing."""
    environment = Environment(root, venv)
    if environment.is_ready(kind):
        return
    say(f"setting up {venv} ...")
    began = time.monotonic()
    environment.create()
    has_dev = kind == "dev" or environment.has(environment.requirements("dev"))
    environment.install(kind)
    kinds = ["runtime", "dev"] if has_dev else ["runtime"]
    shutil.rmtree(venv / READY, ignore_errors=True)
    environment.mark(kinds)
    say(f"ready after {time.monotonic() - began:.0f} s")


def main() -> None:
    """Read the command line and do it."""
    root, venv, kind = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    try:
        venv.parent.mkdir(parents=True, exist_ok=True)
        with only_one(venv.with_name(f"{venv.name}.lock")):
            prepare(root, venv, kind)
    except KeyboardInterrupt:
        say("set-up interrupted; the next command begins it again.")
        raise SystemExit(130) from None
    except OSError as error:
        fail(
            f"the environment could not be set up: {error}.",
            "Mend that, or set VANCETOPE_VENV to a folder that can be written.",
        )


if __name__ == "__main__":
    os.environ.pop("PIP_USER", None)
    os.environ.pop("PIP_TARGET", None)
    main()
