"""A set of questions over three hops in the format of PathQuestion, of the size of PQ-3H, which is not at hand.

    python -m tests.bench.make_three_hops FOLDER/2H-kb.txt OUT [LINES]

Writes OUT/PQ-3H.txt (5,198 lines without LINES) and OUT/3H-kb.txt: the given triples, with the inverses of parents,
children and spouse. A question is asked about a walk from a person over two of these relations and any third, in three
wordings with PQ-2H's words. Its answers are all ends of its relation path; the gold path leads to one by chance.
Most gold paths come back to the topic (PQ-2H: 6%), not all wordings are fluent, and PQ-3H's own paths and wordings are
others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from engine.gflownet.graphs.pathquestion.files import read_triples
from engine.gflownet.graphs.raw import Triple

INVERSE = {"parents": "children", "children": "parents", "spouse": "spouse"}
WORDS = {
    "parents": ("parent", "parents", "father", "mother", "dad", "mom"),
    "children": ("child", "children", "son", "daughter", "kid", "heir", "offspring"),
    "spouse": ("spouse", "husband", "wife", "couple", "darling", "other half"),
    "gender": ("gender", "sex"),
    "nationality": ("nationality", "nation"),
    "profession": ("profession", "job", "occupation", "work"),
    "cause_of_death": ("cause of death", "reason of death"),
    "religion": ("religion", "faith", "religious belief", "type of religion"),
    "place_of_death": ("place of death",),
    "institution": ("institution", "educational institution", "organization"),
    "place_of_birth": ("place of birth", "birthplace", "hometown"),
    "location": ("location", "address"),
    "ethnicity": ("ethnicity", "race"),
}
WORDINGS = (
    "what is the {2} of {topic} 's {0} 's {1} ?",
    "the {2} of {topic} 's {0} 's {1} ?",
    "{topic} 's {0} 's {1} 's {2} ?",
    "what is the {topic} 's {0} 's {1} 's {2} ?",
    "the {2} of {1} of {0} of {topic} ?",
    "what is the {2} of {1} of {0} of {topic} ?",
    "what is the name of the {2} of {topic} 's {0} 's {1} ?",
)
Next = dict[str, list[Triple]]


def walks(leaving: Next, topic: str) -> Iterator[tuple[Triple, ...]]:
    """The walks of three steps between persons, of which the last may end elsewhere."""
    for first in leaving.get(topic, ()):
        for second in leaving.get(first[2], ()):
            if first[1] in INVERSE and second[1] in INVERSE:
                yield from ((first, second, third) for third in leaving.get(second[2], ()))


def main(base: Path, out: Path, most: int) -> None:
    triples = dict.fromkeys(read_triples(base))
    triples |= dict.fromkeys((tail, INVERSE[r], head) for head, r, tail in list(triples) if r in INVERSE)
    leaving: Next = {}
    for triple in triples:
        leaving.setdefault(triple[0], []).append(triple)
    asked: dict[tuple[str, ...], list[tuple[Triple, ...]]] = {}
    for topic in leaving:
        for walk in walks(leaving, topic):
            asked.setdefault((topic, *(relation for _, relation, _ in walk)), []).append(walk)
    rng, lines = np.random.default_rng(0), []
    every = list(asked.items())
    for place in rng.permutation(len(every)):
        (topic, *relations), found = every[place]
        gold = found[rng.integers(len(found))]
        words = [WORDS[relation][rng.integers(len(WORDS[relation]))] for relation in relations]
        end, ends = gold[-1][2], "".join(f"{name}/" for name in dict.fromkeys(walk[-1][2] for walk in found))
        path = "#".join([topic, *(name for _, relation, tail in gold for name in (relation, tail))])
        lines += [f"{WORDINGS[number].format(*words, topic=topic)}\t{end}({ends})\t{path}#<end>#{end}"
                  for number in rng.choice(len(WORDINGS), 3, replace=False)]  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    (out / "PQ-3H.txt").write_text("\n".join(lines[:most]) + "\n", encoding="utf-8")
    (out / "3H-kb.txt").write_text("\n".join(map("\t".join, triples)) + "\n", encoding="utf-8")
    entities = {name for head, _, tail in triples for name in (head, tail)}
    kinds = {key[1:] for key in asked}
    print(f"{len(lines[:most])} of {len(lines)} lines, {len(triples)} triples, {len(entities)} entities, "
          f"{len(kinds)} relation paths")  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 5198)
