"""A question's paths in words, their order, and how many of their triples a prompt holds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from engine.config.gflownet import GFlowNetSection, RewardSection
from engine.events import PathStep, SampledPath
from engine.gflownet.evaluation import question_paths
from engine.gflownet.evaluation.path_prompt import build_triplet_prompt, path_triples, rough_tokens
from engine.gflownet.evaluation.paths import GraphNames, ranked_paths, top_triples
from engine.gflownet.graphs.tables import Texts
from engine.gflownet.sampler.actor import Rollout
from engine.gflownet.sampler.environment import Walks
from engine.gflownet.sampler.module import GFlowNetModule
from engine.gflownet.sampler.reward import AnswerOnlyReward
from tests.engine.gflownet.small_graphs import WIDTH, SmallGraph, small_batch

# 0 -r0-> 1*, 0 -r1-> 2 -r0-> 3; the taught path goes 0, 2, 3.
GRAPH = SmallGraph("words", ((0, 0, 1), (0, 1, 2), (2, 0, 3)), (0,), (1,), (1, 2))


NAMES = GraphNames([*"ABCD"], ["r0", "r1", "r2"])


def test_the_most_frequent_path_comes_first_then_the_most_probable():
    batch = small_batch([GRAPH])
    edges = torch.tensor([[1, -1], [0, -1], [-1, -1], [1, 2], [0, -1]])
    nodes = torch.tensor([[0, 2, -1], [0, 1, -1], [-1, -1, -1], [0, 2, 3], [0, 1, -1]])
    walks = Walks(torch.zeros(5, dtype=torch.long), edges, nodes)
    probability = torch.tensor([0.2, 0.1, 0.05, 0.6, 0.1], dtype=torch.float64)
    rollout = Rollout(walks, probability.log(), torch.zeros(5, dtype=torch.bool))
    reward = AnswerOnlyReward(RewardSection())(batch, walks, probability)
    paths = ranked_paths(batch, rollout, reward, NAMES)
    told = [("".join(step.head + step.tail for step in path.steps), path.count) for path in paths]
    assert told == [("AB", 2), ("ACCD", 1), ("AC", 1), ("", 1)]
    assert [path.probability for path in paths] == pytest.approx([0.1, 0.6, 0.2, 0.05])
    assert [path.reward for path in paths] == pytest.approx([1, 0.001, 0.001, 0.001])
    assert [path.answers for path in paths] == [["B"], [], [], []]
    first, second = paths[1].steps
    assert (first.relation, second.relation, first.gt, second.gt, second.answer) == (
        "r1",
        "r0",
        True,
        True,
        False,
    )
    assert (paths[0].steps[0].gt, paths[0].steps[0].answer) == (False, True)
    assert [(step.head, step.tail) for step in path_triples(paths)] == [("A", "B"), ("A", "C"), ("C", "D")]


def test_two_relations_between_the_same_nodes_are_two_triples():
    def path(*relations: str) -> SampledPath:
        steps = [PathStep(head="A", relation=name, tail="B", score=0.5) for name in relations]
        return SampledPath(steps=steps, count=1, probability=0.5, reward=1.0)

    triples = path_triples([path("r0"), path("r1"), path("r0")])
    assert [step.relation for step in triples] == ["r0", "r1"]


def test_a_start_that_is_an_answer_counts_for_a_path_that_comes_back_to_it():
    """0* -> 1 -> 0: an answer of the screen is one of the reward."""
    batch = small_batch([SmallGraph("back", ((0, 0, 1), (1, 0, 0)), (0,), (0,), (0, 1))])
    nodes = torch.tensor([[0, 1, -1], [0, 1, 0]])
    walks = Walks(torch.zeros(2, dtype=torch.long), torch.tensor([[0, -1], [0, 1]]), nodes)
    probability = torch.tensor([0.9, 0.1], dtype=torch.float64)
    rollout = Rollout(walks, probability.log(), torch.zeros(2, dtype=torch.bool))
    reward = AnswerOnlyReward(RewardSection())(batch, walks, probability)
    paths = ranked_paths(batch, rollout, reward, NAMES)
    assert [path.answers for path in paths] == [[], ["A"]]
    assert reward.success.tolist() == [False, True]


def test_the_baseline_s_triples_come_by_falling_score():
    """Names by the numbers of the run: nodes 0, 1, 2 of the graph are its entities 3, 0, 2."""
    data = Data(
        edge_index=torch.tensor([[0, 0, 1], [1, 2, 2]]), edge_attr=torch.tensor([1, 0, 1]),
        labels=torch.tensor([0.0, 1, 0]),
        node_global_ids=torch.tensor([3, 0, 2]), a_local_indices=torch.tensor([2]),
    )  # fmt: skip
    texts = Texts(["A", "B", "C", "D"], ["r", "s"])
    assert list(top_triples(data, torch.tensor([0.25, 0.875, 0.25]), texts)) == [
        PathStep(head="D", relation="r", tail="C", score=0.875, gt=True, answer=True),
        PathStep(head="D", relation="s", tail="A", score=0.25, gt=False, answer=False),
        PathStep(head="A", relation="s", tail="C", score=0.25, gt=False, answer=True),
    ]


def step(*words: str) -> PathStep:
    return PathStep(
        head=words[0], relation=words[1], tail=" ".join(words[2:]), score=1.0, gt=False, answer=False
    )


@pytest.mark.parametrize(
    ("budget", "kept", "tokens"), [(6, 0, 0), (7, 1, 7), (14, 1, 7), (15, 2, 15), (99, 3, 22)]
)
def test_triples_are_kept_from_the_first_on_as_far_as_the_budget_goes(budget: int, kept: int, tokens: int):
    """`(a,r,b)` has 7 words and signs; one that does not fit ends the list, though a shorter one comes behind it."""
    triples = [step("a", "r", "b"), step("b", "r", "long", "name"), step("c", "r", "d")]
    prompt = build_triplet_prompt("Why?", triples, budget)
    assert (prompt.triples, prompt.tokens) == (triples[:kept], tokens)
    lines = ["(a,r,b)", "(b,r,long name)", "(c,r,d)"][:kept]
    assert prompt.text == "\n".join(["Triplets:", *(lines or [""]), "", "Question:", "Why?"])
    assert sum(rough_tokens(line) for line in lines) == tokens


@pytest.mark.parametrize(
    ("distinct", "samples", "draw", "asked_for"),
    [
        (False, 4, 0, ("evaluate", ["q"], 4, 0)), (False, 4, 1, ("evaluate", ["q"], 4, 4)),
        (False, 4, 3, ("evaluate", ["q"], 4, 12)), (False, None, 2, ("evaluate", ["q"], 5, 10)),
        (True, 4, 3, ("distinct", ["q"], 1, 3)),
    ],
)  # fmt: skip
def test_another_draw_shares_no_seed_with_the_one_before(
    distinct: bool,
    samples: int | None,
    draw: int,
    asked_for: tuple[object, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a number of samples: the five of the evaluation. Distinct paths have one seed a draw."""

    class SeedsAsked(Exception):
        pass

    def seeds(*what: Any) -> None:
        raise SeedsAsked(*what)

    monkeypatch.setattr(question_paths, "rollout_seeds", seeds)
    actor = SimpleNamespace(eval_policy_temperature=1.0)
    section = SimpleNamespace(actor=actor, num_eval_rollouts=5)
    module: Any = SimpleNamespace(embedder=lambda batch: None, eval=lambda: SimpleNamespace(section=section))
    questions: Any = SimpleNamespace(whole=lambda number: (None, SimpleNamespace(sample_id="q")))
    sampler = question_paths.QuestionSampler(module, questions, None, 7, 0)  # type: ignore[arg-type]
    with pytest.raises(SeedsAsked) as asked:
        sampler.sample(0, 0.0, question_paths.Drawing(distinct), samples, draw)
    assert asked.value.args == (7, *asked_for)


