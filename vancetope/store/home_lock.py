"""One Brain to a home: the directory is usable, on a local disk, and locked.

SQLite's locks and the write-ahead log's shared memory do not work over network file
systems, and two Brains on one database would each run the same tasks.
"""

import errno
import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from vancetope.errors import HomeError, HomeTaken

LOCK_FILE: Final = "brain.lock"

#: File system types of mountinfo(5) on which the store is refused.  `9p` and
#: `overlay` are what virtual machines and containers see of a local disk.
NETWORK_FILE_SYSTEMS: Final = frozenset(
    {
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "fuse.ceph",
        "fuse.davfs2",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.smbnetfs",
        "fuse.sshfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "smb3",
        "smbfs",
        "sshfs",
    }
)

_MOUNTINFO: Final = Path("/proc/self/mountinfo")
_OCTAL: Final = re.compile(r"\\([0-7]{3})")


@contextmanager
def hold_home(home: Path, *, mountinfo: Path = _MOUNTINFO) -> Iterator[Path]:
    """Make the directory (mode 0700) if need be and hold its lock until the end.

    The lock is the kernel's: it goes with the process, however that ends.

    Args:
        home: the home directory.
        mountinfo: the table of mounts, in the form of mountinfo(5); where it does not
            exist the kind of file system is not checked.

    Yields:
        The absolute path of the home.

    Raises:
        HomeError: another Brain holds it, it cannot be written, or it is on a network
            file system.
    """
    home = _make(home)
    _refuse_network(home, mountinfo)
    fd = _open_lock(home)
    try:
        _lock(fd, home)
        yield home
    finally:
        # The file stays: removed, it could be locked by one Brain under its old
        # inode and by another under a new one.
        os.close(fd)


def file_system_type(path: Path, mounts: str) -> str | None:
    """The type of the file system that an absolute path is on.

    Args:
        path: an absolute path without symbolic links.
        mounts: the text of mountinfo(5).
    """
    best: tuple[int, str] | None = None
    for line in mounts.splitlines():
        fields, dash, source = line.partition(" - ")
        parts = fields.split(" ")
        if not dash or len(parts) < 5:
            continue
        point = Path(_OCTAL.sub(lambda m: chr(int(m[1], 8)), parts[4]))
        depth = len(point.parts)
        # Of two mounts on one point the later one hides the earlier.
        if path.is_relative_to(point) and (best is None or depth >= best[0]):
            best = depth, source.split(" ")[0]
    return best[1] if best else None


def _make(home: Path) -> Path:
    try:
        home = home.expanduser()
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        return home.resolve()
    except (OSError, RuntimeError) as exc:
        msg = f"cannot make the home directory {home}: {_reason(exc)}"
        fix = "Name one you may write to with --home DIR or VANCETOPE_HOME."
        raise HomeError(msg, fix=fix) from exc


def _refuse_network(home: Path, mountinfo: Path) -> None:
    try:
        mounts = mountinfo.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:  # not Linux, or no /proc
        return
    kind = file_system_type(home, mounts)
    if kind in NETWORK_FILE_SYSTEMS:
        msg = f"the home directory {home} is on a network file system ({kind})"
        fix = "SQLite would lose data there: name a local directory with --home DIR."
        raise HomeError(msg, fix=fix)


def _open_lock(home: Path) -> int:
    try:
        return os.open(home / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as exc:
        msg = f"the home directory {home} is not writable: {_reason(exc)}"
        fix = "Make it yours (chown, chmod u+rwx), or name another with --home DIR."
        raise HomeError(msg, fix=fix) from exc


def _lock(fd: int, home: Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    except OSError as exc:
        if exc.errno not in {errno.EWOULDBLOCK, errno.EACCES}:
            msg = f"cannot lock the home directory {home}: {_reason(exc)}"
            fix = "Name a directory on a local disk with --home DIR."
            raise HomeError(msg, fix=fix) from exc
        pid = os.pread(fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
        msg = f"another Brain (process {pid}) runs on the home {home}"
        fix = f"Stop it first (kill {pid}), or name another home with --home DIR."
        raise HomeTaken(msg, fix=fix) from exc


def _reason(exc: BaseException) -> str:
    return exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
