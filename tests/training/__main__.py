"""Train an included model again: `make train-embedded MODEL=statements`, or

    python -m tests.training [arithmetic|statements|dialogues]

Writes `outputs/train-embedded/NAME/model`; look at it before you copy it to `engine/embedded/NAME`. Ctrl+C saves the
state, and the same command goes on from there: the weights end as if nothing had stopped it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.training.recipes import get_recipe
from tests.training.train import Progress, train

OUTPUTS = Path("outputs") / "train-embedded"


def main() -> None:
    """Train the recipe that the command line names."""
    recipe = get_recipe(sys.argv[1] if len(sys.argv) > 1 else None)
    folder = train(recipe, OUTPUTS / recipe.name, _report)
    print(f"trained: {folder}")


def _report(progress: Progress) -> None:
    speed = f"{progress.tokens_per_second:,.0f} tokens/s"
    print(f"step {progress.step:,} of {progress.total:,}  loss {progress.loss:.3f}  {speed}", flush=True)


if __name__ == "__main__":
    main()
