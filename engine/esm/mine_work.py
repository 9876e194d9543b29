"""The work of stage `mine`: rollouts of a batch of examples, scored and contrasted (spec ESM 3.1 to 3.6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.config.config import Config
from engine.errors import DataError
from engine.esm.contrast import Contrast, Rollout, contrast, split_rollouts
from engine.esm.gold import gold_rollout
from engine.esm.reward import length_regularized_reward
from engine.events import PairMined, RolloutsMined
from engine.lm.protocol import Completion, LanguageModel, Request, Sampling
from engine.scale.work import WorkContext
from engine.seeds import derive_seed
from engine.tasks.example import TaskExample
from engine.tasks.task import get_task

PairRecord = dict[str, Any]
Batch = Sequence[TaskExample]


@dataclass(frozen=True)
class MinedPair:
    """A pair as `pairs.jsonl` keeps it, its vectors, and as the log tells it."""

    record: PairRecord
    vectors: Contrast
    event: PairMined


@dataclass(frozen=True)
class MinedExample:
    """`line`: as `rollouts.jsonl` keeps it; `tokens` were generated."""

    line: dict[str, Any]
    tokens: int
    pairs: list[MinedPair]
    event: RolloutsMined


@dataclass(frozen=True)
class Mining:
    """Turns a batch of examples into what was mined from each. The batch is one call to the model."""

    config: Config

    def open(self, context: WorkContext) -> Callable[[Batch], list[MinedExample]]:
        """Load the model. Raises ModelError, and DataError for layers that it does not have."""
        return _Miner(self.config, context.load_model(self.config.model), context.checkpoint).mine

    def size(self, item: Batch) -> int:
        return len(item)


class _Miner:
    def __init__(self, config: Config, model: LanguageModel, checkpoint: Callable[[], None]) -> None:
        self.config = config
        self.section = config.offline_mine
        self.points = config.control_points
        self.task = get_task(config.task.dataset)
        self.model = model
        self.checkpoint = checkpoint
        self.layers = candidate_layers(self.section.candidate_layers, model.info.num_layers)

    def mine(self, batch: Batch) -> list[MinedExample]:
        completions = self.model.generate(self._requests(batch), checkpoint=self.checkpoint)
        k = self.section.K
        return [
            self._mined(example, completions[position * k : (position + 1) * k])
            for position, example in enumerate(batch)
        ]

    def _requests(self, batch: Batch) -> list[Request]:
        sampling = Sampling(self.section.max_new_tokens, self.section.temperature)
        return [
            Request(
                prompt=self._prompt(example),
                sampling=sampling,
                seed=derive_seed(self.config.run.seed, "mine", example.id, draw),
                capture_layers=self.layers,
                capture_after=self.points.segment_delimiter,
            )
            for example in batch
            for draw in range(self.section.K)
        ]

    def _prompt(self, example: TaskExample) -> list[int]:
        prompt = self.config.prompt
        return self.model.tokenizer.encode_chat(self.task.prompt(example, prompt.template), prompt.system)

    def _mined(self, example: TaskExample, completions: Sequence[Completion]) -> MinedExample:
        rollouts = [self._scored(example, completion) for completion in completions]
        pairs = self._pairs(example, rollouts)
        event = RolloutsMined(
            example=example.id,
            question=example.question,
            n=len(rollouts),
            correct=sum(rollout.correct for rollout in rollouts),
            mean_tokens=sum(r.tokens for r in rollouts) / len(rollouts),
            mean_reward=sum(r.reward for r in rollouts) / len(rollouts),
            segments=[len(r.ends) for r in rollouts],
            pairs=len(pairs),
        )
        tokens = sum(len(completion.tokens) for completion in completions)
        return MinedExample(_line(example, rollouts), tokens, pairs, event)

    def _scored(self, example: TaskExample, completion: Completion) -> Rollout:
        pred = self.task.extract(completion.text)
        correct = self.task.is_correct(pred, example.answer)
        reward = length_regularized_reward(
            correct, len(completion.tokens), self.section.eta0, self.section.max_new_tokens
        )
        assert completion.states is not None
        return Rollout(
            text=completion.text,
            tokens=len(completion.tokens),
            correct=correct,
            reward=reward,
            pred=pred,
            states=completion.states[: self.points.M],
            ends=completion.state_ends[: self.points.M],
        )

    def _pairs(self, example: TaskExample, rollouts: Sequence[Rollout]) -> list[MinedPair]:
        gold = None
        if self.section.pos_source != "rollout":
            gold = gold_rollout(self.model, self._prompt(example), example, self.layers, self.config)
        pairs: list[MinedPair] = []
        for m in range(1, self.points.M + 1):
            sets = split_rollouts(rollouts, gold, m, self.section)
            if sets is not None:
                pairs.extend(self._contrasts(example, m, *sets))
        return pairs

    def _contrasts(
        self, example: TaskExample, m: int, positives: Sequence[Rollout], negatives: Sequence[Rollout]
    ) -> list[MinedPair]:
        pairs: list[MinedPair] = []
        for position, layer in enumerate(self.layers):
            difference = contrast(positives, negatives, m, position)
            if difference is None:
                continue
            record: PairRecord = {
                "pair_id": f"{example.id}_m{m}_l{layer}",
                "example_id": example.id,
                "control_point_m": m,
                "layer": layer,
                "quality": difference.quality,
                "positives": len(positives),
                "negatives": len(negatives),
                "source": positives[0].source,
                "model": self.model.info.fingerprint,
            }
            event = _pair_event(record, difference, positives[0].text, negatives[0].text)
            pairs.append(MinedPair(record, difference, event))
        return pairs


def candidate_layers(layers: Sequence[int], num_layers: int) -> tuple[int, ...]:
    """The configured layers, or the top third of the model (spec ESM 3.5)."""
    if not layers:
        return tuple(range(num_layers - max(1, num_layers // 3), num_layers))
    wrong = [layer for layer in layers if layer >= num_layers]
    if wrong:
        raise DataError(
            what=f"layers {wrong} do not exist: the model has layers 0 to {num_layers - 1}",
            where="offline_mine.candidate_layers",
            mend="choose among those",
        )
    return tuple(sorted(set(layers)))


def _line(example: TaskExample, rollouts: Sequence[Rollout]) -> dict[str, Any]:
    return {
        "example_id": example.id,
        "question": example.question,
        "gold": example.answer,
        "rollouts": [
            {
                "text": rollout.text,
                "pred": rollout.pred,
                "correct": rollout.correct,
                "reward": rollout.reward,
                "tokens": rollout.tokens,
                "segments": len(rollout.ends),
            }
            for rollout in rollouts
        ],
    }


def _pair_event(pair: PairRecord, difference: Contrast, positive: str, negative: str) -> PairMined:
    return PairMined(
        pair=pair["pair_id"],
        example=pair["example_id"],
        control_point_m=pair["control_point_m"],
        layer=pair["layer"],
        quality=pair["quality"],
        positives=pair["positives"],
        negatives=pair["negatives"],
        delta_norm=float((difference.delta**2).sum() ** 0.5),
        source=pair["source"],
        positive_text=positive,
        negative_text=negative,
    )
