"""configs/README.md is made from the configuration's fields."""

from __future__ import annotations

from tests.engine.config.settings_page import PAGE, settings_page


def test_the_page_is_what_the_module_makes() -> None:
    assert PAGE.read_text(encoding="utf-8") == settings_page(), (
        "run `python -m tests.engine.config.settings_page`"
    )


def test_a_row_is_a_field_with_its_default() -> None:
    """Spec ESM 6.1 names T_max; the default is ours."""
    assert (
        "| `max_new_tokens` | `256` | T_max: budget of committed tokens for each answer. |" in settings_page()
    )


def test_sections_of_the_same_form_are_written_once() -> None:
    assert (
        "### evolution.model.vllm\n\nThe fields and defaults of [model.vllm](#modelvllm)." in settings_page()
    )
