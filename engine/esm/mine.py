"""Stage I: contrastive rollouts become candidate memory entries (spec ESM 3)."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.config import OfflineMineSection
from engine.errors import DataError
from engine.esm.contrast import Rollout, contrast, split_rollouts
from engine.esm.examples import evaluation_examples, training_examples
from engine.esm.gold import gold_rollout
from engine.esm.layout import EsmLayout
from engine.esm.reward import length_regularized_reward
from engine.esm.vectors import save_vector
from engine.events import PairMined, RolloutsMined
from engine.files import append_jsonl, recover_jsonl, write_jsonl
from engine.lm.protocol import Completion, LanguageModel, Request, Sampling
from engine.stage import StageContext, StageResult
from engine.tasks.example import TaskExample
from engine.tasks.loaders import check_disjoint
from engine.tasks.task import Task, get_task

PairRecord = dict[str, Any]


class Mine:
    """Samples K rollouts an example, contrasts right with wrong ones at every control point, keeps the top C."""

    name = "mine"

    def run(self, context: StageContext) -> StageResult:
        """Batches of examples; a batch is finished when its lines stand in rollouts.jsonl."""
        job = _Job.prepare(context)
        done = job.recover()
        context.start(len(job.examples), done, unit="examples")
        for first in range(done, len(job.examples), job.config.batch_size_examples):
            context.checkpoint()
            batch = job.examples[first : first + job.config.batch_size_examples]
            tokens = job.mine_batch(batch)
            context.progress(first + len(batch), len(job.examples), tokens)
        return job.export()


@dataclass
class _Job:
    context: StageContext
    config: OfflineMineSection
    task: Task
    model: LanguageModel
    examples: list[TaskExample]
    layers: tuple[int, ...]
    folder: Path
    pairs: list[PairRecord]
    rollouts: int = 0
    right: int = 0
    reached: int = 0

    @classmethod
    def prepare(cls, context: StageContext) -> _Job:
        examples = training_examples(context.config)
        check_disjoint(examples, evaluation_examples(context.config))
        model = context.model()
        layers = candidate_layers(context.config.offline_mine.candidate_layers, model.info.num_layers)
        return cls(
            context=context,
            config=context.config.offline_mine,
            task=get_task(context.config.task.dataset),
            model=model,
            examples=examples,
            layers=layers,
            folder=EsmLayout(context.run_dir).mine,
            pairs=[],
        )

    def recover(self) -> int:
        """Whole batches that an earlier attempt finished; anything after them is cut off."""
        lines = len(recover_jsonl(self.folder / "rollouts.jsonl"))
        size = self.config.batch_size_examples
        done = lines if lines >= len(self.examples) else lines // size * size
        for line in recover_jsonl(self.folder / "rollouts.jsonl", keep=done):
            self._count(
                [bool(r["correct"]) for r in line["rollouts"]], [int(r["segments"]) for r in line["rollouts"]]
            )
        finished = {example.id for example in self.examples[:done]}
        self.pairs = [
            pair for pair in recover_jsonl(self.folder / "pairs.jsonl") if pair["example_id"] in finished
        ]
        if done or (self.folder / "pairs.jsonl").exists():
            write_jsonl(self.folder / "pairs.jsonl", self.pairs)
        return done

    def mine_batch(self, batch: Sequence[TaskExample]) -> int:
        """Roll out, contrast, write. The rollouts' lines come last: they say that the batch is finished."""
        completions = self.model.generate(self._requests(batch), checkpoint=self.context.checkpoint)
        k = self.config.K
        lines: list[dict[str, Any]] = []
        found: list[PairRecord] = []
        for position, example in enumerate(batch):
            own = completions[position * k : (position + 1) * k]
            rollouts = [self._scored(example, completion) for completion in own]
            pairs = self._pairs(example, rollouts)
            self._count([r.correct for r in rollouts], [len(r.ends) for r in rollouts])
            self._announce(example, rollouts, pairs)
            found.extend(pairs)
            lines.append(_line(example, rollouts))
        append_jsonl(self.folder / "pairs.jsonl", found)
        append_jsonl(self.folder / "rollouts.jsonl", lines)
        self.pairs.extend(found)
        return sum(len(completion.tokens) for completion in completions)

    def export(self) -> StageResult:
        """The top C pairs as candidates.jsonl, two entries a pair; vectors that fell out are deleted."""
        if not self.pairs:
            raise self._nothing_mined()
        kept = top_pairs(self.pairs, self.config.keep_top_C)
        for pair in self.pairs:
            if pair not in kept:
                for path in _vector_paths(self.folder, pair["pair_id"]):
                    path.unlink(missing_ok=True)
        info = self.model.info
        write_jsonl(self.folder / "candidates.jsonl", candidate_records(kept, info.fingerprint))
        summary: dict[str, float | int | str] = {
            "examples": len(self.examples),
            "rollouts": self.rollouts,
            "correct_rollouts": self.right,
            "pairs": len(self.pairs),
            "pairs_kept": len(kept),
            "candidates": 2 * len(kept),
        }
        names = ("rollouts.jsonl", "candidates.jsonl", "keys", "vectors")
        return StageResult(summary, [f"esm/mine/{name}" for name in names])

    def _requests(self, batch: Sequence[TaskExample]) -> list[Request]:
        section = self.context.config
        sampling = Sampling(self.config.max_new_tokens, self.config.temperature)
        delimiter = section.control_points.segment_delimiter
        return [
            Request(
                prompt=self._prompt(example),
                sampling=sampling,
                seed=self.context.seed(example.id, draw),
                capture_layers=self.layers,
                capture_after=delimiter,
            )
            for example in batch
            for draw in range(self.config.K)
        ]

    def _prompt(self, example: TaskExample) -> list[int]:
        prompt = self.context.config.prompt
        return self.model.tokenizer.encode_chat(self.task.prompt(example, prompt.template), prompt.system)

    def _scored(self, example: TaskExample, completion: Completion) -> Rollout:
        pred = self.task.extract(completion.text)
        correct = self.task.is_correct(pred, example.answer)
        reward = length_regularized_reward(
            correct, len(completion.tokens), self.config.eta0, self.config.max_new_tokens
        )
        assert completion.states is not None
        most = self.context.config.control_points.M
        return Rollout(
            text=completion.text,
            tokens=len(completion.tokens),
            correct=correct,
            reward=reward,
            pred=pred,
            states=completion.states[:most],
            ends=completion.state_ends[:most],
        )

    def _pairs(self, example: TaskExample, rollouts: Sequence[Rollout]) -> list[PairRecord]:
        gold = None
        if self.config.pos_source != "rollout":
            gold = gold_rollout(self.model, self._prompt(example), example, self.layers, self.context.config)
        pairs: list[PairRecord] = []
        for m in range(1, self.context.config.control_points.M + 1):
            sets = split_rollouts(rollouts, gold, m, self.config)
            if sets is not None:
                pairs.extend(self._contrasts(example, m, *sets))
        return pairs

    def _contrasts(
        self, example: TaskExample, m: int, positives: Sequence[Rollout], negatives: Sequence[Rollout]
    ) -> list[PairRecord]:
        pairs: list[PairRecord] = []
        for position, layer in enumerate(self.layers):
            found = contrast(positives, negatives, m, position)
            if found is None:
                continue
            pair_id = f"{example.id}_m{m}_l{layer}"
            right, wrong, delta = _vector_paths(self.folder, pair_id)
            save_vector(right, found.right_key)
            save_vector(wrong, found.wrong_key)
            save_vector(delta, found.delta)
            pair: PairRecord = {
                "pair_id": pair_id,
                "example_id": example.id,
                "control_point_m": m,
                "layer": layer,
                "quality": found.quality,
                "positives": len(positives),
                "negatives": len(negatives),
                "source": positives[0].source,
            }
            pairs.append(pair)
            norm = float((found.delta**2).sum() ** 0.5)
            self.context.emit(_pair_event(pair, norm, positives[0].text, negatives[0].text))
        return pairs

    def _announce(
        self, example: TaskExample, rollouts: Sequence[Rollout], pairs: Sequence[PairRecord]
    ) -> None:
        self.context.emit(
            RolloutsMined(
                example=example.id,
                question=example.question,
                n=len(rollouts),
                correct=sum(rollout.correct for rollout in rollouts),
                mean_tokens=sum(r.tokens for r in rollouts) / len(rollouts),
                mean_reward=sum(r.reward for r in rollouts) / len(rollouts),
                segments=[len(r.ends) for r in rollouts],
                pairs=len(pairs),
            )
        )

    def _count(self, correct: list[bool], segments: list[int]) -> None:
        self.rollouts += len(correct)
        self.right += sum(correct)
        self.reached += sum(count > 0 for count in segments)

    def _nothing_mined(self) -> DataError:
        delimiter = self.context.config.control_points.segment_delimiter
        if not self.reached:
            return DataError(
                what=f"none of {self.rollouts} rollouts contains the delimiter {delimiter!r}: no control point",
                where="control_points.segment_delimiter",
                mend="ask for it in prompt.template, or set the delimiter to a string the model does write",
            )
        return DataError(
            what=f"no contrast was found: {self.right} of {self.rollouts} rollouts are right, "
            f"{self.reached} contain the delimiter",
            where="offline_mine",
            mend="raise K or temperature, take harder or easier examples, or set pos_source to rollout_or_gold",
        )


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


