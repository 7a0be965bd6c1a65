"""What the rooms around `processes` give it, as small protocols."""

import sqlite3
from typing import Protocol

from vancetope.model.json import Json
from vancetope.model.records import TaskRecord
from vancetope.tools.outcome import Failed


class ResultShaper(Protocol):
    """Turns a tool's result into the task's (a task may have a `result` template)."""

    def shape(
        self, conn: sqlite3.Connection, task: TaskRecord, result: Json
    ) -> Json | Failed:
        """The task's result, or why it could not be made.  Never raises."""
        ...
