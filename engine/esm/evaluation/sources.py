"""What methods of stage `eval` are made from, read once and sent to every replica."""

from __future__ import annotations

from dataclasses import dataclass

from engine.config.config import Config
from engine.esm.baselines.cast import Condition
from engine.esm.baselines.prompt_pairs import PromptPair
from engine.esm.baselines.seal import MinedAnswer
from engine.esm.library.memory import EpisodicMemory
from engine.lm.protocol import LanguageModel, Vector


@dataclass(frozen=True)
class Sources:
    """A field for each need that a method may have (`engine.config.esm_methods.Need`), None where no method has it.
    `vector`: with its layer; `library`: a condition between its wrong and right states, and the mean of its vectors."""

    memory: EpisodicMemory | None = None
    library: tuple[Condition, Vector] | None = None
    answers: tuple[MinedAnswer, ...] | None = None
    vector: tuple[int, Vector] | None = None
    pairs: tuple[PromptPair, ...] | None = None


@dataclass(frozen=True)
class VariantInputs:
    """What the method `name` is made with."""

    name: str
    model: LanguageModel
    config: Config
    sources: Sources

    @property
    def memory(self) -> EpisodicMemory:
        """For methods that need it."""
        assert self.sources.memory is not None
        return self.sources.memory
