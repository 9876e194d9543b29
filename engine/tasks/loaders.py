"""Load data sets: files in their published formats, local or on the hub, or generated problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import cast

from engine.config.esm import TaskSection
from engine.errors import DataError
from engine.seeds import generator
from engine.tasks.comparing import files_task
from engine.tasks.example import TaskExample
from engine.tasks.file_records import parse_file_records
from engine.tasks.formats import parse_records
from engine.tasks.records import Record, read_records
from engine.tasks.sources import task_files
from engine.tasks.task import Task

Parse = Callable[[Iterable[Record], str], list[TaskExample]]


def configured_task(section: TaskSection) -> Task:
    """The task that a configuration names. Raises ConfigError."""
    name = section.dataset
    return files_task(section.compare) if name == "files" else Task(name, name)


def configured_examples(section: TaskSection, split: str, size: int, seed: int) -> list[TaskExample]:
    """Up to `size` examples of `split`, as `load_task_dataset`."""
    parse = partial(parse_file_records, section) if section.dataset == "files" else None
    return load_task_dataset(section.dataset, section.path, split, size, seed, section.shuffle, parse)


def load_task_dataset(
    dataset: str,
    path: str | None,
    split: str,
    size: int,
    seed: int = 0,
    shuffle: bool = False,
    parse: Parse | None = None,
) -> list[TaskExample]:
    """Up to `size` examples of `split`: the first ones, or a seeded random subset. `parse` reads the records, if the
    data set has no form of its own. Raises DataError for an empty set, a record that does not fit the format, and an id
    that occurs twice."""
    if dataset == "generated":
        return _generated(split, size, seed)
    files = task_files(dataset, path, split)
    where = str(files[0])
    records = chain.from_iterable(map(read_records, files))
    examples = parse(records, split) if parse else parse_records(dataset, records, split)
    if not examples:
        raise DataError(
            what=f"the split `{split}` of the data set is empty",
            where=where,
            hint="give a file with examples",
        )
    _check_ids(examples, where)
    if shuffle:
        order = generator(seed, "shuffle", f"{dataset}/{split}").permutation(len(examples))
        examples = [examples[i] for i in order]
    return examples[:size]


def _generated(split: str, size: int, seed: int) -> list[TaskExample]:
    from engine.tasks.generated.arithmetic import generate
    from engine.tasks.generated.splits import Split

    if split not in ("train", "dev", "test"):
        raise DataError(
            what=f"the generated task has no split {split!r}", where="task", hint="use train, dev or test"
        )
    return [
        TaskExample(problem.id, problem.question, problem.answer, problem.solution)
        for problem in generate(cast("Split", split), size, seed)
    ]


def _check_ids(examples: Sequence[TaskExample], where: str) -> None:
    seen: set[str] = set()
    for example in examples:
        if example.id in seen:
            raise DataError(what=f"the id {example.id!r} occurs twice", where=where, hint="make ids unique")
        seen.add(example.id)


def check_disjoint(train: Sequence[TaskExample], evaluation: Sequence[TaskExample]) -> None:
    """Raise DataError where mined and evaluated examples overlap, by id or by text."""
    ids = {example.id for example in train}
    texts = {_normal(example.question) for example in train}
    shared = [e.id for e in evaluation if e.id in ids or _normal(e.question) in texts]
    if shared:
        raise DataError(
            what=f"{len(shared)} examples are both learnt from and evaluated: {', '.join(shared[:3])}",
            where="task.train_split, task.eval_split",
            hint="choose splits that share no example, or take these out of the training file",
        )


def _normal(text: str) -> str:
    """Text for comparison: spacing and case do not distinguish problems; signs do: 3 + 5 is not 3 - 5."""
    return " ".join(text.split()).casefold()
