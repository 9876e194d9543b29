"""Sampled paths as a lever: the triples of a question's own graph, in the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.config.config import Config
from engine.errors import DataError
from engine.events import QuestionSampled
from engine.files import read_records
from engine.gflownet import layout
from engine.gflownet.answer.answer_match import normalise
from engine.gflownet.answer.readers import system_message
from engine.gflownet.evaluation.path_prompt import build_triplet_prompt, path_triples
from engine.levers.lever import EVIDENCE, CountTokens, Edited, LeverDid, Message, last_user, with_last


class EvidenceLever:
    """The paths that a run sampled for its held-out questions."""

    def __init__(self, run_dir: Path, config: Config) -> None:
        """Raises DataError where there are none."""
        path = layout.sampled_paths(run_dir)
        if not path.is_file():
            raise DataError(
                what="no sampled paths", where=str(path), hint="run the stage `gflownet` of this run"
            )
        questions = read_records(path, QuestionSampled, "run the stage `gflownet` again")
        self._budget, self._system = config.answer.token_budget, system_message(config.answer)
        self._by_text = {normalise(question.question): question for question in questions}
        self.about = f"paths of {len(questions)} questions"

    def add(self, messages: Sequence[Message], count_tokens: CountTokens) -> Edited:
        """The conversation with the triples before its question, if a graph is known for it."""
        asked = last_user(messages)
        sampled = self._by_text.get(normalise(asked))
        if sampled is None:
            why = "the run holds no graph for this question"
            return Edited([*messages], LeverDid(lever=EVIDENCE, acted=False, what=why))
        prompt = build_triplet_prompt(asked, path_triples(sampled.paths), self._budget, count_tokens)
        if not prompt.triples:
            why = f"no triple of the sampled paths fits {self._budget} tokens"
            return Edited([*messages], LeverDid(lever=EVIDENCE, acted=False, what=why))
        edited = with_last(messages, prompt.text)
        if edited[0]["role"] != "system":
            edited = [{"role": "system", "content": self._system}, *edited]
        tokens = sum(count_tokens(m["content"]) for m in edited) - sum(
            count_tokens(m["content"]) for m in messages
        )
        n = len(prompt.triples)
        what = f"{n} triple{'s' * (n != 1)} of {sampled.sample_id}'s paths in the prompt"
        return Edited(edited, LeverDid(lever=EVIDENCE, acted=True, what=what, tokens=tokens))
