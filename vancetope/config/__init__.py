"""The home directory and its files: found, read, checked, explained.

Every mistake in a file is a `ConfigError` that names the file, the line, the field,
the value and the fix.
"""
