"""The command line of an SGLang server, checked so that only this machine can reach the server.

Custom processors are code: anyone who reaches the server can run any program.
"""

from __future__ import annotations

import ipaddress
import itertools
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.config.models.sglang import ServerSection
from engine.errors import ConfigError, wrong_value
from engine.versions import package_version

HOST = "127.0.0.1"
PLACE = "evolution.server"
_LOOPBACK = (HOST, "localhost", "::1")
_LISTENING = "0A"
"""The state of a listening socket in the kernel's tables."""


def server_command(section: ServerSection, model: str) -> list[str]:
    """The command line, filled in. Raises ConfigError for a wrong placeholder, a host that others can reach, or an
    API key, which would end up in the run's files."""
    try:
        filled = [
            word.format(python=sys.executable, model=model, host=HOST, port=section.port)
            for word in shlex.split(section.command)
        ]
    except (LookupError, AttributeError, ValueError) as error:
        allowed = "a command line with {python}, {model}, {host} and {port} as its only placeholders"
        raise _wrong(section.command, f"{allowed} ({error})") from error
    if not filled:
        raise _wrong(section.command, "a command line")
    options = [(word.partition("=")[0], word.partition("=")[2] or after)
               for word, after in itertools.pairwise([*filled, ""])]  # fmt: skip
    # The server's own parser also takes the beginning of an option's name.
    if any(name in ("--ho", "--hos", "--host") and value not in _LOOPBACK for name, value in options):
        raise _wrong(section.command, f"--host {HOST}: only this machine may reach the server")
    if any(name in ("--api-key", "--admin-api-key") for name, _ in options):
        raise _wrong("(not shown)", "a command line without a key: only this machine may reach the server")
    return filled


def missing_program(section: ServerSection) -> str:
    """What the command starts and this machine does not have: a program, or the package; empty if it is there."""
    command = server_command(section, "model")
    if command[0] != sys.executable:
        return "" if shutil.which(command[0]) else f"the program {command[0]}"
    runs_package = any(word.split(".")[0] == "sglang" for word in command[1:3])
    return "the package sglang" if runs_package and package_version("sglang") is None else ""


def draws_by_seed(command: Sequence[str]) -> bool:
    """Whether the server samples by each request's seed: SGLang does so only with --enable-deterministic-inference."""
    return any(word.startswith("--enable-determ") for word in command)


def network_addresses(port: int) -> list[str]:
    """Addresses other than loopback on which a process listens at `port`; empty on systems other than Linux."""
    addresses: list[str] = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            local, _, state = line.split()[1:4]
            host, _, number = local.partition(":")
            if state == _LISTENING and int(number, 16) == port and not _address(host).is_loopback:
                addresses.append(str(_address(host)))
    return addresses


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The address in the kernel's hexadecimal words, each in the machine's byte order."""
    words = [bytes.fromhex(text[start : start + 8]) for start in range(0, len(text), 8)]
    if sys.byteorder == "little":
        words = [word[::-1] for word in words]
    address = ipaddress.ip_address(b"".join(words))
    return getattr(address, "ipv4_mapped", None) or address


def _wrong(value: str, allowed: str) -> ConfigError:
    return wrong_value(f"{PLACE}.command", value, allowed)
