"""Reading a configuration: YAML and `--set` overrides in, a `Config` out, or all errors at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import ValidationError

from engine.config import yaml_text
from engine.config.config import Config
from engine.config.schema import SCHEMA, Location, all_fields, allowed_words, resolved, schema_at
from engine.config.section import RECORDED
from engine.config.stages import stage_problems
from engine.errors import ConfigError, Problem
from engine.regular_file import open_to_read
from engine.servers.address import has_password, without_passwords

_FIELD = re.compile(r"[\w.-]{1,200}")
_LONGEST_VALUE = 60
_MOST_PROBLEMS = 40
_SECRETS = ("api_key", "apikey", "password", "secret", "token")
"""In names of fields whose values no error repeats."""
_DESCRIPTORS = (Path("/dev/fd"), Path("/proc/self/fd"))
_STDIN = Path("/dev/stdin")


def load_config(path: Path, overrides: Sequence[str] = ()) -> Config:
    """Read `path` and set `section.field=value` overrides over it, their values read as YAML.

    No value is converted and no unknown field is ignored. Raises ConfigError with all problems: where (file,
    line and field), the value, and the allowed values.
    """
    document = _read(path)
    problems = [
        Problem(f"{path}:{line} {_dotted(place)}", "the key again", "each key once")
        for place, line in document.doubles
    ]
    value = {} if document.value is None else document.value
    if not isinstance(value, dict):
        raise ConfigError([*problems, Problem(f"{path}:1", _shown(value), "a mapping of sections")])
    origins: dict[Location, str] = {place: f"{path}:{line}" for place, line in document.lines.items()}
    for number, override in enumerate(overrides, 1):
        problems.extend(_set(value, override, number, origins))
    problems.extend(_merge_kconfig(value, path, origins))
    problems.extend(_check_stages(value, path, origins))
    problems.extend(_passwords(value, (), path, origins))
    try:
        config = Config.model_validate(value, context=RECORDED if _is_recorded(path) else None)
    except ValidationError as error:
        raise ConfigError(_most([*problems, *_explain(error, path, origins)], error.error_count())) from None
    if problems:
        raise ConfigError(_most(problems, 0))
    return config


def _is_recorded(path: Path) -> bool:
    """Whether the file is what a run or a sweep has recorded."""
    records = (path.with_name(name) for name in ("run.json", "sweep.json"))
    return path.name == "config.yaml" and any(record.is_file() for record in records)


def _most(problems: list[Problem], explained: int) -> list[Problem]:
    """The first problems of very many; `explained`: how many of them validation found."""
    left_out = max(0, len(problems) - _MOST_PROBLEMS) + max(0, explained - _MOST_PROBLEMS)
    shown = problems[:_MOST_PROBLEMS]
    return [*shown, Problem("", "", f"and {left_out:,} more")] if left_out else shown


def dump_config(config: Config) -> str:
    """All fields as YAML; `load_config` reads the same configuration back."""
    return yaml_text.dump(config.model_dump(mode="json"))


# ---------------------------------------------------------------- reading


def _read(path: Path) -> yaml_text.Document:
    try:
        if path.parent in _DESCRIPTORS or path == _STDIN:
            return yaml_text.parse(_of_descriptor(path))
        return yaml_text.parse(_beginning(open_to_read(path)))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        problem = Problem(str(path), "", f"a YAML file that can be read: {reason}")
    except UnicodeDecodeError as error:
        problem = Problem(str(path), f"byte {error.start} is not UTF-8", "YAML in UTF-8")
    except yaml_text.YamlError as error:
        problem = Problem(f"{path}:{error.line}", str(error), "valid YAML")
    raise ConfigError([problem])


@cache
def _of_descriptor(path: Path) -> str:
    """What stands behind a descriptor that the user's command was given, `--config <(…)`: it may be a pipe, which is
    read once, and gives its text once."""
    return _beginning(path.open("rb"))


def _beginning(opened: BinaryIO) -> str:
    """As much of a file as a configuration may hold, and a letter more where it is longer."""
    with TextIOWrapper(opened, encoding="utf-8") as file:
        return file.read(yaml_text.LARGEST + 1)


def _set(value: dict[Any, Any], override: str, number: int, origins: dict[Location, str]) -> list[Problem]:
    """Set an override in `value`; returns its problems, which never repeat the value: it may be a password. Of a word
    without `=` they repeat what looks like a field, of others they say which word it is."""
    place, equals, text = override.partition("=")
    keys = place.strip().split(".")
    is_known = schema_at(tuple(keys)) is not None
    is_shown = _FIELD.fullmatch(place.strip()) and (equals or is_known or _is_close(place.strip()))
    origin = f"--set {place}" if is_shown else "--set"
    if not equals or not all(keys):
        shown = "" if is_shown else f"no field in word {number}"
        return [Problem(origin, shown, "section.field=value")]
    if not is_known:
        shown = "" if is_shown else "a text that is not repeated here"
        return [Problem(origin, shown, f"a known field{_meant(tuple(keys))}")]
    try:
        parsed = yaml_text.parse(text).value
    except yaml_text.YamlError as error:
        return [Problem(origin, "", f"a YAML value: {error}")]
    target = value
    for key in keys[:-1]:
        target = target.setdefault(key, {})
        if not isinstance(target, dict):
            return []  # the file has no section there, which validation reports
    target[keys[-1]] = parsed
    origins[tuple(keys)] = "--set"
    return []


def _is_close(word: str) -> bool:
    return bool(get_close_matches(word.lower(), map(str.lower, all_fields(SCHEMA)), n=1, cutoff=0.8))


def _merge_kconfig(value: dict[Any, Any], path: Path, origins: dict[Location, str]) -> list[Problem]:
    """Add the values of the .config that `evolution.kconfig` names, below those of the YAML; returns its problems."""
    section = value.get("evolution")
    name = section.get("kconfig") if isinstance(section, dict) else None
    if not isinstance(name, str):
        return []
    from engine.config.kconfig import read_kconfig  # imported only for a .config

    try:
        kconfig, places = read_kconfig(path.parent / Path(name).expanduser())
    except ConfigError as error:
        return list(error.problems)
    _merge(value, kconfig)
    for place, origin in places.items():
        origins.setdefault(place, origin)
    return []


def _merge(over: dict[Any, Any], under: dict[str, Any]) -> None:
    """Add the fields of `under` that `over` lacks, section by section."""
    for key, value in under.items():
        if isinstance(value, dict) and isinstance(over.get(key), dict):
            _merge(over[key], value)
        else:
            over.setdefault(key, value)


def _check_stages(value: dict[Any, Any], path: Path, origins: dict[Location, str]) -> list[Problem]:
    """The problems of `run.stages`, if it is a list of names."""
    run = value.get("run")
    names = run.get("stages") if isinstance(run, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return []
    return stage_problems(names, f"{_origin(('run', 'stages'), path, origins)} run.stages")


def _passwords(value: Any, place: Location, path: Path, origins: dict[Location, str]) -> Iterable[Problem]:
    """A problem for each text with a user's password in an address: the run's folder keeps its configuration."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _passwords(inner, (*place, key), path, origins)
    elif isinstance(value, str) and has_password(value):
        where = f"{_origin(place, path, origins)} {_dotted(place)}".rstrip()
        yield Problem(where, "a password in an address", "an address without user and password")


