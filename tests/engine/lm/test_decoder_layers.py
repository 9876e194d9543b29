"""Where a model's decoder layers are, among its other lists of modules."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from engine.lm.decoder_layers import decoder_layers, hidden_of, with_hidden
from tests.exactly import exactly


class Part(nn.Module):
    """A module of these parts."""

    def __init__(self, **parts: nn.Module) -> None:
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part)


def several(count: int, **parts: int) -> nn.ModuleList:
    """Modules, each with lists of this many others."""
    return nn.ModuleList(
        Part(**{name: nn.ModuleList(map(nn.Identity, range(n))) for name, n in parts.items()})
        for _ in range(count)
    )


def test_layers_are_the_shallowest_list_of_their_number() -> None:
    """Neither a shallower list of another length, nor experts, of which there are as many as layers."""
    layers = several(2, experts=2)
    assert decoder_layers(Part(images=several(5), text=Part(adapters=several(1), layers=layers)), 2) is layers


def test_where_no_list_has_their_number_it_is_the_longest_of_the_shallowest() -> None:
    layers = several(3, experts=8)
    assert decoder_layers(Part(adapters=several(2), layers=layers, deep=Part(more=several(9))), 7) is layers


def test_a_model_without_a_list_has_none() -> None:
    with pytest.raises(ValueError, match=exactly("no list of decoder layers")):
        decoder_layers(Part(empty=nn.ModuleList(), head=nn.Identity()), 2)


def test_the_residual_stream_is_what_a_layer_gives_or_the_first_of_it() -> None:
    """What else a layer gives stays beside it."""
    stream, other, new = torch.zeros(1), torch.ones(1), torch.full((1,), 2.0)
    assert hidden_of(stream) is stream and hidden_of((stream, other)) is stream
    assert with_hidden(stream, new) is new
    first, *rest = with_hidden((stream, other, other), new)
    assert first is new and [one is other for one in rest] == [True, True]
