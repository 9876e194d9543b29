"""What stands for each name of the engine's events, stages and figures. After a change that is meant:
`pytest tests/app/test_names_word_for_word.py --snapshot-update`, and read the difference."""

from __future__ import annotations

from collections.abc import Iterator

from syrupy.assertion import SnapshotAssertion

from app.result_tables import HEADINGS
from app.wording import words
from app.wording.stage_words import STAGE_SIGNS
from app.wording.verdict_text import verdict_sentence
from engine.config.esm_methods import METHODS as ESM_METHODS
from engine.events import Verdict
from tests.page_text import TextFile

METRICS = (
    "accuracy",
    "mean_tokens",
    "answer_recall",
    "hits@1",
    "answer_hit",
    "pass_score",
    "oracle",
    "vqa_accuracy",
)


def lines() -> Iterator[str]:
    names = dict.fromkeys((*words.METHODS, "prior", "flat", "given", *ESM_METHODS, "no_such_method"))
    for name in names:
        yield f"{name}: {words.method_name(name)}; {words.short_method_name(name)}; {words.sampler_name(name)}"
    yield from words.method_notes(names)
    for name in ("beam_success_all@10", "T_max_greedy", *words.FIGURES):
        yield f"{name}: {words.figure_name(name)}"
    for table in (words.STAGE_WORDS, words.METRICS, STAGE_SIGNS):
        yield from (f"{name}: {shown}" for name, shown in table.items())
    yield ", ".join(HEADINGS)
    for metric in METRICS:
        yield verdict_sentence(
            Verdict(
                method="gflownet", baseline="prior", metric=metric, items="questions", n=9, value=0.75, k=20,
                baseline_value=0.5, difference=0.25, low=0.125, high=0.5,
            )
        )  # fmt: skip


def test_names_in_words(snapshot: SnapshotAssertion) -> None:
    assert "\n".join(lines()) + "\n" == snapshot(extension_class=TextFile)
