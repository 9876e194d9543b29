"""The data set of a user's files: VQAv2 or OK-VQA questions and precomputed embeddings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.config.pool import PoolFilesSection, QuestionFiles
from engine.errors import ConfigError, DataError, Problem
from engine.pool.data.dataset import HELDOUT, TRAIN, Image
from engine.pool.data.embedding_table import read_embeddings
from engine.pool.data.vqa_files import VQAQuestion, read_vqa
from engine.seeds import generator


class _QuestionSource:
    """The questions of a group of files, with an embedding each."""

    def __init__(self, files: QuestionFiles, where: str) -> None:
        self.questions = read_vqa(_path(files.questions), _path(files.annotations))
        self.embeddings = read_embeddings(_path(files.embeddings), self.questions)
        self.ids = [question.question_id for question in self.questions]
        self._images = files.images
        self._where = where
        self.image(self.questions[0])  # raises at once for an unfit pattern
        for question in self.questions:
            if isinstance(question.image_id, str):
                self.image(question)

    def image(self, question: VQAQuestion) -> Path | None:
        """Path of a question's image, or None. Raises ConfigError for an unfit pattern, DataError for an id that leads
        out of its folder: what it leads to would be sent to the model's server."""
        if self._images is None:
            return None
        if isinstance(question.image_id, str) and not _is_below(question.image_id):
            raise DataError(
                what=f"the image_id {question.image_id[:200]!r} of question {question.question_id[:200]} leads out of "
                "the folder of images",
                where=f"{self._where}.images",
                hint="correct the file of questions",
            )
        try:
            return _path(self._images.format(image_id=question.image_id))
        except (KeyError, IndexError, ValueError, AttributeError, OverflowError) as error:
            allowed = f"a path with {{image_id}} that takes {str(question.image_id)[:200]!r} ({error})"
            raise ConfigError([Problem(f"{self._where}.images", self._images, allowed)]) from error


class FilesDataset:
    """Demonstrations are the questions of `files.demonstrations`, in order; queries those of `files.queries`, or the
    same. A query's own rows are all rows with its image. Held-out queries are about other images than those that are
    trained on: with embeddings of images, queries about one image are the same to a selector."""

    def __init__(self, files: PoolFilesSection, seed: int) -> None:
        """Raises DataError and ConfigError for unusable files, and for files that do not fit each other."""
        assert files.demonstrations is not None, "PoolSection asks for it"
        self._shown = _QuestionSource(files.demonstrations, "pool.files.demonstrations")
        queries = self._shown
        if files.queries is not None:
            queries = _QuestionSource(files.queries, "pool.files.queries")
        sources = [queries]
        if files.heldout is not None:
            sources.append(_QuestionSource(files.heldout, "pool.files.heldout"))
        self._queries = _by_id(sources, self.embeddings.shape[1])
        if len(sources) > 1:
            _check_apart(*sources)
        self.splits: Mapping[str, Sequence[str]] = (
            {TRAIN: sources[0].ids, HELDOUT: sources[1].ids}
            if len(sources) > 1
            else _split(queries, files.heldout_share, seed)
        )
        self._rows_of_image: dict[str, list[int]] = defaultdict(list)
        for row, question in enumerate(self._shown.questions):
            self._rows_of_image[str(question.image_id)].append(row)

    @property
    def embeddings(self) -> NDArray[Any]:
        """The demonstrations' embeddings [N, d]."""
        return self._shown.embeddings

    def query_embedding(self, query_id: str) -> NDArray[Any]:
        """The query's embedding [d]."""
        source, row = self._queries[query_id]
        return source.embeddings[row]

    def question(self, query_id: str) -> str:
        """The question's text."""
        return self._question(query_id).text

    def annotations(self, query_id: str) -> list[str]:
        """People's answers to the question."""
        return list(self._question(query_id).answers)

    def query_image(self, query_id: str) -> Image:
        """Path of the image, or None."""
        return self._queries[query_id][0].image(self._question(query_id))

    def excluded(self, query_id: str) -> Sequence[int]:
        """Rows with the query's image."""
        return self._rows_of_image.get(str(self._question(query_id).image_id), [])

    def demonstration(self, row: int) -> tuple[str, str]:
        """Question and majority answer."""
        shown = self._shown.questions[row]
        return shown.text, shown.majority

    def image(self, row: int) -> Image:
        """Path of the image, or None."""
        return self._shown.image(self._shown.questions[row])

    def _question(self, query_id: str) -> VQAQuestion:
        source, row = self._queries[query_id]
        return source.questions[row]


def _path(text: str) -> Path:
    return Path(text).expanduser()


def _is_below(name: str) -> bool:
    """Whether an id, put into a path, leads to nothing above its folder."""
    path = Path(name)
    return not (path.is_absolute() or ".." in path.parts or "\0" in name or name.startswith("~"))


def _by_id(sources: Sequence[_QuestionSource], width: int) -> dict[str, tuple[_QuestionSource, int]]:
    by_id: dict[str, tuple[_QuestionSource, int]] = {}
    for source in sources:
        if source.embeddings.shape[1] != width:
            raise DataError(
                what=f"embeddings of {source.embeddings.shape[1]} and of {width} dimensions",
                where="pool.files",
                hint="embed all questions with the same model",
            )
        for row, name in enumerate(source.ids):
            if name in by_id:
                raise DataError(
                    what=f"query {name} is both trained on and held out",
                    where="pool.files.heldout",
                    hint="give files that share no question",
                )
            by_id[name] = source, row
    return by_id


def _check_apart(trained: _QuestionSource, heldout: _QuestionSource) -> None:
    """Raises DataError for a held-out question whose image is trained on, and for one that is trained on under other
    ids: the same words, answers and embedding."""
    by_image = {str(question.image_id): row for row, question in enumerate(trained.questions)}
    asked = {_content(question) for question in heldout.questions}
    by_content: dict[int, list[int]] = defaultdict(list)
    for row, question in enumerate(trained.questions):
        if (content := _content(question)) in asked:
            by_content[content].append(row)
    for row, question in enumerate(heldout.questions):
        same = by_image.get(str(question.image_id))
        reason = f"both are about the image {question.image_id}"
        if same is None:
            vector = heldout.embeddings[row]
            again = by_content.get(_content(question), ())
            same = next((other for other in again if np.array_equal(trained.embeddings[other], vector)), None)
            reason = "question, answers and embedding are the same"
        if same is not None:
            raise DataError(
                what=f"the held-out question {heldout.ids[row]} is like {trained.ids[same]}, which is trained on: "
                f"{reason}",
                where="pool.files.heldout",
                hint="hold out questions about other images, or leave the file out: then a fifth of the images is",
            )


def _content(question: VQAQuestion) -> int:
    """A hash, which takes little memory: half a million questions are usual."""
    return hash((" ".join(question.text.split()).casefold(), *sorted(question.answers)))


def _split(queries: _QuestionSource, share: float, seed: int) -> dict[str, list[str]]:
    """Draws a side for each image alone: its questions stay together, and further ones in the file change nothing."""
    images = {str(question.image_id) for question in queries.questions}
    held = {image for image in images if generator(seed, "pool", f"heldout {image}").random() < share}
    sides: dict[str, list[str]] = {TRAIN: [], HELDOUT: []}
    for name, question in zip(queries.ids, queries.questions, strict=True):
        sides[HELDOUT if str(question.image_id) in held else TRAIN].append(name)
    return sides
