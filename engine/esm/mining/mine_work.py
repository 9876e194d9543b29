"""The work of stage `mine`: rollouts of a batch of examples, scored, contrasted (spec ESM 3.1 to 3.6), verified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from engine.config.config import Config
from engine.esm.baselines.plain import encoded_prompt
from engine.esm.layers import candidate_layers
from engine.esm.mining.contrast import Contrast, Rollout, contrast, split_rollouts
from engine.esm.mining.gold import gold_rollout
from engine.esm.mining.reward import length_regularized_reward
from engine.esm.mining.verify import Mined, Verified, Verifier
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
    """A pair as `pairs.jsonl` keeps it, and its vectors."""

    record: PairRecord
    vectors: Contrast


@dataclass(frozen=True)
class MinedExample:
    """`line`: as `rollouts.jsonl` keeps it; `tokens` were generated."""

    line: dict[str, Any]
    tokens: int
    pairs: list[MinedPair]


@dataclass(frozen=True)
class Mining:
    """Turns a batch of examples into what was mined from each. The batch is one call to the model; each rollout is
    reported when it has ended, each pair with its example's last rollout, and once more when it has been verified."""

    config: Config

    def open(self, context: WorkContext) -> Callable[[Batch], list[MinedExample]]:
        """Load the model. Raises ModelError, and DataError for layers that it does not have."""
        return _Miner(self.config, context.load_model(self.config.model), context).mine


@dataclass
class _Sampled:
    """An example of a batch: its rollouts by draw, and the pairs that they make when all have ended."""

    example: TaskExample
    prompt: Sequence[int]
    gold: Rollout | None
    by_draw: dict[int, Rollout] = field(default_factory=dict)
    pairs: list[Mined] = field(default_factory=list)

    @property
    def rollouts(self) -> list[Rollout]:
        return [self.by_draw[draw] for draw in sorted(self.by_draw)]


class _Miner:
    def __init__(self, config: Config, model: LanguageModel, context: WorkContext) -> None:
        self.config = config
        self.section = config.offline_mine
        self.points = config.control_points
        self.task = configured_task(config.task)
        self.model = model
        self.emit = context.emit
        self.layers = candidate_layers(self.section.candidate_layers, model.info.num_layers)

    def mine(self, batch: Batch) -> list[MinedExample]:
        sampled = [self._begun(example) for example in batch]

        def ended(place: int, completion: Completion) -> None:
            position, draw = divmod(place, self.section.K)
            self._take(sampled[position], draw, completion)

        self.model.generate(self._requests(sampled), finished=ended)
        verified, spent = self._verified(sampled)
        mined = [self._mined(one, results) for one, results in zip(sampled, verified, strict=True)]
        return [replace(mined[0], tokens=mined[0].tokens + spent), *mined[1:]]

    def _begun(self, example: TaskExample) -> _Sampled:
        gold, prompt = None, encoded_prompt(self.config, self.task, self.model, example)
        if self.section.pos_source != "rollout":
            gold = gold_rollout(self.model, prompt, example, self.layers, self.config)
        return _Sampled(example, prompt, gold)

    def _take(self, sampled: _Sampled, draw: int, completion: Completion) -> None:
        """Report a rollout, and what its example gives where it is the last one."""
        rollout = self._scored(sampled.example, completion)
        sampled.by_draw[draw] = rollout
        self.emit(RolloutEnded(example=sampled.example.id, draw=draw, **_figures(rollout)))
        if len(sampled.by_draw) == self.section.K:
            sampled.pairs = self._pairs(sampled)
            self.emit(_mined_event(sampled))
            for pair in sampled.pairs:
                self.emit(_pair_event(pair))

    def _verified(self, sampled: Sequence[_Sampled]) -> tuple[list[list[Verified | None]], int]:
        """What each pair does, example by example, and the tokens that it took to see."""
        if not self.section.verify:
            return [[None for _ in one.pairs] for one in sampled], 0
        verifier = Verifier(self.config, self.model, self.task)
        pairs = [pair for one in sampled for pair in one.pairs]
        results = iter(verifier.verify(pairs, lambda pair, verified: self.emit(_pair_event(pair, verified))))
        return [[next(results) for _ in one.pairs] for one in sampled], verifier.tokens

    def _requests(self, sampled: Sequence[_Sampled]) -> list[Request]:
        sampling = Sampling(self.section.max_new_tokens, self.section.temperature)
        return [
            Request(
                prompt=one.prompt,
                sampling=sampling,
                seed=derive_seed(self.config.run.seed, "mine", one.example.id, draw),
                capture_layers=self.layers,
                capture_after=self.points.segment_delimiter,
            )
            for one in sampled
            for draw in range(self.section.K)
        ]

    def _mined(self, sampled: _Sampled, verified: Sequence[Verified | None]) -> MinedExample:
        fingerprint = self.model.info.fingerprint
        pairs = [
            MinedPair(_record(pair, fingerprint, does), pair.contrast)
            for pair, does in zip(sampled.pairs, verified, strict=True)
        ]
        tokens = sum(rollout.tokens for rollout in sampled.rollouts)
        return MinedExample(_line(sampled.example, sampled.rollouts), tokens, pairs)

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

    def _pairs(self, sampled: _Sampled) -> list[Mined]:
        pairs: list[Mined] = []
        for m in range(1, self.points.M + 1):
            sets = split_rollouts(sampled.rollouts, sampled.gold, m, self.section)
            if sets is not None:
                for position, layer in enumerate(self.layers):
                    difference = contrast(*sets, m, position)
                    if difference is not None:
                        pairs.append(Mined(sampled.example, sampled.prompt, m, layer, difference, *sets))
        return pairs


