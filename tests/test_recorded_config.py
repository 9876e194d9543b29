"""What is read of a configuration is told, however it is read."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from engine.config.config import Config
from engine.config.models.model import ModelSection
from tests.recorded_config import all_values, recorded


def seen_of(read: Callable[[Config], Any], config: Config | None = None) -> dict[str, str]:
    seen: dict[str, str] = {}
    read(recorded(config or Config(), seen.update))
    return seen


def test_a_field_is_told_with_the_sections_above_it() -> None:
    assert seen_of(lambda c: c.online.k_scale) == {"online": "section OnlineSection", "online.k_scale": "4.0"}


def test_a_property_tells_what_it_reads_and_no_more() -> None:
    seen = seen_of(lambda c: c.evolution_model.path)
    assert seen.keys() == {"evolution", "evolution.model", "model", "model.path"}
    assert seen["evolution.model"] == "null"  # that there is no such section was read, too


@pytest.mark.parametrize(
    "read",
    [
        lambda c: c.online.model_dump(),
        lambda c: c.online.model_dump_json(),
        lambda c: c.online.model_copy(update={"L": 1}),
        lambda c: pickle.dumps(c.online),
        lambda c: copy.deepcopy(c.online),
        lambda c: copy.copy(c.online),
        lambda c: vars(c.online),
        lambda c: list(c.online),
        lambda c: hash(c.online),
        lambda c: c.online == Config().online,
        lambda c: Config().online == c.online,
        lambda c: repr(c.online),
        lambda c: c.online.__pydantic_serializer__,
        lambda c: c.online.__pydantic_fields_set__,
    ],
)
def test_what_reads_a_section_as_a_whole_tells_all_of_it(read: Callable[[Config], Any]) -> None:
    everything = all_values(Config().online, "online.")
    assert everything.items() <= seen_of(read).items()


def test_a_view_is_what_it_is_of() -> None:
    config = Config()
    view = recorded(config, lambda fields: None)
    assert isinstance(view, Config) and isinstance(view.model, ModelSection)
    assert view == config and config == view and view != Config(model=ModelSection(threads=3))
    assert type(pickle.loads(pickle.dumps(view))) is Config
    assert view.model_dump() == config.model_dump()


def test_a_value_is_told_before_it_is_handed_out() -> None:
    def refuse(fields: object) -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError):
        recorded(Config(), refuse).online  # noqa: B018
