"""Everything the stage `evolve` works with: clusters, questions, history, answers, judge, reflector, server."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import msgspec

from engine.config.evolution import EvolutionSection
from engine.errors import ConfigError, DataError, Problem
from engine.evolution import layout
from engine.evolution.answers import BASELINE, MINIBATCH, VALIDATION, AnswerFile, split_sizes
from engine.evolution.clusters.cluster_map import ABOUT_FILE, IDS_FILE, ClusterMap, load_cluster_map
from engine.evolution.clusters.descriptions import Descriptions, read_descriptions
from engine.evolution.deltas import Deltas, read_deltas, zero_deltas
from engine.evolution.from_config import make_judge, make_reflector, make_server
from engine.evolution.history import History, read_history, write_history
from engine.evolution.judges.judge import Judge
from engine.evolution.minibatch import QuestionSplits
from engine.evolution.questions import load_splits
from engine.evolution.reflectors.prompt import Prompts, read_prompts
from engine.evolution.reflectors.reflector import Reflector
from engine.evolution.scoring.score_events import inherited_events
from engine.evolution.services import check_services
from engine.files import append_jsonl, read_jsonl
from engine.lm.model_server import ModelServer
from engine.lm.vocabulary import Vocabulary, load_vocabulary
from engine.run.stage import StageContext


@dataclass
class EvolutionRun:
    """Inputs, earlier results and services of one run of the stage."""

    context: StageContext
    clusters: ClusterMap
    descriptions: Descriptions
    vocabulary: Vocabulary
    questions: QuestionSplits
    initial: Deltas
    history: History
    answers: AnswerFile
    judge: Judge
    reflector: Reflector
    prompts: Prompts
    server: ModelServer

    @classmethod
    def prepare(cls, context: StageContext) -> EvolutionRun:
        """Read the run's files and build its services. Raises SteerErrors for what is missing or does not fit."""
        config, run_dir = context.config, context.run_dir
        section = config.evolution
        check_services(config)
        if section.branch_of is not None and not layout.history(run_dir).is_file():
            _take_over(Path(section.branch_of).expanduser(), run_dir, section)
        vocabulary = load_vocabulary(config.evolution_model)
        clusters = load_cluster_map(layout.folder(run_dir))
        if clusters.vocabulary != vocabulary.fingerprint:
            raise DataError(
                what="the clusters were made for another vocabulary than the model's",
                where=str(layout.folder(run_dir)),
                hint="run the stage `clusters` again for this model (evolution.model)",
            )
        names = clusters.names
        initial = (
            zero_deltas(names)
            if section.initial_deltas is None
            else read_deltas(Path(section.initial_deltas).expanduser(), names)
        )
        return cls(
            context=context,
            clusters=clusters,
            descriptions=read_descriptions(layout.descriptions(run_dir), names),
            vocabulary=vocabulary,
            questions=load_splits(config),
            initial=initial,
            history=read_history(layout.history(run_dir)),
            answers=AnswerFile.open(layout.answers(run_dir), section.batch_size, split_sizes(section)),
            judge=make_judge(context),
            reflector=make_reflector(context),
            prompts=read_prompts(section.reflector),
            server=make_server(context),
        )

    def announce_inherited(self) -> None:
        """Emit the events of the iterations that a branch took over from its parent."""
        for item in self.history.iterations:
            if item.inherited:
                for event in inherited_events(item):
                    self.context.emit(event)


def _take_over(parent: Path, run_dir: Path, section: EvolutionSection) -> None:
    """Copy the parent's clusters, and its history up to `branch_iteration`, whose deltas the branch uses again."""
    history, iteration = read_history(layout.history(parent)), section.branch_iteration
    if iteration >= len(history.iterations):
        raise DataError(
            what=f"the parent has no finished iteration {iteration} to branch from",
            where=str(layout.history(parent)),
            hint=f"choose one of 0 to {len(history.iterations) - 1} (evolution.branch_iteration)",
        )
    best_by = "minibatch" if history.iterations[0].validation is None else "validation"
    if best_by != section.best_by:
        allowed = f"`{best_by}`, by which the parent chose its best deltas"
        raise ConfigError([Problem("evolution.best_by", section.best_by, allowed)])
    layout.folder(run_dir).mkdir(parents=True, exist_ok=True)
    for name in (ABOUT_FILE, IDS_FILE, layout.descriptions(parent).name):
        shutil.copyfile(layout.folder(parent) / name, layout.folder(run_dir) / name)
    kept = [
        msgspec.structs.replace(item, inherited=item.inherited or f"{parent}, iteration {item.iteration}")
        for item in history.iterations[: iteration + 1]
    ]
    kept[-1] = msgspec.structs.replace(kept[-1], new_deltas=None)
    records = [
        line
        for line in read_jsonl(layout.answers(parent))
        if line["iteration"] <= iteration and line["split"] in (MINIBATCH, VALIDATION, BASELINE)
    ]
    layout.answers(run_dir).unlink(missing_ok=True)
    append_jsonl(layout.answers(run_dir), records)
    write_history(layout.history(run_dir), History(iterations=kept))
