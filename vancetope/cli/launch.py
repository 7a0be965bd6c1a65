"""Find the running Brain of a home, or start one for as long as it is needed.

Imports nothing that takes long: while the Brain starts, the command can load the rest.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Final

import attrs

import vancetope
from vancetope.config.home import Home
from vancetope.errors import HomeError

#: The exit code of a Brain for a run that found another one on its home.
TAKEN: Final = 75
#: Before another attempt to start a Brain on a home that was taken.
AGAIN_S: Final = 0.2
#: A Brain that holds the home without saying where it is starts or stops just now.
HELD_S: Final = 3.0
#: The log of a Brain for a run is begun anew when it has become this long.
LOG_BYTES: Final = 1024 * 1024
LOG_NAME: Final = "brain-for-a-run.log"


@attrs.frozen(kw_only=True)
class Running:
    """What the runtime file says of a Brain whose process is alive."""

    pid: int
    url: str


def running_brain(home: Home) -> Running | None:
    """The Brain that announced itself in the home, if its process is alive."""
    try:
        said = json.loads(home.runtime.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    match said:
        case {"pid": int(pid), "url": str(url)} if _alive(pid):
            return Running(pid=pid, url=url)
        case _:
            return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError, OverflowError):
        # Another user's process is not the Brain of a home whose key we can read.
        return False
    return pid > 0


def _is_gone(pid: int) -> bool:
    """Whether no process has this number, another user's included."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return False
    except (ProcessLookupError, OverflowError):
        return True
    return False


def _environment() -> dict[str, str]:
    """Of a child that finds this package where this process has found it."""
    root = Path(vancetope.__file__).parent.parent
    if root.name in {"site-packages", "dist-packages"}:
        return dict(os.environ)
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


@attrs.define(eq=False)
class Launcher:
    """Sees to it that a Brain runs; only looks and starts, never waits.

    Attributes:
        may_start: whether to start one; else it is for somebody else to do.
    """

    home: Home
    may_start: bool = True
    _child: int | None = attrs.field(init=False, default=None)
    _said_from: int = attrs.field(init=False, default=0)
    _not_before: float = attrs.field(init=False, default=0.0)
    _wait_until: float | None = attrs.field(init=False, default=None)
    _in_vain: int | None = attrs.field(init=False, default=None)

    def look(self) -> Running | None:
        """The Brain of the home; when there is none, one is being started.

        Raises:
            HomeError: it cannot be started; says why.
        """
        found = running_brain(self.home)
        if found is None:
            self.start()
        return found

    def start(self) -> None:
        """Start a Brain unless one of ours is starting already.

        Of several on one home the first one stays, and the others leave.

        Raises:
            HomeError: the last one ended with an error.
        """
        if self._child is not None and not self._has_left(self._child):
            return
        self._child = None
        now = time.monotonic()
        if self.may_start and now >= self._not_before and not self._is_held(now):
            self._not_before = now + AGAIN_S
            self._child = self._spawn()

    def _is_held(self, now: float) -> bool:
        """Whether to wait for a Brain that has the home, instead of a new one.

        The number in the lock file may be an old one that is another process's now,
        so it is believed only for a while; that of a Brain for which one of ours had
        to leave is believed as long as it lives.
        """
        holder = self._holder()
        if holder is None:
            return False
        if holder == self._in_vain and not _is_gone(holder):
            return True
        if not _alive(holder):
            return False
        if self._wait_until is None:
            self._wait_until = now + HELD_S
        return now < self._wait_until

    def _holder(self) -> int | None:
        try:
            return int(self.home.lock.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None

    def _has_left(self, child: int) -> bool:
        found, status = os.waitpid(child, os.WNOHANG)
        if found == 0:
            return False
        code = os.waitstatus_to_exitcode(status)
        if code not in {0, TAKEN}:
            raise HomeError(self._last_words(), fix="")
        self._in_vain = self._holder() if code == TAKEN else None
        return True

    def _spawn(self) -> int:
        home = self.home
        try:
            home.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            log = home.path / LOG_NAME
            if log.exists() and log.stat().st_size > LOG_BYTES:
                log.unlink()
            log.touch(mode=0o600)
            self._said_from = log.stat().st_size
        except OSError as exc:
            message = f"the home directory {home.path} cannot be used: {exc.strerror}"
            fix = "Name one you may write to with --home DIR or VANCETOPE_HOME."
            raise HomeError(message, fix=fix) from exc
        # -P: a module that lies in the current folder is none of ours.
        argv = [sys.executable, "-P", "-m", "vancetope.cli.main", "serve"]
        argv += ["--home", str(home.path), "--port", "0", "--for-a-run"]
        to_log = (os.POSIX_SPAWN_OPEN, 2, str(log), os.O_WRONLY | os.O_APPEND, 0o600)
        silent = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1)]
        # A session of its own: Ctrl-C at this terminal is not meant for it.
        return os.posix_spawn(
            sys.executable,
            argv,
            _environment(),
            file_actions=[*silent, to_log],
            setsid=True,
        )

    def _last_words(self) -> str:
        log = self.home.path / LOG_NAME
        with log.open("rb") as file:
            file.seek(self._said_from)
            lines = file.read(LOG_BYTES).decode(errors="replace").splitlines()
        for line in reversed(lines):
            if line.startswith("Error: "):
                return line.removeprefix("Error: ").rstrip(".")
        return f"the Brain could not be started; {log} says more"
