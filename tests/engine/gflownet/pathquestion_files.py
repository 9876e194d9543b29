"""Small files in the format of PathQuestion, written by the tests themselves."""

from __future__ import annotations

from pathlib import Path

RELATIONS = {"spouse": "couple", "parents": "parent", "children": "child", "profession": "job"}


def write_files(folder: Path, people: int = 30) -> tuple[Path, Path]:
    """Questions and knowledge base: `people` persons in a ring, each with a spouse, a parent and a profession; of each,
    two questions of two steps in two wordings."""
    triples, questions = [], []
    for number in range(people):
        one, other = _person(number), _person((number + 1) % people)
        triples += [(one, "spouse", other), (one, "profession", f"work_{number % 5}")]
        triples += [(one, "parents", _person((number + 7) % people))]
    known = {(head, relation): tail for head, relation, tail in triples}
    for number in range(people):
        topic = _person(number)
        for first, second in (("spouse", "profession"), ("parents", "spouse")):
            middle = known[topic, first]
            end = known[middle, second]
            walked = f"{topic}#{first}#{middle}#{second}#{end}#<end>#{end}"
            for words in ("what is the {1} of {2} 's {0} ?", "the {1} of the {0} of {2} ?"):
                question = words.format(RELATIONS[first], RELATIONS[second], topic)
                questions += [f"{question}\t{end}({end}/)\t{walked}"]
    return (
        write(folder / "PQ-2H.txt", questions),
        write(folder / "2H-kb.txt", ["\t".join(triple) for triple in triples]),
    )


def write(path: Path, lines: list[str]) -> Path:
    """A file of these lines."""
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _person(number: int) -> str:
    return f"person_{number}_of_norway"
