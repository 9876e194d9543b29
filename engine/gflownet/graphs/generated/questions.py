"""Questions over the generated graph: a chain of relations from an entity or two, and a subgraph around it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.config.gflownet import GraphsSection
from engine.gflownet.graphs.generated.schema import RELATIONS, Relation
from engine.gflownet.graphs.generated.world import World, make_world
from engine.gflownet.graphs.raw import RawSample, Triple, has_text
from engine.gflownet.layout import SPLITS
from engine.seeds import generator

UNREACHABLE = 0.04
"""Share of questions whose answers were cut off from their subgraph."""
TWO_STARTS = 0.25
MOST_ANSWERS = 8
AT_AN_ANSWER = 150
AT_ONE_NODE = 30
"""Edges a subgraph takes at a single entity before it grows elsewhere."""
TEMPLATES = (
    "What is the {chain} of {start}?",
    "Which is the {chain} of {start}?",
    "Tell me the {chain} of {start}.",
    "Name the {chain} of {start}.",
)
BOTH = ("What do {start} share as {chain}?", "Which {chain} do {start} have in common?")
_BY_HEAD: dict[str, list[Relation]] = {}
for _relation in RELATIONS:
    _BY_HEAD.setdefault(_relation.head, []).append(_relation)


class GeneratedSource:
    """Draws questions by number; no two of a run are the same in words, so that splits are disjoint."""

    remark = ""

    def __init__(self, section: GraphsSection, seed: int) -> None:
        self._section = section
        self._seed = seed
        self._world: World = make_world(seed, section.nodes)
        self._asked: set[str] = set()
        self._read: dict[str, list[RawSample]] = {}

    def size(self, split: str) -> int:
        """The configured number of questions."""
        return self._section.sizes[split]

    def read(self, split: str) -> Iterator[RawSample]:
        """All splits up to this one are drawn first, so that no question is drawn twice."""
        for name in SPLITS[: SPLITS.index(split) + 1]:
            if name not in self._read:
                self._read[name] = [self._question(name, number) for number in range(self.size(name))]
        yield from self._read[split]

    def _question(self, split: str, number: int) -> RawSample:
        for draw in range(1000):
            rng = generator(self._seed, "graphs", f"{split} {number}", draw)
            chain = self._chain(rng)
            if chain is None:
                continue
            starts, relations, answers, edges = chain
            question = _words(starts, relations, rng)
            if question in self._asked:
                continue
            self._asked.add(question)
            graph = self._subgraph(starts, answers, edges, rng)
            return RawSample(f"{split}-{number:05d}", question, answers, starts, answers, graph)
        raise ValueError("graphs.nodes is too small for so many different questions")

    def _chain(
        self, rng: np.random.Generator
    ) -> tuple[list[str], list[Relation], list[str], set[int]] | None:
        """Starts, relations, answers, and the triples on the way; None if the draw leads nowhere."""
        world = self._world
        kinds = [kind for kind in _BY_HEAD if kind != "award"]
        kind = kinds[int(rng.integers(len(kinds)))]
        entities = world.kinds[kind]
        start = entities[int(rng.integers(len(entities)))]
        if not has_text(start):
            return None
        relations = _relations(kind, int(rng.integers(1, self._section.max_hops + 1)), rng)
        starts = [start]
        if rng.random() < TWO_STARTS and (other := self._companion(start, relations[0], rng)):
            starts.append(other)
        reached = [self._walk(entity, relations) for entity in starts]
        answers = [entity for entity in reached[0][0] if all(entity in ends for ends, _ in reached)]
        if not 1 <= len(answers) <= MOST_ANSWERS or set(answers) & set(starts):
            return None
        return starts, relations, answers, set().union(*(edges for _, edges in reached))

    def _companion(self, start: str, relation: Relation, rng: np.random.Generator) -> str | None:
        """Another entity with the same tail of the first relation."""
        tails = self._world.follow(start, relation.name)
        if not tails:
            return None
        heads = [
            self._world.triples[number][0]
            for number in self._world.arriving[tails[0]]
            if self._world.triples[number][1] == relation.name
        ]
        others = [head for head in heads if head != start and has_text(head)]
        return others[int(rng.integers(len(others)))] if others else None

    def _walk(self, start: str, relations: list[Relation]) -> tuple[list[str], set[int]]:
        """Entities at the end of the chain, in order, and the triples that lead there."""
        world, here, edges = self._world, [start], set[int]()
        for relation in relations:
            reached: dict[str, None] = {}
            for entity in here:
                for number in world.leaving.get(entity, ()):
                    _, name, tail = world.triples[number]
                    if name == relation.name:
                        reached[tail] = None
                        edges.add(number)
            here = list(reached)
        return here, edges

    def _subgraph(
        self, starts: list[str], answers: list[str], chain: set[int], rng: np.random.Generator
    ) -> list[Triple]:
        """About `graphs.edges` triples around starts and answers, the chain among them, in a drawn order."""
        world, size = self._world, self._section.edges
        cut_off = set(answers) if rng.random() < UNREACHABLE else set[str]()
        kept = {number for number in chain if world.triples[number][2] not in cut_off}
        waiting = [*starts, *(world.triples[number][2] for number in sorted(chain)), *answers]
        waiting = [entity for entity in dict.fromkeys(waiting) if entity not in cut_off]
        seen, place = set(waiting), 0
        while len(kept) < size and place < len(waiting):
            entity = waiting[place]
            place += 1
            around = [*world.leaving.get(entity, ()), *world.arriving.get(entity, ())]
            most = AT_AN_ANSWER if entity in answers else AT_ONE_NODE
            for at in rng.permutation(len(around))[:most]:
                head, _, tail = world.triples[around[int(at)]]
                if tail in cut_off:
                    continue
                kept.add(around[int(at)])
                new = [end for end in (head, tail) if end not in seen]
                seen.update(new)
                waiting.extend(new)
        listed = sorted(kept)
        return [world.triples[listed[int(at)]] for at in rng.permutation(len(listed))]


def _relations(kind: str, hops: int, rng: np.random.Generator) -> list[Relation]:
    """A chain of relations, each from where the last one leads; shorter where nothing leads on."""
    chain: list[Relation] = []
    while len(chain) < hops and kind in _BY_HEAD:
        choices = _BY_HEAD[kind]
        chain.append(choices[int(rng.integers(len(choices)))])
        kind = chain[-1].tail
    return chain


def _words(starts: list[str], relations: list[Relation], rng: np.random.Generator) -> str:
    phrases = [relation.words[int(rng.integers(len(relation.words)))] for relation in reversed(relations)]
    templates = BOTH if len(starts) > 1 else TEMPLATES
    template = templates[int(rng.integers(len(templates)))]
    return template.format(chain=" of the ".join(phrases), start=" and ".join(starts))
