"""Check the data files that a configuration names: files that are here are read by the stages' own readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from engine.check.finding import Finding, Findings, run_checks
from engine.config.config import Config
from engine.config.pool import QuestionFiles
from engine.errors import DataError
from engine.tasks.hub import cached_files, hub_name

if TYPE_CHECKING:
    from engine.pool.data.dataset import PoolDataset
    from engine.slsm.multichallenge import Dialogues

_Check = Callable[[Findings, Config], None]
_FETCHED = "it is fetched when a stage needs it; without a network, copy its files here and name them"


def check_data(config: Config) -> Iterator[Finding]:
    """A finding for each data file."""
    stages = set(config.run.stages)
    chosen = [check for names, check in _CHECKS if stages & set(names)]
    return run_checks(*((lambda findings, check=check: check(findings, config)) for check in chosen))


def _task(findings: Findings, config: Config) -> None:
    from engine.esm.examples import evaluation_examples, training_examples
    from engine.tasks.loaders import check_disjoint

    task, splits = config.task, (config.task.train_split, config.task.eval_split)
    if task.dataset == "generated":
        findings.here("generated", "task.dataset")
        return
    if not _task_is_here(findings, config):
        return
    with findings.at("task.path"):
        train, evaluated = training_examples(config), evaluation_examples(config)
        check_disjoint(train, evaluated)
        findings.here(
            f"{task.dataset}: {len(train)} of `{splits[0]}`, {len(evaluated)} of `{splits[1]}`, none in both",
            "task.path",
        )


def _task_is_here(findings: Findings, config: Config) -> bool:
    """Whether both splits of the task can be read here; a finding for each that cannot."""
    from engine.tasks.sources import HUB, is_here

    task, splits = config.task, (config.task.train_split, config.task.eval_split)
    if task.dataset == "generated":
        return True
    absent = list(splits)
    with findings.at("task.path"):
        absent = [split for split in splits if not is_here(task.dataset, task.path, split)]
        for split in absent:
            source = HUB.get(task.dataset, {}).get(split)
            named = task.path or (source.shown if source else task.dataset)
            known = hub_name(named) is not None
            findings.absent(
                f"{task.dataset}, split `{split}`: {named} is not here",
                "task.path",
                _FETCHED
                if known
                else f"put {split}.jsonl or {split}.parquet there, or leave task.path out (hub)",
                fetched=known,
            )
    return not absent


def _vectors(findings: Findings, config: Config) -> None:
    def layers(path: Path) -> str:
        from engine.vectors.formats import read_vectors  # imports torch: only where there is a file to read

        return f"a vector for layers {', '.join(map(str, read_vectors(path).layers)) or 'not told'}"

    def pairs(path: Path) -> str:
        from engine.esm.baselines.prompt_pairs import read_pairs

        return f"{len(read_pairs(path))} pairs"

    _described(findings, config.eval.vector.path, "eval.vector.path", layers)
    _described(findings, config.eval.contrast.path, "eval.contrast.path", pairs)


def _clusters(findings: Findings, config: Config) -> None:
    section = config.clusters
    for name in ("embeddings", "pca", "labels", "descriptions"):
        _file(findings, getattr(section, name), f"clusters.{name}")


def _evolution(findings: Findings, config: Config) -> None:
    from engine.evolution.judges.labelled_answers import read_labelled_answers
    from engine.evolution.judges.offline import offline_judge
    from engine.evolution.judges.scope import scope_of
    from engine.evolution.questions import load_splits
    from engine.evolution.reflectors.prompt import read_prompts
    from engine.tasks.financebench import HUB_FILE

    section = config.evolution
    _file(findings, section.initial_deltas, "evolution.initial_deltas")
    _file(findings, section.branch_of, "evolution.branch_of")
    with findings.at("evolution.reflector"):
        read_prompts(section.reflector)
    labels = lambda path: f"{len(read_labelled_answers(str(path)))} labelled answers"  # noqa: E731
    _described(findings, section.judge.labels, "evolution.judge.labels", labels)
    if section.questions == "task":
        place, name = "task.path", config.task.dataset
        is_here = _task_is_here(findings, config)
    else:
        place, name = "evolution.financebench", section.financebench or "generated"
        is_here = section.financebench is None or _file(
            findings, section.financebench, place, HUB_FILE, report=False
        )
    if not is_here:
        return
    with findings.at(place):
        splits = load_splits(config)
        sizes = [len(part) for part in (splits.pool, splits.validation, splits.test)]
        words = "{} to draw from, {} for validation, {} for the test".format(*sizes)
        findings.here(f"{name}: {sum(sizes)} questions, {words}", place)
        judge = offline_judge(config)
        if judge is not None and (warning := scope_of(judge, splits, section.iterations).warning(judge.name)):
            findings.here(warning, "evolution.judge")


def _graphs(findings: Findings, config: Config) -> None:
    section = config.graphs
    if section.dataset == "generated":
        findings.here("generated", "graphs.dataset")
        return
    from engine.gflownet.graphs.sources import ROG_HUB_FILES, make_source
    from engine.gflownet.layout import SPLITS

    hub_files = ROG_HUB_FILES if section.dataset == "rog" else None
    files = [(section.path, "graphs.path")]
    if section.dataset == "pathquestion":
        files.append((section.knowledge_base, "graphs.knowledge_base"))
    here = [_file(findings, path, where, hub_files, report=False) for path, where in files]
    if all(here):
        with findings.at("graphs.path"):
            source = make_source(section, config.run.seed)
            sizes = ", ".join(f"{source.size(split)} of `{split}`" for split in SPLITS)
            findings.here(f"{section.path}: {sizes}{source.remark}", "graphs.path")


def _scores(findings: Findings, config: Config) -> None:
    _file(findings, config.retriever.scores, "retriever.scores")


def _dialogues(findings: Findings, config: Config) -> None:
    from engine.slsm.judges.judge import check_exact
    from engine.slsm.multichallenge import HUB_FILES, SETTING, dialogues_file, read_dialogues

    data = config.slsm.data
    if data.path is None:
        findings.here("generated", SETTING)
    elif _file(findings, data.path, SETTING, HUB_FILES, report=False):
        with findings.at(SETTING):
            dialogues = read_dialogues(dialogues_file(data.path), data.conversations)
            left = f", {dialogues.left_out} left out (slsm.data.conversations)" if dialogues.left_out else ""
            findings.here(f"{data.path}: {len(dialogues.conversations)} conversations{left}", SETTING)
            if config.slsm.judge.kind == "exact" and (unjudged := check_exact(dialogues.criteria)):
                what = f"the exact judge cannot judge {unjudged} of them: they are answered, not scored"
                findings.here(what, "slsm.judge.kind")
            _published_answers(findings, config, dialogues)


def _published_answers(findings: Findings, config: Config, dialogues: Dialogues) -> None:
    from engine.slsm.published_answers import SETTING, read_answers

    def deviations(path: Path) -> str:
        return "; ".join(read_answers(path, dialogues).deviations) or "an answer to each conversation"

    _described(findings, config.slsm.answers.path, SETTING, deviations)


def _pool(findings: Findings, config: Config) -> None:
    from engine.pool.from_config import make_dataset

    section = config.pool
    if section.dataset == "digits":
        findings.here("scikit-learn's digits", "pool.dataset")
        if section.rl_data is not None and _file(findings, section.rl_data, "pool.rl_data"):
            _rl_data(findings, config, make_dataset(config))
        return
    groups = {name: getattr(section.files, name) for name in ("demonstrations", "queries", "heldout")}
    here = [_question_files(findings, files, f"pool.files.{name}") for name, files in groups.items() if files]
    here.append(_file(findings, section.rl_data, "pool.rl_data"))
    if all(here):
        _pool_files(findings, config)


def _pool_files(findings: Findings, config: Config) -> None:
    """Check that files which are all here belong together."""
    from engine.pool.data.files_dataset import FilesDataset

    with findings.at("pool.files"):
        dataset = FilesDataset(config.pool.files, config.run.seed)
        findings.here(", ".join(f"{len(ids)} {name}" for name, ids in dataset.splits.items()), "pool.files")
        image = dataset.image(0)
        if isinstance(image, Path) and not image.is_file():
            findings.absent(
                f"there is no image {image}", "pool.files.demonstrations.images", "unpack the images there"
            )
        _rl_data(findings, config, dataset)


def _rl_data(findings: Findings, config: Config, dataset: PoolDataset) -> None:
    """Check that the RL data is about queries of `dataset` that are trained on."""
    from engine.pool.data.dataset import training_queries
    from engine.pool.data.records import read_rl_data

    if config.pool.rl_data is not None:
        with findings.at("pool.rl_data"):
            given = read_rl_data(Path(config.pool.rl_data).expanduser(), len(dataset.embeddings))
            training = training_queries(given, dataset.splits)
            findings.here(f"{len(given)} queries, {len(training)} of them to train on", "pool.rl_data")


def _question_files(findings: Findings, files: QuestionFiles, where: str) -> bool:
    from engine.pool.data.vqa_files import vqa_file

    named = {
        "questions": str(vqa_file(Path(files.questions).expanduser())),
        "annotations": str(vqa_file(Path(files.annotations).expanduser())),
        "embeddings": files.embeddings,
    }
    here = [_file(findings, path, f"{where}.{name}") for name, path in named.items()]
    return all(here)


def _described(findings: Findings, path: str | None, where: str, describe: Callable[[Path], str]) -> None:
    """A finding for a file that may be named: what `describe` says of it, if it is here."""
    if path is not None and _file(findings, path, where, report=False):
        with findings.at(where):
            findings.here(f"{path}: {describe(Path(path).expanduser())}", where)


def _file(
    findings: Findings, path: str | None, where: str, hub_files: str | None = None, report: bool = True
) -> bool:
    """Whether the file or folder `path` is here; `hub_files`: the pattern fetched for a hub name. `report`: also add a
    finding if it is here."""
    if path is None:
        return True
    try:
        name = hub_name(path) if hub_files else None
    except DataError as error:
        findings.wrong(f"{error.what}: {path}", where, error.hint)
        return False
    if name is not None and hub_files is not None:
        here = cached_files(name, [hub_files]) is not None
    else:
        here = Path(path).expanduser().exists()
    if here and report:
        findings.here(path, where)
    if not here:
        hint = _FETCHED if name else "put it there, or correct the path"
        findings.absent(f"{path} is not here", where, hint, fetched=name is not None)
    return here


_CHECKS: tuple[tuple[tuple[str, ...], _Check], ...] = (
    (("mine", "eval"), _task),
    (("eval",), _vectors),
    (("clusters",), _clusters),
    (("evolve",), _evolution),
    (("graphs",), _graphs),
    (("retriever",), _scores),
    (("slsm",), _dialogues),
    (("pool", "selector"), _pool),
)
"""Each check with the stages that use its data."""
