"""Another choice in a recorded answer: nothing but the choice is new."""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from engine.config.file import load_config
from engine.errors import DataError
from engine.esm.baselines.plain import encoded_prompt
from engine.esm.evaluation.answer_lines import step_of
from engine.esm.evaluation.methods import make_variant
from engine.esm.evaluation.sources import Sources
from engine.esm.online.control_point import Answer
from engine.esm.online.controller import Controller
from engine.esm.online.forced import Forced
from engine.esm.what_if import WhatIf, WhatIfRequest, _same_choice, difference_to
from engine.events import DecisionTaken, Event, WhatIfTried, decode
from engine.files import read_jsonl
from engine.lm.protocol import Request, Sampling, Steer
from engine.lm.transformers.model import TransformersModel
from engine.services.run_context import run_context
from engine.services.what_if import serve
from tests.exactly import exactly
from tests.kill_and_resume import DEMO
from tests.small_esm import SMALL, answer_line

Run = tuple[Path, list[Event]]


@pytest.fixture(scope="module")
def what_if(run: Run, embedded: TransformersModel) -> WhatIf:
    return WhatIf(
        dataclasses.replace(
            run_context(run[0].parent, "eval"),
            config=load_config(DEMO, list(SMALL)),
            load_model=lambda section: embedded,
        )
    )


def other(*values: Any, **more: Any) -> WhatIfRequest:
    """A request; values are those of the fields in order."""
    return WhatIfRequest(**dict(zip(WhatIfRequest.model_fields, values, strict=False)), **more)


def lines(run: Run, method: str = "esm") -> list[dict[str, Any]]:
    return read_jsonl(run[0] / "eval" / method / "per_example.jsonl")


