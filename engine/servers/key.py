"""The key that a server needs: it stands in an environment variable, whose name alone a configuration knows."""

from __future__ import annotations

import os
import re

from engine.servers.address import is_local

NO_KEY = "none"
"""As `api_key_env`: the server needs no key."""
_NAME = re.compile(r"[A-Z_][A-Z0-9_]*|[a-z_][a-z0-9_]*")


def is_variable(name: str) -> bool:
    """Whether it can be a variable's name. Keys have dashes, or letters of both cases."""
    return _NAME.fullmatch(name) is not None


def lacks_key(name: str, base_url: str | None) -> bool:
    """Whether the variable `name` has to hold a key and does not: a server on this machine may be asked without."""
    if name == NO_KEY or os.environ.get(name, "").strip():
        return False
    return base_url is None or not is_local(base_url)


def fits_header(key: str) -> bool:
    """Whether it can be sent. What cannot is repeated in errors in ways that are not known to be the key's."""
    return key.isascii() and key.isprintable() and " " not in key
