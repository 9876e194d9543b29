"""One token a row over shared key/values: the sums of the library's own attention."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from engine.lm.transformers import grouped_attention as grouped
from engine.lm.transformers.grouped_attention import NAME, grouped_attention, use_grouped_attention


@pytest.mark.parametrize(
    ("heads", "groups", "length", "mask_heads", "own"),
    [
        (6, 2, 1, 1, True), (6, 1, 1, 1, True), (6, 2, 1, 0, True),
        (6, 2, 3, 1, False), (4, 4, 1, 1, False), (6, 2, 1, 6, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("scaling", [None, 0.7])
def test_the_sums_are_the_library_s(
    heads: int, groups: int, length: int, mask_heads: int, own: bool, scaling: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Also where the library's own is taken: for several tokens, for heads that share nothing, for masks of heads."""
    torch.manual_seed(0)
    query = torch.randn(2, heads, length, 8, dtype=torch.float64)
    key, value = (torch.randn(2, groups, 5, width, dtype=torch.float64) for width in (8, 3))
    mask = None
    if mask_heads:
        mask = torch.zeros(2, mask_heads, length, 5, dtype=torch.float64)
        mask[0, ..., :2] = mask[1, -1:, :, 4] = -1e9
    module: Any = SimpleNamespace(num_key_value_groups=heads // groups, is_causal=False)
    expected, _ = sdpa_attention_forward(module, query, key, value, mask, scaling=scaling)
    taken: list[bool] = []

    def library(*given: Any, **more: Any) -> Any:
        taken.append(True)
        return sdpa_attention_forward(*given, **more)

    monkeypatch.setattr(grouped, "sdpa_attention_forward", library)
    found, weights = grouped_attention(module, query, key, value, mask, scaling=scaling)
    assert found.shape == (2, length, heads, 3) and weights is None and taken == [True] * (not own)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    ("by_name", "way", "used"),
    [(True, "sdpa", NAME), (True, "eager", "eager"), (False, "sdpa", "sdpa"), (None, "sdpa", "sdpa")],
)
def test_it_takes_the_place_of_sdpa_where_a_model_asks_for_its_attention_by_name(
    by_name: bool | None, way: str, used: str
) -> None:
    text = SimpleNamespace(_attn_implementation=way)
    model = SimpleNamespace(config=SimpleNamespace(get_text_config=lambda: text))
    if by_name is not None:
        model._supports_attention_backend = by_name
    use_grouped_attention(model)
    assert text._attn_implementation == used
