"""The key that a server wants: it stands in an environment variable, whose name alone a configuration knows."""

from __future__ import annotations

import re

NO_KEY = "none"
"""As `api_key_env`: the server wants no key."""
_NAME = re.compile(r"[A-Z_][A-Z0-9_]*|[a-z_][a-z0-9_]*")


def is_variable(name: str) -> bool:
    """Whether it can be a variable's name. Keys have dashes, or letters of both cases."""
    return _NAME.fullmatch(name) is not None


def fits_header(key: str) -> bool:
    """Whether it can be sent. What cannot is repeated in errors in ways that are not known to be the key's."""
    return key.isascii() and key.isprintable() and " " not in key
