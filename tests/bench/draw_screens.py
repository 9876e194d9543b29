"""Draws every screen of a finished run of all five methods at a size, to be looked at one by one.

    python -m tests.bench.draw_screens RUN FOLDER [COLUMNSxLINES] [WALK ...]

Without a size at 80x24 and 140x40, without names all walks. `sweep` needs a sweep on top of the list of runs, `error` a
failed run in it, `server` a RUN that serves. Sampling again and trying another decision write into the
run: give a copy of it.
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

from textual.pilot import Pilot

from app.export import picture_of
from app.shell import First, SteerApp
from tests.bench.draw_pictures import press

SIZES = ((80, 24), (140, 40))
Walk = tuple[tuple[str, str], ...]
"""Steps from the overview: keys, separated by blanks, and then the picture's name."""

WALKS: dict[str, Walk] = {
    "run": (
        ("wait", "overview"),
        ("down down enter wait", "overview-card"),
        ("escape question_mark wait", "overview-help"),
        ("escape ctrl+p wait", "palette"),
    ),
    "runs": (
        ("escape wait", "runs"),
        ("question_mark wait", "runs-help"),
        ("escape slash s t a t e colon wait", "runs-filter"),
        ("escape g m m c wait wait wait", "compare"),
        ("enter wait", "compare-items"),
        ("enter wait", "compare-trace"),
        ("question_mark wait", "compare-help"),
    ),
    "start": (
        ("escape wait plus wait wait", "new-run"),
        ("tab tab wait o n l i n e . L = 3 wait wait", "new-run-changed"),
        ("ctrl+o wait wait", "start-form"),
        ("down down down down down down down down down down wait", "start-form-below"),
        ("question_mark wait", "start-form-help"),
    ),
    "levers": (
        ("W wait", "levers"),
        ("W h a t space i s space 3 + 4 ? enter long", "levers-answered"),
        ("escape wait semicolon wait", "note"),
        ("g o o d enter M wait", "notes"),
    ),
    "sweep": (
        ("escape wait g wait", "runs-with-sweep"),
        ("enter wait wait", "sweep"),
        ("question_mark wait", "sweep-help"),
    ),
    "error": (
        ("escape wait slash s t a t e : f a i l e d enter wait", "runs-failed"),
        ("E wait", "error"),
        ("escape enter wait wait", "overview-failed"),
    ),
    "server": (
        ("wait", "server-overview"),
        ("1 wait", "server"),
        ("2 wait", "server-requests"),
        ("enter wait", "server-request"),
        ("question_mark wait", "server-help"),
    ),
    "esm": (
        ("1 wait", "esm-decisions"),
        ("1 wait slash m e t h o d : e s m space f i x e d wait", "esm-filter"),
        ("enter wait g wait", "esm-fixed"),
        ("enter wait", "esm-decision"),
        ("pagedown wait", "esm-decision-below"),
        ("w wait", "esm-what-if"),
        ("f2 long", "esm-what-if-answered"),
        ("escape escape escape 1 wait", "esm-pairs"),
        ("enter wait", "esm-pair"),
        ("escape 1 wait", "esm-entries"),
        ("enter wait", "esm-entry"),
        ("escape 2 wait", "esm-results"),
        ("z wait", "esm-chart"),
        ("escape tab enter wait", "esm-result"),
        ("3 wait", "esm-training"),
        ("question_mark wait", "esm-help"),
    ),
    "evolution": (
        ("2 wait", "evolution-iterations"),
        ("enter wait", "evolution-iteration"),
        ("pagedown wait", "evolution-iteration-below"),
        ("escape b wait", "evolution-branch"),
        ("escape escape 1 wait", "evolution-answers"),
        ("enter wait", "evolution-answer"),
        ("w wait", "evolution-what-if"),
        ("escape wait escape wait 2 wait", "evolution-results"),
        ("3 wait", "evolution-training"),
        ("z wait", "evolution-chart"),
    ),
    "gflownet": (
        ("3 wait", "gflownet-questions"),
        ("enter wait", "gflownet-question"),
        ("w wait", "gflownet-what-if"),
        ("enter long", "gflownet-what-if-answered"),
        ("escape wait escape wait 2 wait", "gflownet-results"),
        ("pagedown wait", "gflownet-results-below"),
        ("3 wait", "gflownet-training"),
        ("pagedown wait", "gflownet-training-below"),
        ("z wait", "gflownet-chart"),
    ),
    "slsm": (
        ("4 wait", "slsm-cases"),
        ("enter wait", "slsm-case"),
        ("w wait", "slsm-what-if"),
        ("escape wait escape wait 2 wait", "slsm-results"),
        ("pagedown wait", "slsm-results-below"),
        ("3 wait", "slsm-talk"),
        ("h e l l o enter long", "slsm-talk-answered"),
    ),
    "pool": (
        ("5 wait 1 wait", "pool-queries"),
        ("enter wait", "pool-query"),
        ("pagedown wait", "pool-query-below"),
        ("escape 2 wait", "pool-totals"),
        ("3 wait", "pool-selector"),
        ("enter wait", "pool-method"),
        ("escape 4 wait", "pool-picks"),
        ("enter wait", "pool-pick"),
        ("w wait", "pool-what-if"),
    ),
}


async def walk(run: Path, folder: Path, size: tuple[int, int], name: str) -> None:
    """All pictures of a walk, in one console."""
    app = SteerApp(run.parent.parent, First(run))
    async with app.run_test(size=size) as pilot:
        while app.session is None or not app.session.caught_up:
            await pilot.pause(0.05)
        await press(pilot, "wait")  # the overview opens when the log has been read
        for keys, picture in WALKS[name]:
            await _go(pilot, keys)
            path = folder / f"{picture}-{size[0]}x{size[1]}.svg"
            path.write_text(picture_of(app), encoding="utf-8")
        await app.action_quit()


async def _go(pilot: Pilot[None], keys: str) -> None:
    for key in keys.split():
        await press(
            pilot, {".": "full_stop", "=": "equals_sign", "+": "plus", "?": "question_mark"}.get(key, key)
        )


def main(run: Path, folder: Path, options: list[str]) -> None:
    sizes = [(int(w), int(h)) for w, h in re.findall(r"(\d+)x(\d+)", " ".join(options))] or SIZES
    folder.mkdir(parents=True, exist_ok=True)
    for size in sizes:
        for name in [option for option in options if option in WALKS] or WALKS:
            asyncio.run(walk(run.absolute(), folder, size, name))
            print(name, *size, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
