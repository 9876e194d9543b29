"""Kconfig for the evolution: a menu generated from the configuration's fields, and a reader of the
`.config`.

    python -m engine.config.kconfig        # writes configs/Kconfig and configs/evolution_defconfig
    make menuconfig                 # edits configs/.config

Kconfig knows no floats and no lists (they are strings here), silently ignores unknown symbols and only warns of bad
numbers: this reader raises an error for each of these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from engine.config import yaml_text
from engine.config.evolution import ClustersSection, EvolutionSection
from engine.config.form import form_fields
from engine.config.schema import Schema, schema_at
from engine.config.section import Section
from engine.errors import ConfigError, Problem, wrong_value
from engine.files import write_atomic
from engine.regular_file import LARGEST_RECORD, read_regular

_COVERED = re.compile(r"(clusters|evolution)\.(?!kconfig$|model\.).*")
"""Fields in the menu: not the .config file itself, nor a model that may be left out."""
_LINE = re.compile(r"^CONFIG_(?P<symbol>\w+)=(?P<value>.*)$")
_TEXT = re.compile(r'"(?P<inner>(?:[^"\\\x00-\x08\x0b-\x1f]|\\.)*)"')
_UNSET = re.compile(r"^# CONFIG_(?P<symbol>\w+) is not set$")
_FOLDER = Path(__file__).resolve().parents[2] / "configs"


@dataclass(frozen=True)
class Leaf:
    """A field: `path` from the root of the configuration, its JSON schema, and its named values, if it has some."""

    path: tuple[str, ...]
    schema: Schema
    choices: tuple[str, ...] = ()

    @property
    def symbol(self) -> str:
        """`EVOLUTION_JUDGE_TOLERANCE`"""
        return "_".join(self.path).upper()

    @property
    def kind(self) -> str:
        """choice, bool, int or string (everything else)."""
        if self.choices:
            return "choice"
        return {"boolean": "bool", "integer": "int"}.get(self.schema.get("type", ""), "string")

    @property
    def default(self) -> Any:
        """Its value in the default configuration."""
        return self.schema["default"]

    def choice_symbol(self, value: str) -> str:
        """The symbol of a value in `choices`."""
        return f"{self.symbol}_{re.sub(r'[^A-Z0-9]', '_', value.upper())}"


@cache
def leaves() -> tuple[Leaf, ...]:
    """Every field that `configs/Kconfig` covers, section by section."""
    return tuple(
        Leaf(place, schema_at(place) or {}, field.choices if field.kind == "choice" else ())
        for field in form_fields()
        if _COVERED.fullmatch(field.path)
        for place in [tuple(field.path.split("."))]
    )


def _once_leaves(section: Section, *above: str) -> Iterator[Leaf]:
    """What was a field once: an older .config names it."""
    for name, value in section.fixed().items():
        kind = {bool: "boolean", int: "integer", float: "number"}.get(type(value), "string")
        yield Leaf((*above, name), {"type": kind})
    for name in type(section).model_fields:
        if isinstance(inside := getattr(section, name), Section):
            yield from _once_leaves(inside, *above, name)


# ---------------------------------------------------------------- writing


def kconfig_text() -> str:
    """`configs/Kconfig`: a menu for each section."""
    lines = ['mainmenu "steer-tui: evolution of cluster deltas"', ""]
    menu: tuple[str, ...] = ()
    for leaf in leaves():
        section = leaf.path[:-1]
        if section != menu:
            lines += ["endmenu", ""] if menu else []
            lines += [f'menu "{" ".join(section)}"', ""]
            menu = section
        lines += [*_entry(leaf), ""]
    return "\n".join([*lines, "endmenu", ""])


def defconfig_text() -> str:
    """`configs/evolution_defconfig`: every symbol with its default, as menuconfig writes it."""
    return "\n".join([*(_assigned(leaf, leaf.default) for leaf in leaves()), ""])


def _assigned(leaf: Leaf, value: object) -> str:
    if leaf.kind == "choice":
        return f"CONFIG_{leaf.choice_symbol(str(value))}=y"
    if leaf.kind == "bool":
        return f"CONFIG_{leaf.symbol}=y" if value else f"# CONFIG_{leaf.symbol} is not set"
    if leaf.kind == "int":
        return f"CONFIG_{leaf.symbol}={value}"
    return f'CONFIG_{leaf.symbol}="{_quoted(_as_text(value))}"'


def _entry(leaf: Leaf) -> list[str]:
    words, default = _quoted(leaf.schema["description"]), leaf.default
    help_ = ["\thelp", f"\t  {'.'.join(leaf.path)}"]
    if leaf.kind == "choice":
        lines = ["choice", f'\tprompt "{words}"', f"\tdefault {leaf.choice_symbol(str(default))}", *help_]
        for value in leaf.choices:
            lines += ["", f"config {leaf.choice_symbol(value)}", f'\tbool "{value}"']
        return [*lines, "", "endchoice"]
    lines = [f"config {leaf.symbol}", f'\t{leaf.kind} "{words}"']
    if leaf.kind == "bool":
        return [*lines, f"\tdefault {'y' if default else 'n'}", *help_]
    if leaf.kind == "int":
        low, high = leaf.schema["minimum"], leaf.schema.get("maximum", 2**31 - 1)
        return [*lines, f"\trange {low} {high}", f"\tdefault {default}", *help_]
    return [*lines, f'\tdefault "{_quoted(_as_text(default))}"', *help_]


def _as_text(value: object) -> str:
    """A default as text that is read back as the same value: YAML, "" for None."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "[" + ", ".join(json.dumps(item) for item in value) + "]"
    return str(value)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


