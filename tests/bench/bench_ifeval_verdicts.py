"""Our verdicts on IFEval's instructions beside an independent implementation, over real texts.

    python -m tests.bench.bench_ifeval_verdicts IFEVAL TEXTS [per instruction]

IFEVAL: IFEval's input_data.jsonl. TEXTS: MultiChallenge's benchmark_questions.jsonl, whose assistants' messages are the
texts, or the `results.jsonl` of a run of the stage `slsm`. Each instruction is held to a draw of the texts, to each of
them made to keep it, and to each almost so. Prints agreement by kind, and writes every disagreement to
/tmp/ifeval_disagreements.jsonl. With a run's results on IFEval it also prints the modes' scores by both.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from engine.seeds import derive_seed
from engine.slsm.checks.checks import parse_check
from engine.slsm.controllers.rule_reading import sentences
from tests.bench.ifeval.standing import standing_instruction
from tests.engine.slsm.ifeval.independent import PARTS, counts_sentences, follows

DISAGREEMENTS = Path("/tmp/ifeval_disagreements.jsonl")
Case = tuple[str, str, Mapping[str, Any], str]
"""A conversation's id, the kind of instruction, its fields, and our sentence for it."""


def instructions(path: Path, seed: int = 0) -> Iterator[Case]:
    """Those that conversations are made of, in the wording of the run with this seed."""
    for line in path.read_text().splitlines():
        record = json.loads(line)
        for number, (kind, given) in enumerate(
            zip(record["instruction_id_list"], record["kwargs"], strict=True), 1
        ):
            key = f"ifeval-{record['key']}-{number}"
            sentence = standing_instruction(kind, given, Random(derive_seed(seed, "slsm", key)))
            if sentence is not None:
                yield key, kind, given, sentence


