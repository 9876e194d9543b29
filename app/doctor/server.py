"""`steer-tui doctor --server URL`: what a server is, what it can do, and which roles it can take in a run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from app.terminal.text_console import make_console
from engine.doctor.capabilities import Capability
from engine.doctor.server import ServerReport, examine
from engine.servers.address import is_bare, is_local, shown_address
from engine.servers.key import NO_KEY, is_variable

_MARKS = {"ok": ("ok  ", "green"), "no": ("no  ", "yellow"), "unknown": ("?   ", "dim")}
_PLAIN = re.compile(r"[A-Za-z][\w.-]*(?:[/:]+[\w.-]+)*/?")
"""Text that needs no quotes in a flow mapping of YAML."""
_NEEDED = frozenset(["reachable", "models", "chat completions"])


def run_server_doctor(
    server: str,
    model: str | None,
    key_env: str,
    console: Console | None = None,
    environment: Mapping[str, str] = os.environ,
) -> int:
    """Print each capability as it is checked; 0 if a role can use the server, else 1. The key is never printed."""
    console = console or make_console()
    if not is_variable(key_env):
        _say(console, "--key-env takes the name of the variable that holds the key, not the key")
        return 1
    key = "" if key_env == NO_KEY else environment.get(key_env, "").strip()
    if key:
        _say(console, f"looking at {shown_address(server)} with the key in {key_env}")
    else:
        _say(console, f"looking at {shown_address(server)} without a key")
    for result in examine(server, key, key_env, model):
        if isinstance(result, ServerReport):
            _verdict(console, result, key_env if key or not is_local(server) else NO_KEY)
            if result.usable and not is_bare(server):
                _say(
                    console,
                    "addresses in configurations have no user, password or query: only the key is sent",
                )
            return 0 if result.usable else 1
        console.print(_line(result), soft_wrap=True)
    return 1


def _line(capability: Capability) -> Text:
    mark, style = _MARKS[capability.state]
    style = "red" if capability.state == "no" and capability.name in _NEEDED else style
    line = Text(mark, style=style) + Text(f"{capability.name}: {capability.text}")
    return line + Text(f" - {capability.meaning}") if capability.meaning else line


def _verdict(console: Console, result: ServerReport, key_env: str) -> None:
    if not result.usable:
        console.print(Text("no role can use this server yet: see the red lines above", style="bold"))
        return
    roles = "reflector, judge, controller, model" + (", vision" if result.images else "")
    console.print(Text(f"can be: {roles}", style="bold"))
    model, base_url = _quoted(result.model), _quoted(result.base_url)
    _say(console, f"openai: {{model: {model}, base_url: {base_url}, api_key_env: {key_env}}}")


def _quoted(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def _say(console: Console, text: str) -> None:
    console.print(Text(text), soft_wrap=True)
