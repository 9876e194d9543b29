"""Each method's curve with its baseline's, worked out by hand, and where both are drawn."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from app.methods.overview import Curve
from app.methods.pages import page_of
from app.methods.place import Place
from app.state.run import RunState
from engine import events as ev
from engine.events.verdict import Verdict
from screens.overview.card_content import curve_of
from screens.overview.curve_view import draw_curve
from tests.named_tones import parts


def state_of(events: Sequence[ev.Event]) -> RunState:
    state = RunState()
    for event in events:
        state.apply(event)
    return state


def esm_answers(method: str, right: str) -> list[ev.Event]:
    """An answer for each sign, `1` of those that are right, with the running figure that is reported after batches: of
    greedy's of four, of others' of two."""
    batch, events = 4 if method == "greedy" else 2, list[ev.Event]()
    for n, sign in enumerate(right, 1):
        events.append(
            ev.ExampleEvaluated(
                method=method, index=n, example=f"e{n}", question="", gold="", pred="", correct=sign == "1",
                tokens_used=1,
            )
        )  # fmt: skip
        if n % batch == 0:
            accuracy = right[:n].count("1") / n
            events.append(
                ev.MethodEvaluated(method=method, n=n, accuracy=accuracy, mean_tokens=1.0, final=False)
            )
    return events


def test_of_esm() -> None:
    greedy = esm_answers("greedy", "1010")
    assert curve_of("ESM", state_of(greedy), None) == Curve(
        "accuracy so far", "the problems", "greedy", (1.0, 0.5, 2 / 3, 0.5)
    )
    both = [*greedy, *esm_answers("no_memory", "00"), *esm_answers("esm", "01")]
    assert curve_of("ESM", state_of(both), None) == Curve(
        "accuracy so far", "the problems", "ESM", (0.0, 0.5), "greedy", (1.0, 0.5, 2 / 3, 0.5)
    )


def test_both_curves_of_esm_end_at_the_last_problem() -> None:
    """Eight problems of each: greedy has reported two figures then, and ESM four."""
    state = state_of([*esm_answers("greedy", "11110000"), *esm_answers("esm", "11111111")])
    assert [len(state.esm.curves[method]) for method in ("greedy", "esm")] == [2, 4]
    curve = curve_of("ESM", state, None)
    assert curve is not None and curve.baseline == (1.0, 1.0, 1.0, 1.0, 4 / 5, 4 / 6, 4 / 7, 0.5)
    assert curve.values == (1.0,) * 8


def scored(split: str, iteration: int, tokens: float) -> ev.Event:
    return ev.AnswersScored(
        iteration=iteration, split=split, answers=4, judged=4, correct=3, mean_tokens=tokens, shortness=0.5,
        correctness=0.75, composite=0.6, error=0.1,
    )  # fmt: skip


def compared(method: str, tokens: float) -> ev.Event:
    return ev.MethodCompared(
        method=method, n=4, correctness=0.75, wilson_low=0.3, wilson_high=0.9, mean_tokens=tokens, shortness=0.5,
        composite=0.6,
    )  # fmt: skip


def test_of_an_evolution() -> None:
    """The level is of the unchanged model on the test set; before, of its answers to the fixed questions."""
    events = [scored("baseline", 0, 44.0), scored("minibatch", 0, 43.0), scored("validation", 0, 9.0)]
    assert curve_of("Evolution", state_of(events), None) is None, "one value is no curve"
    events.append(scored("minibatch", 1, 25.0))
    curve = Curve(
        "tokens of an answer, minibatch", "the iterations", "minibatch", (43.0, 25.0), "unchanged", (44.0,), 1
    )
    assert curve_of("Evolution", state_of(events), None) == curve
    end = [compared("no_processor", 45.5), compared("best", 25.5)]
    tested = curve_of("Evolution", state_of([*events, *end]), None)
    assert tested is not None and tested.baseline == (45.5,)
    assert (tested.name, tested.baseline_name) == ("minibatch", "unchanged, test set"), (
        "not of the same questions"
    )
    alone = curve_of("Evolution", state_of([event for event in events if event is not events[0]]), None)
    assert alone is not None and alone.baseline == ()


def answered(sample: str, method: str, hit: bool) -> ev.Event:
    return ev.EvidenceAnswered(
        sample_id=sample, method=method, question="", answer="", golds=[], hit=hit, recall=0.0, triples=1,
        prompt_tokens=1, prompt="",
    )  # fmt: skip


def question(sample: str) -> ev.Event:
    return ev.QuestionSampled(
        sample_id=sample, question="", starts=[], answers=[], golds=[], nodes=1, edges=0, samples=0, log_z=0.0,
        temperature=1.0, prior_alpha=0.0, paths=[], prompt="",
    )  # fmt: skip


def step(number: int, success: float) -> ev.Event:
    return ev.SamplerStep(
        step=number, steps=9, loss=1.0, tb_loss=1.0, pb_avg_entropy=0.0, residual=0.0, residual_quantiles=[], log_z=0.0,
        prior_alpha=0.0, success_mean=success, path_hit_f1=0.0, rollout_reward=0.0, length_mean=1.0,
        trajectories_per_second=1.0,
    )  # fmt: skip


def test_of_a_sampler() -> None:
    """Its training, until the reader answers from its paths."""
    steps = [step(1, 0.2), step(2, 0.3)]
    assert curve_of("GFlowNet", state_of(steps), None) == Curve(
        "paths that meet an answer", "the steps", "GFlowNet", (0.2, 0.3)
    )
    jumps = curve_of("GFlowNet", state_of([step(n, n % 2) for n in range(60)]), None)
    assert jumps is not None and jumps.figure == "paths that meet an answer, mean of 3"
    assert jumps.values[:5] == (0, 1 / 2, 1 / 3, 2 / 3, 1 / 3) and len(jumps.values) == 60
    hits = (("a", True, False), ("b", False, False), ("c", True, True), ("d", True, False))
    answers = [
        answered(sample, method, hit)
        for sample, paths, triples in hits
        for method, hit in (("gflownet", paths), ("triples", triples))
    ]
    curve = curve_of("GFlowNet", state_of([*steps, *answers]), None)
    assert curve is not None and (curve.name, curve.baseline_name) == ("GFlowNet", "triples")
    assert curve.values == pytest.approx((1, 1 / 2, 2 / 3, 3 / 4))
    assert curve.baseline == pytest.approx((0, 0, 1 / 3, 1 / 4))


def test_answers_that_paths_lost() -> None:
    """Right from triples and wrong from paths: the second and the fourth question. The fifth has no other answer."""
    hits = (("a", True, False), ("b", False, True), ("c", False, False), ("d", False, True))
    events = [
        answered(sample, method, hit)
        for sample, paths, triples in hits
        for method, hit in (("gflownet", paths), ("triples", triples))
    ]
    events.append(answered("e", "gflownet", False))
    (lost,) = page_of("GFlowNet").overview.highlights(state_of([*map(question, "abcde"), *events]))
    assert lost.text == "2 questions answered right from triples and wrong from paths"
    assert lost.place == Place("questions", 1)


def conversation(key: str, mode: str, memory: str, passed: bool | None) -> ev.Event:
    return ev.ConversationAnswered(
        conversation_id=key, axis="one", mode=mode, memory_mode=memory, attempt=0, answer="", injected=True,
        reason="", passed=passed,
    )  # fmt: skip


def test_of_memory_notes() -> None:
    """With the memory that answered first; what was not judged is left out."""
    events = [
        conversation(key, mode, memory, passed)
        for key, note, flat, plain in (("a", True, False, False), ("b", None, False, True), ("c", True, True, True))
        for mode, memory, passed in (("on_detection", "structured", note), ("on_detection", "flat", flat),
                                     ("baseline", "none", plain))
    ]  # fmt: skip
    curve = curve_of("SLSM", state_of(events), None)
    assert curve == Curve(
        "passed so far", "the conversations", "on detection", (1.0, 1.0), "no note", (0.0, 0.5, 2 / 3)
    )
    verdict = Verdict(
        method="always", baseline="reminder", metric="pass_score", n=2, value=1.0, baseline_value=0.0,
        difference=1.0, low=1.0, high=1.0,
    )  # fmt: skip
    other = [
        conversation(key, mode, "none", mode == "always") for key in "ab" for mode in ("always", "reminder")
    ]
    events += [
        ev.Header(schema_version=1, name="x", run_id="1", seed=0, stages=["slsm"]),
        *other,
        ev.StageFinished(stage="slsm", seconds=1.0, verdict=verdict),
    ]
    curve = curve_of("SLSM", state_of(events), verdict)
    assert curve is not None and (curve.name, curve.values) == ("always", (1.0, 1.0))
    assert (curve.baseline_name, curve.baseline) == ("reminder", (0.0, 0.0))


def test_the_first_means_of_many_values_are_left_out() -> None:
    """Of 40 conversations the first 30 pass: after 11 of them the mean is 1, after all 0.75."""
    events = [
        conversation(f"{at}", mode, "none", at < passes)
        for at in range(40)
        for mode, passes in (("on_detection", 30), ("baseline", 20))
    ]
    curve = curve_of("SLSM", state_of(events), None)
    assert curve is not None and len(curve.values) == len(curve.baseline) == 30
    assert (curve.values[0], curve.values[-1], curve.baseline[-1]) == (1.0, 0.75, 0.5)
    few = curve_of("SLSM", state_of(events[:-2]), None)
    assert few is not None and len(few.values) == 39


def selector_step(number: int, heldout: float | None) -> ev.Event:
    return ev.SelectorStep(
        step=number,
        steps=9,
        phase="policy",
        loss=1.0,
        expected_score=0.5,
        heldout_accuracy=heldout,
        gradient_norm=0.0,
        pairs=1,
    )


def test_of_a_selector() -> None:
    events: list[ev.Event] = [selector_step(1, 0.7), selector_step(2, None), selector_step(3, 0.9)]
    curve = Curve("held-out score", "the steps", "selector", (0.7, 0.9), "similarity")
    assert curve_of("Pool", state_of(events), None) == curve
    rices = ev.SelectorCompared(
        method="rices", n=9, accuracy=0.85, low=0.8, high=0.9, asked=9,
    )  # fmt: skip
    with_level = curve_of("Pool", state_of([*events, rices]), None)
    assert with_level is not None and with_level.baseline == (0.85,)


def test_of_a_verdict_alone() -> None:
    """Of another package's method, and of a log that holds no more."""
    verdict = Verdict(
        method="their_way", baseline="plain", metric="mean_rank", unit="ranks", n=4, value=1.5, baseline_value=2.0,
        difference=-0.5, low=-0.5, high=-0.5, curve=[2.0, 1.5],
    )  # fmt: skip
    curve = Curve("mean rank", "the work", "their way", (2.0, 1.5), "plain", (2.0,), 1)
    assert curve_of("Theirs", RunState(), verdict) == curve == curve_of("ESM", RunState(), verdict)
    assert curve_of("ESM", RunState(), None) is None


