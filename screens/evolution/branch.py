"""The question before a branch: what is copied, what will be new."""

from __future__ import annotations

from app.wording.text import counted
from screens.panels.ask import AskScreen

_MOST = 10_000


def branch_question(run: str, iteration: int, planned: int) -> AskScreen:
    """Asks how many new iterations follow on `iteration` of `run`, which plans `planned` in all (0: not known). As many
    as the run itself has left; where it has none left, as many as it had."""
    copied = iteration + 1
    left = planned - copied

    def describe(text: str) -> str:
        new = _count(text)
        first = "iteration 0" if iteration == 0 else f"iterations 0 to {iteration}"
        numbers = f"{copied}" if new == 1 else f"{copied} to {copied + new - 1}"
        return (
            f"Starts a new run beside {run}. It copies {first}, takes the deltas of iteration {iteration}, and runs "
            f"{counted(new, 'new iterations')} ({numbers}). {run} is not changed.\n\n"
            "enter starts it and shows it; esc then leads back here."
        )

    return AskScreen(
        f"Branch from iteration {iteration}", describe, str(left if left > 0 else max(1, planned))
    )


def total(text: str, iteration: int) -> int:
    """Iterations of the branch in all, for the answer to the question."""
    return iteration + 1 + _count(text)


def _count(text: str) -> int:
    """Raises ValueError for what is no number of iterations."""
    if not text.strip().isascii() or not text.strip().isdigit() or not 1 <= int(text.strip()[:9]) <= _MOST:
        raise ValueError(f"How many new iterations? A whole number from 1 to {_MOST:,}.")
    return int(text)
