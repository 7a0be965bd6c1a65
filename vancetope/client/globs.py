"""File name patterns: `*.md`, `*.md,*.pdf`, `docs/**/*.md`, `.obsidian/*`."""

from fnmatch import fnmatchcase

import attrs

from vancetope.client.roots import ToolError

# Folders full of files nobody wrote by hand; hidden like names with a dot.
GENERATED = frozenset({"node_modules", "__pycache__"})
_LONGEST = 512
_DEEP = "**"
_MOST_DEEP = 3


@attrs.frozen
class Patterns:
    """One or several globs; the empty tuple matches every file."""

    globs: tuple[tuple[str, ...], ...]

    @classmethod
    def parse(cls, text: str | None) -> "Patterns":
        """Read globs separated by commas; a glob with `/` is matched from the top.

        Raises:
            ToolError: too long, or it uses `{...}`.
        """
        if text is None:
            return cls(())
        if "{" in text:
            msg = f"pattern {text}: braces are not known; write *.md,*.pdf instead"
            raise ToolError("failed", msg)
        globs = tuple(
            tuple(part for part in one.strip().split("/") if part and part != ".")
            for one in text.split(",")
        )
        if len(text) > _LONGEST or any(g.count(_DEEP) > _MOST_DEEP for g in globs):
            raise ToolError("failed", f"pattern {text[:40]}...: too long")
        return cls(tuple(glob for glob in globs if glob))

    def match(self, parts: tuple[str, ...]) -> bool:
        """Whether the file at `parts` (its path below the top) is meant."""
        if not self.globs:
            return True
        return any(
            _one(parts[-1], glob[0]) if len(glob) == 1 else _all(parts, glob)
            for glob in self.globs
        )

    def show(self, name: str) -> bool:
        """Whether a file or folder of this name is looked at, hidden ones too.

        Names with a leading dot and generated folders are only if a glob names them.
        """
        if not _hidden(name):
            return True
        return any(
            _hidden(part) and fnmatchcase(name, part)
            for glob in self.globs
            for part in glob
        )


def _hidden(name: str) -> bool:
    return name.startswith(".") or name in GENERATED


def _one(name: str, glob: str) -> bool:
    return fnmatchcase(_fold(name), _fold(glob))


def _all(parts: tuple[str, ...], glob: tuple[str, ...]) -> bool:
    if not glob:
        return not parts
    if glob[0] == _DEEP:
        return any(_all(parts[i:], glob[1:]) for i in range(len(parts) + 1))
    return bool(parts) and _one(parts[0], glob[0]) and _all(parts[1:], glob[1:])


def _fold(name: str) -> str:
    stem, dot, extension = name.rpartition(".")
    return stem + dot + extension.lower() if dot else name