# ---------------------------------------------------------------- drawing


def test_a_rising_curve_over_its_level() -> None:
    """A line through eight columns of dots and eight rows, one dot in each: from 0 at the bottom to 1 at the top. The
    level 0.5 lies at row 4 of 0 to 7, the first of the second line; only every second dot of it is drawn."""
    curve = Curve("accuracy", "the problems", "esm", (0.0, 1.0), "greedy", (0.5,), 1)
    assert draw_curve(curve, 3 + 2 + 4 + 1 + len("greedy 0.5"), 3).plain.split("\n") == [
        "1.0 ┤\u2800\u2800⡠⠊ esm 1.0",
        "0.0 ┤⡠⠊⠁⠁ greedy 0.5",
        "     accuracy, over the problems",
    ]


def test_the_numbers_of_the_scale_end_at_one_edge() -> None:
    """The wider one is the lowest; the line between has none."""
    rows = draw_curve(Curve("f", "x", "a", (-10.0, 5.0), digits=0), 20, 4).plain.split("\n")
    assert [row[:5] for row in rows[:3]] == ["  5 ┤", "    ┤", "−10 ┤"]


def test_a_curve_at_its_beginning_is_as_long_as_its_part() -> None:
    """Two of four values so far: half as long as the baseline's; both end in one line, and stand there."""
    curve = Curve("accuracy", "the problems", "esm", (1.0, 1.0), "greedy", (1.0, 1.0, 1.0, 1.0), 0)
    (row, below) = draw_curve(curve, 1 + 2 + 8 + 1 + len("esm 1, greedy 1"), 2).plain.split("\n")
    assert row == "1 ┤⠒⠒⠒⠒⠂⠂⠂⠂ esm 1, greedy 1" or row[3:7] != row[7:11]
    assert row.count(row[3]) == row.count(row[7]) == 4 and row.endswith(" esm 1, greedy 1")
    assert below == "   accuracy, over the problems"


