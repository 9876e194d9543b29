"""Draws screens/pictures from a finished run of the demo, driven by keys like a user's.

    python -m tests.bench.draw_pictures RUN [NAME ...]

RUN is the run's folder; the list of runs shows the folder that its name lies in. Without names, all pictures are drawn
but `compare` and `compare-trace`, which show the two newest runs there: of ESM alone, with `online.L` 3 and then 1.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from textual.pilot import Pilot

from app.export import picture_of
from app.shell import First, SteerApp

PICTURES = Path(__file__).resolve().parents[2] / "screens" / "pictures"
SIZE = (120, 36)
COMPARED = ("escape", "wait", "down", "m", "up", "c", "wait", "wait", "down")
FIXED = ("slash", *"method:esm and fixed and steered".replace(" ", "_"), "enter", "g")
KEYS: dict[str, tuple[str, ...]] = {
    "runs": ("escape", "wait"),
    "overview": ("wait", "down", "wait"),
    "esm-live": ("1", "wait", *FIXED, "wait"),
    "esm-decision": ("1", "wait", *FIXED, "enter", "wait"),
    "esm-results": ("1", "wait", "2", "wait"),
    "evolution": ("2", "wait"),
    "gflownet": ("3", "wait", "1", "wait"),
    "slsm": ("4", "wait"),
    "pool": ("5", "wait"),
    "compare": (*COMPARED, "wait"),
    "compare-trace": (*COMPARED, "enter", "wait", *4 * ("down",), "enter", "wait"),
}
"""Keys that lead from the overview to each picture. `wait`: until the log is read and drawn; `long`: for a model."""
_WAITS = {"wait": 1.5, "long": 40.0}


async def draw(run: Path, name: str) -> None:
    """One picture, in a console of its own."""
    app = SteerApp(run.parent.parent, First(run))
    async with app.run_test(size=SIZE) as pilot:
        while app.session is None or not app.session.caught_up:
            await pilot.pause(0.05)
        await pilot.pause(1.5)
        for key in KEYS[name]:
            await press(pilot, key)
        (PICTURES / f"{name}.svg").write_text(picture_of(app), encoding="utf-8")


async def press(pilot: Pilot[None], key: str) -> None:
    """A key as KEYS names it."""
    if key in _WAITS:
        ends = time.monotonic() + _WAITS[key]
        while time.monotonic() < ends:
            await pilot.pause(0.05)
        return
    await pilot.press({"_": "space", ":": "colon", ">": "greater_than_sign"}.get(key, key))


def main(run: Path, names: list[str]) -> None:
    for name in names or [name for name in KEYS if not name.startswith("compare")]:
        asyncio.run(draw(run.absolute(), name))
        print(name, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
