"""Secrets struck out of texts, however a server that repeats them has written them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

STRUCK = "***"
_LEAST_ENCODED = 8
"""Shorter secrets are looked for as they are: their encodings would be found in other words."""


class Secrets:
    """What must not stand in a log, a file, a screen or an error."""

    def __init__(self, secrets: Iterable[str]) -> None:
        ordered = sorted({secret for secret in secrets if secret}, key=len, reverse=True)
        self._patterns = [(len(secret), _pattern(secret)) for secret in ordered]

    def strike(self, text: str, shortest: int = 1) -> str:
        """`text` without the secrets that are not shorter than `shortest`."""
        for length, pattern in self._patterns:
            if length >= shortest:
                text = pattern.sub(STRUCK, text)
        return text


def _pattern(secret: str) -> re.Pattern[str]:
    """The secret itself, with any of its letters escaped as in JSON, Python, URLs or HTML, and its whole as base64 or
    hexadecimal."""
    if len(secret) < _LEAST_ENCODED:
        return re.compile(re.escape(secret))
    whole = [re.escape(form) for form in (*_base64_forms(secret), quote(secret, safe=""))]
    digits = secret.encode().hex()
    return re.compile("|".join(["".join(map(_letter, secret)), *whole, f"(?i:{digits})"]))


def _letter(letter: str) -> str:
    """A letter as it is (after backslashes where it is one that is escaped so), or as one of its escapes."""
    code = ord(letter)
    plain = re.escape(letter) if letter.isalnum() else rf"\\{{0,8}}{re.escape(letter)}"
    escapes = (
        rf"\\{{1,8}}u00{code:02x}|\\{{1,8}}x{code:02x}|%{code:02x}|&#0{{0,5}}{code};|&#x0{{0,5}}{code:x};"
    )
    return rf"(?:{plain}|(?i:{escapes}))"


def _base64_forms(secret: str) -> Sequence[str]:
    """Base64 of any text that holds the secret has one of these in it: those letters that depend on it alone, for the
    three places at which it may begin."""
    forms: list[str] = []
    data = secret.encode()
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        first = -(-before * 8 // 6)
        last = (before + len(data)) * 8 // 6
        forms.append(coded[first:last])
    return [*forms, *(form.translate(str.maketrans("+/", "-_")) for form in forms)]
