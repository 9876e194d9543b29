"""What is mined from a batch, and what it cost: rollouts by hand, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.config.config import Config
from engine.esm.mining import mine_work
from engine.esm.mining.contrast import Contrast, Rollout
from engine.esm.mining.mine_work import _Miner, _pair_event
from engine.esm.mining.verify import Mined
from engine.events import Event, PairMined, RolloutEnded, RolloutsMined
from engine.lm.protocol import Completion, Finished, Request, Sampling
from engine.seeds import derive_seed
from engine.tasks.example import TaskExample
from engine.tasks.task import Task


class Verifier:
    """Writes seven tokens to see what the pairs do."""

    def __init__(self, *_: object) -> None:
        self.tokens = 0

    def verify(self, pairs: list[Any], report: Any) -> list[str]:
        self.tokens += 7
        return [f"{pair.name} does" for pair in pairs]


def test_tokens_of_a_batch_are_those_of_its_rollouts_and_its_verification(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are counted once, and each pair keeps what it does."""
    monkeypatch.setattr(mine_work, "Verifier", Verifier)
    monkeypatch.setattr(mine_work, "_line", lambda example, rollouts: {"example_id": example})
    monkeypatch.setattr(mine_work, "_record", lambda pair, fingerprint, does: {"does": does})
    miner: Any = _Miner.__new__(_Miner)
    sampled = {
        name: SimpleNamespace(
            example=name,
            rollouts=[SimpleNamespace(tokens=tokens) for tokens in counts],
            pairs=[SimpleNamespace(name=pair, contrast=None) for pair in pairs],
        )
        for name, counts, pairs in (("a", (10, 20), ["p", "q"]), ("b", (5, 6), []), ("c", (1, 2), ["r"]))
    }
    model = SimpleNamespace(generate=lambda requests, finished: None, info=SimpleNamespace(fingerprint="f"))
    vars(miner).update(
        model=model, config=Config(), task=None, section=SimpleNamespace(verify=True), emit=lambda event: None,
        _begun=sampled.get, _requests=lambda sampled: [],
    )  # fmt: skip
    mined = miner.mine(["a", "b", "c"])
    assert [(one.line["example_id"], one.tokens) for one in mined] == [("a", 37), ("b", 11), ("c", 3)]
    assert [[pair.record["does"] for pair in one.pairs] for one in mined] == [
        ["p does", "q does"],
        [],
        ["r does"],
    ]
    miner.section.verify = False
    assert [one.tokens for one in miner.mine(["a", "b", "c"])] == [30, 11, 3]


class Drawing:
    """A model that draws `drawn`, of which the last ends first. Its states are all (3, 4) times a number."""

    info = SimpleNamespace(num_layers=4, fingerprint="f")

    def __init__(self, *drawn: tuple[str, list[int], float]) -> None:
        self.drawn, self.asked = drawn, list[Request]()
        self.tokenizer = SimpleNamespace(
            encode_chat=lambda text, system: [len(text)], encode=lambda text: [ord(letter) for letter in text]
        )

    def generate(self, requests: Sequence[Request], finished: Finished) -> list[Completion]:
        self.asked = list(requests)
        done = []
        for text, ends, state in self.drawn:
            states = np.full((len(ends), 2, 2), [3 * state, 4 * state], dtype=np.float32)
            done.append(Completion([1] * len(text), [], text, "eos", states=states, state_ends=ends))
        for place in reversed(range(len(done))):
            finished(place, done[place])
        return done

    def states(self, sequences: Any, positions: Any, layers: Any) -> list[np.ndarray]:
        return [np.zeros((len(own), len(layers), 2), dtype=np.float32) for own in positions]


def miner(model: Drawing, events: list[Event], **mine: object) -> _Miner:
    config = Config.model_validate(
        {
            "task": {"dataset": "gsm8k"}, "control_points": {"M": 2, "segment_delimiter": "|"}, "run": {"seed": 5},
            "offline_mine": {"K": 2, "eta0": 0.5, "max_new_tokens": 40, "temperature": 0.8,
                             "candidate_layers": [3, 1], **mine},
        }
    )  # fmt: skip
    context: Any = SimpleNamespace(emit=events.append)
    return _Miner(config, model, context)  # type: ignore[arg-type]


EXAMPLES = [TaskExample("a", "Q a", "7"), TaskExample("b", "Q bb", "5")]


