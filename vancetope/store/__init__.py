"""What survives a crash: one SQLite file, one writer, readers, migrations."""

from sqlite3 import Connection

__all__ = ["Connection"]
