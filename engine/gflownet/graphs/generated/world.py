"""The big graph: hubs with in-degrees in the hundreds, parallel edges, cycles, self-loops, entities without text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.gflownet.graphs.generated.names import NameGenerator
from engine.gflownet.graphs.generated.schema import PARALLEL, RELATIONS, SHARES, Relation
from engine.gflownet.graphs.raw import Triple
from engine.seeds import generator

NO_TEXT = 0.05
"""Share of persons and films that are mere ids."""
PARALLEL_SHARE = 0.3
SELF_LOOPS = 0.005


@dataclass(frozen=True)
class World:
    """Entities by kind, and triples. `leaving` and `arriving`: numbers of the triples at each entity."""

    kinds: dict[str, list[str]]
    triples: list[Triple]
    leaving: dict[str, list[int]]
    arriving: dict[str, list[int]]

    def follow(self, entity: str, relation: str) -> list[str]:
        """Tails of `relation` from `entity`, in order."""
        triples = (self.triples[number] for number in self.leaving.get(entity, ()))
        return [tail for _, name, tail in triples if name == relation]


def make_world(seed: int, nodes: int) -> World:
    """The graph of a run: `nodes` entities, about three triples each."""
    rng = generator(seed, "graphs", "world")
    names = NameGenerator(rng)
    kinds = {
        kind: _entities(kind, max(3, round(share * nodes)), names, rng) for kind, share in SHARES.items()
    }
    triples: dict[Triple, None] = {}
    for relation in RELATIONS:
        _relate(relation, kinds, triples, rng)
    loops = max(1, round(SELF_LOOPS * len(triples)))
    triples.update({(company, "company parent", company): None for company in kinds["company"][:loops]})
    listed = list(triples)
    leaving: dict[str, list[int]] = {}
    arriving: dict[str, list[int]] = {}
    for number, (head, _, tail) in enumerate(listed):
        leaving.setdefault(head, []).append(number)
        arriving.setdefault(tail, []).append(number)
    return World(kinds, listed, leaving, arriving)


def _entities(kind: str, count: int, names: NameGenerator, rng: np.random.Generator) -> list[str]:
    nameless = kind in ("person", "film")
    return [
        names.mediator() if nameless and rng.random() < NO_TEXT else names.draw(kind) for _ in range(count)
    ]


def _relate(
    relation: Relation, kinds: dict[str, list[str]], triples: dict[Triple, None], rng: np.random.Generator
) -> None:
    tails = kinds[relation.tail]
    weight = np.arange(1, len(tails) + 1) ** -relation.skew
    cumulative = np.cumsum(weight / weight.sum())
    for head in kinds[relation.head]:
        for _ in range(int(rng.integers(relation.least, relation.most + 1))):
            tail = tails[min(int(np.searchsorted(cumulative, rng.random())), len(tails) - 1)]
            if tail == head:
                continue
            triples[head, relation.name, tail] = None
            if relation.name in PARALLEL and rng.random() < PARALLEL_SHARE:
                triples[head, PARALLEL[relation.name], tail] = None
            if relation.name in ("person spouse", "country neighbour", "city twin town"):
                triples[tail, relation.name, head] = None
