"""The configuration files that can be started, with their leading comments."""

from __future__ import annotations

from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path

from engine.regular_file import open_to_read

INSTALLED = Path(__file__).resolve().parents[2] / "configs"


@dataclass(frozen=True)
class ConfigFile:
    """A configuration file and its leading comment."""

    path: Path
    about: str

    @property
    def headline(self) -> str:
        """The comment's first line."""
        return self.about.split("\n")[0]


def find_configs() -> list[ConfigFile]:
    """`configs/*.yaml` here, and those that were installed; the demo first."""
    here = {
        path.name: path for folder in (INSTALLED, Path("configs")) for path in sorted(folder.glob("*.yaml"))
    }
    configs = [ConfigFile(_shortest(path), leading_comment(path)) for path in here.values()]
    return sorted(configs, key=lambda config: (config.path.stem != "demo", config.path.name))


def leading_comment(path: Path) -> str:
    """The comment that a file begins with, without its `#`."""
    lines: list[str] = []
    try:
        with TextIOWrapper(open_to_read(path), encoding="utf-8", errors="replace") as file:
            for line in file:
                if not line.startswith("#"):
                    break
                lines.append(line.lstrip("#").strip())
    except OSError:
        return ""
    return "\n".join(lines).strip()


def _shortest(path: Path) -> Path:
    try:
        return path.resolve().relative_to(Path.cwd())
    except ValueError:
        return path
