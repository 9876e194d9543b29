"""How the engine is started in another process: with this very copy of the program."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from sysconfig import get_path

_ROOT = str(Path(__file__).resolve().parents[2])


def engine_command(*arguments: str) -> list[str]:
    """`python -m engine` with these arguments, in the environment of `engine_environment`.

    The working folder is not searched for modules (`-P`): a folder named `engine` in it is none of ours.
    """
    return [sys.executable, "-P", "-m", "engine", *arguments]


def engine_environment() -> dict[str, str]:
    """This process's environment, with this copy as the first place to look for modules, unless it is where Python
    looks anyway."""
    first = [] if _ROOT in (get_path("purelib"), get_path("platlib")) else [_ROOT]
    path = os.pathsep.join([*first, *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
