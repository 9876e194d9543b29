"""Draws screens/pictures/what-if.svg: a what-if of ESM in a finished run of the demo, as an SVG that moves by CSS.

    python -m tests.bench.draw_moving_picture RUN

Keys like a user's lead from frame to frame; each frame stays for as many seconds as FRAMES says.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from app.export import picture_of
from app.shell import First, SteerApp
from tests.bench.draw_pictures import FIXED, PICTURES, press

SIZE = (110, 32)
FRAMES: tuple[tuple[tuple[str, ...], float], ...] = (
    (("1", "wait", *FIXED, "wait"), 3.0),
    (("enter", "wait"), 4.0),
    (("w", "wait"), 3.0),
    (("f2", "long"), 6.0),
)
"""The keys that lead to a frame, and the seconds for which it is shown."""


async def frames(run: Path) -> list[str]:
    """Each frame as an SVG of its own."""
    app = SteerApp(run.parent.parent, First(run))
    pictures = []
    async with app.run_test(size=SIZE) as pilot:
        while app.session is None or not app.session.caught_up:
            await pilot.pause(0.05)
        await pilot.pause(1.5)
        for keys, _ in FRAMES:
            for key in keys:
                await press(pilot, key)
            pictures.append(picture_of(app))
    return pictures


def moving(pictures: Sequence[str], seconds: Sequence[float]) -> str:
    """SVGs of one size, each with names of its own, as one that shows them in turn; still where motion is unwanted."""
    opening = re.search(r"<svg[^>]*>", pictures[0])
    assert opening is not None
    whole = sum(seconds)
    rules, groups = [], []
    begins = 0.0
    for number, (picture, length) in enumerate(zip(pictures, seconds, strict=True)):
        first, last = (100 * at / whole for at in (begins, begins + length))
        hidden_before = f"0%, {first - 0.01:.2f}% {{ opacity: 0 }} " if number else ""
        hidden_after = f" {last + 0.01:.2f}%, 100% {{ opacity: 0 }}" if last < 100 else ""
        rules.append(
            f"@keyframes turn{number} {{ {hidden_before}{first:.2f}%, {last:.2f}% {{ opacity: 1 }}{hidden_after} }}\n"
            f".turn{number} {{ animation: turn{number} {whole:g}s step-end infinite }}"
        )
        inside = picture[picture.index(">", picture.index("<svg")) + 1 : picture.rindex("</svg>")]
        groups.append(f'<g class="turn turn{number}">{inside}</g>')
        begins += length
    still = "@media (prefers-reduced-motion: reduce) { .turn { animation: none } }"
    style = "\n".join([*rules, still])
    return f"{opening.group()}\n<style>\n{style}\n</style>\n" + "\n".join(groups) + "\n</svg>\n"


def main(run: Path) -> None:
    pictures = asyncio.run(frames(run.absolute()))
    picture = moving(pictures, [seconds for _, seconds in FRAMES])
    (PICTURES / "what-if.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
