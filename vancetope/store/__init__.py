"""What survives a crash: one SQLite file, one writer, readers, migrations."""
