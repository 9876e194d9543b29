"""ESM's memory as a lever: it decides segment by segment while an answer is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.config.config import Config
from engine.config.esm import OnlineSection
from engine.esm import layout
from engine.esm.library.entry_names import chosen_name
from engine.esm.library.memory import EpisodicMemory
from engine.esm.online.variants import Variant, retrieving
from engine.events import DecisionTaken
from engine.levers.lever import ESM, LeverDid
from engine.lm.protocol import ModelInfo


class EsmLever:
    """The memory of a run, and the rules by which its controller uses it."""

    def __init__(self, run_dir: Path, config: Config, info: ModelInfo) -> None:
        """Raises DataError where there is no memory, or one of another model."""
        self.config = config
        self.memory = EpisodicMemory.load(layout.memory(run_dir), layout.library(run_dir), info)
        wrong = sum(entry.vector is not None for entry in self.memory.entries)
        layers = ", ".join(map(str, self.memory.layers))
        self.about = (
            f"a memory of {len(self.memory.entries)} entries, {wrong} with a vector, at layer {layers}"
        )

    def variant(self, online: OnlineSection) -> Variant:
        """The controller's rules with these settings."""
        return retrieving("esm", self.memory, online)


def esm_did(decisions: Sequence[DecisionTaken], probe_tokens: int) -> LeverDid:
    """What the memory did to an answer."""
    points = [decision for decision in decisions if decision.phase == "segment"]
    steered = [decision for decision in points if decision.chosen is not None]
    steps = ", ".join(f"{chosen_name(d)} at α {d.alpha:.3g} in segment {d.m}" for d in steered)
    count = "1 segment" if len(points) == 1 else f"{len(points)} segments"
    what = f"steered {len(steered)} of {count}: {steps}" if steered else f"weighed {count} and steered none"
    return LeverDid(lever=ESM, acted=bool(steered), what=what, tokens=probe_tokens)
