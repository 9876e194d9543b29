"""How GSM8K has to be asked: greedy accuracy under several prompts, on 448 problems of its training split.

    python -m tests.bench.bench_gsm8k_prompts GSM8K_FOLDER MODEL [problems]

Problems 7,001 to 7,448; worked examples are the first ones. Accuracy by the last number of the text where no answer is
marked, strict by marked answers alone (`####`, box). Writes results/gsm8k_prompts.csv.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from engine.files import csv_text
from engine.lm.protocol import Request, Sampling
from engine.lm.transformers.model import TransformersModel
from engine.tasks.example import TaskExample
from engine.tasks.loaders import load_task_dataset
from engine.tasks.task import Task

RESULTS = Path(__file__).resolve().parent / "results" / "gsm8k_prompts.csv"
FIRST, PROBLEMS, BUDGET = 7000, 448, 400
TASK = Task("gsm8k", "gsm8k")
MARKED = (
    "{question}\n\nThink step by step, and leave a blank line between steps. "
    "End with a line `#### ` and the number."
)
AT_LENGTH = (
    "{question}\n\nSolve this step by step. Write every step as a short paragraph with its calculation, and leave "
    "a blank line between steps. After the last step write the result on a line of its own as `#### ` and the number."
)
Messages = list[dict[str, str]]


def asked(template: str | None) -> Callable[[TaskExample, Sequence[TaskExample]], Messages]:
    """A template alone; None: the task's own."""
    return lambda example, shots: [{"role": "user", "content": TASK.prompt(example, template)}]


def worked(count: int) -> Callable[[TaskExample, Sequence[TaskExample]], Messages]:
    """Worked examples as earlier turns."""

    def messages(example: TaskExample, shots: Sequence[TaskExample]) -> Messages:
        turns = [
            turn
            for shot in shots[:count]
            for turn in (
                {"role": "user", "content": shot.question},
                {"role": "assistant", "content": shot.solution or ""},
            )
        ]
        return [*turns, {"role": "user", "content": example.question}]

    return messages


PROMPTS = {
    "the task's own: step by step, the answer in a box": asked(None),
    "step by step, a blank line between steps, #### at the end, at length": asked(AT_LENGTH),
    "the bare question": asked("{question}"),
    "8 worked examples as earlier turns": worked(8),
    "4 worked examples as earlier turns": worked(4),
    "a blank line between steps, #### at the end (the task's former prompt)": asked(MARKED),
}


def row(
    prompt: str, examples: Sequence[TaskExample], texts: Sequence[str], tokens: Sequence[int]
) -> dict[str, str | int | float]:
    """The figures of one prompt."""
    pairs = list(zip(texts, examples, strict=True))
    flexible = [TASK.is_correct(TASK.extract(text), example.answer) for text, example in pairs]
    strict = [TASK.is_correct(TASK.extract_marked(text), example.answer) for text, example in pairs]
    return {
        "prompt": prompt,
        "n": len(pairs),
        "accuracy": round(float(np.mean(flexible)), 4),
        "strict": round(float(np.mean(strict)), 4),
        "tokens": round(float(np.mean(tokens)), 1),
        "cut": round(float(np.mean([count >= BUDGET for count in tokens])), 4),
    }


def main() -> None:
    """Ask, write, print."""
    folder, path, *rest = sys.argv[1:]
    problems = load_task_dataset("gsm8k", folder, "train", FIRST + PROBLEMS)
    examples = problems[FIRST:][: int(rest[0]) if rest else PROBLEMS]
    model = TransformersModel.load(path, dtype="bfloat16", max_num_seqs=512)
    rows = []
    for prompt, messages in PROMPTS.items():
        requests = [
            Request(model.tokenizer.encode_messages(messages(example, problems)), Sampling(BUDGET))
            for example in examples
        ]
        done = model.generate(requests)
        rows.append(row(prompt, examples, [text.text for text in done], [len(text.tokens) for text in done]))
        print(rows[-1], flush=True)
    RESULTS.write_text(csv_text(rows))


if __name__ == "__main__":
    main()
