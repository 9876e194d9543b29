"""A language model that follows notes by rule: with a note that says what is asked it remembers, without one it
mostly forgets; some conversations it only spoils when it reads a note. It knows the dialogues, and nothing else."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from engine.lm.protocol import (
    Between,
    Completion,
    Finished,
    LogitsProcessor,
    ModelInfo,
    Request,
    Working,
    go_on,
    ignore,
)
from engine.slsm.note import HEADER
from engine.tasks.generated.dialogues.dialogue import Dialogue
from tests.training.dialogue_answers import answer_to, notes_of


class LetterTokenizer:
    """A token a letter; a conversation is its JSON."""

    eos_token_ids = frozenset({0})
    longest_token = 1

    def encode(self, text: str) -> list[int]:
        return [ord(letter) for letter in text]

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(map(chr, tokens))

    def encode_chat(self, user: str, system: str | None = None) -> list[int]:
        return self.encode_messages([{"role": "user", "content": user}])

    def encode_messages(self, messages: Sequence[dict[str, str]]) -> list[int]:
        return self.encode(json.dumps(list(messages)))


class NoteFollowingModel:
    """`LanguageModel` as far as conversations need it. `asked`: every (conversation as JSON, seed) in order."""

    info = ModelInfo("follows notes by rule", "test", "cpu", "float32", 1, 1, 0x110000, 0, "rule")

    def __init__(self, dialogues: Sequence[Dialogue]) -> None:
        self.tokenizer = LetterTokenizer()
        self.between: Between = go_on
        self.asked: list[tuple[str, int]] = []
        self._dialogues = {
            self._key([part for turn in dialogue.turns for part in turn], dialogue.question): dialogue
            for dialogue in dialogues
        }

    def generate(
        self,
        requests: Sequence[Request],
        *,
        logits_processor: LogitsProcessor | None = None,
        finished: Finished = ignore,
    ) -> list[Completion]:
        found = []
        for request in requests:
            self.between(found, lambda: Working(len(requests), len(found), 0, ""))
            asked = self.tokenizer.decode(request.prompt)
            self.asked.append((asked, request.seed))
            text = self.answer(json.loads(asked), request.seed if request.sampling.temperature else 0)
            found.append(Completion(self.tokenizer.encode(text), [], text, "eos"))
            finished(len(found) - 1, found[-1])
        return found

    def answer(self, messages: Sequence[dict[str, str]], seed: int) -> str:
        """By rule: every fourth dialogue is remembered anyway, and every eighth of these is forgotten over a note."""
        *before, last = [message["content"] for message in messages]
        question, _, note = last.partition(f"\n\n{HEADER}")
        dialogue = self._dialogues[self._key(before, question)]
        rng = random.Random(f"{dialogue.id}:{seed}")
        known = rng.random() < 0.25
        helped = bool(note) and all(line in note for line in notes_of(dialogue))
        spoiled = bool(note) and known and rng.random() < 0.5
        return answer_to(dialogue, rng, remembers=(known or helped) and not spoiled)

    @staticmethod
    def _key(before: Sequence[str], question: str) -> str:
        return json.dumps([*before, question])

    def states(self, *args: Any) -> Any:
        raise NotImplementedError

    def open(self, *args: Any) -> Any:
        raise NotImplementedError
