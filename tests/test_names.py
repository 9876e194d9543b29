"""Names are the field's words: what is defined in the program holds no word that a reader would have to look up."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]

INSTEAD = {
    "desk": "scheduler",
    "door": "what it is",
    "flight": "`in_flight` alone is the usual word; else batch, pending",
    "found": "results, matches, or what it is",
    "gone": "removed, disconnected, exited",
    "grow": "append_only, or what it does",
    "mend": "hint, fix",
    "news": "update",
    "outside": "plugin, out_of_range, not_in_…",
    "own": "custom, or the noun of the thing",
    "said": "message, answer, text, what it is",
    "seldom": "throttled",
    "steady": "what it does",
    "strike": "redact",
    "take_in": "record",
    "take_up": "restore",
    "ticket": "pending request",
    "told": "reported, message, text",
    "usual": "default",
    "wanted": "requested, target, or the noun",
}

IN_FILES = {
    "engine/events/scale.py": {"own"},
    "engine/events/serve.py": {"usual"},
    "engine/events/slsm.py": {"gone_text"},
}
"""Fields of events: they stand in the logs of users' runs."""

NOT_YET: dict[str, set[str]] = {}
"""Names below a folder that are still to be renamed. This list only gets shorter."""

_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_WORD = re.compile("|".join(rf"_{word}(?=_)" for word in INSTEAD))
_IDENTIFIER = re.compile(r"[^\W\d]\w*")


def word_in(name: str) -> str:
    """The first word of the glossary in a name, or nothing: `_own_rows`, `OwnRows` and `OWN` hold `own`, `known` does
    not."""
    parts = f"_{'_'.join(_PARTS.findall(name)).lower()}_".replace("_in_flight_", "_")
    match = _WORD.search(parts)
    return match[0][1:] if match else ""


_NAMED_BY = {
    ast.FunctionDef: "name",
    ast.AsyncFunctionDef: "name",
    ast.ClassDef: "name",
    ast.arg: "arg",
    ast.Name: "id",
    ast.Attribute: "attr",
    ast.ExceptHandler: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.MatchMapping: "rest",
    ast.alias: "asname",
}
_STORE = ast.Store()


def defined_names(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of what is defined: functions, classes, parameters, variables, attributes, names of imports."""
    nodes: Iterator[Any] = ast.walk(ast.parse(source))
    for node in nodes:
        name = getattr(node, _NAMED_BY.get(type(node), ""), None)
        if name and isinstance(getattr(node, "ctx", _STORE), ast.Store):
            yield node.lineno, name


def odd_names(path: str, source: str) -> Iterator[tuple[str, int, str, str]]:
    """Path, line, name and the word in it; a module's own name stands in line 1."""
    names = [(1, Path(path).stem)]
    if any(map(word_in, set(_IDENTIFIER.findall(source)))):  # else there is nothing to parse
        names += defined_names(source)
    return ((path, line, name, word) for line, name in names if (word := word_in(name)))


def _allowances(path: str, name: str) -> list[tuple[str, str]]:
    folders = [folder for folder in NOT_YET if not folder or path.startswith(f"{folder}/")]
    return [(folder, name) for folder in folders if name in NOT_YET[folder]]


def test_names_are_words_of_the_field() -> None:
    """In app, engine and screens; an allowance that nothing needs any more is to be taken away."""
    used: set[tuple[str, str]] = set()
    wrong: list[str] = []
    modules = [path for package in ("app", "engine", "screens") for path in (ROOT / package).rglob("*.py")]
    assert len(modules) > 500
    for module in modules:
        for path, line, name, word in odd_names(str(module.relative_to(ROOT)), module.read_text()):
            allowances = _allowances(path, name)
            used.update(allowances)
            if not allowances and name not in IN_FILES.get(path, ()):
                wrong.append(f"{path}:{line}: `{name}` holds `{word}`; write instead: {INSTEAD[word]}")
    assert not wrong, "\n".join(sorted(wrong))
    unused = {(folder, name) for folder, names in NOT_YET.items() for name in names} - used
    assert not unused, f"renamed by now, take it out of NOT_YET: {sorted(unused)}"


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("own", "own"), ("_own_rows", "own"), ("OwnRows", "own"), ("MOST_SAID", "said"), ("RunWanted", "wanted"),
        ("task_take_in", "take_in"), ("KEPT_MEND", "mend"), ("flights", ""), ("max_in_flight", ""), ("InFlight", ""),
        ("in_flight_found", "found"), ("Flight", "flight"), ("known", ""), ("recommend", ""), ("foundation", ""),
        ("take_update", ""), ("take_input", ""), ("JSONFound", "found"),
    ],
)  # fmt: skip
def test_words_in_names(name: str, word: str) -> None:
    assert word_in(name) == word


def test_where_names_are_defined() -> None:
    source = '''
import numpy as own_1
def own_2(own_3, *own_4, own_5=None, **own_6):
    """own_no"""
    for own_7 in own_3.own_no: print(own_no=1)
    self.own_8 = (own_9 := 1)
    try: ...
    except E as own_10: ...
    match x:
        case [1, *own_11] | {"a": 1, **own_12} as own_13: ...
class Own14:
    own_15: int
async def own_16(): return lambda own_17: [own_18 for own_18 in "own_no"]
'''
    assert {
        int(re.sub(r"\D", "", name)) for _, name in defined_names(source) if name[:3] in ("own", "Own")
    } == {*range(1, 19)}
    assert [(line, name) for _, line, name, _ in odd_names("app/own.py", "x = 1\ny.told = 2")] == [
        (1, "own"),
        (2, "told"),
    ]
