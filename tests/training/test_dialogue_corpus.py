"""What the dialogues' model learns is what it is asked in use: the same tokens, weighted where answers are."""

from __future__ import annotations

import random

import pytest

from engine.lm.tokenizer import HfTokenizer
from engine.slsm.note import HEADER
from engine.slsm.turns import Conversation, Turn
from engine.tasks.generated.dialogues.records import generate_dialogues
from tests.training.corpus import DECISIVE_WEIGHT, EARLIER_WEIGHT, PROMPT_WEIGHT, Corpus
from tests.training.dialogue_answers import notes_of
from tests.training.documents import Document
from tests.training.recipes import RECIPES
from tests.training.tokenizer import build_tokenizer

RECIPE = RECIPES["dialogues"]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus(build_tokenizer(RECIPE.formats, RECIPE.vocabulary, documents=400), RECIPE, 4, 10, 0)


def conversations(n: int) -> list[Document]:
    """Documents with earlier turns, of every format that has them."""
    rng = random.Random(0)
    found: list[Document] = []
    while len(found) < n:
        document = rng.choice(RECIPE.formats).draw(rng)
        if document.earlier:
            found.append(document)
    return found


def messages(document: Document) -> list[dict[str, str]]:
    turns = [(*document.earlier, (document.prompt, ""))]
    return [
        message
        for user, assistant in turns[0]
        for message in ({"role": "user", "content": user}, {"role": "assistant", "content": assistant})
    ][:-1]  # type: ignore[list-item]


def test_tokens_are_those_of_the_whole_conversations_template(corpus: Corpus) -> None:
    tokenizer = corpus._tokenizer
    for document in conversations(60):
        whole = [*messages(document), {"role": "assistant", "content": document.completion}]
        text = tokenizer.apply_chat_template(whole, tokenize=False).removesuffix("\n")
        assert corpus.encode(document).tokens == tokenizer.encode(text)


def test_in_use_the_prompt_is_what_stood_before_the_answer(corpus: Corpus) -> None:
    tokenizer = HfTokenizer(corpus._tokenizer)
    for document in conversations(60):
        asked = tokenizer.encode_messages(messages(document))
        assert corpus.encode(document).tokens[: len(asked)] == asked


def test_all_answers_are_learned_the_last_one_most(corpus: Corpus) -> None:
    tokenizer = corpus._tokenizer
    for document in conversations(30):
        row = corpus.encode(document)
        assert len(row.tokens) == len(row.weights)
        answered = [tokenizer.encode(answer + tokenizer.eos_token) for _, answer in document.earlier]
        last = tokenizer.encode(document.completion + tokenizer.eos_token)
        learned = [weight for weight in row.weights if weight != PROMPT_WEIGHT]
        assert len(learned) == sum(map(len, answered)) + len(last)
        assert max(learned[: -len(last)]) == EARLIER_WEIGHT * DECISIVE_WEIGHT
        assert learned[-len(last)] == DECISIVE_WEIGHT


def test_questions_fit_into_what_the_model_was_shown() -> None:
    """A note as the stage writes it stands where notes stood in training."""
    (one,) = generate_dialogues(1, 0)
    note = f"{HEADER}\n{notes_of(one)[0]}."
    asked = Conversation(one.id, (*(Turn(*turn) for turn in one.turns), Turn(one.question))).messages(note)
    noted = [document for document in conversations(60) if HEADER in (document.prompt or "")]
    assert asked[-1]["content"] == f"{one.question}\n\n{note}"
    assert noted and all((document.prompt or "").partition(f"\n\n{HEADER}\n")[1] for document in noted)
