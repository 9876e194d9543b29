"""How many settings there are, and which no page, configuration or test gives another value than its default.

`python -m tests.bench.count_settings`. A section that stands in several places counts once, and what it inherits counts
with the section that it inherits from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import yaml

from engine.config.config import Config
from engine.config.section import Section

ROOT = Path(__file__).resolve().parents[2]
SPACE = r"""["'`]?\s*(?:[:=]|\|)\s*["'`]?"""
"""Between a setting's name and its value: YAML, an override, Python's arguments and dictionaries, a table's columns."""
VALUE = r"""(\[[^\]]*\]|"[^"]*"|'[^']*'|[^\s,}\])`|"']+)"""


def sections(kind: Any = Config) -> Iterator[type[Section]]:
    """Every class of a section in the configuration, the outer ones first."""
    if isinstance(kind, type) and issubclass(kind, Section):
        yield kind
        for field in kind.model_fields.values():
            yield from sections(field.annotation)
    elif get_origin(kind) in (Annotated, Union, UnionType, list):
        for inner in get_args(kind):
            yield from sections(inner)


def settings() -> dict[tuple[str, str], Any]:
    """The default of every setting, by its section's class and its own name."""
    return {
        (kind.__name__, name): field.get_default(call_default_factory=True)
        for kind in dict.fromkeys(sections())
        for name, field in kind.model_fields.items()
        if name in kind.__annotations__ and not any(True for _ in sections(field.annotation))
    }


def texts() -> Iterator[str]:
    """Pages, configurations and tests."""
    for folder in ("app", "engine", "screens", "tests", "configs"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".md", ".yaml") or (folder == "tests" and path.suffix in (".py", ".json")):
                yield path.read_text()
    yield (ROOT / "README.md").read_text()


def other_values(name: str, default: Any, text: str) -> set[str]:
    """What the texts give a setting beside its default."""
    written = re.findall(rf"(?<![A-Za-z_]){re.escape(name)}{SPACE}{VALUE}", text)
    return {value for value in written if _read(value) != default}


def _read(value: str) -> Any:
    try:
        return yaml.safe_load(value)
    except yaml.YAMLError:
        return value


def main() -> None:
    found, text = settings(), "\n".join(texts())
    unused = [
        f"{kind}.{name} = {default!r}"
        for (kind, name), default in found.items()
        if not other_values(name, default, text)
    ]
    print(f"{len(found)} settings, {len(unused)} of them never set to another value:")
    print("\n".join(unused))


if __name__ == "__main__":
    main()
