"""Everything the stage `evolve` works with: clusters, questions, history, answers, judge, reflector, server."""

from __future__ import annotations

from pathlib import Path

from engine.errors import DataError
from engine.evolution import layout
from engine.evolution.answers import AnswerFile, split_sizes
from engine.evolution.clusters.cluster_map import load_cluster_map
from engine.evolution.clusters.descriptions import read_descriptions
from engine.evolution.deltas import read_deltas, zero_deltas
from engine.evolution.from_config import make_judge, make_reflector, make_server
from engine.evolution.history import read_history
from engine.evolution.questions import load_splits
from engine.evolution.reflectors.prompt import read_prompts
from engine.evolution.services import check_services
from engine.lm.vocabulary import load_vocabulary
from engine.run.stage import StageContext


class EvolutionRun:
    """Inputs, earlier results and services of one run of the stage."""

    def __init__(self, context: StageContext) -> None:
        """Read the run's files and build its services. Raises SteerErrors for what is missing or does not fit."""
        config, run_dir = context.config, context.run_dir
        section = config.evolution
        check_services(config)
        self.context = context
        self.vocabulary = load_vocabulary(config.evolution_model)
        self.clusters = load_cluster_map(layout.folder(run_dir))
        if self.clusters.vocabulary != self.vocabulary.fingerprint:
            raise DataError(
                what="the clusters were made for another vocabulary than the model's",
                where=str(layout.folder(run_dir)),
                hint="run the stage `clusters` again for this model (evolution.model)",
            )
        names = self.clusters.names
        self.initial = (
            zero_deltas(names)
            if section.initial_deltas is None
            else read_deltas(Path(section.initial_deltas).expanduser(), names)
        )
        self.descriptions = read_descriptions(layout.descriptions(run_dir), names)
        self.questions = load_splits(config)
        self.history = read_history(layout.history(run_dir))
        self.answers = AnswerFile.open(layout.answers(run_dir), section.batch_size, split_sizes(section))
        self.judge = make_judge(context)
        self.reflector = make_reflector(context)
        self.prompts = read_prompts(section.reflector)
        self.server = make_server(context)
