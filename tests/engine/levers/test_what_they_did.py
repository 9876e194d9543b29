"""What a lever says that it did, in a sentence."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from engine.config.config import Config
from engine.config.slsm import SLSMSection
from engine.errors import DataError
from engine.esm.online.control_point import Decider
from engine.esm.online.variants import Variant
from engine.events import DecisionTaken, PathStep, QuestionSampled, SampledPath, logged_without_envelope
from engine.files import write_jsonl
from engine.gflownet import layout
from engine.levers.deltas_lever import DeltasLever, RowAdder
from engine.levers.esm_lever import esm_did
from engine.levers.evaluated_prompt import PromptUsed
from engine.levers.evidence_lever import EvidenceLever
from engine.levers.in_flight_batch import InFlight
from engine.levers.lever import LeverDid
from engine.levers.levers import Chosen, Levers, Prepared
from engine.levers.notes_lever import NotesLever
from engine.servers.spent import Spent
from engine.slsm.controllers.controller import NoController
from tests.exactly import exactly


def decided(m: int, chosen: str | None = None, alpha: float = 0.0, phase: str = "segment") -> DecisionTaken:
    return DecisionTaken(method="esm", example="e", m=m, gate="g", chosen=chosen, alpha=alpha, phase=phase)


@pytest.mark.parametrize(
    ("decisions", "acted", "what"),
    [
        ([], False, "weighed 0 segments and steered none"),
        ([decided(1)], False, "weighed 1 segment and steered none"),
        ([decided(1), decided(2), decided(2, phase="tail")], False, "weighed 2 segments and steered none"),
        (
            [decided(1, "a", 1.2345), decided(2), decided(3, "b", 4.0), decided(3, phase="tail")], True,
            "steered 2 of 3 segments: a at α 1.23 in segment 1, b at α 4 in segment 3",
        ),
        ([decided(1, "a", 0.5)], True, "steered 1 of 1 segment: a at α 0.5 in segment 1"),
    ],
)  # fmt: skip
def test_a_memory(decisions: list[DecisionTaken], acted: bool, what: str) -> None:
    assert esm_did(decisions, 21) == LeverDid(lever="esm", acted=acted, what=what, tokens=21)


def test_what_a_memory_did_is_told_first_and_only_where_it_acts() -> None:
    model: Any = SimpleNamespace(tokenizer=SimpleNamespace(decode=lambda tokens: "x" * len(tokens)))
    plain = Decider(Variant("plain", None), Config().online, 0, "|", 5, 0.0, 7)
    text, other = InFlight("q", [1, 2], plain), LeverDid(lever="deltas", acted=True, what="so")
    text.answer.decisions, text.answer.probe_tokens = [decided(1, "a", 0.5)], 6
    text.answer.tokens, text.answer.text = [7], "x"
    steered = "steered 1 of 1 segment: a at α 0.5 in segment 1"
    own = LeverDid(lever="esm", acted=True, what=steered, tokens=6)
    for names, did, decisions in (([], [other], []), (["esm"], [own, other], text.answer.decisions)):
        found = Levers(model, Config(), []).answered(Prepared(text, Chosen(names), [other], PromptUsed(True)))
        assert (found.did, found.decisions, found.tokens) == (did, decisions, [7])


def deltas(**numbers: float) -> DeltasLever:
    lever: Any = object.__new__(DeltasLever)  # made without the files of a run
    lever._deltas = numbers
    return lever


@pytest.mark.parametrize(
    ("numbers", "acted", "what"),
    [
        ({"a": 0.5, "b": 0.0, "c": -2.0}, True, "added to the logits, by cluster: a: +0.5, c: -2"),
        ({"a": 0.0}, False, "all deltas are 0"),
    ],
)
def test_deltas(numbers: dict[str, float], acted: bool, what: str) -> None:
    assert deltas(**numbers).did() == LeverDid(lever="deltas", acted=acted, what=what)


def test_deltas_are_added_where_the_logits_are() -> None:
    """In each process that they are sent to, on each device."""
    adder = RowAdder(np.array([0.5, -2.0], np.float32))
    logits = torch.tensor([[1.0, 1.0], [0.0, 3.0]])
    for one in (adder, pickle.loads(pickle.dumps(adder))):
        for _ in range(2):
            assert one([[], []], logits).tolist() == [[1.5, -1.0], [0.5, 1.0]]
            assert one([[], []], logits.to("meta")).device.type == "meta"


def evidence(folder: Path, budget: int) -> EvidenceLever:
    steps = [PathStep(head="ann", relation="leads", tail="bo", score=1.0)]
    sampled = QuestionSampled(
        sample_id="q7", question="who?", starts=["ann"], answers=["bo"], nodes=2, edges=1, samples=1, log_z=0.0,
        temperature=1.0, prior_alpha=0.0, paths=[SampledPath(steps=steps, count=1, probability=1.0, reward=1.0)],
    )  # fmt: skip
    layout.sampled_paths(folder).parent.mkdir(parents=True)
    write_jsonl(layout.sampled_paths(folder), [logged_without_envelope(sampled)])
    return EvidenceLever(
        folder, Config.model_validate({"answer": {"token_budget": budget, "system": "Name."}})
    )


def test_evidence(tmp_path: Path) -> None:
    """A letter is a token here: what the evidence costs is what the messages are longer by."""
    asked = [{"role": "user", "content": "Who?"}]
    lever = evidence(tmp_path, 500)
    edited = lever.add(asked, len)
    prompt = "Triplets:\n(ann,leads,bo)\n\nQuestion:\nWho?"
    assert edited.messages == [{"role": "system", "content": "Name."}, {"role": "user", "content": prompt}]
    assert edited.did == LeverDid(
        lever="evidence", acted=True, what="1 triple of q7's paths in the prompt",
        tokens=len("Name.") + len(prompt) - len("Who?"),
    )  # fmt: skip
    own = lever.add([{"role": "system", "content": "Mine."}, *asked], len)
    assert own.messages[0]["content"] == "Mine." and own.did.tokens == len(prompt) - len("Who?")
    other = lever.add([{"role": "user", "content": "Why?"}], len)
    assert other.messages == [{"role": "user", "content": "Why?"}]
    assert other.did == LeverDid(
        lever="evidence", acted=False, what="the run holds no graph for this question"
    )
    assert lever.about == "paths of 1 questions"


def test_evidence_that_does_not_fit(tmp_path: Path) -> None:
    did = evidence(tmp_path, 5).add([{"role": "user", "content": "Who?"}], len).did
    assert (did.acted, did.what) == (False, "no triple of the sampled paths fits 5 tokens")


def test_without_sampled_paths_the_stage_is_named(tmp_path: Path) -> None:
    words = "no sampled paths (…/paths.jsonl): run the stage `gflownet` of this run"
    with pytest.raises(DataError, match=exactly(words)):
        EvidenceLever(tmp_path, Config())


def test_notes_without_anything_to_say() -> None:
    lever = NotesLever(SLSMSection(memory_mode="flat"), NoController())
    messages = [{"role": "user", "content": "Hi"}]
    read = lever.read(messages)
    assert lever.about == "notes of the controller none, flat" and read.spent == Spent()
    edited = lever.add(messages, read, "always", len)
    why = "no note: the memory has nothing for a note"
    assert edited.messages == messages and edited.did == LeverDid(lever="notes", acted=False, what=why)
    kept = lever.after(messages, read, "an answer", len)
    assert kept == LeverDid(lever="notes", acted=False, what="no note: no conflict")
    words = "no message of the user (messages): begin with a message of the user"
    with pytest.raises(DataError, match=exactly(words)):
        lever.read([{"role": "system", "content": "Be kind."}])


@pytest.mark.parametrize(
    ("inject", "mode"),
    [("always", "always"), ("on_detection", "on_detection"), ("on_risk", "on_risk"), ("never", "on_risk")],
)
def test_notes_are_given_as_the_run_gave_them(inject: Any, mode: str) -> None:
    assert NotesLever(SLSMSection(inject=inject), NoController()).run_mode == mode