def test_names_stand_where_their_lines_end_in_the_scale_of_both() -> None:
    """The level lies above the curve's highest value, which is then half as high as the drawing: in the second line."""
    curve = Curve("accuracy", "the problems", "esm", (0.0, 0.5), "greedy", (1.0,), 1)
    first, second, _ = draw_curve(curve, 30, 3).plain.split("\n")
    assert first.endswith(" greedy 1.0") and second.endswith(" esm 0.5")


def test_equal_values_lie_in_the_middle() -> None:
    curve = Curve("f", "x", "a", (2.0, 2.0), digits=0)
    rows = draw_curve(curve, 20, 4).plain.split("\n")
    assert [row.endswith(" a 2") for row in rows[:3]] == [False, True, False]


def test_the_scale_and_the_level_are_dim_and_the_curve_is_not() -> None:
    """The level lies at row 4 of 0 to 7, in the second line; where the curve covers a cell, it alone is seen."""
    curve = Curve("accuracy", "the problems", "esm", (0.0, 1.0), "greedy", (0.5,), 1)
    text = draw_curve(curve, 3 + 2 + 4 + 1 + len("greedy 0.5"), 3, "dim")
    assert parts(text) == [
        ("1.0 ┤\u2800\u2800", "dim"), ("⡠⠊ esm 1.0\n", ""), ("0.0 ┤", "dim"), ("⡠⠊", ""), ("⠁⠁", "dim"),
        (" greedy 0.5\n", ""), ("     accuracy, over the problems", "dim"),
    ]  # fmt: skip