def steered(run: Run, method: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for line in lines(run, method):
        for step in line["steps"]:
            if step["chosen"]:
                yield line, step


@pytest.fixture(scope="module")
def place(run: Run) -> tuple[dict[str, Any], dict[str, Any]]:
    """A decision that steered, with its answer."""
    return next(steered(run, "no_probing"))


def injectable(what_if: WhatIf) -> list[str]:
    return [entry.tool_name for entry in what_if.memory.entries if entry.vector is not None]


def segments(what_if: WhatIf, text: str) -> list[str]:
    return text.split(what_if.config.control_points.segment_delimiter)


@pytest.mark.parametrize("method", ["esm", "no_probing"])
def test_the_recorded_choice_gives_the_record(run: Run, what_if: WhatIf, method: str) -> None:
    """The last of six answers that were steered."""
    last = {line["example_id"]: (line, step) for line, step in steered(run, method)}
    assert len(last) > 5
    for line, step in [*last.values()][:6]:
        tried = what_if.tried(
            other(method, line["example_id"], step["m"], [step["chosen"]], alphas=[step["alpha"]])
        )
        assert tried.exact, tried.difference
        assert tried.committed.text == tried.yours[0].text == line["text"]
        assert tried.yours[0].tokens_used == line["tokens_used"]
        assert tried.committed.correct == line["correct"]


def test_the_segment_is_what_the_model_writes_with_that_vector(
    what_if: WhatIf, embedded: TransformersModel, place: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    """Held against one plain request on prompt and prefix, for another entry, strength and layer, and for a sum."""
    line, step = place
    first, second = (name for name in injectable(what_if)[:2])
    decide = what_if.config.control_points.segment_delimiter
    prefix = decide.join(segments(what_if, line["text"])[: step["m"] - 1]) + decide * (step["m"] > 1)
    tokens = [*embedded.tokenizer.encode_chat(line["question"]), *embedded.tokenizer.encode(prefix)]
    seen: set[str] = set()
    for entries, layer, alphas in (
        ([first], None, [0.5, 3.0]),
        ([second], 1, [2.0]),
        ([first, second], 2, [1.5]),
    ):
        tried = what_if.tried(other("no_probing", line["example_id"], step["m"], entries, layer, alphas))
        vectors = [what_if.entries[name].vector for name in entries]
        total = np.stack([vector for vector in vectors if vector is not None]).sum(axis=0, dtype=np.float32)
        for alpha, yours in zip(alphas, tried.yours, strict=True):
            used = what_if.entries[entries[0]].layer if layer is None else layer
            request = Request(tokens, Sampling(150, stop=decide), steer=Steer(total, used, alpha))
            assert yours.segment == embedded.generate([request])[0].text
            assert yours.chosen[step["m"] - 1] == " + ".join(entries) and yours.alpha == alpha
            seen.add(yours.segment)
    assert len(seen) > 1


def test_the_company_changes_nothing(
    run: Run, what_if: WhatIf, embedded: TransformersModel, place: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    """As if the whole evaluation had been done again with that choice forced."""
    line, step = place
    name = injectable(what_if)[1]
    tried = what_if.tried(other("no_probing", line["example_id"], step["m"], [name], None, [2.0]))
    examples = [what_if.examples[other["example_id"]] for other in lines(run, "no_probing")]
    prompts = [encoded_prompt(what_if.config, what_if.task, embedded, example) for example in examples]
    row = next(i for i, example in enumerate(examples) if example.id == line["example_id"])
    entry = what_if.entries[name]
    assert entry.vector is not None
    forced = {row: Forced(step["m"], Steer(entry.vector, entry.layer, 2.0), name)}
    variant = make_variant("no_probing", embedded, what_if.config, Sources(what_if.memory))
    again = Controller(embedded, what_if.config, variant).run([e.id for e in examples], prompts, forced)
    assert again[row].text == tried.yours[0].text != line["text"]
    assert tried.exact and tried.difference == "", "it is the unchanged answer that repeats the record"
    others = [answer.text for i, answer in enumerate(again) if i != row]
    assert others == [other["text"] for i, other in enumerate(lines(run, "no_probing")) if i != row]


def test_null_to_the_end_is_what_the_model_does_alone(
    run: Run, what_if: WhatIf, place: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    line, step = place
    tried = what_if.tried(other("no_probing", line["example_id"], 1, onward=True))
    greedy = next(other for other in lines(run, "greedy") if other["example_id"] == line["example_id"])
    assert tried.null.text == greedy["text"] != line["text"]
    assert tried.yours == [tried.null] and tried.committed.text == line["text"]
    once = what_if.tried(other("no_probing", line["example_id"], step["m"]))
    assert once.null.chosen[step["m"] - 1] is None
    assert once.null.text.startswith(tried.committed.text[: len(tried.committed.text.partition("\n\n")[0])])


def test_onward_holds_at_every_later_control_point(
    what_if: WhatIf, place: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    line, step = place
    name = injectable(what_if)[0]
    here, there = (
        what_if.tried(other("no_probing", line["example_id"], step["m"], [name], None, [0.1], onward))
        for onward in (False, True)
    )
    assert here.yours[0].chosen.count(name) < len(there.yours[0].chosen[step["m"] - 1 :])
    assert set(there.yours[0].chosen[step["m"] - 1 :]) == {name}


def test_a_difference_to_the_record_is_told(
    what_if: WhatIf, place: tuple[dict[str, Any], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    line, step = place
    known = what_if._of_method("no_probing")
    recorded = known[line["example_id"]]
    first = replace(recorded.steps[0], chosen="another", alpha=1.0)
    changed = replace(recorded, steps=[first, *recorded.steps[1:]])
    monkeypatch.setitem(known, line["example_id"], changed)
    tried = what_if.tried(other("no_probing", line["example_id"], step["m"]))
    assert not tried.exact and tried.difference == "segment 1 chose another then and null now"


@pytest.mark.parametrize(
    ("text", "step", "said"),
    [
        ("So.", {}, ""),
        ("No.", {}, "the same decisions lead to another text"),
        ("So.", {"alpha": 1.5003}, ""),
        (
            "So.",
            {"alpha": 1.51},
            "segment 2 chose + → -, step 1 at α 1.51 then and + → -, step 1 at α 1.5 now",
        ),
        ("So.", {"chosen": "w2"}, "segment 2 chose w2 then and + → -, step 1 now"),
        ("So.", {"chosen": None}, "segment 2 chose null then and + → -, step 1 now"),
        ("No.", {"committed_tokens": 9}, "segment 2 had 9 tokens then and 7 now"),
    ],
)
def test_where_decoding_again_leaves_the_record(text: str, step: dict[str, Any], said: str) -> None:
    decisions = [
        DecisionTaken(method="esm", example="e", m=1, gate="null_best", committed_tokens=3),
        DecisionTaken(
            method="esm", example="e", m=2, gate="best", chosen="w1", alpha=1.5, committed_tokens=7
        ),
    ]
    again = Answer("e", text="So.", decisions=decisions)
    recorded = [step_of(decisions[0]), replace(step_of(decisions[1]), **step)]
    line = answer_line(text=text, steps=[])
    line.steps = recorded
    assert difference_to(line, again, {"w1": "+ → -, step 1"}) == said


def test_choices_are_those_at_control_points(what_if: WhatIf) -> None:
    """What follows the last one is never steered, so that nothing was chosen there."""
    decisions = [
        DecisionTaken(method="esm", example="e", m=1, gate="best", chosen="w1", alpha=1.5),
        DecisionTaken(method="esm", example="e", m=2, gate="null_best"),
        DecisionTaken(method="esm", example="e", m=3, gate="", phase="tail"),
    ]
    tried = what_if._tried(Answer("e", text="So.", decisions=decisions), 1, "7")
    assert (tried.alpha, tried.chosen) == (1.5, ["w1", None])


def test_what_follows_the_last_control_point_is_none(
    what_if: WhatIf, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = next(iter(what_if.examples))
    phases = ("segment", "segment", "tail")
    line = answer_line(example_id=example)
    line.steps = [step_of(DecisionTaken(method="esm", example="e", m=m, gate="", phase=phase))
                  for m, phase in enumerate(phases, 1)]  # fmt: skip
    monkeypatch.setattr(what_if, "_of_method", lambda method: {example: line})
    assert what_if._recorded(other("esm", example, 2)) is line
    with pytest.raises(
        DataError, match=r"^the answer has no control point 3 \(esm, .*\): choose one of 1 to 2; "
    ):
        what_if._recorded(other("esm", example, 3))


def test_an_entry_is_known_by_its_name(what_if: WhatIf, place: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """Made of the texts that were mined, each once; the event has the id and the name."""
    names = [entry.name for entry in what_if.memory.entries]
    assert len(set(names)) == len(names) > 10
    assert all(", step " in name and ("→" in name or name.startswith("keep ")) for name in names)
    entry = next(entry for entry in what_if.memory.entries if entry.vector is not None)
    line, step = place
    by_name, by_id = (
        what_if.tried(other("no_probing", line["example_id"], step["m"], [word], None, [0.1]))
        for word in (entry.name, entry.tool_name)
    )
    assert by_name == by_id and (by_name.entries, by_name.names) == ([entry.tool_name], [entry.name])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"example": "nobody"},
            "no_probing has no answer to 'nobody' (…/no_probing): choose an example that this run evaluated",
        ),
        (
            {"m": 99},
            "the answer has no control point 99 (no_probing, …): choose one of 1 to …; what follows the last "
            "one is never "
            "steered",
        ),
        (
            {"method": "greedy"},
            "greedy takes no decisions: try another choice in an answer of esm or of one of its ablations; null "
            "is what "
            "greedy does",
        ),
        (
            {"method": "mean_vector"},
            "`per_example.jsonl` is not there (…/mean_vector/per_example.jsonl): run the stage `eval` of this "
            "run first",
        ),
        (
            {"entries": ["nothing"]},
            "the memory has no entry 'nothing' (…/esm/memory): choose a wrong entry of the library",
        ),
        (
            {"entries": "a right one"},
            "… speaks for null: it has no vector (…/esm/memory): choose a wrong entry of the library",
        ),
        ({"layer": 99}, "the model has no layer 99: choose one of 0 to 3"),
        ({"layer": 4}, "the model has no layer 4: choose one of 0 to 3"),
    ],
)
def test_what_the_run_does_not_have_is_refused(
    what_if: WhatIf, place: tuple[dict[str, Any], dict[str, Any]], change: dict[str, Any], words: str
) -> None:
    right = [entry.tool_name for entry in what_if.memory.entries if entry.vector is None]
    wanted = {"method": "no_probing", "example": place[0]["example_id"], "m": 1}
    wanted |= {"entries": injectable(what_if)[:1]} | change
    if wanted["entries"] == "a right one":
        wanted["entries"] = right[:1]
    with pytest.raises(DataError, match=exactly(words)):
        what_if.tried(other(**wanted))


def test_an_answer_to_what_is_no_longer_evaluated_is_not_tried() -> None:
    """Its line stands in the file; its question came with a larger `task.eval_size`."""
    tried: Any = object.__new__(WhatIf)
    line: Any = SimpleNamespace(steps=[SimpleNamespace(phase="segment")])
    vars(tried).update(examples={}, _lines={"esm": {"e": line}}, _run_dir=Path("run"))
    gone = "esm has no answer to 'e' (run/esm/eval/esm): choose an example that this run evaluated"
    with pytest.raises(DataError, match=exactly(gone)):
        tried._recorded(WhatIfRequest(example="e", m=1))


def test_the_process_answers_and_keeps_every_try(run: Run, place: Any, tmp_path: Path) -> None:
    """A line in, a line out; the run's log and tables stay as they are."""
    copy = tmp_path / "run"
    shutil.copytree(run[0], copy / "esm")
    settings = load_config(DEMO, [*SMALL, "model.device=cpu"])
    (copy / "config.yaml").write_text(json.dumps(settings.model_dump(mode="json", exclude_unset=True)))
    line, step = place
    wanted = {"method": "no_probing", "example": line["example_id"], "m": step["m"]}
    tried = wanted | {"entries": [step["chosen"]], "alphas": [0.0, step["alpha"]]}
    replies = io.BytesIO()
    requests = [tried, wanted, wanted | {"m": 0}, wanted | {"entries": ["nothing"]}, "no request"]
    serve(copy, io.StringIO("".join(json.dumps(request) + "\n" for request in requests)), replies)
    first, second, *errors = replies.getvalue().splitlines(keepends=True)
    event = decode(first)
    assert isinstance(event, WhatIfTried) and event.exact
    assert event.yours[0].text == event.null.text and event.yours[1].text == line["text"]
    assert [next(iter(json.loads(error))) for error in errors] == ["error"] * 3
    assert (copy / "esm" / "what_if.jsonl").read_bytes() == first + second
    assert {path.name for path in copy.iterdir()} == {"config.yaml", "esm"}


@pytest.mark.parametrize(
    ("then", "now", "same"),
    [
        (2.0, 2.0019, True),
        (2.0, 2.0021, False),
        (0.01, 0.0109, False),
        (-2.0, -2.0019, True),
        (0.0, 0.0, True),
    ],
)
def test_strengths_are_the_same_within_a_thousandth_of_themselves(
    then: float, now: float, same: bool
) -> None:
    step: Any = SimpleNamespace(chosen="e1", alpha=then)
    decision: Any = SimpleNamespace(chosen="e1", alpha=now)
    assert _same_choice(step, decision) == same
    assert not _same_choice(step, SimpleNamespace(chosen="e2", alpha=then))  # type: ignore[arg-type]
