"""What importing one side may not bring along, seen in a clean process."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib.util import find_spec

import pytest

import app
import engine
import screens

_INTERFACE = {"textual", "rich", "app", "screens"}
_SLOW = {"torch", "transformers", "numpy", "sympy", "pyarrow", "matplotlib", "sklearn", "pydantic", "yaml"}


_OF_AN_EXTRA = {"engine.lm.vllm.": "vllm"}
"""Modules that an extra's package must be there for."""


def modules(package: object) -> list[str]:
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")  # type: ignore[attr-defined]
    missing = tuple(name for name, extra in _OF_AN_EXTRA.items() if find_spec(extra) is None)
    names = [module.name for module in found if not module.name.endswith("__main__")]
    return [name for name in names if not name.startswith(missing)]


def brought_along(names: list[str], unwanted: set[str], without: tuple[str, ...] = ()) -> set[str]:
    """What of `unwanted`, packages and modules, is loaded after importing `names` in a process that has no package of
    `without`."""
    script = (
        f"import gc, sys\ngc.disable()\nfor name in {without!r}: sys.modules[name] = None\n"
        f"for name in {names!r}: __import__(name)\nprint(*(n for n, m in sys.modules.items() if m))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True
    )
    loaded = done.stdout.split()
    return unwanted & {*loaded, *(name.partition(".")[0] for name in loaded)}


def test_engine_brings_no_interface() -> None:
    """scikit-learn, which transformers imports by itself, takes up rich where it finds it: the engine has to
    do without."""
    assert brought_along(modules(engine), _INTERFACE, without=("rich",)) == set()


@pytest.mark.parametrize("package", [app, screens], ids=["app", "screens"])
def test_interface_brings_nothing_slow(package: object) -> None:
    """The first paint must not wait for a tensor library, nor for reading configurations."""
    assert brought_along(modules(package), _SLOW) == set()


def test_first_paint_waits_for_no_runs_state() -> None:
    """The list of runs draws records; the states of a run are for its own screens."""
    assert (
        brought_along(["app.cli", "app.shell"], {"app.state.esm", "app.state.run", "app.runs.session"})
        == set()
    )