# ---------------------------------------------------------------- explaining


def _explain(error: ValidationError, path: Path, origins: dict[Location, str]) -> Iterable[Problem]:
    explained_places: set[Location] = set()
    for detail in error.errors(include_url=False)[:_MOST_PROBLEMS]:
        unknown = detail["type"] == "extra_forbidden"
        place = detail["loc"] if unknown else _field_of(detail["loc"])
        if place in explained_places:
            continue
        explained_places.add(place)
        where = f"{_origin(place, path, origins)} {_dotted(place)}".rstrip()
        if unknown:
            hidden = isinstance(detail["input"], str) and any(
                part in str(place[-1]).lower() for part in _SECRETS
            )
            shown = "a text that is not repeated here" if hidden else _shown(detail["input"])
            yield Problem(where, shown, f"a known field{_meant(place)}")
        elif detail["type"] == "value_error":
            yield Problem(where, "", detail["msg"].removeprefix("Value error, "))
        else:
            schema = schema_at(place)
            allowed = allowed_words(schema) if schema is not None else detail["msg"]
            yield Problem(where, _shown(detail["input"]), allowed)


def _field_of(place: Location) -> Location:
    """Without the name of one of several forms that a value may have, and what is wrong in that form: all forms are
    said."""
    field = next((place[:at] for at in range(len(place)) if schema_at(place[: at + 1]) is None), place)
    return field if "anyOf" in (schema_at(field) or ()) else place


def _origin(place: Location, path: Path, origins: dict[Location, str]) -> str:
    """Where the value at `place` was written, or the nearest section around it."""
    for length in range(len(place), 0, -1):
        if place[:length] in origins:
            return origins[place[:length]]
    return str(path)


def _meant(place: Location) -> str:
    """A guess at the field meant by an unknown name: a similar name beside it, else one elsewhere."""
    name, beside = str(place[-1]), schema_at(place[:-1]) or {}
    forms = beside.get("anyOf", [beside])
    fields = {key.lower(): key for form in forms for key in resolved(form).get("properties", {})}
    if close := get_close_matches(name.lower(), fields, n=1):
        return f"; did you mean `{_dotted((*place[:-1], fields[close[0]]))}`?"
    section = get_close_matches(str(place[0]), SCHEMA["properties"], n=1)
    inside = _dotted(place[:-1])
    last = sorted(
        all_fields(SCHEMA), key=lambda path: (path.split(".")[0] in section, path.startswith(inside))
    )
    known = {path.rpartition(".")[2]: path for path in last}
    if close := get_close_matches(name, known, n=1, cutoff=0.8):
        return f"; did you mean `{known[close[0]]}`?"
    return f"; did you mean section `{section[0]}`?" if section and section[0] != place[0] else ""


def _shown(value: Any) -> str:
    text = "nothing" if value is None else without_passwords(repr(value))
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def _dotted(place: Iterable[str | int]) -> str:
    text = ""
    for key in place:
        text += f"[{key}]" if isinstance(key, int) else f".{_one_key(key)}"
    return text.removeprefix(".")


def _one_key(key: str) -> str:
    """A key of the file as an error can hold it."""
    text = key if key.isprintable() else repr(key)[1:-1]
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
