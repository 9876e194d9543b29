"""Evidence as the language model gets it: triples, then the question (spec GFlowNet, comparison with SubgraphRAG)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from engine.events import PathStep, SampledPath

_TOKEN = re.compile(r"\w+|[^\w\s]")


def rough_tokens(text: str) -> int:
    """Words and signs: a count where the model's tokenizer is not known."""
    return len(_TOKEN.findall(text))


def path_triples(paths: Sequence[SampledPath]) -> list[PathStep]:
    """The triples of ranked paths in walking order, each once; paths without an edge have none."""
    unique: dict[tuple[str, str, str], PathStep] = {}
    for path in paths:
        for step in path.steps:
            unique.setdefault((step.head, step.relation, step.tail), step)
    return list(unique.values())


@dataclass(frozen=True)
class EvidencePrompt:
    """The triples that fit a budget, and the text that shows them."""

    question: str
    triples: list[PathStep]
    tokens: int

    @property
    def text(self) -> str:
        """`Triplets:` with a line `(head,relation,tail)` each, then `Question:`."""
        lines = "\n".join(triple_line(triple) for triple in self.triples)
        return f"Triplets:\n{lines}\n\nQuestion:\n{self.question}"


def triple_line(triple: PathStep) -> str:
    """`(head,relation,tail)`"""
    return f"({triple.head},{triple.relation},{triple.tail})"


def build_triplet_prompt(
    question: str, triples: Iterable[PathStep], budget: int, count_tokens: Callable[[str], int] = rough_tokens
) -> EvidencePrompt:
    """As many triples, from the first on, as `budget` tokens hold."""
    kept: list[PathStep] = []
    spent = 0
    for triple in triples:
        cost = count_tokens(triple_line(triple) + "\n")
        if spent + cost > budget:
            break
        kept.append(triple)
        spent += cost
    return EvidencePrompt(question, kept, spent)