@pytest.mark.parametrize(("width", "across"), [(10, 4), (21, 4), (22, 4), (23, 5), (40, 22)])
def test_a_curve_has_four_cells_at_least(width: int, across: int) -> None:
    """`0 ┤` and ` esm 1` with ` , plain 0` beside it take 18 of the cells."""
    curve = Curve("f", "x", "esm", (1.0, 0.0), "plain", (1.0, 0.0), 0)
    row = draw_curve(curve, width, 2).plain.split("\n")[0]
    assert row.partition("┤")[2].partition(" ")[0] == row[3 : 3 + across]
    assert row.endswith(" esm 0, plain 0") and row.startswith("1 ┤")


@pytest.mark.parametrize(("last", "line"), [(1.0, 0), (0.76, 0), (0.75, 1), (0.3, 2), (0.25, 3), (0.0, 3)])
def test_a_name_stands_in_the_line_where_its_curve_ends(last: float, line: int) -> None:
    """Four lines from 1 to 0: each has a quarter, the end of one belongs to the next."""
    curve = Curve("f", "x", "esm", (0.0, 1.0, last), digits=2)
    rows = draw_curve(curve, 40, 5).plain.split("\n")[:4]
    assert [row.endswith(f" esm {last:.2f}") for row in rows] == [at == line for at in range(4)]
    assert [row.partition("┤")[0].strip() for row in rows] == ["1.00", "", "", "0.00"]
