"""Data set, vision model and RL data as the configuration names them."""

from __future__ import annotations

from pathlib import Path

from engine.config.config import Config
from engine.errors import ConfigError, Problem
from engine.pool import layout
from engine.pool.data.dataset import PoolDataset
from engine.pool.data.digits import DigitsDataset
from engine.pool.data.digits_rl_data import initial_rl_data
from engine.pool.data.records import RLData, read_rl_data, write_rl_data
from engine.pool.vqa.digits_vqa import DigitsVQA
from engine.pool.vqa.evaluated_pairs import PairEvaluator
from engine.pool.vqa.vqa import VQAModel
from engine.run.stage import StageContext
from engine.scale.work import WorkContext


def make_dataset(config: Config) -> PoolDataset:
    """Raises DataError for files that are none, and ConfigError for what does not fit together."""
    section = config.pool
    if section.dataset == "digits":
        return DigitsDataset(config.run.seed, train=section.train_queries, heldout=section.heldout_queries)
    from engine.pool.data.files_dataset import FilesDataset

    return FilesDataset(section.files, config.run.seed)


def make_vqa_model(config: Config, place: WorkContext, dataset: PoolDataset) -> VQAModel:
    """Raises ConfigError for a key that is not there."""
    section = config.pool.vqa
    if section.kind == "openai":
        from engine.pool.vqa.openai_vqa import OpenAIVQA

        openai = section.openai
        client = place.client(openai, "vision", "pool.vqa.openai", openai.requests_per_minute)
        return OpenAIVQA(client, openai, dataset)
    return DigitsVQA(_digits(dataset))


def given_rl_data(context: StageContext, dataset: PoolDataset, model: VQAModel) -> RLData:
    """The file's, or generated once and kept in `pool/initial.json`. Raises DataError for a file that is none."""
    section, table_size = context.config.pool, len(dataset.embeddings)
    if section.rl_data is not None:
        return read_rl_data(Path(section.rl_data).expanduser(), table_size)
    path = layout.initial(context.run_dir)
    if not path.exists():
        evaluator = PairEvaluator(layout.initial_evaluated(context.run_dir), model, dataset.annotations)
        made = initial_rl_data(
            _digits(dataset),
            lambda asks: evaluator.evaluate(asks, context.checkpoint),
            model.name,
            context.config.run.seed,
        )
        write_rl_data(path, made)
    return read_rl_data(path, table_size)


def _digits(dataset: PoolDataset) -> DigitsDataset:
    if not isinstance(dataset, DigitsDataset):
        problem = Problem("pool.dataset", "files", "digits, which is what RL data and answers are made of")
        raise ConfigError([problem])
    return dataset
