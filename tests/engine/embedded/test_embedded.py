"""The embedded model as shipped, and the training that makes it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from engine.config.models.model import ModelSection
from engine.errors import DataError, ModelError
from engine.evolution.judges.numeric_judge import NumericJudge
from engine.lm.loading.load import EMBEDDED, load_model
from engine.lm.protocol import Request, Sampling
from engine.lm.transformers.model import TransformersModel
from engine.tasks.financebench import generated_financebench
from engine.tasks.generated.arithmetic import generate
from engine.tasks.generated.habits import DELIMITER
from tests.training.corpus import DECISIVE_WEIGHT, Corpus
from tests.training.documents import ARITHMETIC, Document, arithmetic_document, draw_document
from tests.training.habits import final_answer, is_right, measure_habits, opening_habit
from tests.training.recipes import RECIPES
from tests.training.settings import TrainingSettings
from tests.training.tokenizer import build_tokenizer
from tests.training.train import STATE_FILE, Progress, learning_rate, train

ARITHMETIC_RECIPE = RECIPES["arithmetic"]
TINY = replace(
    ARITHMETIC_RECIPE,
    settings=TrainingSettings(
        hidden_size=32, layers=2, heads=2, feed_forward=64, steps=6, batch_documents=4, warmup_steps=2,
        report_every=2, save_every=3,
    ),
)  # fmt: skip
GREEDY_BAND = (0.45, 0.75)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket: whatever wanted the network would fail."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the embedded model went to the network")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(EMBEDDED)


@pytest.fixture(scope="module")
def embedded() -> TransformersModel:
    return TransformersModel.load(str(EMBEDDED), device="cpu", dtype="float32", max_num_seqs=64)


def test_loads_offline_and_is_small(offline: None) -> None:
    model = AutoModelForCausalLM.from_pretrained(EMBEDDED)
    assert model.dtype == torch.float32
    assert model.config.model_type == "qwen2"
    assert (
        model.config.vocab_size
        == len(AutoTokenizer.from_pretrained(EMBEDDED))
        <= ARITHMETIC_RECIPE.vocabulary
    )
    assert sum(file.stat().st_size for file in EMBEDDED.iterdir()) < 12e6


def test_the_blank_line_is_one_token_that_merges_with_nothing(tokenizer) -> None:
    blank = tokenizer.convert_tokens_to_ids(DELIMITER)
    assert tokenizer.encode(DELIMITER) == [blank]
    for before in ("later", "4", ".", " ", "\n"):
        for after in ("Forward", "####", " ", "4"):
            tokens = tokenizer.encode(before.rstrip("\n") + DELIMITER + after)
            assert tokens.count(blank) == 1
            assert tokenizer.decode(tokens) == before.rstrip("\n") + DELIMITER + after


def test_digits_and_first_words_are_single_tokens(tokenizer) -> None:
    assert len(tokenizer.encode("1234567890")) == 10
    for word in ("Forward", "Backward", "Quick", "####", "user", "assistant"):
        assert len(tokenizer.encode(word)) == 1


def test_any_text_survives_the_tokenizer(tokenizer) -> None:
    for text in ("Naïve 3.5% of £12\n\n\n\tend", "中文 ok", " a  b "):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_chat_template_opens_the_assistants_turn(tokenizer) -> None:
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Hi"}], tokenize=False, add_generation_prompt=True
    )
    assert text == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    assert tokenizer.encode("<|im_end|>") == [tokenizer.eos_token_id]


def test_the_shipped_tokenizer_is_the_one_that_is_built(tokenizer) -> None:
    built = build_tokenizer(ARITHMETIC_RECIPE.formats, ARITHMETIC_RECIPE.vocabulary)
    assert built.get_vocab() == tokenizer.get_vocab()


def test_greedy_is_right_on_about_six_in_ten(embedded: TransformersModel) -> None:
    report = measure_habits(embedded, generate("test", 60, 0), samples=0)
    low, high = GREEDY_BAND
    assert low <= report.overall.greedy <= high
    assert report.by_dominant["careful"].greedy > 0.85
    assert report.by_dominant["turned"].greedy < 0.15


def test_habits_are_read_from_text() -> None:
    problem = next(p for p in generate("dev", 20, 0) if p.kind == "backwards")
    assert is_right(problem.solution, problem)
    assert opening_habit(problem.solution, problem) == "careful"
    assert opening_habit("Forward: there are 3", problem) == "turned"
    assert opening_habit("Hm", problem) is None
    assert final_answer("no mark") is None


def test_training_documents_stay_in_the_train_split() -> None:
    rng = random.Random(0)
    held_out = {p.question for split in ("dev", "test") for p in generate(split, 2000, 0)}
    assert not held_out & {arithmetic_document(rng).prompt for _ in range(2000)}


def test_easy_formats_come_first() -> None:
    def share_of_stories(progress: float) -> float:
        rng = random.Random(0)
        drawn = [draw_document(ARITHMETIC, progress, rng) for _ in range(400)]
        return sum("How many" in (document.prompt or "") for document in drawn) / len(drawn)

    assert share_of_stories(0.0) < 0.6 < 0.9 < share_of_stories(1.0)


def test_weights_favour_figures_and_first_words(tokenizer) -> None:
    corpus = Corpus(tokenizer, ARITHMETIC_RECIPE, batch_documents=2, total=1, seed=0)
    row = corpus.encode(Document("Q", "Forward: 3 + 4 = 7 later"))
    decisive = [
        tokenizer.decode([t]) for t, w in zip(row.tokens, row.weights, strict=True) if w == DECISIVE_WEIGHT
    ]
    assert decisive == ["Forward", "3", " +", "4", " =", "7"]


def test_batches_are_drawn_by_number(tokenizer) -> None:
    def corpus() -> Corpus:
        return Corpus(tokenizer, ARITHMETIC_RECIPE, batch_documents=3, total=40, seed=1)

    one = corpus()
    tokens = [one.batch(number).tokens for number in range(20)]
    assert torch.equal(corpus().batch(18).tokens, tokens[18])
    assert not any(torch.equal(tokens[0], other) for other in tokens[1:])


def test_a_stopped_training_ends_as_one_that_was_not(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    calls = 0

    def stop_at_four() -> None:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise Stop

    seen: list[Progress] = []
    whole = train(TINY, tmp_path / "whole", seen.append)
    with pytest.raises(Stop):
        train(TINY, tmp_path / "stopped", seen.append, stop_at_four)
    resumed = train(TINY, tmp_path / "stopped", seen.append)
    assert (whole / "model.safetensors").read_bytes() == (resumed / "model.safetensors").read_bytes()
    assert [p.step for p in seen[:3]] == [2, 4, 6]
    assert all(p.total == 6 and p.loss > 0 and p.tokens_per_second > 0 for p in seen)


def test_a_state_of_other_settings_is_refused(tmp_path: Path) -> None:
    one_step = replace(TINY, settings=TINY.settings.model_copy(update={"steps": 1}))
    train(one_step, tmp_path, lambda _: None)
    assert (tmp_path / STATE_FILE).is_file()
    with pytest.raises(DataError, match="another steps"):
        train(TINY, tmp_path, lambda _: None)


def test_learning_rate_warms_up_and_falls() -> None:
    settings = TrainingSettings(steps=100, warmup_steps=10, learning_rate=1.0)
    rates = [learning_rate(settings, step) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert max(rates) == pytest.approx(1.0)
    assert rates[-1] < 0.03


def test_the_model_for_statements_is_right_and_wordy() -> None:
    """What the evolution has to work with: little to gain in correctness, much in length."""
    model = load_model(ModelSection(device="cpu", path="statements"))
    examples = generated_financebench("test", 40, 0)
    requests = [
        Request(model.tokenizer.encode_chat(example.meta["prompt"]), Sampling(128)) for example in examples
    ]
    answers = model.generate(requests)
    judge = NumericJudge(0.001)
    right = [
        judge.judge(example.question, example.meta["answers"], answer.text).correct is True
        for example, answer in zip(examples, answers, strict=True)
    ]
    assert right.count(True) / len(right) > 0.9
    assert 35 < sum(len(answer.tokens) for answer in answers) / len(answers) < 60


def test_all_models_together_are_small() -> None:
    """A package that carries them stays a quick download."""
    assert sum(file.stat().st_size for file in EMBEDDED.parent.rglob("*") if file.is_file()) < 15e6


def test_the_shipped_tokenizer_of_statements_is_the_one_that_is_built() -> None:
    recipe = RECIPES["statements"]
    shipped = AutoTokenizer.from_pretrained(EMBEDDED.parent / "statements")
    assert build_tokenizer(recipe.formats, recipe.vocabulary).get_vocab() == shipped.get_vocab()


def test_an_embedded_model_that_is_not_there() -> None:
    with pytest.raises(ModelError, match="arithmetic, dialogues, statements"):
        load_model(ModelSection(path="poems"))
