"""Secrets redacted from texts, however a server that repeats them has written them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable
from html.entities import html5
from urllib.parse import quote

from engine.json_texts import changed_texts

REDACTED = "***"
_LEAST_ENCODED = 8
"""Shorter secrets are looked for as they are: their encodings would be found in other words."""
_BETWEEN = (
    r"(?:[\s\0\u00ad\u200b-\u200d\u2060\ufeff]|=?\\{1,8}[nrt]"
    r"|\\{1,8}(?i:u(?:00ad|200[b-d]|2060|feff|00[01][0-9a-f])|x[01a][0-9a-f])"
    r"|=\r?\n|%0[ad]|[\"'] ?\+ ?[\"']|<wbr>|<br ?/?>){0,4}"
)
"""What may stand between two letters of a text that is split over lines, or by what nobody sees."""
_BETWEEN_CODED = r"(?:\s|\\{1,8}[nr]){0,4}"
_BETWEEN_NUMBERS = r"[\s,;]{1,3}"
_BETWEEN_CODES = r"[\s:;,.-]{0,3}(?:0x|\\{0,8}x|u\+00|%)?"


class Secrets:
    """What must not stand in a log, a file, a screen or an error."""

    def __init__(self, secrets: Iterable[str]) -> None:
        ordered = sorted({secret for secret in secrets if secret}, key=len, reverse=True)
        self._patterns = [(len(secret), _pattern(secret)) for secret in ordered]

    def redact(self, text: str, shortest: int = 1) -> str:
        """`text` without the secrets that are not shorter than `shortest`."""
        for length, pattern in self._patterns:
            if length >= shortest:
                text = pattern.sub(REDACTED, text)
        return text

    def redact_json(self, text: str, shortest: int = 1) -> str:
        """The same; where `text` is JSON, in each text that its reader will find in it as well."""
        text = self.redact(text, shortest)
        try:
            parsed = json.loads(text)
            redacted = changed_texts(parsed, lambda inner: self.redact(inner, shortest))
        except (ValueError, RecursionError):
            return text
        return text if redacted == parsed else json.dumps(redacted, ensure_ascii=False)


def _pattern(secret: str) -> re.Pattern[str]:
    """The secret itself, with any of its letters escaped as in JSON, Python, URLs, mail or HTML, also split; and its
    whole as base64, base32, hexadecimal or a list of codes."""
    if len(secret) < _LEAST_ENCODED:
        return re.compile(re.escape(secret))
    data = secret.encode()
    forms = [
        _BETWEEN.join(map(_letter, secret)),
        re.escape(quote(secret, safe="")),
        *(_BETWEEN_CODED.join(map(re.escape, form)) for form in sorted(_coded(data), key=len, reverse=True)),
        f"(?i:{_BETWEEN_CODES.join(f'{byte:02x}' for byte in data)})",
        rf"(?<!\d){_BETWEEN_NUMBERS.join(map(str, data))}(?!\d)",
    ]
    return re.compile("|".join(forms))


def _letter(letter: str) -> str:
    """A letter as it is (after backslashes where it is one that is escaped so), or as one of its escapes."""
    code = ord(letter)
    plain = re.escape(letter) if letter.isalnum() else rf"\\{{0,8}}{re.escape(letter)}"
    named = "".join(f"|&{name}" for name in _NAMES.get(letter, ()))
    escapes = (
        rf"\\{{1,8}}(?:u00{code:02x}|u\{{0{{0,4}}{code:x}\}}|x{code:02x}|0?{code:03o})|%(?:25){{0,3}}{code:02x}|={code:02x}"
        rf"|&(?:amp;){{0,2}}#0{{0,5}}{code};|&(?:amp;){{0,2}}#x0{{0,5}}{code:x};{named}"
    )
    return rf"(?:{plain}|(?i:{escapes}))"


def _names() -> dict[str, list[str]]:
    """HTML's names of each letter, such as `sol;` for a slash."""
    names: dict[str, list[str]] = {}
    for name, letter in html5.items():
        if name.endswith(";"):
            names.setdefault(letter, []).append(re.escape(name))
    return names


_NAMES = _names()


def _coded(data: bytes) -> set[str]:
    """Pieces of base64 and base32 that a text with the secret has in it: also of base64 twice, and of UTF-16."""
    once = set(_forms(data, 6, 3, base64.b64encode))
    whole = base64.b64encode(data).rstrip(b"=")[:-1]  # its last letter depends on what follows the secret
    twice = set(_forms(whole, 6, 3, base64.b64encode))
    wide = set(_forms(data.decode().encode("utf-16-le"), 6, 3, base64.b64encode))
    forms = once | twice | wide
    for_urls = {form.translate(str.maketrans("+/", "-_")) for form in forms}
    return forms | for_urls | set(_forms(data, 5, 5, base64.b32encode))


def _forms(data: bytes, bits: int, group: int, encode: Callable[[bytes], bytes]) -> Iterable[str]:
    """The letters, of `bits` each, that depend on `data` alone, for each place in a group at which it may begin."""
    for before in range(group):
        coded = encode(b"\0" * before + data).decode().rstrip("=")
        yield coded[-(-before * 8 // bits) : (before + len(data)) * 8 // bits]
