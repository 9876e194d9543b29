"""What a mined batch cost, without a model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from engine.config.config import Config
from engine.esm.mining import mine_work
from engine.esm.mining.mine_work import _Miner


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