def texts_of(path: Path) -> list[str]:
    """The texts of a file."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    if "CONVERSATION" in records[0]:
        said = [
            one["content"]
            for record in records
            for one in record["CONVERSATION"]
            if one["role"] == "assistant"
        ]
    else:
        said = [record["answer"] for record in records]
    return list(dict.fromkeys(text.strip() for text in said if text.strip()))


def variants(kind: str, given: Mapping[str, Any], text: str) -> Iterator[str]:
    """The text, and the text made to keep the instruction, and almost."""
    yield text
    words = text.split()
    match kind:
        case "punctuation:no_comma":
            yield text.replace(",", "")
        case "change_case:english_lowercase":
            yield text.lower()
            yield text.lower() + " A"
        case "change_case:english_capital":
            yield text.upper()
            yield text.upper() + " a"
        case "keywords:existence":
            yield f"{text} {' '.join(given['keywords'])}"
            yield f"{text} {', '.join(given['keywords'][1:])}."
            yield f"{' '.join(word + 's' for word in given['keywords'])} {text}"
        case "keywords:forbidden_words":
            yield f"{text} {given['forbidden_words'][0].upper()}!"
            yield f"{text} {given['forbidden_words'][0]}x"
        case "keywords:frequency":
            for more in (-1, 0):
                yield " ".join(words[:60] + [f"{given['keyword']},"] * max(0, int(given["frequency"]) + more))
        case "length_constraints:number_words":
            for more in (-1, 0, 1):
                yield " ".join((words * 200)[: int(given["num_words"]) + more])
        case "length_constraints:number_sentences":
            for more in (-1, 0, 1):
                yield " ".join(
                    ["It is so.", "Is it?", "Yes!"][at % 3]
                    for at in range(int(given["num_sentences"]) + more)
                )
        case "detectable_format:number_bullet_lists":
            for more in (-1, 0, 1):
                for mark in ("*", "-", "1."):
                    rows = [
                        f"{mark} {' '.join(words[at : at + 6])}"
                        for at in range(int(given["num_bullets"]) + more)
                    ]
                    yield "\n".join(["Here:", *rows])
        case "startend:end_checker":
            phrase = given["end_phrase"]
            yield f"{text} {phrase}"
            yield f"{text}\n\n{phrase.lower().rstrip('.!?')}"
            yield f'"{text} {phrase}"'
            yield f"{phrase} {text}"
        case "startend:quotation":
            yield f'"{text}"'
            yield f'"{text}'
        case "detectable_format:title":
            yield f"<<{' '.join(words[:4])}>>\n{text}"
            yield f"<< >>\n{text}"
        case "detectable_format:json_format":
            encoded = json.dumps({"answer": text})
            yield encoded
            yield f"```json\n{encoded}\n```"
            yield f"Here it is: {encoded}"
            yield f"```\n{encoded}"
        case _:
            pass


def compare(ifeval: Path, texts: list[str], each: int) -> None:
    """Print agreement by kind."""
    cases: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    plain: dict[str, list[bool]] = defaultdict(list)
    wrong: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for key, kind, given, sentence in instructions(ifeval):
        if kind == "length_constraints:number_sentences" and not counts_sentences():
            continue
        check = parse_check(sentence)
        assert check is not None, sentence
        for text in Random(key).sample(texts, min(each, len(texts))):
            for place, one in enumerate(dict.fromkeys(variants(kind, given, text))):
                theirs, ours = follows(kind, given, one), check.holds(one)
                cases[kind] += 1
                kept[kind] += theirs
                if place == 0:
                    plain[kind].append(ours == theirs)
                if ours != theirs:
                    wrong[kind].append(
                        {"kind": kind, "sentence": sentence, "ours": ours, "theirs": theirs, "text": one}
                    )
    print(
        f"{'kind':40} cases  they: kept  agree  texts as they are  ours kept, theirs not  theirs kept, ours not"
    )
    for kind, count in sorted(cases.items()):
        more = sum(one["ours"] for one in wrong[kind])
        bad = len(wrong[kind])
        as_is = f"{sum(plain[kind]) / len(plain[kind]):.3f} of {len(plain[kind])}"
        print(
            f"{kind:40} {count:5}  {kept[kind]:10}  {1 - bad / count:.3f}  {as_is:17}  {more:21}  {bad - more:21}"
        )
    total, bad = sum(cases.values()), sum(map(len, wrong.values()))
    same = [one for own in plain.values() for one in own]
    as_is = f"{sum(same) / len(same):.3f} of {len(same)}"
    print(f"{'all':40} {total:5}  {sum(kept.values()):10}  {1 - bad / total:.3f}  {as_is}")
    DISAGREEMENTS.write_text("".join(f"{json.dumps(one)}\n" for rows in wrong.values() for one in rows))


def read_rate(ifeval: Path) -> None:
    """Print in how many prompts the rules read the instruction in the prompt's own words, too."""
    prompts = {record["key"]: record["prompt"] for record in map(json.loads, ifeval.read_text().splitlines())}
    asked: Counter[str] = Counter()
    read: Counter[str] = Counter()
    for key, kind, _, sentence in instructions(ifeval):
        own = parse_check(sentence)
        assert own is not None
        prompt = sentences(
            next(text for number, text in prompts.items() if key.startswith(f"ifeval-{number}-"))
        )
        found = [check for one in prompt if (check := parse_check(one)) is not None]
        asked[kind] += 1
        read[kind] += any((check.family, check.value) == (own.family, own.value) for check in found)
    print(f"\nread in the published words: {sum(read.values())} of {sum(asked.values())}")
    for kind, count in sorted(asked.items()):
        print(f"  {kind:40} {read[kind]} of {count}")


def rescore(ifeval: Path, results: Path) -> None:
    """Print the modes' shares of kept instructions by our verdicts and by theirs, and how often the two agree."""
    known = {key: (kind, given) for key, kind, given, _ in instructions(ifeval)}
    counts: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for line in results.read_text().splitlines():
        record = json.loads(line)
        kind, given = known[record["conversation_id"]]
        if record.get("passed") is None or (kind.endswith("number_sentences") and not counts_sentences()):
            continue
        theirs = follows(kind, given, record["answer"])
        counts[f"{record['mode']} {record['memory_mode']}"].append((bool(record["passed"]), theirs))
    print(f"{'mode':28} n  ours  theirs  agree (micro means)")
    for mode, pairs in counts.items():
        ours, theirs = (sum(pair[at] for pair in pairs) / len(pairs) for at in (0, 1))
        agree = sum(a == b for a, b in pairs) / len(pairs)
        print(f"{mode:28} {len(pairs)}  {ours:.3f}  {theirs:.3f}  {agree:.3f}")


def main() -> None:
    """As the module says."""
    if absent := [name for name in PARTS if importlib.util.find_spec(name) is None]:
        sys.exit(
            f"not installed: {', '.join(absent)}; tests/engine/slsm/ifeval/independent.py has the command"
        )
    ifeval, source = Path(sys.argv[1]), Path(sys.argv[2])
    compare(ifeval, texts_of(source), int(sys.argv[3]) if len(sys.argv) > 3 else 10)
    read_rate(ifeval)
    if source.name == "results.jsonl":
        rescore(ifeval, source)


if __name__ == "__main__":
    main()
