"""A language model that reads the sampler's paths: its answers from several kinds of evidence, on PathQuestion.

    python -m tests.bench.bench_path_reader prompts RUN MODEL [questions]
    python -m tests.bench.bench_path_reader test RUN MODEL [questions] [tokens]
    python -m tests.bench.bench_path_reader questions RUN FOLDER

RUN is a finished run of configs/real/gflownet_pathquestion_*.yaml, MODEL a GGUF file or a folder. `prompts` compares
prompts on validation questions; `test` asks test questions, each kind of evidence with the prompt that did best there.
Questions come in an order drawn at random, so that as many as were answered are a fair sample; paraphrases count as one
group in the intervals.

`questions` writes the questions with their distinct paths, for configs/real/evolution_path_reader_qwen0.5b.yaml: those
that the sampler learned from as train.jsonl, the test questions as test.jsonl.

Kinds of evidence, each cut to TRIPLES triples, or to so many `tokens` of triples:

- `none`: the question alone
- `triples`: those that the retriever scores best
- `beam`: the paths of the beam whose bonus for each edge is best on validation by hits@1
- `independent`, `distinct`: the sampler's paths

Answers are kept in outputs/bench_path_reader, so that the bench goes on where it was stopped, and equal prompts are
asked once. Writes results/path_reader_prompts.csv, or results/path_reader.csv and path_reader_differences.csv; rows of
other data stay.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

import torch

from engine.config.config import Config
from engine.config.file import load_config
from engine.config.models.model import ModelSection
from engine.events import PathStep
from engine.files import append_jsonl, recover_jsonl, write_jsonl
from engine.gflownet import layout
from engine.gflownet.answer.answer_match import named, normalise
from engine.gflownet.answer.readers import SYSTEM
from engine.gflownet.evaluation.beam import beam_search
from engine.gflownet.evaluation.evaluator import EDGE_BONUSES, TEMPERATURES, Evaluator, best_setting
from engine.gflownet.evaluation.path_prompt import build_triplet_prompt, triple_line
from engine.gflownet.evaluation.paths import GraphNames, path_step, top_triples
from engine.gflownet.evaluation.question_paths import Drawing, QuestionSampler
from engine.gflownet.evaluation.questions import QuestionBatches, load_questions
from engine.gflownet.graphs.dataset import GRetrievalDataset
from engine.gflownet.graphs.raw import RawSample
from engine.gflownet.graphs.sources import make_source
from engine.gflownet.graphs.store import RetrievalStore
from engine.gflownet.graphs.tables import EmbeddingTables, Texts
from engine.gflownet.retriever.retriever_stage import read_scores
from engine.gflownet.sampler.module import prior_alpha
from engine.gflownet.training.trained_sampler import trained_sampler
from engine.lm.loading.load import load_model
from engine.lm.protocol import Sampling, go_on, ignore
from engine.lm.transformers.decoding import Decoding, Job
from engine.lm.transformers.model import TransformersModel
from engine.lm.transformers.prefix_row import PrefixRow, run_pending
from engine.seeds import generator
from engine.torch_file import torch_threads
from tests.bench.bench_gflownet_pathquestion import RESULTS, group, interval, rounded, write_rows
from tests.conftest import ROOT

KEPT = ROOT / "outputs" / "bench_path_reader"
TRIPLES = 2
MOST = 100
"""Best-scored triples of a question that may be shown."""
LONGEST = 24
AT_ONCE = 64
KINDS = ("none", "triples", "beam", "independent", "distinct")
Path_ = list[PathStep]
Limit = Callable[[Sequence[Path_]], int]
"""How many of its triples a kind of evidence keeps."""

NO_UNKNOWN = SYSTEM.partition(" If the")[0]
ONE_NAME = "Answer the question with one name from the {lines}, and nothing else."
LAST = "The {lines} lead from the entity in the question to the answer. Write the name at the end alone."
EXAMPLE = ONE_NAME + "\n\nExample:\n{example}\n\nQuestion:\nwhere was ada 's husband born ?\n\nAnswer:\nrome"
AS_TRIPLETS = {"lines": "triplets", "example": "Triplets:\n(ada,spouse,ben)\n(ben,birthplace,rome)"}
AS_PATHS = {"lines": "paths", "example": "Paths:\nada -> spouse -> ben -> birthplace -> rome"}
PROMPTS: dict[str, tuple[str, bool]] = {
    "built-in": (SYSTEM, False),
    "built-in without `unknown`": (NO_UNKNOWN, False),
    **{
        f"{name}, {shape['lines']}": (text.format(**shape), shape is AS_PATHS)
        for shape in (AS_TRIPLETS, AS_PATHS)
        for name, text in {"one name": ONE_NAME, "the end": LAST, "an example": EXAMPLE}.items()
    },
}
"""The system message, and whether evidence is written as paths."""
WITHOUT = "Answer the question with one name, and nothing else."


@dataclass(frozen=True)
class Question:
    """A question with its evidence: paths of one triple where the kind has triples."""

    text: str
    golds: list[str]
    group: str
    evidence: dict[str, list[Path_]]


@dataclass(frozen=True)
class Prompt:
    system: str
    user: str

    @property
    def key(self) -> str:
        return f"{self.system}\n\n{self.user}"


def written(question: Question, kind: str, name: str) -> Prompt:
    """The evidence in the shape of the prompt `name`, then the question."""
    if kind == "none":
        return Prompt(WITHOUT, f"Question:\n{question.text}")
    system, as_paths = PROMPTS[name]
    paths = question.evidence[kind]
    lines = map(path_line, paths) if as_paths else map(triple_line, distinct_triples(paths))
    head = "Paths" if as_paths else "Triplets"
    return Prompt(system, f"{head}:\n" + "\n".join(lines) + f"\n\nQuestion:\n{question.text}")


def path_line(path: Path_) -> str:
    """`a -> spouse -> b -> nationality -> c`"""
    return " -> ".join([path[0].head, *(word for step in path for word in (step.relation, step.tail))])


def name_of(step: PathStep) -> tuple[str, str, str]:
    return step.head, step.relation, step.tail


def distinct_triples(paths: Sequence[Path_]) -> list[PathStep]:
    """In walking order, each once."""
    unique: dict[tuple[str, str, str], PathStep] = {}
    for step in chain.from_iterable(paths):
        unique.setdefault(name_of(step), step)
    return list(unique.values())


def cut(paths: Sequence[Path_], most: int) -> list[Path_]:
    """The first paths, as far as they have at most `most` different triples together; the last one may be cut."""
    seen: set[tuple[str, str, str]] = set()
    kept: list[Path_] = []
    for path in paths:
        steps: Path_ = []
        for step in path:
            if name_of(step) not in seen and len(seen) == most:
                break
            seen.add(name_of(step))
            steps.append(step)
        if steps and steps not in [earlier[: len(steps)] for earlier in kept]:
            kept.append(steps)
    return kept


def equal_triples(paths: Sequence[Path_]) -> int:
    return TRIPLES


def equal_tokens(budget: int, count_tokens: Callable[[str], int]) -> Limit:
    """As many triples as fit, as the stage `answer` cuts them."""
    return lambda paths: len(build_triplet_prompt("", distinct_triples(paths), budget, count_tokens).triples)


# ---------------------------------------------------------------- the evidence


class Evidence:
    """What a run's retriever, beam and sampler offer for the questions of a split."""

    def __init__(self, run_dir: Path, config: Config, split: str, limit: Limit = equal_triples) -> None:
        self.limit = limit
        self.tables, self.texts = EmbeddingTables.load(run_dir), Texts.load(run_dir)
        self.module, step = trained_sampler(run_dir, config)
        self.module.eval()
        self.alpha = prior_alpha(config.gflownet, step)
        self.questions = self._load(run_dir, split)
        validation = Evaluator(self.module, self._load(run_dir, "validation"), config.run.seed, lambda: None)
        self.bonus = max(EDGE_BONUSES, key=lambda bonus: validation.beam(bonus).means()["hits@1"])
        recall = f"answer_recall_union@{config.gflownet.num_eval_rollouts}"
        self.temperature = best_setting(
            lambda value: validation.distinct(self.alpha, value), TEMPERATURES, recall
        )
        self.sampler = QuestionSampler(self.module, self.questions, self.texts, config.run.seed, 0)
        with RetrievalStore(layout.retrieval_store(run_dir)) as store:
            data, scores = GRetrievalDataset(store, split), read_scores(run_dir, split)
            self.triples = {
                data[number].sample_id: [*islice(top_triples(data[number], scores[number], self.texts), MOST)]
                for number in range(len(data))
            }
        rows = make_source(config.graphs, config.run.seed).read(split)
        self.groups = {row.id: group(row) for row in rows if isinstance(row, RawSample) and row.gold_paths}

    def _load(self, run_dir: Path, split: str) -> QuestionBatches:
        return load_questions(run_dir, split, self.tables, self.module)

    def question(self, number: int) -> Question:
        batch, data = self.questions.whole(number)
        names = GraphNames.of(self.texts, data)
        with torch.no_grad():
            walks, _ = beam_search(self.module.env, batch, 20, self.bonus)
        beam = [[path_step(batch, edge, names) for edge in row if edge >= 0] for row in walks.edges.tolist()]
        drawn = {
            kind: [list(path.steps) for path in self.sampler.sample(number, self.alpha, drawing).paths]
            for kind, drawing in (
                ("independent", Drawing(False)),
                ("distinct", Drawing(True, self.temperature)),
            )
        }
        evidence = {"triples": [[step] for step in self.triples[data.sample_id]], "beam": beam, **drawn}
        return Question(
            data.question,
            data.answers,
            self.groups[data.sample_id],
            {kind: cut(paths, self.limit(paths)) for kind, paths in evidence.items()},
        )