# ---------------------------------------------------------------- reading


def read_kconfig(path: Path) -> tuple[dict[str, Any], dict[tuple[str, ...], str]]:
    """Values by section, and the `file:line` of each. Raises ConfigError with all problems of the file.

    An empty string means that no value is given. Ranges are checked when the configuration is validated.
    """
    try:
        text = read_regular(path, LARGEST_RECORD).decode().replace("\r\n", "\n")
        lines = text.split("\n")  # menus write other line ends as they are
    except (OSError, UnicodeDecodeError) as error:
        raise wrong_value(str(path), str(error), "a .config as `make menuconfig` writes it") from None
    once = (*_once_leaves(ClustersSection(), "clusters"), *_once_leaves(EvolutionSection(), "evolution"))
    known = (*leaves(), *once)
    plain = {leaf.symbol: leaf for leaf in known}
    choices = {leaf.choice_symbol(value): (leaf, value) for leaf in known for value in leaf.choices}
    values: dict[str, Any] = {}
    origins: dict[tuple[str, ...], str] = {}
    problems: list[Problem] = []
    seen: set[str] = set()
    for number, line in enumerate(lines, 1):
        place = f"{path}:{number}"
        unset, assigned = _UNSET.match(line), _LINE.match(line)
        if not line.strip() or (line.startswith("#") and not unset):
            continue
        match = unset or assigned
        if match is None:
            problems.append(Problem(place, line, "CONFIG_SYMBOL=value"))
            continue
        symbol, text = match["symbol"], "n" if unset else match["value"]
        where = f"{place} CONFIG_{symbol}"
        if symbol in seen:
            problems.append(Problem(where, "the symbol again", "each symbol once"))
            continue
        seen.add(symbol)
        leaf, choice = choices.get(symbol) or (plain.get(symbol), None)
        try:
            if leaf is None:
                raise ValueError("a symbol of configs/Kconfig")
            value = _value(leaf, text) if choice is None else _chosen(choice, text, origins.get(leaf.path))
        except ValueError as error:
            problems.append(Problem(where, text, str(error)))
            continue
        if value is not None:
            _put(values, origins, leaf, value, place)
    if problems:
        raise ConfigError(problems)
    return values, origins


def _chosen(choice: str, text: str, chosen_at: str | None) -> str | None:
    """The choice, if this line makes it; None if not. Raises ValueError with the allowed values."""
    if text not in ("y", "n"):
        raise ValueError("y or n")
    if text == "y" and chosen_at is not None:
        raise ValueError(f"one value: {chosen_at.rpartition(' ')[0]} has chosen another already")
    return choice if text == "y" else None


def _value(leaf: Leaf, text: str) -> Any:
    """The value after the equals sign; None for an empty string. Raises ValueError with the allowed values."""
    if leaf.kind == "bool":
        if text not in ("y", "n"):
            raise ValueError("y or n")
        return text == "y"
    if leaf.kind == "int":
        if not re.fullmatch(r"[+-]?[0-9]+", text):
            raise ValueError("a whole number")
        return yaml_text.whole_number(text)
    quoted = _TEXT.fullmatch(text)
    if quoted is None:
        raise ValueError('text between "quotes", with \\" for a quote in it')
    inner = re.sub(r"\\(.)", r"\1", quoted["inner"])
    if not inner:
        return None
    return inner if _is_text(leaf.schema) else yaml_text.parse(inner).value


def _is_text(schema: Schema) -> bool:
    """Whether the field holds text, or text or nothing."""
    alternatives = schema.get("anyOf", [schema])
    return any(one.get("type") == "string" and "const" not in one for one in alternatives)


def _put(
    values: dict[str, Any], origins: dict[tuple[str, ...], str], leaf: Leaf, value: Any, where: str
) -> None:
    section = values
    for name in leaf.path[:-1]:
        section = section.setdefault(name, {})
    section[leaf.path[-1]] = value
    origins[leaf.path] = f"{where} CONFIG_{leaf.symbol}"


def main() -> None:
    """Write configs/Kconfig and configs/evolution_defconfig."""
    write_atomic(_FOLDER / "Kconfig", kconfig_text())
    write_atomic(_FOLDER / "evolution_defconfig", defconfig_text())


if __name__ == "__main__":
    main()
