"""The work of stage `mine`: rollouts of a batch of examples, scored, contrasted (spec ESM 3.1 to 3.6), verified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.config.config import Config
from engine.esm.contrast import Contrast, Rollout, contrast, split_rollouts
from engine.esm.gold import gold_rollout
from engine.esm.layers import candidate_layers
from engine.esm.reward import length_regularized_reward
from engine.esm.verify import Mined, Verified, Verifier
from engine.events import PairMined, RolloutEnded, RolloutsMined
from engine.lm.protocol import Completion, LanguageModel, Request, Sampling
from engine.scale.work import WorkContext
from engine.seeds import derive_seed
from engine.tasks.example import TaskExample
from engine.tasks.loaders import configured_task

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
    """Turns a batch of examples into what was mined from each. The batch is one call to the model; each rollout is
    reported when it has ended."""

    config: Config

    def open(self, context: WorkContext) -> Callable[[Batch], list[MinedExample]]:
        """Load the model. Raises ModelError, and DataError for layers that it does not have."""
        return _Miner(self.config, context.load_model(self.config.model), context).mine

    def size(self, item: Batch) -> int:
        return len(item)


class _Miner:
    def __init__(self, config: Config, model: LanguageModel, context: WorkContext) -> None:
        self.config = config
        self.section = config.offline_mine
        self.points = config.control_points
        self.task = configured_task(config.task)
        self.model = model
        self.checkpoint, self.emit = context.checkpoint, context.emit
        self.layers = candidate_layers(self.section.candidate_layers, model.info.num_layers)

    def mine(self, batch: Batch) -> list[MinedExample]:
        k = self.section.K
        scored: dict[int, Rollout] = {}

        def ended(place: int, completion: Completion) -> None:
            position, draw = divmod(place, k)
            scored[place] = self._scored(batch[position], completion)
            self.emit(_ended_event(batch[position], draw, scored[place]))

        self.model.generate(self._requests(batch), checkpoint=self.checkpoint, finished=ended)
        rollouts = [[scored[position * k + draw] for draw in range(k)] for position in range(len(batch))]
        found = [self._pairs(example, own) for example, own in zip(batch, rollouts, strict=True)]
        verified, spent = self._verified(found)
        tokens = [sum(rollout.tokens for rollout in own) for own in rollouts]
        tokens[0] += spent
        return [self._mined(*one) for one in zip(batch, rollouts, found, verified, tokens, strict=True)]

    def _verified(self, found: Sequence[Sequence[Mined]]) -> tuple[list[list[Verified | None]], int]:
        """What each pair does, example by example, and the tokens that it took to see."""
        if not self.section.verify:
            return [[None for _ in own] for own in found], 0
        verifier = Verifier(self.config, self.model, self.task, self.checkpoint)
        results = iter(verifier.verify([pair for own in found for pair in own]))
        return [[next(results) for _ in own] for own in found], verifier.tokens

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

    def _mined(
        self,
        example: TaskExample,
        rollouts: Sequence[Rollout],
        found: Sequence[Mined],
        verified: Sequence[Verified | None],
        tokens: int,
    ) -> MinedExample:
        pairs = [self._pair(pair, does) for pair, does in zip(found, verified, strict=True)]
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
            token_ids=completion.tokens,
            correct=correct,
            reward=reward,
            pred=pred,
            states=completion.states[: self.points.M],
            ends=completion.state_ends[: self.points.M],
        )

    def _pairs(self, example: TaskExample, rollouts: Sequence[Rollout]) -> list[Mined]:
        gold, prompt = None, self._prompt(example)
        if self.section.pos_source != "rollout":
            gold = gold_rollout(self.model, prompt, example, self.layers, self.config)
        pairs: list[Mined] = []
        for m in range(1, self.points.M + 1):
            sets = split_rollouts(rollouts, gold, m, self.section)
            if sets is not None:
                for position, layer in enumerate(self.layers):
                    difference = contrast(*sets, m, position)
                    if difference is not None:
                        pairs.append(Mined(example, prompt, m, layer, difference, *sets))
        return pairs

    def _pair(self, pair: Mined, verified: Verified | None) -> MinedPair:
        record: PairRecord = {
            "pair_id": f"{pair.example.id}_m{pair.m}_l{pair.layer}",
            "example_id": pair.example.id,
            "control_point_m": pair.m,
            "layer": pair.layer,
            "quality": pair.contrast.quality,
            "positives": len(pair.positives),
            "negatives": len(pair.negatives),
            "source": pair.positives[0].source,
            "model": self.model.info.fingerprint,
            **(asdict(verified) if verified else {}),
        }
        event = _pair_event(record, pair, verified)
        return MinedPair(record, pair.contrast, event)


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


def _ended_event(example: TaskExample, draw: int, rollout: Rollout) -> RolloutEnded:
    return RolloutEnded(
        example=example.id,
        draw=draw,
        correct=rollout.correct,
        reward=rollout.reward,
        tokens=rollout.tokens,
        segments=len(rollout.ends),
        pred=rollout.pred,
    )


def _pair_event(pair: PairRecord, mined: Mined, verified: Verified | None) -> PairMined:
    return PairMined(
        pair=pair["pair_id"],
        example=pair["example_id"],
        control_point_m=pair["control_point_m"],
        layer=pair["layer"],
        quality=pair["quality"],
        positives=pair["positives"],
        negatives=pair["negatives"],
        delta_norm=float((mined.contrast.delta**2).sum() ** 0.5),
        source=pair["source"],
        positive_text=mined.positives[0].text,
        negative_text=mined.negatives[0].text,
        **(asdict(verified) if verified else {}),
    )
