"""What is rounded to 8 bits, worked out by hand; it needs no processor that multiplies such numbers."""

from __future__ import annotations

import pytest
import torch

from engine.lm.loading import int8_linear
from engine.lm.loading.int8_linear import Int8Weights, has_int8


def test_a_scale_is_the_largest_number_of_its_row_whatever_its_sign() -> None:
    """254 / 127 = 2 and 12.7 / 127 = 0.1; 3 / 2 = 1.5 goes to the even 2, as does 5 / 2 = 2.5."""
    weights = Int8Weights(torch.tensor([[-254.0, 3.0, 5.0], [12.7, -0.3, 0.0], [0.0, 0.0, 0.0]]))
    assert weights.numbers.tolist() == [[-127, 2, 2], [127, -3, 0], [0, 0, 0]]
    assert weights.scales.tolist() == pytest.approx([2.0, 0.1, 1e-30])
    assert weights.scales.min() > 0, "a row is divided by it"


def test_the_rows_behind_the_first_64_are_rounded_alike() -> None:
    weight = torch.arange(-70.0, 70.0).reshape(140, 1).repeat(1, 2)
    weights = Int8Weights(weight)
    assert weights.numbers[:, 0].tolist() == [-127] * 70 + [0] + [127] * 69
    assert (weights.scales * 127).tolist() == pytest.approx([max(abs(n), 127e-30) for n in range(-70, 70)])


def test_a_torch_without_the_type_multiplies_no_8_bit_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: True)
    monkeypatch.setattr(int8_linear, "_MAKE", "_not_in_this_torch")
    assert not has_int8()
