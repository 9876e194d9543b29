"""Reads filter expressions, and reports where an expression is wrong.

expression   or-ed, and-ed terms: ``a or b``, ``a and b``, ``a b`` (and), ``not a``, ``(a b) or c``
comparison   ``alpha>0.5``, ``m:3``, ``m:2..4``, ``method:esm``, ``chosen:backward*``, ``gate!=tau_null``
contains     ``question~apples``
flag         ``correct``, ``not correct``; as a comparison ``correct:no``
nothing      ``score:none``
word         anything else: rows that mention it; quoted if it is also a field's name
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from app.table.filter import And, Compare, Expression, Field, Missing, Not, Or, Word

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<open>\() | (?P<close>\)) |
        (?P<relation><=|>=|!=|==|[<>=:~]) |
        (?P<quoted>"(?:[^"\\]|\\.)*") |
        (?P<not>[!-](?=[\w("]))  |
        (?P<word>[^\s()"<>=!:~]+)
    )""",
    re.VERBOSE | re.DOTALL,
)
_YES, _NO = {"yes", "true", "1"}, {"no", "false", "0"}
_DEEPEST = 60
_LONGEST = 200


class FilterError(ValueError):
    """What is wrong with an expression; `position` counts characters from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message} (at character {position + 1})")
        self.message = message
        self.position = position


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int


def parse(text: str, known: Mapping[str, Field]) -> Expression | None:
    """The expression in `text`; None if there is none. Raises FilterError."""
    parser = _Parser(_tokens(text), known, len(text))
    if parser.peek() is None:
        return None
    expression = parser.any_of(0)
    if (rest := parser.peek()) is not None:
        raise FilterError("this `)` closes nothing", rest.start)
    return expression


def complete(text: str, known: Mapping[str, Field]) -> list[str]:
    """Field names that complete the one at the end of `text`, in their order."""
    match = re.search(r"[\w-]*$", text)
    start = match.group().lower() if match else ""
    return [name for name in known if start and name.startswith(start) and name != start]


def _tokens(text: str) -> list[_Token]:
    tokens, at = [], 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            raise FilterError(_unreadable(text[start]), start)
        kind = match.lastgroup
        tokens.append(_Token(kind, match.group(kind), match.start(kind)))
        at = match.end()
        if len(tokens) > _LONGEST:
            raise FilterError("this filter is too long", tokens[-1].start)
    return tokens


def _unreadable(character: str) -> str:
    if character == '"':
        return "the quotation mark is not closed"
    return f"`{character}` is not expected here"


class _Parser:
    """Recursive descent; each method leaves behind what it has read."""

    def __init__(self, tokens: Sequence[_Token], known: Mapping[str, Field], end: int) -> None:
        self._tokens = tokens
        self._known = known
        self._end = end
        self._at = 0

    def peek(self) -> _Token | None:
        """The next token, if any."""
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def any_of(self, depth: int) -> Expression:
        """Alternatives."""
        left = self._all_of(depth)
        while self._keyword("or"):
            left = Or(left, self._all_of(depth))
        return left

    def _all_of(self, depth: int) -> Expression:
        left = self._single(depth)
        while (token := self.peek()) is not None and token.kind != "close" and not self._is_word(token, "or"):
            self._keyword("and")
            left = And(left, self._single(depth))
        return left

    def _single(self, depth: int) -> Expression:
        if depth > _DEEPEST:
            raise FilterError("too many levels", self._where())
        token = self.peek()
        if token is None:
            raise FilterError("something is missing at the end", self._end)
        if token.kind == "not" or self._is_word(token, "not"):
            self._at += 1
            return Not(self._single(depth + 1))
        if token.kind == "open":
            return self._group(token, depth)
        if token.kind == "quoted":
            self._at += 1
            return Word(_unquoted(token))
        if token.kind == "word" and token.text.lower() not in ("and", "or"):
            return self._term(token)
        raise FilterError(f"a field or a word is missing before `{token.text}`", token.start)

    def _group(self, opening: _Token, depth: int) -> Expression:
        self._at += 1
        inner = self.any_of(depth + 1)
        closing = self.peek()
        if closing is None:
            raise FilterError("this `(` is not closed", opening.start)
        self._at += 1
        return inner

    def _term(self, token: _Token) -> Expression:
        self._at += 1
        relation = self.peek()
        field = self._known.get(token.text.lower())
        if relation is None or relation.kind != "relation":
            return self._bare(token, field)
        if field is None:
            raise FilterError(self._no_field(token.text), token.start)
        self._at += 1
        value = self.peek()
        if value is None or value.kind not in ("word", "quoted", "not"):
            raise FilterError(f"a value is missing after `{field.name}{relation.text}`", self._where())
        return self._relation(field, relation, self._value(value))

    def _value(self, token: _Token) -> _Token:
        self._at += 1
        if token.kind != "not":
            return token
        number = self.peek()  # the minus of a negative number
        if number is None or number.kind != "word" or token.text != "-":
            raise FilterError("a value is missing", token.start)
        self._at += 1
        return _Token("word", "-" + number.text, token.start)

    def _bare(self, token: _Token, field: Field | None) -> Expression:
        if field is None:
            return Word(token.text)
        if field.kind == "flag":
            return Compare(field, "=", True)
        example = f"{field.name}>0.5" if field.kind == "number" else f"{field.name}:…"
        raise FilterError(
            f'`{field.name}` is a field and needs a comparison such as {example}; the word is "{field.name}"',
            token.start,
        )

    def _relation(self, field: Field, relation: _Token, value: _Token) -> Expression:
        sign = "=" if relation.text in (":", "==") else relation.text
        text = _unquoted(value) if value.kind == "quoted" else value.text
        if value.kind == "word" and text.lower() in ("none", "unknown") and sign in ("=", "!="):
            return Missing(field) if sign == "=" else Not(Missing(field))
        if field.kind == "number":
            return self._number(field, sign, text, relation, value)
        if field.kind == "flag":
            return self._flag(field, sign, text, relation, value)
        if sign not in ("=", "!=", "~"):
            raise FilterError(f"`{field.name}` is text: it takes `:`, `!=` and `~`", relation.start)
        return Compare(field, sign, text)

    def _number(self, field: Field, sign: str, text: str, relation: _Token, value: _Token) -> Expression:
        if sign == "~":
            raise FilterError(
                f"`{field.name}` is a number: it takes `:` `!=` `<` `<=` `>` `>=`", relation.start
            )
        low, dots, high = text.partition("..")
        if dots and sign == "=":
            least, most = _number(low, value.start), _number(high, value.start + len(low) + 2)
            return And(Compare(field, ">=", least), Compare(field, "<=", most))
        return Compare(field, sign, _number(text, value.start))

    def _flag(self, field: Field, sign: str, text: str, relation: _Token, value: _Token) -> Expression:
        if sign not in ("=", "!="):
            raise FilterError(f"`{field.name}` is yes or no: it takes `:` and `!=`", relation.start)
        if text.lower() not in _YES | _NO:
            raise FilterError(f"`{text}` is neither yes, no nor none", value.start)
        return Compare(field, sign, text.lower() in _YES)

    def _no_field(self, name: str) -> str:
        near = difflib.get_close_matches(name.lower(), self._known, n=1)
        return f"no field `{name}`" + (f"; is it `{near[0]}`?" if near else "; ? lists them")

    def _keyword(self, word: str) -> bool:
        token = self.peek()
        if token is None or not self._is_word(token, word):
            return False
        self._at += 1
        return True

    @staticmethod
    def _is_word(token: _Token, word: str) -> bool:
        return token.kind == "word" and token.text.lower() == word

    def _where(self) -> int:
        token = self.peek()
        return self._end if token is None else token.start


def _unquoted(token: _Token) -> str:
    return re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)


def _number(text: str, position: int) -> float:
    try:
        number = float(text)
    except ValueError:
        raise FilterError(f"`{text}` is not a number", position) from None
    if not isfinite(number):
        raise FilterError(f"`{text}` is not a number that can be compared", position)
    return number
