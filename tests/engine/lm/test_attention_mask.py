"""Who attends to whom, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from engine.lm.transformers.attention_mask import FULL, SLIDING, additive, mask_for, mask_windows
from engine.lm.transformers.network import Network
from tests.exactly import exactly

LOWEST = torch.finfo(torch.float16).min


@pytest.mark.parametrize(
    ("config", "windows"),
    [
        ({}, {FULL: None}),
        ({"sliding_window": 4}, {SLIDING: 4}),
        ({"sliding_window": 4, "use_sliding_window": True}, {SLIDING: 4}),
        ({"sliding_window": 4, "use_sliding_window": False}, {FULL: None}),
        ({"sliding_window": None, "use_sliding_window": True}, {FULL: None}),
        ({"layer_types": []}, {FULL: None}),
        ({"layer_types": None, "sliding_window": 4}, {SLIDING: 4}),
        ({"layer_types": [FULL, FULL], "sliding_window": 4}, {FULL: None}),
        ({"layer_types": [SLIDING, FULL, SLIDING], "sliding_window": 4}, {FULL: None, SLIDING: 4}),
        ({"layer_types": [SLIDING], "sliding_window": 4, "use_sliding_window": False}, {SLIDING: 4}),
    ],
)
def test_the_kinds_of_a_model_s_layers(config: dict[str, Any], windows: dict[str, int | None]) -> None:
    assert mask_windows(SimpleNamespace(**config)) == windows


def test_kinds_that_are_not_known_are_named() -> None:
    config = SimpleNamespace(layer_types=["linear", FULL, "chunked", SLIDING], sliding_window=4)
    with pytest.raises(ValueError, match=exactly("layers of kind chunked, linear")):
        mask_windows(config)


def allowed(mask: torch.Tensor) -> list[list[str]]:
    """A string a query, `x` where it attends to a column, for each row."""
    assert mask.dtype == torch.float16 and set(mask.unique().tolist()) <= {0.0, LOWEST}
    return [["".join("x" if number == 0 else "." for number in query) for query in row[0]] for row in mask]


def test_a_query_attends_to_itself_and_to_what_stands_before_it() -> None:
    """The second row has a column of padding first, and padding among its queries, which attend to all columns."""
    keys = torch.tensor([[0, 1, 2, 3], [-1, 0, -1, 1]])
    queries = torch.tensor([[2, 3], [-1, 1]])
    mask = mask_for({FULL: None}, queries, keys, torch.float16)
    assert isinstance(mask, torch.Tensor) and mask.shape == (2, 1, 2, 4)
    assert allowed(mask) == [["xxx.", "xxxx"], ["xxxx", ".x.x"]]


@pytest.mark.parametrize(
    ("window", "seen"), [(1, ["x...", "...x"]), (2, ["x...", "..xx"]), (9, ["x...", "xxxx"])]
)
def test_a_window_is_a_number_of_tokens_with_the_query_s_own(window: int, seen: list[str]) -> None:
    mask = mask_for({SLIDING: window}, torch.tensor([[0, 3]]), torch.arange(4)[None], torch.float16)
    assert isinstance(mask, torch.Tensor) and allowed(mask) == [seen]


def test_each_of_several_kinds_has_a_mask() -> None:
    masks = mask_for({FULL: None, SLIDING: 2}, torch.tensor([[2]]), torch.arange(3)[None], torch.float16)
    assert isinstance(masks, dict)
    assert {kind: allowed(mask) for kind, mask in masks.items()} == {FULL: [["xxx"]], SLIDING: [[".xx"]]}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_what_is_not_allowed_is_the_type_s_lowest_number(dtype: torch.dtype) -> None:
    mask = additive(torch.tensor([True, False]), dtype)
    assert mask.dtype == dtype and mask.tolist() == [0.0, torch.finfo(dtype).min]


@pytest.mark.parametrize("windows", [{SLIDING: 4}, {FULL: None, SLIDING: 4}])
def test_a_mask_is_kept_from_token_to_token_only_where_no_layer_has_a_window(windows: Any) -> None:
    network: Any = SimpleNamespace(windows=windows, dtype=torch.float16)
    kv: Any = SimpleNamespace(positions=torch.tensor([[0, 1, 2], [-1, 0, 1]]))
    assert Network.decode_mask(network, kv) is None
    network.windows = {FULL: None}
    mask = Network.decode_mask(network, kv)
    assert mask is not None and mask.shape == (2, 1, 1, 3) and allowed(mask) == [["xxx"], [".xx"]]