# ---------------------------------------------------------------- the reader


class Reader:
    """A model's greedy answers, kept in a file. The system message, which prompts share, is run once."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.file = KEPT / f"{Path(path).stem}_{LONGEST}.jsonl"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.answers: dict[str, dict[str, Any]] = {line["prompt"]: line for line in recover_jsonl(self.file)}
        self._begun: dict[str, PrefixRow] = {}

    @cached_property
    def model(self) -> TransformersModel:
        """Loaded where an answer is missing."""
        section = ModelSection(backend="transformers", path=self._path, threads=1, max_num_seqs=AT_ONCE)
        model = load_model(section)
        assert isinstance(model, TransformersModel)
        return model

    def read(self, prompts: Sequence[Prompt]) -> None:
        """Answer those that have no answer yet."""
        missing = {prompt.key: prompt for prompt in prompts if prompt.key not in self.answers}
        new = list(missing.values())
        for first in range(0, len(new), AT_ONCE):
            batch = new[first : first + AT_ONCE]
            tokens = [self.model.tokenizer.encode_chat(prompt.user, prompt.system) for prompt in batch]
            jobs = [
                Job(self._row(prompt.system, row), Sampling(LONGEST))
                for prompt, row in zip(batch, tokens, strict=True)
            ]
            model = self.model
            decoding = Decoding(
                model.network, model.tokenizer, model._find, jobs, AT_ONCE, go_on, ignore, ignore
            )
            lines = [
                {"prompt": prompt.key, "answer": done.text, "tokens": len(row), "written": len(done.tokens)}
                for prompt, row, done in zip(batch, tokens, decoding.run(), strict=True)
            ]
            append_jsonl(self.file, lines)
            self.answers |= {line["prompt"]: line for line in lines}

    def _row(self, system: str, tokens: list[int]) -> PrefixRow:
        """The prompt, whose beginning has run."""
        begun = self._begun.get(system)
        if begun is None:
            other = self.model.tokenizer.encode_chat("-", system)
            shared = next(i for i, (a, b) in enumerate(zip(tokens, other, strict=False)) if a != b)
            begun = self._begun[system] = PrefixRow(tokens[shared - 1], tokens[:shared])
            run_pending(self.model.network, [begun], 1)
        assert begun.ran is not None
        return PrefixRow(tokens[-1], tokens[begun.ran.kv.length :], begun.ran)


def figures(question: Question, kind: str, answer: dict[str, Any]) -> dict[str, float]:
    """How good an answer is: a hit as the stage `answer` counts it; F1 is stricter, between its lines and the right
    answers."""
    lines = {normalise(line) for line in answer["answer"].split("\n")} - {""}
    golds = {normalise(gold) for gold in question.golds}
    evidence = question.evidence.get(kind, [])
    return {
        "hit": float(bool(named(question.golds, answer["answer"]))),
        "f1": 2 * len(lines & golds) / (len(lines) + len(golds)),
        "prompt tokens": answer["tokens"],
        "tokens": answer["written"],
        "triples": len(distinct_triples(evidence)),
        "holds an answer": float(any(step.tail in question.golds for step in chain.from_iterable(evidence))),
    }


# ---------------------------------------------------------------- both tables


def drawn(evidence: Evidence, most: int) -> Iterator[Question]:
    """As many questions, in an order drawn at random."""
    order = generator(0, "bench", "path reader").permutation(len(evidence.questions))
    return map(evidence.question, order[:most].tolist())


def summary(questions: Sequence[Question], rows: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Means; hits and F1 with their intervals."""
    groups = [question.group for question in questions]
    means: dict[str, Any] = {"n": len(rows), "groups": len(set(groups))}
    for name in rows[0]:
        mean, low, high = interval([row[name] for row in rows], groups)
        means[name] = rounded(mean)
        if name in ("hit", "f1"):
            means |= {f"{name} low": rounded(low), f"{name} high": rounded(high)}
    return means