def _line(example: TaskExample, rollouts: Sequence[Rollout]) -> dict[str, Any]:
    return {
        "example_id": example.id,
        "question": example.question,
        "gold": example.answer,
        "rollouts": [{"text": rollout.text, **_figures(rollout)} for rollout in rollouts],
    }


def _figures(rollout: Rollout) -> dict[str, Any]:
    """What the record and the event of a rollout call alike."""
    shared = {name: getattr(rollout, name) for name in ("pred", "correct", "reward", "tokens")}
    return {**shared, "segments": len(rollout.ends)}


def _mined_event(sampled: _Sampled) -> RolloutsMined:
    rollouts = sampled.rollouts
    return RolloutsMined(
        example=sampled.example.id,
        question=sampled.example.question,
        n=len(rollouts),
        correct=sum(rollout.correct for rollout in rollouts),
        mean_tokens=sum(r.tokens for r in rollouts) / len(rollouts),
        segments=[len(r.ends) for r in rollouts],
        pairs=len(sampled.pairs),
    )


def _facts(pair: Mined, verified: Verified | None) -> dict[str, Any]:
    """What the record and the event of a pair call alike."""
    return {
        "control_point_m": pair.m,
        "layer": pair.layer,
        "quality": pair.contrast.quality,
        "positives": len(pair.positives),
        "negatives": len(pair.negatives),
        "source": pair.positives[0].source,
        **(asdict(verified) if verified else {}),
    }


def _record(pair: Mined, fingerprint: str, verified: Verified | None) -> PairRecord:
    names = {"pair_id": pair.name, "example_id": pair.example.id}
    return {**names, "model": fingerprint, **_facts(pair, verified)}


def _pair_event(pair: Mined, verified: Verified | None = None) -> PairMined:
    return PairMined(
        pair=pair.name,
        example=pair.example.id,
        delta_norm=float((pair.contrast.delta**2).sum() ** 0.5),
        positive_text=pair.positives[0].text,
        negative_text=pair.negatives[0].text,
        **_facts(pair, verified),
    )