def test_rollouts_are_drawn_scored_and_contrasted() -> None:
    """Of `a` one is right and one wrong, which reaches the first control point alone; both of `b` are wrong. The reward
    of 10 right tokens is 1 - 0.5 * 10 / 40. The later draw ends first, and stands second all the same."""
    model = Drawing(
        ("x||#### 7|", [2, 3, 10], 3.0),
        ("q|#### 6", [2], 1.0),
        ("#### 1", [], 0.0),
        ("none", [], 0.0),
    )
    events: list[Event] = []
    one, two = miner(model, events).mine(EXAMPLES)
    prompts = [[len(Task("gsm8k", "gsm8k").prompt(example))] for example in EXAMPLES]
    assert [request.prompt for request in model.asked] == [prompts[0], prompts[0], prompts[1], prompts[1]]
    assert [request.seed for request in model.asked] == [
        derive_seed(5, "mine", name, draw) for name in "ab" for draw in (0, 1)
    ]
    assert {(r.sampling, r.capture_layers, r.capture_after) for r in model.asked} == {
        (Sampling(40, 0.8), (1, 3), "|"),
    }  # fmt: skip
    first = {"pred": "7", "correct": True, "reward": 1 - 0.5 * 10 / 40, "tokens": 10, "segments": 2}
    second = {"pred": "6", "correct": False, "reward": -0.5 * 8 / 40, "tokens": 8, "segments": 1}
    assert one.line == {
        "example_id": "a", "question": "Q a", "gold": "7",
        "rollouts": [{"text": "x||#### 7|", **first}, {"text": "q|#### 6", **second}],
    }  # fmt: skip
    assert (one.tokens, two.tokens) == (18, 10) and two.pairs == []
    records = [pair.record for pair in one.pairs]
    quality = pytest.approx(0.875 + 0.1)
    assert records == [
        {"pair_id": f"a_m1_l{layer}", "example_id": "a", "model": "f", "control_point_m": 1, "layer": layer,
         "quality": quality, "positives": 1, "negatives": 1, "source": "rollout"}
        for layer in (1, 3)
    ]  # fmt: skip
    assert [pair.vectors.delta.tolist() for pair in one.pairs] == [[6.0, 8.0]] * 2
    assert events == [
        RolloutEnded(example="b", draw=1, **_figures("", -0.05, 4)),
        RolloutEnded(example="b", draw=0, **_figures("1", -0.075, 6)),
        RolloutsMined(example="b", question="Q bb", n=2, correct=0, mean_tokens=5.0, segments=[0, 0], pairs=0),
        RolloutEnded(example="a", draw=1, **second),
        RolloutEnded(example="a", draw=0, **first),
        RolloutsMined(example="a", question="Q a", n=2, correct=1, mean_tokens=9.0, segments=[2, 1], pairs=2),
        *(
            PairMined(pair=f"a_m1_l{layer}", example="a", control_point_m=1, layer=layer, quality=0.975, positives=1,
                      negatives=1, delta_norm=10.0, positive_text="x||#### 7|", negative_text="q|#### 6")
            for layer in (1, 3)
        ),
    ]  # fmt: skip


def test_pairs_are_made_at_every_control_point_and_no_further() -> None:
    """Of two; both texts have three segments, whose third is neither told nor contrasted."""
    events: list[Event] = []
    model = Drawing(("x|y|z|#### 7", [2, 4, 6], 3.0), ("x|y|z|#### 6", [2, 4, 6], 1.0))
    (one,) = miner(model, events).mine(EXAMPLES[:1])
    assert [pair.record["pair_id"] for pair in one.pairs] == ["a_m1_l1", "a_m1_l3", "a_m2_l1", "a_m2_l3"]
    assert [rollout["segments"] for rollout in one.line["rollouts"]] == [2, 2]


def test_a_pair_tells_the_first_texts_of_either_side_and_the_number_of_both() -> None:
    """Of the sets, which have the extreme reward first; a solution may stand behind the rollouts."""
    states = np.zeros((1, 1, 2), dtype=np.float32)

    def text(words: str, source: str = "rollout") -> Rollout:
        return Rollout(words, [1], True, 0.0, "", states, [1], source)

    sets = [text("best"), text("taught", "gold")], [text("worst"), text("bad"), text("poor")]
    contrast = Contrast(np.ones(2, np.float32), np.zeros(2, np.float32), 0.5)
    event = _pair_event(Mined(EXAMPLES[0], [1], 1, 3, contrast, *sets))
    assert (event.positives, event.negatives, event.source) == (2, 3, "rollout")
    assert (event.positive_text, event.negative_text) == ("best", "worst")


def _figures(pred: str, reward: float, tokens: int) -> dict[str, Any]:
    return {"pred": pred, "correct": False, "reward": reward, "tokens": tokens, "segments": 0}


@pytest.mark.parametrize(("source", "begun"), [("rollout", False), ("gold", True), ("rollout_or_gold", True)])
def test_the_data_set_s_solution_is_read_only_where_it_may_be_a_positive(source: str, begun: bool) -> None:
    example = TaskExample("a", "Q", "7", solution="one\n\n#### 7")
    sampled = miner(Drawing(), [], pos_source=source)._begun(example)
    assert (sampled.gold is not None) == begun
    if sampled.gold is not None:
        assert (sampled.gold.text, sampled.gold.ends, sampled.gold.source) == ("one|#### 7", [4], "gold")
