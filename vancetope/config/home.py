"""Where everything of one Brain lives: DESIGN section 7."""

import importlib.resources
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs
import platformdirs

#: Names another home than the default one.
HOME_VARIABLE: Final = "VANCETOPE_HOME"


@attrs.frozen
class Home:
    """The paths of a home directory; nothing here touches the disk."""

    path: Path

    @property
    def brain_config(self) -> Path:
        """Limits and gateway settings."""
        return self.path / "brain.yaml"

    @property
    def tools(self) -> Path:
        """The tool registry; an entry replaces the bundled one of its name."""
        return self.path / "tools.yaml"

    @property
    def mcp(self) -> Path:
        """The standard `mcpServers` object."""
        return self.path / "mcp.json"

    @property
    def recipes(self) -> Path:
        """Recipe files, `*.yaml`."""
        return self.path / "recipes"

    @property
    def workflows(self) -> Path:
        """Workflow files, `*.yaml`."""
        return self.path / "workflows"

    @property
    def schedules(self) -> Path:
        """Schedule files, `*.yaml`."""
        return self.path / "schedules"

    @property
    def hooks(self) -> Path:
        """Webhook files, `*.yaml`."""
        return self.path / "hooks"

    @property
    def vaults(self) -> Path:
        """The vaults that were mounted."""
        return self.path / "vaults.json"

    @property
    def secrets(self) -> Path:
        """The signing key, mode 0600."""
        return self.path / "secrets.key"

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.path / "brain.db"

    @property
    def lock(self) -> Path:
        """Held by the one Brain that has this home open."""
        return self.path / "brain.lock"

    @property
    def runtime(self) -> Path:
        """Written by a running Brain: `{pid, url, ...}`."""
        return self.path / "brain.json"


def default_home(environ: Mapping[str, str] = os.environ) -> Home:
    """The home nobody named: `$VANCETOPE_HOME`, else the user's data directory."""
    named = environ.get(HOME_VARIABLE)
    if named:
        return Home(Path(named).expanduser())
    return Home(Path(platformdirs.user_data_dir("vancetope", appauthor=False)))


def bundled_dir() -> Path:
    """The files that come with the package: `tools.yaml`, `workflows/`."""
    return Path(str(importlib.resources.files("vancetope"))) / "bundled"


def yaml_files(directory: Path) -> list[Path]:
    """The `*.yaml` files of a directory in the order of their names; may be none."""
    if not directory.is_dir():
        return []
    return sorted(
        path
        for path in directory.iterdir()
        if path.suffix == ".yaml" and not path.name.startswith(".") and path.is_file()
    )


def cascade(*directories: Path) -> dict[str, Path]:
    """Files by stem, first directory to last (bundled, home); the later one wins."""
    return {path.stem: path for each in directories for path in yaml_files(each)}