def compare_prompts(data: str, evidence: Evidence, reader: Reader, most: int) -> None:
    """Every prompt with every kind of evidence, on validation questions."""
    questions, table = list(drawn(evidence, most)), []
    for name in PROMPTS:
        for kind in KINDS[1:]:
            prompts = [written(question, kind, name) for question in questions]
            reader.read(prompts)
            rows = [
                figures(question, kind, reader.answers[prompt.key])
                for question, prompt in zip(questions, prompts, strict=True)
            ]
            table.append({"data": data, "prompt": name, "evidence": kind, **summary(questions, rows)})
            print(table[-1], flush=True)
    write_rows("path_reader_prompts", [data], table)


def chosen_prompts(data: str) -> dict[str, str]:
    """The prompt of each kind of evidence with the most hits on validation; among equals the one with the most hits
    over all kinds."""
    with (RESULTS / "path_reader_prompts.csv").open() as file:
        hits = {
            (row["prompt"], row["evidence"]): float(row["hit"])
            for row in csv.DictReader(file)
            if row["data"] == data
        }
    total = {name: sum(hits[name, kind] for kind in KINDS[1:]) for name in PROMPTS}
    best = {kind: max(PROMPTS, key=lambda name: (hits[name, kind], total[name])) for kind in KINDS[1:]}
    return {"none": "", **best}


