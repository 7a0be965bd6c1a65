"""One Brain to a home, and only on a disk that can hold it."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.errors import HomeError
from vancetope.store.home_lock import (
    LOCK_FILE,
    NETWORK_FILE_SYSTEMS,
    file_system_type,
    hold_home,
)

ROOT = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"


def test_the_home_is_made_for_the_owner_alone(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "home"
    with hold_home(home) as held:
        assert held == home.resolve()
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        assert stat.S_IMODE((home / LOCK_FILE).stat().st_mode) == 0o600


def test_a_second_brain_is_told_who_holds_the_home_and_what_to_do(
    tmp_path: Path,
) -> None:
    with hold_home(tmp_path), pytest.raises(HomeError) as caught:
        with hold_home(tmp_path):
            raise AssertionError
    said = str(caught.value)
    assert f"(process {os.getpid()})" in said
    assert "Stop it first" in said


def test_the_home_is_free_again_afterwards_also_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(LookupError), hold_home(tmp_path):
        raise LookupError
    with hold_home(tmp_path):
        pass
    assert (tmp_path / LOCK_FILE).exists()


@pytest.mark.slow
def test_the_lock_is_held_against_other_processes_and_dies_with_its_holder(
    tmp_path: Path,
) -> None:
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from vancetope.store.home_lock import hold_home\n"
        "with hold_home(Path(sys.argv[1])):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(HomeError, match=rf"\(process {holder.pid}\)"):
            with hold_home(tmp_path):
                raise AssertionError
        holder.kill()
        holder.wait(30)
    with hold_home(tmp_path):
        pass


def test_a_home_that_cannot_be_made_is_a_readable_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for home in (tmp_path / "file", tmp_path / "file" / "home"):
        with pytest.raises(HomeError, match=r"cannot make the home .*--home DIR"):
            with hold_home(home):
                raise AssertionError


def test_a_home_that_cannot_be_written_is_a_readable_error(tmp_path: Path) -> None:
    # A directory in the lock file's place: works for root too, unlike chmod.
    (tmp_path / LOCK_FILE).mkdir()
    with pytest.raises(HomeError, match=r"not writable: Is a directory.*chown"):
        with hold_home(tmp_path):
            raise AssertionError


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes everywhere"
)
def test_a_read_only_home_is_a_readable_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(HomeError, match=r"not writable: Permission denied"):
        with hold_home(tmp_path):
            raise AssertionError


# ------------------------------------------------------------- network file systems


@pytest.mark.parametrize("kind", sorted(NETWORK_FILE_SYSTEMS))
def test_a_home_on_a_network_file_system_is_refused(tmp_path: Path, kind: str) -> None:
    home = tmp_path / "home"
    table = tmp_path / "mountinfo"
    table.write_text(f"{ROOT}30 22 0:50 / {tmp_path.resolve()} rw - {kind} srv:/x rw\n")
    with pytest.raises(HomeError, match=rf"network file system \({kind}\)"):
        with hold_home(home, mountinfo=table):
            raise AssertionError


@pytest.mark.parametrize("kind", ["ext4", "btrfs", "zfs", "tmpfs", "overlay", "9p"])
def test_a_home_on_a_local_file_system_is_taken(tmp_path: Path, kind: str) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(f"{ROOT}30 22 0:50 / {tmp_path.resolve()} rw - {kind} x rw\n")
    with hold_home(tmp_path / "home", mountinfo=table):
        pass


def test_without_a_mount_table_the_kind_is_not_checked(tmp_path: Path) -> None:
    with hold_home(tmp_path / "home", mountinfo=tmp_path / "none"):
        pass


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me", "ext4"),
        ("/mnt", "nfs4"),
        ("/mnt/deep/er", "nfs4"),
        ("/mnt/local/x", "xfs"),
        ("/mnt2", "ext4"),  # not below /mnt
        ("/with space/x", "cifs"),
        ("/over", "tmpfs"),  # the later mount hides the earlier
    ],
)
def test_the_deepest_mount_decides(path: str, kind: str) -> None:
    table = (
        "30 22 0:50 / /mnt/local rw shared:7 master:1 - xfs /dev/sdb rw\n"
        + ROOT
        + "31 22 0:51 / /mnt rw - nfs4 srv:/x rw\n"
        + "32 22 0:52 / /with\\040space rw - cifs //srv/x rw\n"
        + "33 22 0:53 / /over rw - nfs srv:/y rw\n"
        + "34 33 0:54 / /over rw - tmpfs tmpfs rw\n"
        + "a line of another form\n"
    )
    assert file_system_type(Path(path), table) == kind


@given(st.text())
def test_any_mount_table_is_read_without_an_error(text: str) -> None:
    assert isinstance(file_system_type(Path("/a/b"), text), str | None)
