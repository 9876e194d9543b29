"""Makes data set, vision model and RL data as configured."""

from __future__ import annotations

from pathlib import Path

from engine.config.config import Config
from engine.pool import layout
from engine.pool.data.dataset import PoolDataset
from engine.pool.data.digits import DigitsDataset
from engine.pool.data.digits_rl_data import initial_rl_data
from engine.pool.data.records import RLData, read_rl_data, write_rl_data
from engine.pool.vqa.digits_vqa import DigitsVQA
from engine.pool.vqa.evaluated_pairs import PairEvaluator
from engine.pool.vqa.vqa import BareVQAModel, VQAModel
from engine.run.stage import StageContext


def make_dataset(config: Config) -> PoolDataset:
    """The configured data set. Raises DataError for unusable files, ConfigError for contradicting settings."""
    section = config.pool
    if section.dataset == "digits":
        return DigitsDataset(config.run.seed, train=section.train_queries, heldout=section.heldout_queries)
    from engine.pool.data.files_dataset import FilesDataset

    return FilesDataset(section.files, config.run.seed)


def make_vqa_model(config: Config, context: StageContext, dataset: PoolDataset) -> BareVQAModel:
    """The configured vision model. Raises ConfigError for a missing API key."""
    section = config.pool.vqa
    if section.kind == "openai":
        from engine.pool.vqa.openai_vqa import OpenAIVQA

        openai = section.openai
        client = context.client(openai, "vision", "pool.vqa.openai", openai.requests_per_minute)
        return OpenAIVQA(client, openai, dataset)
    return DigitsVQA(_digits(dataset))


def given_rl_data(context: StageContext, dataset: PoolDataset, model: VQAModel) -> RLData:
    """RL data of the configured file, or generated once into `pool/initial.json`. Raises DataError."""
    section, table_size = context.config.pool, len(dataset.embeddings)
    if section.rl_data is not None:
        return read_rl_data(Path(section.rl_data).expanduser(), table_size)
    path = layout.initial(context.run_dir)
    if not path.exists():
        evaluator = PairEvaluator(layout.initial_evaluated(context.run_dir), model, dataset.annotations)
        generated = initial_rl_data(
            _digits(dataset),
            lambda asks: evaluator.evaluate(asks, context.checkpoint),
            model.name,
            context.config.run.seed,
        )
        write_rl_data(path, generated)
    return read_rl_data(path, table_size)


def _digits(dataset: PoolDataset) -> DigitsDataset:
    assert isinstance(dataset, DigitsDataset), "PoolSection asks for `rl_data` and `openai` with files"
    return dataset
