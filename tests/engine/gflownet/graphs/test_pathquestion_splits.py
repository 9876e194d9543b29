"""Lines that ask the same become one question."""

from __future__ import annotations

from engine.gflownet.graphs.pathquestion.files import QuestionLine
from engine.gflownet.graphs.pathquestion.splits import grouped, merged


def test_a_question_has_the_answers_and_gold_paths_of_all_its_lines():
    first, second = (("a", "r", "b"),), (("a", "s", "c"),)
    lines = [
        QuestionLine(1, "Who?", ("b",), first), QuestionLine(2, "Where?", ("b",), first),
        QuestionLine(3, "Who?", ("c", "b"), second), QuestionLine(4, "Who?", ("b",), first),
    ]  # fmt: skip
    who, where = merged(lines)
    assert (who.number, who.answers, who.gold_paths) == (1, ("b", "c"), (first, second))
    assert (where.number, where.answers, where.gold_paths) == (2, ("b",), (first,))


def test_questions_that_share_any_gold_path_s_relations_stay_together():
    """The first shares its second path with the third; the second has another topic entity, the last one another
    relation."""
    r, s = (("a", "r", "b"),), (("a", "s", "c"),)
    lines = [
        QuestionLine(1, "Who?", ("b",), r), QuestionLine(2, "Who?", ("c",), s),
        QuestionLine(3, "Where?", ("c",), (("x", "s", "c"),)), QuestionLine(4, "Which?", ("d",), (("a", "s", "d"),)),
        QuestionLine(5, "What?", ("e",), (("a", "t", "e"),)),
    ]  # fmt: skip
    assert grouped(merged(lines)) == [[0, 2], [1], [3]]
