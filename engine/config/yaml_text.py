"""YAML as configurations use it: the YAML 1.2 core types, no key twice, and the line of each value.

PyYAML follows YAML 1.1, where `no` is false, `1e-3` is a string, `010` is eight and `1:30` is ninety. Here a
value is what it looks like, or a string. Why not ruamel.yaml: it too reads `1_000`, `0b11` and dates as more than
strings, and stops at the first double key, so types and walk would have to stand here all the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

Path = tuple[str | int, ...]

_TYPES: list[tuple[str, str, str]] = [
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "-+."),
    ("merge", r"<<", "<"),
]


def _resolvers() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for name, pattern, firsts in _TYPES:
        compiled = re.compile(rf"^(?:{pattern})$")
        for first in [*firsts, ""] if name == "null" else firsts:
            resolvers.setdefault(first, []).append((f"tag:yaml.org,2002:{name}", compiled))
    return resolvers


_KINDS = ("null", "str", "seq", "map")
_CONSTRUCTORS = yaml.SafeLoader.yaml_constructors


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = _resolvers()
    # Dates, bytes and sets, which tags can ask for, fit in no field; PyYAML's readers of some of them fail.
    yaml_constructors = {
        tag: _CONSTRUCTORS[tag] for tag in (None, *(f"tag:yaml.org,2002:{kind}" for kind in _KINDS))
    }

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Stops at values that are nested too deeply: PyYAML's time grows with the square of the depth."""
        self.nested = getattr(self, "nested", 0) + 1
        if self.nested > _DEEPEST + 2:
            raise YamlError(_TOO_DEEP, self.line + 1)
        node = super().compose_node(parent, index)  # type: ignore[no-untyped-call]
        self.nested -= 1
        return node


class _Dumper(yaml.SafeDumper):
    yaml_implicit_resolvers = _resolvers()

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _construct_int(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    text = loader.construct_scalar(node)
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    return whole_number(text[2:] if base != 10 else text, base)


def whole_number(text: str, base: int = 10) -> int:
    """Raises ValueError for one of more than 63 bits: neither the log nor an array holds it."""
    number = int(text, base) if len(text) < 100 else _TOO_LARGE
    if abs(number) >= _TOO_LARGE:
        raise ValueError("whole numbers below 2^63")
    return number


def _construct_bool(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> bool:
    text = loader.construct_scalar(node)
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text[:60]!r} is neither true nor false")
    return text.lower() == "true"


def _construct_float(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    return float(loader.construct_scalar(node).lower().replace(".inf", "inf").replace(".nan", "nan"))


_Loader.add_constructor("tag:yaml.org,2002:bool", _construct_bool)
_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _construct_float)


LARGEST = 1 << 18
"""Characters of a text: the longest configuration has some thousand."""
_MOST_VALUES = 20_000
"""Values, each counted as often as aliases repeat it."""
_DEEPEST = 24
_TOO_LARGE = 1 << 63
_LONGEST_MESSAGE = 300
_TOO_DEEP = f"values are nested more than {_DEEPEST} deep"


class YamlError(ValueError):
    """The text is not YAML. `line` counts from 1."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what if len(what) <= _LONGEST_MESSAGE else f"{what[:_LONGEST_MESSAGE]}…")
        self.line = line


_BUT = re.compile(r"expected (.+?),? but (?:got|found) (.+)", re.DOTALL)
_SIGNS = {
    "'<scalar>'": "a value", "'<stream end>'": "the end", "the node content": "a value",
    "'<block mapping start>'": "another indent", "<block end>": "the indent of the lines before",
}  # fmt: skip


def _in_words(error: yaml.MarkedYAMLError) -> str:
    """What is wrong, with signs of PyYAML's in words: `a value where ',' or '}' should stand`."""
    problem = error.problem or "what stands here"
    if match := _BUT.fullmatch(problem):
        here, due = (_SIGNS.get(sign, sign) for sign in (match[2], match[1]))
        return f"{here} where {due} should stand"
    return f"{error.context}: {problem}" if error.context else problem


@dataclass
class Document:
    """A parsed text. `lines`: path of a value -> its line, from 1; `doubles`: paths of keys that occur
    twice, with the line of the second; `count`: values, each as often as aliases repeat it."""

    value: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    doubles: list[tuple[Path, int]] = field(default_factory=list)
    count: int = 0


def parse(text: str) -> Document:
    """Parse one YAML document. Raises YamlError, also for one that is far too large for a configuration."""
    if len(text) > LARGEST:
        raise YamlError(f"more than {LARGEST:,} characters, too many for a configuration", 1)
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        document = Document()
        if node is not None:
            _walk(node, (), document, frozenset())
            document.value = loader.construct_document(node)
        return document
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(_in_words(error), mark.line + 1 if mark else 1) from error
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, YamlError):
            raise
        raise YamlError(str(error), 1) from error


_LINE_ENDS = ("\x85", "\u2028", "\u2029")
"""Characters that YAML reads as line ends: only double quotes preserve them."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    style = '"' if any(end in value for end in _LINE_ENDS) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def dump(value: Any) -> str:
    """YAML that `parse` reads back as the same value; keys keep their order."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def _walk(node: yaml.Node, path: Path, document: Document, above: frozenset[int]) -> None:
    """Record the lines of everything below `node`, and its repeated keys."""
    if id(node) in above:
        raise YamlError("an alias that contains itself", node.start_mark.line + 1)
    if len(path) > _DEEPEST:
        raise YamlError(_TOO_DEEP, node.start_mark.line + 1)
    document.count += 1  # a key that occurs twice has one place in `lines`, but two values
    if document.count > _MOST_VALUES:
        raise YamlError(f"more than {_MOST_VALUES:,} values, aliases counted", node.start_mark.line + 1)
    document.lines[path] = node.start_mark.line + 1
    inside = above | {id(node)}
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _walk(item, (*path, index), document, inside)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, item in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise YamlError("a key that is a list or a mapping", line)
            place = (*path, key.value)
            if place[-1] in seen:
                document.doubles.append((place, line))
            seen.add(place[-1])
            _walk(item, place, document, inside)
            document.lines[place] = line
