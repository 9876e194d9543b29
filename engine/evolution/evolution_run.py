"""Everything the stage `evolve` works with: clusters, questions, history, answers, judge, reflector, server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.errors import DataError
from engine.evolution import layout
from engine.evolution.answers import AnswerFile, split_sizes
from engine.evolution.clusters.cluster_map import ClusterMap, load_cluster_map
from engine.evolution.clusters.descriptions import Descriptions, read_descriptions
from engine.evolution.deltas import Deltas, read_deltas, zero_deltas
from engine.evolution.from_config import make_judge, make_reflector, make_server
from engine.evolution.history import History, read_history
from engine.evolution.judges.judge import Judge
from engine.evolution.minibatch import QuestionSplits
from engine.evolution.questions import load_splits
from engine.evolution.reflectors.prompt import Prompts, read_prompts
from engine.evolution.reflectors.reflector import Reflector
from engine.evolution.services import check_services
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
