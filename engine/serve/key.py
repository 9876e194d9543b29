"""The key of the server: from the environment, or in a file that only its owner can read."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from engine.config.serve import ServeSection
from engine.errors import disk_errors, wrong_value
from engine.servers.key import NO_KEY, fits_header, is_variable


@dataclass(frozen=True)
class ServerKey:
    """`secret`: None where none is asked for; `place`: where it is to be found, in words; `made`: just now."""

    secret: str | None
    place: str
    made: bool = False

    def opens(self, given: str) -> bool:
        """Whether `given` is the key."""
        return self.secret is None or secrets.compare_digest(given.encode(), self.secret.encode())


def server_key(section: ServeSection, run_dir: Path) -> ServerKey:
    """The configured key; a new one where no file holds one yet. Raises ConfigError for a key that cannot be used."""
    if (named := named_key(section)) is not None:
        return named
    path = run_dir / "serve" / "key"
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        made = _make(path)
        return ServerKey(_read(path), str(path), made)


def named_key(section: ServeSection) -> ServerKey | None:
    """The key that the configuration names; None where it lies in the run's folder. Raises ConfigError."""
    name = section.key_env
    if name is None:
        return None
    if name == NO_KEY:
        return ServerKey(None, "no key is asked for")
    if not is_variable(name):
        raise wrong_value("serve.key_env", "", "the name of an environment variable, not a key")
    secret = os.environ.get(name, "").strip()
    if not secret or not fits_header(secret):
        raise wrong_value(f"environment variable {name}", "", "the key of the server, without spaces")
    return ServerKey(secret, f"environment variable {name}")


def _make(path: Path) -> bool:
    """Write a new key where there is no file."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(file, "w") as written:
        written.write(f"sk-steer-{secrets.token_urlsafe(24)}\n")
    return True


def _read(path: Path) -> str:
    if path.stat().st_mode & 0o077:
        raise wrong_value(str(path), "a file that others can read", f"chmod 600 {path}")
    secret = path.read_text(encoding="utf-8").strip()
    if not secret or not fits_header(secret):
        raise wrong_value(str(path), "", "a file with the key alone")
    return secret