def test(data: str, evidence: Evidence, reader: Reader, most: int, tokens: str = "") -> None:
    """Every kind of evidence with its prompt, on test questions."""
    names = chosen_prompts(data)
    data += f", {tokens} tokens" * bool(tokens)
    questions = list(drawn(evidence, most))
    asked = {kind: [written(question, kind, names[kind]) for question in questions] for kind in KINDS}
    for first in range(0, len(questions), AT_ONCE):
        reader.read([prompt for prompts in asked.values() for prompt in prompts[first : first + AT_ONCE]])
        print(f"{min(first + AT_ONCE, len(questions))} of {len(questions)} questions", flush=True)
    rows = {
        kind: [
            figures(question, kind, reader.answers[prompt.key])
            for question, prompt in zip(questions, prompts, strict=True)
        ]
        for kind, prompts in asked.items()
    }
    table = [{"data": data, "evidence": kind, "prompt": names[kind], **summary(questions, of_kind)}
             for kind, of_kind in rows.items()]  # fmt: skip
    groups = [question.group for question in questions]
    pairs = []
    for own in ("independent", "distinct"):
        for other in KINDS[: KINDS.index(own)]:
            for figure in ("hit", "f1", "prompt tokens"):
                values = [a[figure] - b[figure] for a, b in zip(rows[own], rows[other], strict=True)]
                mean, low, high = interval(values, groups)
                pairs.append({"data": data, "figure": figure, "evidence": own, "minus": other, "n": len(values),
                              "difference": rounded(mean), "low": rounded(low), "high": rounded(high)})  # fmt: skip
    write_rows("path_reader", [data], table)
    write_rows("path_reader_differences", [data], pairs)
    for row in [*table, *pairs]:
        print(row)


def write_questions(run: Path, config: Config, folder: Path) -> None:
    """Each question behind its evidence, in an order drawn at random; its right answers, a line each."""
    folder.mkdir(parents=True, exist_ok=True)
    for split in ("train", "test"):
        evidence = Evidence(run, config, split)
        rows = [
            {
                "question": written(question, "distinct", "one name, triplets").user,
                "answer": "\n".join(question.golds),
            }
            for question in drawn(evidence, len(evidence.questions))
        ]
        write_jsonl(folder / f"{split}.jsonl", rows)
        print(split, len(rows))


def names_one(text: str, golds: str) -> bool:
    """Whether an answer is a hit (`task.compare`). `golds`: the right answers, a line each."""
    return bool(named(golds.split("\n"), text))


def main(command: str, run: str, path: str, most: str = "600", tokens: str = "") -> None:
    config = load_config(Path(run) / "config.yaml", [])
    if command == "questions":
        with torch_threads(1):
            write_questions(Path(run), config, Path(path))
        return
    reader = Reader(path)
    data = Path(str(config.graphs.path)).stem
    limit = (
        equal_tokens(int(tokens), lambda text: len(reader.model.tokenizer.encode(text)))
        if tokens
        else equal_triples
    )
    with torch_threads(1):
        if command == "prompts":
            compare_prompts(data, Evidence(Path(run), config, "validation"), reader, int(most))
        else:
            test(data, Evidence(Path(run), config, "test", limit), reader, int(most), tokens)


if __name__ == "__main__":
    main(*sys.argv[1:])
