"""The stage `graphs`: g_raw to g_retrieval, with the embeddings of all texts (spec GFlowNet 0.1, 0.2)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.errors import DataError
from engine.events import GraphsBuilt
from engine.files import write_atomic
from engine.gflownet import layout
from engine.gflownet.graphs.dropped import EMPTY_GRAPH, NO_ANSWER, NO_START, write_dropped
from engine.gflownet.graphs.raw import RawSample, Triple, Unreadable, has_text, inverse
from engine.gflownet.graphs.shortest_paths import known_paths, shortest_paths
from engine.gflownet.graphs.sources import RawSource, make_source
from engine.gflownet.graphs.store import RetrievalRecord, RetrievalStore, ints
from engine.lm.embedding.sentence_embedder import SentenceEmbedder, load_embedder
from engine.lm.embedding.text_embedding import embed_texts, write_array
from engine.run.stage import StageContext, StageResult

CHUNK = 128
"""Rows committed, and questions embedded, at a time; fixed, so that a resumed run embeds the same batches."""


MASK = "this entity"


class BuildGraphs:
    """Row after row into the store; then the texts of all entities and relations are embedded."""

    def run(self, context: StageContext) -> StageResult:
        """Continues after the last committed row."""
        with RetrievalStore(layout.retrieval_store(context.run_dir), write=True) as store:
            return _GraphsJob(context, store).run()


@dataclass
class Numbering:
    """Numbers of names, in order of first occurrence. `rows`: for entities, the row of their embedding."""

    numbers: dict[str, int] = field(default_factory=dict)
    rows: list[int] = field(default_factory=list)
    texts: int = 0

    def number(self, name: str) -> int:
        """A name's number, a new one if it has none."""
        if name not in self.numbers:
            self.numbers[name] = len(self.numbers)
            self.texts += has_text(name)
            self.rows.append(self.texts if has_text(name) else 0)
        return self.numbers[name]

    def since(self, first: int) -> list[str]:
        """The names from number `first` on."""
        return list(islice(self.numbers, first, None))


