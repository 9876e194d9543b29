"""What ESM changes where it should change nothing: the KL of its answers to unrelated questions to the unsteered model.

Each question is answered with the run's own memory, gates and probes. Along every steered segment of the answer both
next-token distributions are taken, with the steering and without, on the same tokens; KL(steered ‖ unsteered) is
summed over them in nats. Elsewhere the two models are the same, as every segment starts from an unsteered prefix. The
figure is this sum divided by the tokens of all answers: a memory that stays closed costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.config.config import Config
from engine.esm.library.memory import EpisodicMemory
from engine.esm.online.controller import Controller
from engine.esm.online.variants import retrieving
from engine.lm.protocol import LanguageModel, Request, Sampling, Steer
from engine.scale.work import WorkContext

Line = dict[str, Any]
BATCH = 8
"""Questions that are answered together."""


@dataclass(frozen=True)
class SideEffects:
    """Turns unrelated questions into lines: tokens of the answer, how many of them were steered, their KL in all."""

    config: Config
    memory: EpisodicMemory

    def open(self, context: WorkContext) -> Callable[[Sequence[str]], list[Line]]:
        """Load the model. Raises ModelError."""
        model = context.load_model(self.config.model)
        variant = retrieving("esm", self.memory, self.config.online)
        controller = Controller(model, self.config, variant)
        vectors = {entry.tool_name: entry.vector for entry in self.memory.entries}

        def measured(questions: Sequence[str]) -> list[Line]:
            prompts = [model.tokenizer.encode_chat(text, self.config.prompt.system) for text in questions]
            answers = controller.run([f"unrelated: {text}" for text in questions], prompts)
            lines: list[Line] = []
            for question, prompt, answer in zip(questions, prompts, answers, strict=True):
                begin, steered, total = 0, 0, 0.0
                for decision in answer.decisions:
                    segment = answer.tokens[begin : begin + decision.committed_tokens]
                    vector = vectors.get(decision.chosen) if decision.chosen else None
                    if vector is not None and decision.layer is not None and segment:
                        context.checkpoint()
                        steer = Steer(vector, decision.layer, decision.alpha)
                        prefix = [*prompt, *answer.tokens[:begin]]
                        total += _kl(model, prefix, segment, steer)
                        steered += len(segment)
                    begin += decision.committed_tokens
                tokens = len(answer.tokens)
                lines.append({"question": question, "tokens": tokens, "steered": steered, "kl": total})
            return lines

        return measured


def mean_kl(lines: Sequence[Line]) -> float:
    """Nats a token."""
    return sum(line["kl"] for line in lines) / max(1, sum(line["tokens"] for line in lines))


def _kl(model: LanguageModel, prefix: Sequence[int], segment: Sequence[int], steer: Steer) -> float:
    """KL(steered ‖ unsteered), summed over the tokens of the segment."""
    p, q = (_log_probabilities(model, prefix, segment, one) for one in (steer, None))
    return float(max(0.0, (np.exp(p) * (p - q)).sum()))


def _log_probabilities(
    model: LanguageModel, prefix: Sequence[int], segment: Sequence[int], steer: Steer | None
) -> NDArray[np.float64]:
    """(tokens, vocabulary): of each next token along the segment, which the model is made to write."""
    import torch

    rows: list[NDArray[np.float64]] = []

    def force(generated: Sequence[Sequence[int]], logits: Any) -> Any:
        at = len(generated[0])
        rows.append(torch.log_softmax(logits[0].double(), dim=-1).cpu().numpy())
        forced = torch.full_like(logits, float("-inf"))
        forced[0, segment[at]] = 0.0
        return forced

    request = Request(list(prefix), Sampling(len(segment)), steer=steer)
    model.generate([request], logits_processor=force)
    return np.stack(rows)