def top_pairs(pairs: Sequence[PairRecord], count: int) -> list[PairRecord]:
    """The `count` pairs of highest quality in the order they were found; the earlier wins a tie."""
    ranked = heapq.nsmallest(count, range(len(pairs)), key=lambda i: (-pairs[i]["quality"], i))
    return [pairs[i] for i in sorted(ranked)]


def candidate_records(pairs: Sequence[PairRecord], fingerprint: str) -> list[dict[str, Any]]:
    """Two entries a pair: the wrong state with its correction, the right state with none (spec ESM 3.6)."""
    records: list[dict[str, Any]] = []
    for pair in pairs:
        shared = {
            key: pair[key]
            for key in ("pair_id", "example_id", "control_point_m", "layer", "quality", "source")
        }
        for kind in ("wrong", "right"):
            vector = f"vectors/{pair['pair_id']}_delta.pt" if kind == "wrong" else None
            records.append(
                {
                    "tool_name": f"{pair['pair_id']}_{kind}",
                    "kind": kind,
                    **shared,
                    "key_path": f"keys/{pair['pair_id']}_{kind}.pt",
                    "vector_path": vector,
                    "model": fingerprint,
                }
            )
    return records


def _vector_paths(folder: Path, pair_id: str) -> tuple[Path, Path, Path]:
    keys, vectors = folder / "keys", folder / "vectors"
    return keys / f"{pair_id}_right.pt", keys / f"{pair_id}_wrong.pt", vectors / f"{pair_id}_delta.pt"


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


def _pair_event(pair: PairRecord, norm: float, positive: str, negative: str) -> PairMined:
    return PairMined(
        pair=pair["pair_id"],
        example=pair["example_id"],
        control_point_m=pair["control_point_m"],
        layer=pair["layer"],
        quality=pair["quality"],
        positives=pair["positives"],
        negatives=pair["negatives"],
        delta_norm=norm,
        source=pair["source"],
        positive_text=positive,
        negative_text=negative,
    )
