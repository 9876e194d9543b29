"""Whatever way a server writes a key back, it is found; what is no key is left alone."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable
from urllib.parse import quote

import pytest

from engine.servers.secrets import Secrets

KEY = "sk-proj/Ab12+geheim_9"
WAYS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "JSON": json.dumps,
    "a letter escaped": lambda key: key.replace("s", "\\u0073", 1),
    "all escaped": lambda key: "".join(f"\\u{ord(letter):04X}" for letter in key),
    "escaped twice": lambda key: json.dumps("".join(f"\\u{ord(letter):04x}" for letter in key)),
    "slashes escaped": lambda key: key.replace("/", "\\/"),
    "hexadecimal escapes": lambda key: "".join(f"\\x{ord(letter):02x}" for letter in key),
    "URL": lambda key: quote(key, safe=""),
    "URL, all": lambda key: "".join(f"%{ord(letter):02X}" for letter in key),
    "HTML": lambda key: "".join(f"&#{ord(letter)};" for letter in key),
    "HTML, hexadecimal": lambda key: "".join(f"&#x{ord(letter):x};" for letter in key),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 in a text": lambda key: base64.b64encode(f"Bearer {key} was sent".encode()).decode(),
    "base64 for URLs": lambda key: base64.urlsafe_b64encode(f"a{key}".encode()).decode(),
    "hexadecimal": lambda key: key.encode().hex().upper(),
    "hexadecimal with colons": lambda key: key.encode().hex(":"),
    "hexadecimal numbers": lambda key: ", ".join(f"0x{byte:02x}" for byte in key.encode()),
    "codes": lambda key: ", ".join(map(str, key.encode())),
    "octal escapes": lambda key: "".join(f"\\{ord(letter):03o}" for letter in key),
    "escapes in braces": lambda key: "".join(f"\\u{{{ord(letter):x}}}" for letter in key),
    "URL twice": lambda key: quote(quote(key, safe=""), safe=""),
    "URL, all, twice": lambda key: "".join(f"%25{ord(letter):02X}" for letter in key),
    "HTML twice": lambda key: "".join(f"&amp;#{ord(letter)};" for letter in key),
    "HTML by names": lambda key: key.replace("/", "&sol;").replace("+", "&plus;").replace("_", "&lowbar;"),
    "as in mail": lambda key: "".join(f"={byte:02X}" for byte in key.encode()),
    "as in mail, soft line ends": lambda key: f"{key[:7]}=\n{key[7:]}",
    "over lines": lambda key: "\n  ".join(key[at : at + 6] for at in range(0, len(key), 6)),
    "over escaped lines": lambda key: json.dumps(f"{key[:5]}\n{key[5:]}"),
    "letter by letter": " ".join,
    "with spaces that nobody sees": "\u200b".join,
    "with spaces that nobody sees, escaped": lambda key: json.dumps("\u200b".join(key)),
    "soft line ends, escaped": lambda key: json.dumps(f"{key[:7]}=\n{key[7:]}"),
    "added up": lambda key: f"{key[:9]}' + '{key[9:]}",
    "base64 over lines": lambda key: "\n".join(
        re.findall(".{1,10}", base64.b64encode(f"key {key}".encode()).decode())
    ),
    "base64 twice": lambda key: base64.b64encode(base64.b64encode(key.encode())).decode(),
    "base64 of UTF-16": lambda key: base64.b64encode(key.encode("utf-16-le")).decode(),
    "base32": lambda key: base64.b32encode(f"ab{key}".encode()).decode(),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_key_is_found_however_it_is_written(way: str) -> None:
    written = WAYS[way](KEY)
    struck = Secrets([KEY]).redact(f"before {written} after")
    assert "***" in struck and struck.startswith("before ") and struck.endswith(" after")
    for piece in (written, KEY, KEY[3:-3], written[len(written) // 3 : 2 * len(written) // 3]):
        assert piece not in struck


def test_base64_for_urls_has_other_signs() -> None:
    key = "geheim~~~???>>>"
    written = base64.urlsafe_b64encode(key.encode()).decode()
    assert "-" in written and "_" in written
    assert Secrets([key]).redact(f"a {written} b") == "a *** b"


def test_the_longest_key_is_struck_first() -> None:
    """A shorter one that is its end would leave its beginning."""
    assert (
        Secrets(["zz-Key-77", "ab-zz-Key-77"]).redact("with ab-zz-Key-77 and zz-Key-77") == "with *** and ***"
    )
    nested = ["y" * length for length in (3, 9, 5, 8, 4, 7, 6)]
    assert Secrets([*nested, "", "yyy"]).redact("a yyyyyyyyy b") == "a *** b"


def test_nothing_else_is_struck() -> None:
    secrets = Secrets([KEY, "", "EMPTY"])
    text = json.dumps({"answer": "sk-proj/Ab12 is a prefix, \\u0073 an escape", "n": [1, 2]})
    assert secrets.redact(text) == text
    assert secrets.redact("EMPTY words", shortest=8) == "EMPTY words"
    assert secrets.redact("EMPTY words") == "*** words"
    assert secrets.redact("EMPTY words", shortest=5) == "*** words"
    assert secrets.redact("EMPTY words", shortest=6) == "EMPTY words"
    assert Secrets([]).redact(KEY) == KEY


@pytest.mark.parametrize(("key", "found"), [("geheim7", False), ("geheim78", True)])
def test_a_key_of_eight_letters_is_found_encoded_a_shorter_one_as_it_is(key: str, found: bool) -> None:
    secrets = Secrets([key])
    assert secrets.redact(f"a {key} b") == "a *** b"
    for written in (key.encode().hex(), base64.b64encode(key.encode()).decode(), f"{key[:3]}\n{key[3:]}"):
        assert (secrets.redact(written) != written) is found


@pytest.mark.parametrize(
    "piece", ["\\", "sk-proj", "s", "%73", "&#115;", "\\u0073", "s\n", "73", "115, ", "%25", "&amp;"]
)
def test_looking_is_linear(piece: str) -> None:
    secrets = Secrets([KEY])
    began = time.process_time()
    secrets.redact(piece * (300_000 // len(piece)))
    assert time.process_time() - began < 2