def test_a_graphs_relations_are_named_by_their_number_each_once() -> None:
    """As the rows of its relation embeddings are."""
    data = SimpleNamespace(node_global_ids=torch.tensor([2, 0]), edge_attr=torch.tensor([1, 0, 1]))
    names = GraphNames.of(Texts(["a", "b", "c"], ["r", "s"]), data)
    assert (names.nodes, names.relations) == (["c", "a"], ["r", "s"])


def test_a_question_is_shown_with_its_graph_and_its_paths() -> None:
    """Of the four paths of the graph nine are asked for; one triple of theirs fits the prompt."""
    batch = small_batch([GRAPH])
    torch.manual_seed(0)
    module = GFlowNetModule(WIDTH, GFlowNetSection.model_validate({"policy": {"hidden": 8}})).double()
    data = SimpleNamespace(
        sample_id="q",
        question="who?",
        answers=["B", "Z"],
        node_global_ids=torch.tensor([7, 1, 2, 3]),
        edge_attr=torch.tensor([5, 9, 5]),
    )
    texts = Texts([*"?BCD???A"], [f"r{number}" for number in range(10)])
    questions: Any = SimpleNamespace(whole=lambda number: (batch, data))
    sampler = question_paths.QuestionSampler(module, questions, texts, 7, 7)
    shown = sampler.sample(0, 0.5, question_paths.Drawing(True, 0.7), 9)
    assert (shown.sample_id, shown.question, shown.starts) == ("q", "who?", ["A"])
    assert (shown.golds, shown.answers) == (["B", "Z"], ["B"])
    assert (shown.nodes, shown.edges, shown.samples, shown.distinct) == (4, 3, 4, True)
    assert (shown.temperature, shown.prior_alpha) == (0.7, 0.5)
    ways = {tuple((step.head, step.relation, step.tail) for step in path.steps) for path in shown.paths}
    long = ("A", "r9", "C"), ("C", "r5", "D")
    assert ways == {(), (("A", "r5", "B"),), long[:1], long}
    assert sum(path.probability for path in shown.paths) == pytest.approx(1)
    assert shown.log_z == pytest.approx(float(module.log_z(module.embedder(batch))[0]))
    (first, *_) = path_triples(shown.paths)
    assert shown.prompt == f"Triplets:\n({first.head},{first.relation},{first.tail})\n\nQuestion:\nwho?"
    drawn = sampler.sample(0, 0.5, question_paths.Drawing(False), 9)
    assert (drawn.samples, drawn.distinct, drawn.temperature) == (9, False, 1.0)
    assert sum(path.count for path in drawn.paths) == 9
