"""Which networks are refused because decoding with them would be wrong without an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from engine.lm.transformers.kv_cache import RunningKv
from engine.lm.transformers.model import TransformersModel
from engine.lm.transformers.network import Network
from engine.lm.transformers.self_check import check_network
from tests.exactly import exactly


@pytest.mark.parametrize(("times", "off"), [(1.0, None), (1.0001, None), (1.01, "1.0%"), (torch.nan, "nan%")])
def test_logits_that_differ_from_a_plain_pass_by_a_thousandth_are_refused(
    folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, times: float, off: str | None
) -> None:
    """Of the largest, in float32."""
    network = TransformersModel.load(str(folder("qwen2")), device="cpu", dtype="float32").network
    step = network.step
    monkeypatch.setattr(network, "step", lambda *given: step(*given) * times)
    if off is None:
        check_network(network)
        return
    said = f"decoding with key/values differs from a plain pass by {off} of the logits"
    with pytest.raises(ValueError, match=exactly(said)):
        check_network(network)


def test_a_network_that_sees_the_padding_of_its_batch_is_refused(
    folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of one length have none."""
    network = TransformersModel.load(str(folder("qwen2")), device="cpu", dtype="float32").network

    def all_columns(kv: RunningKv) -> torch.Tensor | None:
        mask = Network.decode_mask(network, kv)
        return None if mask is None else torch.zeros_like(mask)

    monkeypatch.setattr(network, "decode_mask", all_columns)
    with pytest.raises(ValueError, match="differs from a plain pass"):
        check_network(network)
