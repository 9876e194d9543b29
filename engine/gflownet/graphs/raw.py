"""g_raw: a question with its triples, as published data and the generator give it (spec GFlowNet 0.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

Triple = tuple[str, str, str]
_INVERSE = "inverse of "
_NO_TEXT = re.compile(r"[mg]\.[0-9a-z_]+")


@dataclass(frozen=True)
class RawSample:
    """One question in words. Entities are names, or m. and g. ids where they have no text, each once in its list.
    `broken_triples`: how many the source left out of `graph`, because they are not three texts. `gold_paths`: paths in
    `graph` from a question entity to an answer, where the source knows which ones the question means."""

    id: str
    question: str
    answer: list[str]
    q_entity: list[str]
    a_entity: list[str]
    graph: list[Triple]
    broken_triples: int = 0
    gold_paths: list[list[Triple]] = field(default_factory=list)


def has_text(entity: str) -> bool:
    """Whether an entity has a name: Freebase ids without a label (m.0abc, g.1xyz) do not."""
    return _NO_TEXT.fullmatch(entity) is None


def inverse(triple: Triple) -> Triple:
    """The triple that leads back."""
    head, relation, tail = triple
    return tail, f"{_INVERSE}{relation}", head


def inverse_of(triple: Triple) -> Triple | None:
    """The triple whose inverse this is, or None."""
    head, relation, tail = triple
    return (tail, relation.removeprefix(_INVERSE), head) if relation.startswith(_INVERSE) else None


@dataclass(frozen=True)
class Unreadable:
    """A row that holds no usable question, and why."""

    reason: str
