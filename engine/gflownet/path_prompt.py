"""Evidence as the language model gets it: triples, then the question (spec GFlowNet, comparison with SubgraphRAG)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from engine.events import PathStep, SampledPath


def path_triples(paths: Sequence[SampledPath]) -> list[PathStep]:
    """The triples of ranked paths in walking order, each once; paths that met no edge have none."""
    unique: dict[tuple[str, str, str], PathStep] = {}
    for path in paths:
        for step in path.steps:
            unique.setdefault((step.head, step.relation, step.tail), step)
    return list(unique.values())


def triplet_prompt(
    question: str, triples: Iterable[PathStep], budget: int, count_tokens: Callable[[str], int]
) -> str:
    """`Triplets:` with as many lines `(head,relation,tail)` as `budget` tokens hold, from the first on, then
    `Question:`."""
    lines: list[str] = []
    left = budget
    for triple in triples:
        line = f"({triple.head},{triple.relation},{triple.tail})"
        cost = count_tokens(line + "\n")
        if cost > left:
            break
        lines.append(line)
        left -= cost
    return "Triplets:\n" + "\n".join(lines) + f"\n\nQuestion:\n{question}"
