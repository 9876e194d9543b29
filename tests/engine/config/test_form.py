"""The configuration as a form: of each kind of field, what it is and what may be typed."""

from __future__ import annotations

import pytest

from engine.config.form import FormField, as_typed, form_fields, value_at

FIELDS = {field.path: field for field in form_fields()}


@pytest.mark.parametrize(
    "field",
    [
        FormField(
            "run.name", "text", "run", "Name of the experiment: its folder under `outputs`.",
            "letters, digits and . _ - (80 at most, a letter or digit first)",
        ),
        FormField(
            "run.seed", "whole number", "0", "Seed of every random draw of the run.", "a whole number at least 0"
        ),
        FormField(
            "task.shuffle", "flag", "false", "Take a seeded random subset instead of the first examples.",
            "true or false", ("true", "false"),
        ),
        FormField(
            "evolution.model.path", "text", "null", "Folder, GGUF file, smollm2, or hub name; embedded: arithmetic "
            "(the default), statements or dialogues.", "text or null",
        ),
        FormField(
            "offline_mine.candidate_layers", "list", "[]",
            "Layers to mine, 0-based; empty: the top third of the model.", "a list, each a whole number at least 0",
        ),
    ],
)  # fmt: skip
def test_a_field_of_each_kind(field: FormField) -> None:
    assert FIELDS[field.path] == field


@pytest.mark.parametrize(
    ("path", "kind", "choices", "section"),
    [
        ("model.backend", "choice", ("embedded", "transformers", "vllm"), "model"),
        ("slsm.judge.kind", "choice", ("exact", "openai", "none"), "slsm.judge"),
        ("model.vllm.gpu_memory_utilization", "number", (), "model.vllm"),
        ("model.vllm.engine_args", "mapping", (), "model.vllm"),
    ],
)
def test_what_may_be_chosen(path: str, kind: str, choices: tuple[str, ...], section: str) -> None:
    field = FIELDS[path]
    assert (field.kind, field.choices, field.section) == (kind, choices, section)


def test_stages_have_a_list_of_their_own() -> None:
    assert "run.stages" not in FIELDS and "run.seed" in FIELDS


@pytest.mark.parametrize(
    ("value", "typed"),
    [("é a", "é a"), ("no", "no"), ("3", '"3"'), ("null", '"null"'), ("a: b", '"a: b"'), ("[é", '"[é"'), ("", '""'),
     (None, "null"), (True, "true"), ([1, "é"], '[1, "é"]')],
)  # fmt: skip
def test_values_as_they_are_typed(value: object, typed: str) -> None:
    assert as_typed(value) == typed


def test_the_value_of_a_field_in_a_plain_configuration() -> None:
    assert value_at({"a": {"b": {"c": 3}}}, "a.b.c") == 3
    for left_out in ({"a": {"b": None}}, {"a": {}}):
        with pytest.raises(KeyError):
            value_at(left_out, "a.b.c")
