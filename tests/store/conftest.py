"""A store over a small schema of its own, on each runner."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TypeAlias

import pytest

from vancetope.clock import ManualClock
from vancetope.events import Bus
from vancetope.store.connection import Runner, ThreadRunner
from vancetope.store.db import Store, open_store
from vancetope.store.testing import InlineRunner

OpenStore: TypeAlias = Callable[[], AbstractAsyncContextManager[Store]]

SCHEMA = """\
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE event (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL,
    project_id TEXT, session_id TEXT, process_id TEXT, task_id TEXT, body TEXT
) STRICT;
CREATE TABLE item (
    name TEXT PRIMARY KEY,
    parent TEXT REFERENCES item (name) DEFERRABLE INITIALLY DEFERRED
) STRICT;
"""


@pytest.fixture
def migrations(tmp_path: Path) -> Path:
    folder = tmp_path / "migrations"
    folder.mkdir()
    (folder / "0001_initial.sql").write_text(SCHEMA, encoding="utf-8")
    return folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "brain.db"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def bus() -> Bus:
    return Bus()


@pytest.fixture(params=[ThreadRunner(), InlineRunner()], ids=["thread", "inline"])
def runner(request: pytest.FixtureRequest) -> Runner:
    value: Runner = request.param
    return value


@pytest.fixture
def opened(
    path: Path, clock: ManualClock, bus: Bus, runner: Runner, migrations: Path
) -> OpenStore:
    """Opens the store of this test: `async with opened() as store`."""

    def open_it() -> AbstractAsyncContextManager[Store]:
        return open_store(
            path, clock=clock, bus=bus, runner=runner, migrations=migrations
        )

    return open_it
