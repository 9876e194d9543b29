"""Which code folds and packs states: a snapshot made by other code is of no use."""

from __future__ import annotations

import hashlib
import sys
from array import array
from functools import cache
from pathlib import Path
from types import ModuleType

from app.state.run import RunState, method_states
from engine.events import event_types
from engine.run import stage_state


@cache
def modules() -> tuple[ModuleType, ...]:
    """The modules of all states and events, those of other packages included."""
    kinds = [RunState, *method_states().values(), *event_types()]
    names = dict.fromkeys(base.__module__ for kind in kinds for base in kind.__mro__)
    others = {*sys.stdlib_module_names, "msgspec"}
    ours = [sys.modules[name] for name in names if name.split(".")[0] not in others]
    return (*ours, stage_state)


@cache
def code_key() -> str:
    """A digest of the source in the folders of these modules, and of how this machine stores numbers. Raises OSError
    where there is no source."""
    digest = hashlib.sha256(f"{sys.byteorder} {[array(code).itemsize for code in 'bhilqd']}".encode())
    folders = {Path(file).parent for module in modules() if (file := module.__file__)}
    for folder in sorted({*folders, Path(__file__).parent}):
        for path in sorted(folder.glob("*.py")):
            digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()
