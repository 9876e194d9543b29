"""What if: a query answered with other demonstrations, or with none.

The pair of the record is asked again beside them, and the event says whether its answer is the recorded one.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from engine.config.section import NonNegativeInt, Section
from engine.errors import DataError
from engine.events import AnswerTried, OtherAnswer
from engine.files import read_records
from engine.pool import layout
from engine.pool.data.dataset import majority
from engine.pool.from_config import make_dataset, make_vqa_model
from engine.pool.vqa.evaluated_pairs import EvaluatedPair
from engine.pool.vqa.vqa import Ask, BareAsk, VQAAsk, VQAReply, official_vqa_accuracy
from engine.run.stage import StageContext

MOST_PAIRS = 64
_Pair = Annotated[list[NonNegativeInt], Field(min_length=2, max_length=2)]


class WhatIfRequest(Section):
    """The demonstrations to try with query `query`: each of `pairs` is two rows of the table, in the prompt's order;
    `recorded`: the pair of the record that they are held against."""

    query: str
    recorded: _Pair
    pairs: Annotated[list[_Pair], Field(max_length=MOST_PAIRS)] = []


class WhatIf:
    """The queries of a run and the model that answers them. Raises SteerError where the data are missing."""

    form: ClassVar[type[Section]] = WhatIfRequest
    stage: ClassVar[str] = "pool"

    def __init__(self, context: StageContext) -> None:
        self._context = context
        self._dataset = make_dataset(context.config)
        self._known: dict[tuple[str, tuple[int, int]], EvaluatedPair] = {}
        self._model = make_vqa_model(context.config, context, self._dataset)

    def tried(self, request: WhatIfRequest) -> AnswerTried:
        """The answers: with the recorded pair, with no demonstration, and with each requested pair. Raises DataError
        for what the run does not have."""
        dataset, query = self._dataset, request.query
        if not any(query in names for names in dataset.splits.values()):
            raise DataError(
                what=f"the data set has no query {query!r}",
                where=str(layout.folder(self._context.run_dir)),
                hint="choose a query of this run",
            )
        asks: list[Ask] = [BareAsk(query)]
        asks += [VQAAsk(query, self._pair(query, pair)) for pair in [request.recorded, *request.pairs]]
        replies: dict[int, VQAReply] = {}
        self._model.answer(asks, self._context.checkpoint, replies.__setitem__)
        none, committed, *yours = [self._tried(ask, replies[number]) for number, ask in enumerate(asks)]
        difference = self._difference(query, request.recorded, committed)
        return AnswerTried(
            system="pool",
            example=query,
            case={"pair": f"{request.recorded[0]}, {request.recorded[1]}"},
            question=dataset.question(query),
            gold=majority(dataset.annotations(query)),
            committed=committed,
            none=none,
            yours=yours or [none],
            exact=not difference,
            difference=difference,
        )

    def _pair(self, query: str, rows: list[int]) -> tuple[int, int]:
        """The rows as a pair that may be shown: two of the table, neither of them the query itself."""
        first, second = rows
        query_rows = set(self._dataset.excluded(query))
        wrong = [row for row in rows if not 0 <= row < len(self._dataset.embeddings)]
        if wrong or first == second or query_rows & {first, second}:
            raise DataError(
                what=f"rows {first} and {second} are not demonstrations for {query}",
                where=str(layout.folder(self._context.run_dir)),
                hint=f"choose two different rows of 0 to {len(self._dataset.embeddings) - 1}"
                + (
                    f", none of {', '.join(map(str, sorted(query_rows)))}, which show the query"
                    if query_rows
                    else ""
                ),
            )
        return first, second

    def _difference(self, query: str, pair: list[int], again: OtherAnswer) -> str:
        """Why the answer is not the recorded one; empty where it is."""
        recorded = self._recorded(query, (pair[0], pair[1]))
        if recorded is None:
            return "this pair came with the RL data: the run holds its score, not an answer"
        if recorded.answer == (again.text or None):
            return ""
        if self._context.config.pool.vqa.kind == "openai":
            return (
                f"the answer was {recorded.answer!r}: the model behind a server need not answer twice alike"
            )
        return f"the answer was {recorded.answer!r}"

    def _recorded(self, query: str, pair: tuple[int, int]) -> EvaluatedPair | None:
        """What the run was answered; the files are read again for a pair that they did not have."""
        if (query, pair) not in self._known:
            run_dir = self._context.run_dir
            for path in (layout.initial_evaluated(run_dir), layout.evaluated(run_dir)):
                replies = read_records(path, EvaluatedPair) if path.is_file() else []
                self._known.update(((reply.query_id, reply.pair), reply) for reply in replies)
        return self._known.get((query, pair))

    def _tried(self, ask: Ask, reply: VQAReply) -> OtherAnswer:
        answers = self._dataset.annotations(ask.query_id)
        score = None if reply.answer is None else official_vqa_accuracy(reply.answer, answers)
        rows = list(ask.demonstrations)
        shown = [f"{row} ({self._dataset.demonstration(row)[1]})" for row in rows]
        return OtherAnswer(
            given=f"rows {' and '.join(shown)}" if rows else "no demonstration",
            text=reply.answer or "",
            right=None if score is None else score >= 1 - 1e-9,
            verdict=reply.error or "",
            score=score,
            rows=rows,
        )
