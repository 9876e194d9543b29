"""PathQuestion as a source of raw questions: the knowledge base around each topic entity, and the gold paths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.config.gflownet import GraphsSection
from engine.errors import DataError
from engine.gflownet.graphs.pathquestion.files import read_question_lines, read_triples
from engine.gflownet.graphs.pathquestion.splits import PathQuestion, merged, split_questions
from engine.gflownet.graphs.raw import RawSample, Triple, Unreadable
from engine.seeds import generator


class PathQuestionSource:
    """The questions of `graphs.path` over the triples of `graphs.knowledge_base`.

    A question's graph is what walks of `graphs.max_hops` edges from its topic entity can meet. A gold path that is
    not in the knowledge base is left out and counted in `missing`; a question without any keeps its answers.
    """

    def __init__(self, section: GraphsSection) -> None:
        """Raises DataError for files that are missing, broken, or do not belong together."""
        path, base = (
            _named(section.path, "graphs.path"),
            _named(section.knowledge_base, "graphs.knowledge_base"),
        )
        lines = read_question_lines(path)
        triples = read_triples(base)
        self._triples = set(triples)
        self._next = _neighbours(triples, section.add_inverse_edges)
        self._hops = section.max_hops
        self._false_triples = section.false_triples
        self._seed = section.split_seed
        self._relations = sorted({relation for _, relation, _ in triples})
        self._name = path.stem
        self.missing = sum(not self._holds(line.gold_path) for line in lines)
        if self.missing == len(lines):
            raise DataError(
                what=f"none of the {len(lines):,} gold paths is in the knowledge base",
                where=f"{path}, {base}",
                hint="name the knowledge base that belongs to these questions, such as 2H-kb.txt to PQ-2H.txt",
            )
        self._splits = split_questions(merged(lines), section.sizes, section.split_seed)
        self._lines = len(lines)
        for split, questions in self._splits.items():
            if not questions:
                raise DataError(
                    what=f"no question is left for the split `{split}`", where=str(path),
                    hint="lower the other sizes (graphs.train_size, validation_size, test_size); paraphrases "
                    "are kept together",
                )  # fmt: skip

    @property
    def remark(self) -> str:
        """How many gold paths are not in the knowledge base, if any."""
        return (
            f"; {self.missing:,} of {self._lines:,} gold paths are not in the knowledge base"
            if self.missing
            else ""
        )

    def size(self, split: str) -> int:
        """Questions of a split."""
        return len(self._splits[split])

    def read(self, split: str) -> Iterator[RawSample | Unreadable]:
        """Question by question."""
        for question in self._splits[split]:
            graph = self._around(question.topic)
            if split == "train":
                graph += self._made_up(question, graph)
            yield self._sample(question, graph)

    def _sample(self, question: PathQuestion, graph: list[Triple]) -> RawSample:
        return RawSample(
            id=f"{self._name} line {question.number}",
            question=question.question,
            answer=list(question.answers),
            q_entity=[question.topic],
            a_entity=list(question.answers),
            graph=graph,
            gold_paths=[list(path) for path in question.gold_paths if self._holds(path)],
        )

    def _around(self, topic: str) -> list[Triple]:
        """The triples within `max_hops` edges of `topic`, nearest first."""
        triples: dict[Triple, None] = {}
        seen, new = {topic}, [topic]
        for _ in range(self._hops):
            met: list[str] = []
            for head in new:
                for triple, other in self._next.get(head, ()):
                    triples[triple] = None
                    if other not in seen:
                        seen.add(other)
                        met.append(other)
            new = met
        return list(triples)

    def _made_up(self, question: PathQuestion, graph: list[Triple]) -> list[Triple]:
        """False triples between the ends of true ones, each with a relation that leaves its head nowhere: a small
        knowledge base holds little but what is asked for, so that what is there would tell what is right."""
        rng = generator(self._seed, "graphs", f"false triples {question.number}")
        absent = {head: self._absent(head) for head in {head for head, _, _ in graph}}
        made_up: dict[Triple, None] = {}
        for head, _, tail in graph:
            others = absent[head]
            count = min(self._false_triples, len(others))
            for place in rng.choice(len(others), count, replace=False) if count else ():
                made_up[head, others[place], tail] = None
        return list(made_up)

    def _absent(self, head: str) -> list[str]:
        """The relations of no triple that can be walked from `head`, in alphabetical order."""
        true = {relation for (_, relation, _), _ in self._next[head]}
        return [relation for relation in self._relations if relation not in true]

    def _holds(self, path: tuple[Triple, ...]) -> bool:
        return self._triples.issuperset(path)


def _named(path: str | None, setting: str) -> Path:
    if path is None:
        raise DataError(what="no file is named", where=setting, hint="set it")
    return Path(path).expanduser()


def _neighbours(triples: list[Triple], both_ways: bool) -> dict[str, list[tuple[Triple, str]]]:
    """The triples that can be walked from each entity, with the entity that they lead to."""
    neighbours: dict[str, list[tuple[Triple, str]]] = {}
    for triple in triples:
        neighbours.setdefault(triple[0], []).append((triple, triple[2]))
        if both_ways:
            neighbours.setdefault(triple[2], []).append((triple, triple[0]))
    return neighbours
