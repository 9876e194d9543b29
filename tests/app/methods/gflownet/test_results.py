"""What GFlowNet's results and training say, from events made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from app.blocks.block import Block, Facts, Heading, Paragraph, Span, Table, Target, plain, spans
from app.methods.gflownet import results, training
from app.methods.gflownet.page import PAGE
from app.state.run import RunState
from app.table.column import Cell, cell_of
from engine import events as ev
from tests.app.methods.gflownet.test_cases import question


def state_of(*events: ev.Event) -> RunState:
    state = RunState()
    for at, event in enumerate(events):
        state.apply(event, at, 1)
    return state


def evaluated(method: str, metrics: dict[str, float], k: int = 20, **more: Any) -> ev.SamplerEvaluated:
    return ev.SamplerEvaluated(step=600, split="test", method=method, n=99, k=k, metrics=metrics, **more)


@pytest.fixture
def sampled() -> RunState:
    """Independent draws, distinct paths, greedy; and a look at validation, which is no result."""
    both = {"success@1": 0.5, "success@10": 0.8, "success@20": 0.9, "answer_recall_union@1": 0.4,
            "answer_recall_union@10": 0.7, "answer_recall_union@20": 0.85}  # fmt: skip
    return state_of(
        ev.SamplerEvaluated(step=200, split="validation", method="gflownet", n=47, k=20, metrics={"success@1": 0.1}),
        evaluated(
            "gflownet",
            both | {"success_all@1": 0.45, "unique_success_paths@20": 5.04, "hits@1": 0.7, "path_hit_f1": 0.425,
                    "total_variation": 0.6434, "logpf_logr_spearman": -0.25},
            missed=1, listed=98,
            intervals={"success@1": (0.41, 0.59), "answer_recall_union@20": (0.8, 0.9),
                       "unique_success_paths@20": (4.0, 6.04)},
        ),
        evaluated("distinct", both | {"success@1": 0.75}, settings={"temperature": 1.4, "other": 3.0}),
        evaluated("greedy", {"success@1": 0.8, "answer_recall_union@1": 0.6}, k=1),
        evaluated("beam", {"success@1": 0.3}, settings={"edge_bonus": 1.5, "stop_score": 0.5}),
    )  # fmt: skip


def compared(method: str, hit: float, **more: Any) -> ev.EvidenceCompared:
    return ev.EvidenceCompared(method=method, reader="path reader", n=99, hit=hit, recall=hit / 2, triples=5.54,
                               prompt_tokens=55.7, missed=1, hit_all=hit - 0.01, **more)  # fmt: skip


def answered(sample: str, method: str, hit: bool) -> ev.EvidenceAnswered:
    return ev.EvidenceAnswered(sample_id=sample, method=method, question="?", golds=[], answer="a", hit=hit, recall=0,
                               triples=1, prompt_tokens=1)  # fmt: skip


def rows_of(block: Block) -> list[list[str]]:
    assert isinstance(block, Table)
    return [[plain(cell) for cell in row] for row in block.rows]


def lines_of(blocks: list[Block]) -> list[str]:
    return [plain(block.text) for block in blocks if isinstance(block, Paragraph | Heading)]


# ---------------------------------------------------------------- results


def test_the_readers_answers_beside_those_from_triples() -> None:
    state = state_of(
        compared("gflownet", 0.798, difference=0.293, low=0.192, high=0.394, p=4e-07),
        compared("triples", 0.505),
    )
    [table] = results.answered(state.gflownet)
    assert isinstance(table, Table) and table.caption == "Answers of the reader, against triples"
    assert table.header == [
        "evidence",
        "n",
        "hit",
        "− triples",
        "95%",
        "p",
        "recall",
        "hit of all",
        "triples",
        "tokens",
    ]
    assert rows_of(table) == [
        ["the best-scored triples", "99", "0.505", "·", "·", "·", "0.253", "0.495", "5.5", "55.7"],
        [
            "sampled paths",
            "99",
            "0.798",
            "+0.293",
            "[+0.192, +0.394]",
            "4e-07",
            "0.399",
            "0.788",
            "5.5",
            "55.7",
        ],
    ]
    assert table.figures == 9 and table.legend[0] == "read by path reader"
    assert "hit: share of questions whose answer names a right one" in table.legend
    assert table.rows[1][0] == Span("sampled paths", "strong") and table.rows[0][0] == Span(
        "the best-scored triples"
    )


@pytest.mark.parametrize(
    ("difference", "low", "high", "tone"),
    [(0.3, 0.1, 0.5, "good"), (-0.3, -0.5, -0.1, "bad"), (0.3, -0.1, 0.5, ""), (-0.3, -0.5, 0.1, "")],
)
def test_a_difference_has_a_tone_only_where_it_is_shown(
    difference: float, low: float, high: float, tone: str
) -> None:
    column = next(column for column in results.ANSWERED if column.key == "difference")
    row = compared("gflownet", 0.5, difference=difference, low=low, high=high)
    assert cell_of(column.show(column.value(row))) == Cell(f"{'+' if difference > 0 else '−'}0.300", tone)  # type: ignore[arg-type]


def test_questions_on_which_the_evidence_parts_are_counted() -> None:
    pairs = {
        "a": (True, False),
        "b": (True, False),
        "c": (False, True),
        "d": (True, True),
        "e": (False, False),
    }
    both = [answered(sample, method, hit) for sample, hits in pairs.items()
            for method, hit in zip(("gflownet", "triples"), hits, strict=True)]  # fmt: skip
    asked = [question(sample) for sample in pairs]
    *_, parted = results.answered(state_of(*asked, *both, compared("triples", 0.4)).gflownet)
    assert isinstance(parted, Paragraph)
    assert plain(parted.text) == "▲ 2 questions right from paths only  ▼ 1 question right from triples only"
    assert [span.target for span in spans(parted.text) if span.target] == [
        Target("better", ""), Target("worse", "")
    ]  # fmt: skip
    assert [span.tone for span in spans(parted.text) if span.target] == ["good", "bad"]
    assert results.answered(state_of(*asked, *both).gflownet) == [], "nothing before the comparison"
    worse = results.answered(state_of(*asked, *both[4:6], compared("triples", 0.4)).gflownet)[-1]
    assert isinstance(worse, Paragraph) and plain(worse.text) == "▼ 1 question right from triples only"


def test_the_sampler_beside_simpler_methods(sampled: RunState) -> None:
    [table] = results.sampled(sampled.gflownet)
    assert isinstance(table, Table) and table.figures == 14
    assert table.header == [
        "method", "n", "K", "reached@K", "95%", "success@1", "95%", "of all", "success@K", "hits@1", "paths@K", "95%",
        "path F1", "TV", "ρ",
    ]  # fmt: skip
    rows = rows_of(table)
    assert rows[0] == [
        "independent draws (GFlowNet)", "99", "20", "0.850", "[0.800, 0.900]", "0.500", "[0.410, 0.590]", "0.450",
        "0.900", "0.700", "5.0", "[4.0, 6.0]", "0.425", "0.643 (n 98)", "−0.250",
    ]  # fmt: skip
    assert rows[1][:6] == ["distinct paths (GFlowNet)", "99", "20", "0.850", "·", "0.750"]
    assert rows[2][:9] == ["greedy", "99", "1", "0.600", "·", "0.800", "·", "·", "0.800"]
    assert [row[0] for row in rows[3:]] == ["beam search"] and rows[2][13] == "·"
    assert [spans(row[0])[0].tone for row in table.rows] == ["strong", "strong", "", ""]
    assert (
        table.notes[0]
        == "independent draws: each path drawn for itself from P_F; the verdict speaks of these"
    )
    narrow = table.narrowed(80)
    assert narrow.header == ["method", "reached@K", "95%", "success@1", "success@K", "hits@1"]


def test_every_figure_and_what_was_left_out(sampled: RunState) -> None:
    *lines, table = results.coverage(sampled.gflownet)
    assert lines_of(lines) == [
        "left out: 1 question whose answers no path reaches",
        "distinct paths (GFlowNet): temperature 1.4, chosen on validation",
        "beam search: bonus for each edge 1.5, chosen on validation",
        "beam search: score of STOP 0.5, chosen on validation",
    ]
    assert isinstance(table, Table) and table.figures == 4
    rows = {row[0]: row[1:] for row in rows_of(table)}
    assert rows["a path meets an answer @1"] == ["0.500", "0.750", "0.800", "0.300"]
    assert rows["total variation from R"] == ["0.643", "", "", ""]
    assert list(table.header) == [
        "figure", "independent draws (GFlowNet)", "distinct paths (GFlowNet)", "greedy", "beam search"
    ]  # fmt: skip
    assert table.narrowed(66).header == ["figure", "independent draws (GFlowNet)"]
    assert results.coverage(state_of().gflownet) == []
    *_, table = results.coverage(state_of(evaluated("greedy", {"success@1": 0.0}, k=1)).gflownet)
    assert rows_of(table) == [["a path meets an answer @1", "0.000"]], "a figure of 0 is a figure"
    whole = state_of(evaluated("greedy", {"success@1": 0.8}, k=1))
    assert lines_of(results.coverage(whole.gflownet)) == []


def test_curves_over_the_number_of_paths(sampled: RunState) -> None:
    """greedy has one path a question: a point, which is no line."""
    lines = [(line.label, list(line.x), list(line.y)) for line in results.reached_by_k(sampled)]
    assert lines[:3] == [
        ("independent draws (GFlowNet)", [1, 10, 20], [0.4, 0.7, 0.85]),
        ("distinct paths (GFlowNet)", [1, 10, 20], [0.4, 0.7, 0.85]), ("greedy", [], []),
    ]  # fmt: skip
    mixed = evaluated("beam", {"answer_recall_union@20": 0.9, "answer_recall_union@3": 0.5})
    assert list(results.reached_by_k(state_of(mixed))[0].x) == [3, 20], (
        "in the order of K, whatever that of the log"
    )


def test_pictures_with_intervals(sampled: RunState) -> None:
    first, second = PAGE.pictures(sampled)
    where = "on held-out questions, with 95% intervals where they were computed"
    assert first.caption == f"Share of first paths that meet an answer, {where}"
    assert second.caption == f"Share of the answers that K paths meet, {where}"
    shown = results._intervals(sampled.gflownet.test, "answer_recall_union@{}")
    assert list(shown) == [
        ("independent draws (GFlowNet)", 0.85, 0.8, 0.9), ("distinct paths (GFlowNet)", 0.85, None, None),
        ("greedy", 0.6, None, None), ("beam search", None, None, None),
    ]  # fmt: skip
    assert PAGE.pictures(state_of()) == []


def test_the_page_has_each_part_where_it_belongs(sampled: RunState) -> None:
    page = PAGE
    sampled.apply(compared("triples", 0.5), 9, 1)
    captions = [block.caption for block in page.results(sampled) if isinstance(block, Table)]
    assert captions == ["Answers of the reader, against triples", "Paths of the held-out questions"]
    assert [block.caption for block in page.more_results(sampled) if isinstance(block, Table)] == [
        "Every figure"
    ]
    assert [cases.name for cases in page.cases] == ["questions"]
    assert page.results(state_of()) == page.more_results(state_of()) == page.training(state_of()) == []


# ---------------------------------------------------------------- training


def step(number: int, **more: Any) -> ev.SamplerStep:
    fields: dict[str, Any] = {
        "loss": 7.3381, "tb_loss": 5.7358, "gt_loss": 0.9181, "residual": -0.5, "log_z": 0.645, "prior_alpha": 0.5,
        "residual_quantiles": [-2.0, -0.5, 0.1, 0.9, 4.9], "success_mean": 0.734, "path_hit_f1": 0.455,
        "rollout_reward": 0.7351, "length_mean": 1.64, "trajectories_per_second": 1906.4, "pb_avg_entropy": 0.78,
    }  # fmt: skip
    return ev.SamplerStep(step=number, steps=600, **fields | more)


def looked(number: int, success: float, best: bool) -> ev.SamplerEvaluated:
    metrics = {"success_mean": success, "success@1": success + 0.1, "success@10": 0.9}
    return ev.SamplerEvaluated(
        step=number, split="validation", method="gflownet", n=47, k=20, metrics=metrics, best=best
    )


def test_the_newest_step_and_what_its_loss_is_made_of() -> None:
    state = state_of(step(1190), step(1200), looked(100, 0.6, True), looked(150, 0.4, False),
                     looked(200, 0.5, False))  # fmt: skip
    title, validation, best, table, heading, facts = training.steps(state.gflownet)
    assert lines_of([title, validation, best, heading]) == [
        "step 1,200 of 600",
        "validation after step 200: success@1 0.600   success@10 0.900"
        "   (share of questions of which one of the first K paths meets an answer)",
        "★ best on validation, kept: step 100, 0.600 of its paths meet an answer",
        "what the loss of step 1,200 is made of",
    ]  # fmt: skip
    assert isinstance(table, Table)
    assert table.header == [
        "step", "loss", "δ", "5…95%", "log Z", "meeting", "path F1", "edges", "α", "H(P_B)", "paths/s"
    ]  # fmt: skip
    assert rows_of(table)[0] == [
        "1200", "7.338", "−0.500", "−2.00 +4.90", "0.65", "0.734", "0.455", "1.64", "0.50", "·", "1,906"
    ]  # fmt: skip
    assert [row[0] for row in rows_of(table)] == ["1200", "1190"]
    assert isinstance(facts, Facts) and facts.rows == [
        ("loss", "7.3381"), ("TB  mean δ²", "5.7358"), ("GT  taught paths, weighted", "0.9181"),
        ("δ 5% 25% 50% 75% 95%", "−2.00 −0.50 +0.10 +0.90 +4.90"), ("reward", "0.735"),
    ]  # fmt: skip


def test_a_backward_policy_that_learns_has_losses_of_its_own() -> None:
    state = state_of(step(10, pb_nll=1.2911, pb_entropy=-0.0011, pb_l2=0.25, residual_quantiles=[]))
    blocks = training.steps(state.gflownet)
    facts = blocks[-1]
    assert isinstance(facts, Facts) and facts.rows[3:] == [
        ("PB  −log P_B of the walks", "1.2911"), ("PB  −entropy, weighted", "−0.0011"),
        ("PB  squared weights, weighted", "0.2500"), ("reward", "0.735"),
    ]  # fmt: skip
    assert rows_of(blocks[1])[0][3] == "·" and rows_of(blocks[1])[0][9] == "0.78"
    whole = training.steps(state_of(step(10, pb_nll=1.0)).gflownet)[-1]
    assert isinstance(whole, Facts) and [name for name, _ in whole.rows][-3:] == [
        "PB  squared weights, weighted", "δ 5% 25% 50% 75% 95%", "reward"
    ]  # fmt: skip
    assert len(lines_of(blocks)) == 2, "no look at validation, nothing kept"


def test_of_many_steps_ten_are_listed_the_newest_first() -> None:
    """Of 25 every third: 250, 220, …, 10."""
    table = training.steps(state_of(*(step(10 * n) for n in range(1, 26))).gflownet)[1]
    assert [int(row[0]) for row in rows_of(table)] == [250, 220, 190, 160, 130, 100, 70, 40, 10]
    table = training.steps(state_of(*(step(n) for n in range(1, 12))).gflownet)[1]
    assert [int(row[0]) for row in rows_of(table)] == [11, 9, 7, 5, 3, 1], "eleven are more than ten"
    assert len(rows_of(training.steps(state_of(*(step(n) for n in range(1, 11))).gflownet)[1])) == 10


def test_the_curves_of_the_training() -> None:
    state = state_of(
        step(10, loss=9.0), step(20, loss=8.0, residual_quantiles=[], log_z=1.5, success_mean=0.25, path_hit_f1=0.125),
        looked(15, 0.6, True), looked(20, 0.5, False),
    )  # fmt: skip
    charts = [[(s.label, list(s.x), list(s.y), s.mark) for s in chart.series(state)]
              for chart in PAGE.training_charts]  # fmt: skip
    assert charts == [
        [("loss", [10, 20], [9.0, 8.0], "")],
        [("δ median", [10], [0.1], ""), ("δ 5%", [10], [-2.0], ""), ("δ 95%", [10], [4.9], ""),
         ("log Z", [10, 20], [0.645, 1.5], "")],
        [("training", [10, 20], [0.734, 0.25], ""), ("path F1", [10, 20], [0.455, 0.125], ""),
         ("validation", [15, 20], [0.6, 0.5], "◇"), ("best", [15], [0.6], "★")],
    ]  # fmt: skip
    assert [chart.y for chart in PAGE.training_charts] == [
        "loss", "residual δ and log Z, nats", "sampled paths that meet an answer, share"
    ]  # fmt: skip
    unmarked = training.success_curves(state_of(step(10), looked(10, 0.5, False)))
    assert not len(unmarked[-1].x), "weights of the last step: none is marked"


def test_the_data_of_each_stage() -> None:
    state = state_of(
        ev.GraphsBuilt(split="train", samples=1400, dropped={"an empty graph": 2}, broken_triples=3, edges_mean=510.7,
                       nodes_mean=382.2, in_degree_max=160, reachable=1384, signal_to_noise=0.00399,
                       hops={"2": 138, "1": 1214}),
        ev.RetrieverEpoch(epoch=1, epochs=3, loss=0.84, recall={"10": 0.38, "50": 0.75}, best=True),
        ev.RetrieverEpoch(epoch=2, epochs=3, loss=0.7, recall={"10": 0.39, "50": 0.75}, best=True),
        ev.RetrieverEpoch(epoch=3, epochs=3, loss=0.63, recall={"10": 0.37, "50": 0.76}),
        ev.RetrieverMeasured(split="train", samples=100, recall={"10": 0.79}, missing=1, unscored=2),
        ev.RetrieverMeasured(split="test", samples=100, recall={"10": 0.76, "50": 0.98}),
        ev.AgentGraphsBuilt(split="test", samples=99, dropped={"answer outside the graph": 1, "out of reach": 4},
                            edges_mean=63.9, nodes_mean=36.4),
    )  # fmt: skip
    graphs, epochs, recall, agent = training.data(state.gflownet)
    assert isinstance(graphs, Table) and graphs.figures == 6
    assert rows_of(graphs) == [
        ["train", "1:1,214 2:138", "an empty graph 2, triples that are not three texts 3", "1,400", "1,384", "511",
         "382", "160", "0.40%"],
    ]  # fmt: skip
    assert graphs.header == [
        "split", "hops", "left out", "questions", "reachable", "edges", "nodes", "largest in-degree", "signal"
    ]  # fmt: skip
    assert isinstance(epochs, Table) and list(epochs.header) == [
        "epoch",
        "",
        "loss",
        "recall@10",
        "recall@50",
    ]
    assert rows_of(epochs) == [
        ["1/3", "", "0.840", "0.380", "0.750"], ["2/3", "★ kept: most recall", "0.700", "0.390", "0.750"],
        ["3/3", "", "0.630", "0.370", "0.760"],
    ], "1.13, 1.14, 1.13 in sum: both were the best when they came, the second is kept"  # fmt: skip
    assert epochs.caption == "The retriever, which scores the edges, on validation"
    assert isinstance(recall, Table) and list(recall.header) == ["split", "", "recall@10", "recall@50"]
    assert rows_of(recall) == [
        ["train", "1 question without scores, 2 triples of the others without a score", "0.790", "·"],
        ["test", "", "0.760", "0.980"],
    ]
    assert rows_of(agent) == [["test", "answer outside the graph 1, out of reach 4", "99", "64", "36"]]
    assert isinstance(agent, Table) and agent.figures == 3
    assert agent.header == ["split", "left out", "questions", "edges", "nodes"]


def test_questions_that_no_path_reaches_are_counted_once_for_all_methods() -> None:
    """Both methods left out the same three of the held-out questions."""
    both = [evaluated(method, {"success@1": 0.8}, missed=3) for method in ("gflownet", "greedy")]
    assert lines_of(results.coverage(state_of(*both).gflownet))[0] == (
        "left out: 3 questions whose answers no path reaches"
    )