class _GraphsJob:
    def __init__(self, context: StageContext, store: RetrievalStore) -> None:
        self.context = context
        self.store = store
        self.section = context.config.graphs
        self.entities, self.relations = Numbering(), Numbering()
        for kind, numbering in (("entities", self.entities), ("relations", self.relations)):
            for name in store.names(kind):
                numbering.number(name)

    @cached_property
    def embedder(self) -> SentenceEmbedder:
        """Loaded when something is left to embed."""
        embedder = load_embedder(
            self.section.embedder, self.section.device, self.section.batch_size, "graphs"
        )
        self.context.notice(f"embedder: {embedder.name}")
        return embedder

    def run(self) -> StageResult:
        source = make_source(self.section, self.context.config.run.seed)
        total = sum(source.size(split) for split in layout.SPLITS)
        read = {split: int(self.store.note(f"read {split}") or 0) for split in layout.SPLITS}
        self.context.start(total, sum(read.values()), unit="questions")
        if source.remark:
            self.context.notice(source.remark.removeprefix("; "), level="warning")
        for split in layout.SPLITS:
            if read[split] < source.size(split):
                self._split(source, split, read, total)
        self._embed(total)
        self.store.seal()
        return self._result()

    # ------------------------------------------------------------ questions

    def _split(self, source: RawSource, split: str, read: dict[str, int], total: int) -> None:
        rows = islice(source.read(split), read[split], None)
        dropped = Counter(self.store.note(f"dropped {split}") or {})
        broken = self._broken_triples(split)
        while chunk := list(islice(rows, CHUNK)):
            self.context.checkpoint()
            before = len(self.entities.numbers), len(self.relations.numbers)
            kept: list[tuple[RawSample, RetrievalRecord]] = []
            for row in chunk:
                result = self._kept(row)
                if isinstance(result, str):
                    dropped[result] += 1
                else:
                    kept.append(result)
            read[split] += len(chunk)
            broken += sum(row.broken_triples for row in chunk if isinstance(row, RawSample))
            self.store.write(
                split,
                self._embedded(kept),
                {"entities": self.entities.since(before[0]), "relations": self.relations.since(before[1])},
                {
                    f"read {split}": read[split],
                    f"dropped {split}": dict(dropped),
                    f"broken triples {split}": broken,
                },
            )
            self.context.progress(sum(read.values()), total, note=split)

    def _broken_triples(self, split: str) -> int:
        return int(self.store.note(f"broken triples {split}") or 0)

    def _kept(self, row: RawSample | Unreadable) -> tuple[RawSample, RetrievalRecord] | str:
        """The question with its record, or why it is left out."""
        if isinstance(row, Unreadable):
            return row.reason
        if not (row.answer or row.a_entity):
            return NO_ANSWER
        if not row.graph:
            return EMPTY_GRAPH
        record = self._record(row)
        return (row, record) if record.q_locals else NO_START

    def _record(self, row: RawSample) -> RetrievalRecord:
        """The record of a question, without its embedding. Equal triples become a single edge."""
        triples = list(dict.fromkeys(self._both_ways(row.graph)))
        local: dict[str, int] = {}
        for head, _, tail in triples:
            local.setdefault(head, len(local))
            local.setdefault(tail, len(local))
        heads = _array([local[head] for head, _, _ in triples])
        tails = _array([local[tail] for _, _, tail in triples])
        relations = _array([self.relations.number(relation) for _, relation, _ in triples])
        nodes = _array([self.entities.number(entity) for entity in local])
        starts = [local[entity] for entity in row.q_entity if entity in local]
        answers = [local[entity] for entity in row.a_entity if entity in local]
        number = {triple: edge for edge, triple in enumerate(triples)}
        gold = [[number[triple] for triple in path] for path in row.gold_paths]
        known = (
            known_paths(gold, len(triples))
            if gold
            else shortest_paths(len(local), heads, tails, starts, answers)
        )
        return RetrievalRecord(
            sample_id=row.id,
            question=row.question,
            nodes=nodes.tobytes(),
            node_rows=_array([self.entities.rows[node] for node in nodes.tolist()]).tobytes(),
            heads=heads.tobytes(),
            tails=tails.tobytes(),
            relations=relations.tobytes(),
            labels=known.labels.tobytes(),
            q_locals=starts,
            a_locals=answers,
            answer_entity_ids=[self.entities.number(entity) for entity in row.a_entity],
            question_emb=b"",
            gt_paths=known.paths,
            answers=row.answer or row.a_entity,
        )

    def _both_ways(self, graph: Sequence[Triple]) -> Iterator[Triple]:
        yield from graph
        if self.section.add_inverse_edges:
            yield from map(inverse, graph)

    def _embedded(self, kept: list[tuple[RawSample, RetrievalRecord]]) -> list[RetrievalRecord]:
        if not kept:
            return []
        masked = self.section.mask_topic
        texts = [question_words(row.question, row.q_entity if masked else ()) for row, _ in kept]
        rows = self._scaled(self.embedder.embed(texts)).astype("<f4")
        return [
            msgspec.structs.replace(record, question_emb=vector.tobytes())
            for (_, record), vector in zip(kept, rows, strict=True)
        ]

    def _scaled(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        return rows * np.float32(rows.shape[1] ** 0.5) if self.section.unit_variance else rows

    # ------------------------------------------------------------ entities and relations

    def _embed(self, total: int) -> None:
        run_dir = self.context.run_dir
        entities, relations = list(self.entities.numbers), list(self.relations.numbers)
        write_atomic(layout.entity_texts(run_dir), json.dumps(entities, ensure_ascii=False))
        write_atomic(layout.relation_texts(run_dir), json.dumps(relations, ensure_ascii=False))
        words = [relation_words(name) for name in relations]
        self._table(layout.relation_embeddings(run_dir), words, total, zero=False)
        words = [entity_words(name) for name in entities if has_text(name)]
        self._table(layout.entity_embeddings(run_dir), words, total, zero=True)

    def _table(self, path: Path, texts: list[str], total: int, zero: bool) -> None:
        unfinished = path.with_name(f"{path.stem}.texts.npy")
        if path.exists():
            unfinished.unlink(missing_ok=True)  # killed between the two
            return
        if not texts:
            raise DataError(
                what="no text to embed is left", where="graphs", hint="see dropped.json for what was wrong"
            )

        def report(done: int) -> None:
            self.context.progress(total, total, note=f"embedding {done:,} of {len(texts):,} texts")

        rows = embed_texts(texts, lambda: self.embedder, unfinished, self.context.checkpoint, report)
        rows = self._scaled(rows)
        table = np.concatenate([np.zeros((1, rows.shape[1]), np.float32), rows]) if zero else rows
        write_array(path, table.astype(np.float32))
        unfinished.unlink(missing_ok=True)

    # ------------------------------------------------------------ result

    def _result(self) -> StageResult:
        run_dir = self.context.run_dir
        summary: dict[str, float | int | str] = {}
        for split in layout.SPLITS:
            dropped: dict[str, int] = self.store.note(f"dropped {split}") or {}
            write_dropped(run_dir, "graphs", split, dropped)
            event = self._described(split, dropped)
            self.context.emit(event)
            summary[split] = event.samples
            if dropped:
                summary[f"{split}_dropped"] = sum(dropped.values())
            if event.broken_triples:
                summary[f"{split}_broken_triples"] = event.broken_triples
                self.context.notice(
                    f"{split}: {event.broken_triples} triples were left out, which are not three texts",
                    level="warning",
                )
        summary["entities"], summary["relations"] = len(self.entities.numbers), len(self.relations.numbers)
        paths = (
            layout.retrieval_store(run_dir), layout.entity_texts(run_dir), layout.relation_texts(run_dir),
            layout.entity_embeddings(run_dir), layout.relation_embeddings(run_dir), layout.dropped_samples(run_dir),
        )  # fmt: skip
        return StageResult(summary, [str(path.relative_to(run_dir)) for path in paths])

    def _described(self, split: str, dropped: dict[str, int]) -> GraphsBuilt:
        records = [self.store.record(split, number) for number in range(self.store.count(split))]
        edges = [len(record.labels) for record in records]
        shortest = [len(record.gt_paths[0]) if record.gt_paths else 0 for record in records]
        hubs = [int(np.bincount(ints(record.tails)).max()) for record in records]
        return GraphsBuilt(
            split=split,
            samples=len(records),
            dropped=dropped,
            broken_triples=self._broken_triples(split),
            edges_mean=_mean(edges),
            nodes_mean=_mean([len(record.nodes) // 8 for record in records]),
            in_degree_max=max(hubs, default=0),
            reachable=sum(bool(record.gt_paths) for record in records),
            signal_to_noise=float(np.median([p / e for p, e in zip(shortest, edges, strict=True)]))
            if records
            else 0.0,
            hops=dict(Counter(str(len(record.gt_paths[0])) for record in records if record.gt_paths)),
        )


def relation_words(name: str) -> str:
    """A relation's name as words: `people.person.place_of_birth` says more to an embedder without its signs."""
    return entity_words(name.replace(".", " "))


def entity_words(name: str) -> str:
    """A name with spaces where the data set has underscores."""
    return " ".join(name.replace("_", " ").split())


def question_words(question: str, masked: Sequence[str]) -> str:
    """A question as it is embedded: as `entity_words`, with MASK in the place of the entities `masked`."""
    for name in sorted(masked, key=len, reverse=True):
        question = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", MASK, question)
    return entity_words(question)


def _array(values: Sequence[int]) -> NDArray[np.int64]:
    return np.array(values, dtype="<i8")


def _mean(values: Sequence[int]) -> float:
    return float(np.mean(values)) if values else 0.0
