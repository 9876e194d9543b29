"""The form for a new run: which stages and values it would have, and what of it was changed against the file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine.errors import ConfigError, Problem

if TYPE_CHECKING:
    from engine.config.form import FormField

STAGES = "run.stages"
Origin = Literal["default", "file", "changed"]


def field_problem_words(problem: Problem) -> str:
    """What is wrong with a typed value, without the option that nobody has typed."""
    return str(problem).removeprefix("--set").lstrip(": ")


@dataclass(frozen=True)
class Heading:
    """A section. `used`: whether a stage of the run has to do with it."""

    name: str
    used: bool


@dataclass(frozen=True)
class StageBox:
    """A stage with its checkbox."""

    name: str


class StartForm:
    """A configuration file with changes over it. Raises ConfigError for a file that is wrong by itself."""

    def __init__(self, path: Path, changes: Sequence[str]) -> None:
        from engine.config.file import load_config  # pydantic: imported only where a form is opened

        self.path = path
        self._file = load_config(path).model_dump(mode="json")
        self._typed = dict[str, str]()
        for name, _, text in (change.partition("=") for change in changes):
            self.put(name.strip(), text, self._as_in_file(name.strip()))

    # ------------------------------------------------------------ values

    def _as_in_file(self, path: str) -> str | None:
        from engine.config.form import as_typed, value_at

        try:
            return as_typed(value_at(self._file, path))
        except (KeyError, TypeError):  # no field of that name
            return None

    @property
    def changes(self) -> list[str]:
        """`field=value` for each change."""
        return [f"{name}={text}" for name, text in self._typed.items()]

    @property
    def stages(self) -> list[str]:
        """The stages that run, in order."""
        if STAGES not in self._typed:
            return self._file["run"]["stages"]
        from engine.config import yaml_text

        try:
            value = yaml_text.parse(self._typed[STAGES]).value
        except yaml_text.YamlError:
            value = None
        return [str(name) for name in value] if isinstance(value, list) else self._file["run"]["stages"]

    def in_file(self, field: FormField) -> str:
        """The value without changes, as it is typed."""
        text = self._as_in_file(field.path)
        return field.default if text is None else text  # of a section that the file leaves out

    def value(self, field: FormField) -> tuple[str, Origin]:
        """The value as it is typed, and where it comes from."""
        if field.path in self._typed:
            return self._typed[field.path], "changed"
        text = self.in_file(field)
        return text, "default" if text == field.default else "file"

    def put(self, path: str, text: str, unchanged: str | None) -> None:
        """Change a field; back to what the file says is no change."""
        if text.strip() == unchanged:
            self._typed.pop(path, None)
        else:
            self._typed[path] = text.strip()

    def toggle_stage(self, name: str) -> None:
        """Tick or untick a stage; ticked ones run in the order in which methods declare them, others stay where they
        are."""
        from engine.config.form import stage_names

        chosen = self.stages
        if name in chosen:
            chosen = [stage for stage in chosen if stage != name]
        else:
            known = stage_names()
            later = [
                at
                for at, stage in enumerate(chosen)
                if stage in known and known.index(stage) > known.index(name)
            ]
            at = later[0] if later else len(chosen)
            chosen = [*chosen[:at], name, *chosen[at:]]
        self.put(STAGES, json.dumps(chosen), json.dumps(self._file["run"]["stages"]))

    def problem(self, changes: Iterable[str] | None = None, about: str = "") -> str:
        """What is wrong with the changes, in a line; empty if nothing is. `about`: this field comes first."""
        from app.runs.sweeps import plan_sweep
        from engine.config.file import load_config

        typed = list(self.changes if changes is None else changes)
        try:
            if plan_sweep(self.path, typed) is None:
                load_config(self.path, typed)
        except ConfigError as error:
            about_field = [problem for problem in error.problems if about and about in problem.where]
            return field_problem_words((about_field or error.problems)[0])
        return ""

    def problem_of(self, field: FormField, text: str) -> str:
        """What would be wrong if `text` were the field's value."""
        others = [change for change in self.changes if change.partition("=")[0] != field.path]
        return self.problem([*others, f"{field.path}={text}"], about=field.path)

    # ------------------------------------------------------------ rows

    def rows(self, search: str = "") -> list[Heading | StageBox | FormField]:
        """Stages, then the fields in their sections; those that no stage of the run has to do with come last. With
        `search`, only fields whose name or help has all its words."""
        from engine.config.form import form_fields, sections_by_stage, stage_names

        words = search.lower().split()
        known = sections_by_stage()
        methods = frozenset().union(*known.values())
        used = frozenset().union(*(known.get(stage, frozenset()) for stage in self.stages))
        stages = [StageBox(name) for name in dict.fromkeys([*stage_names(), *self.stages])]
        boxes = [box for box in stages if _has(words, f"stages {box.name}")]
        rows: list[Heading | StageBox | FormField] = [Heading("stages", True), *boxes] if boxes else []
        sections: dict[str, list[FormField]] = {}
        for field in form_fields():
            if _has(words, f"{field.path} {field.help}"):
                sections.setdefault(field.section, []).append(field)

        def is_used(section: str) -> bool:
            top = section.partition(".")[0]
            return top in used or top not in methods

        for section in sorted(sections, key=lambda name: not is_used(name)):
            rows += [Heading(section, is_used(section)), *sections[section]]
        return rows


def _has(words: Sequence[str], text: str) -> bool:
    return all(word in text.lower() for word in words)


def split_changes(text: str) -> list[str]:
    """`a=1 b="x y"` as a list. Raises ConfigError where a quote is open."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ConfigError(
            [Problem("changes", text, f"field=value, separated by spaces ({error})")]
        ) from error
