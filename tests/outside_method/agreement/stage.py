"""Its stage: sample each question's answer several times, count the most frequent one."""

from __future__ import annotations

from collections import Counter
from typing import Any

from agreement.events import AgreementMeasured
from engine.esm.examples import evaluation_examples
from engine.files import append_jsonl, recover_jsonl
from engine.lm.protocol import Request, Sampling
from engine.run.stage import StageContext, StageResult
from engine.tasks.example import TaskExample
from engine.tasks.loaders import configured_task

FILE = "agreement/agreement.jsonl"


class MeasureAgreement:
    """Appends a line a question; what is there is not sampled again."""

    def run(self, context: StageContext) -> StageResult:
        path, examples = context.run_dir / FILE, evaluation_examples(context.config)
        lines = recover_jsonl(path)
        context.start(len(examples), len(lines), "questions")
        for example in examples[len(lines) :]:
            context.checkpoint()
            samples = context.config.agreement.samples  # type: ignore[attr-defined]
            line, tokens = measure(context, example, samples)
            context.emit(AgreementMeasured(**line))
            append_jsonl(path, [line])
            lines.append(line)
            context.progress(len(lines), len(examples), tokens)
        return StageResult({"mean_share": sum(line["share"] for line in lines) / len(lines)}, [FILE])


def measure(context: StageContext, example: TaskExample, samples: int) -> tuple[dict[str, Any], int]:
    """The line of a question, and how many tokens it took."""
    config, model = context.config, context.model()
    section, task = config.agreement, configured_task(config.task)  # type: ignore[attr-defined]
    prompt = model.tokenizer.encode_chat(task.prompt(example, config.prompt.template), config.prompt.system)
    requests = [
        Request(
            prompt, Sampling(section.max_new_tokens, temperature=1.0), seed=context.seed(example.id, draw)
        )
        for draw in range(samples)
    ]
    completions = model.generate(requests)
    answers = Counter(str(task.extract(completion.text)) for completion in completions)
    answer, count = answers.most_common(1)[0]
    line = {
        "example": example.id,
        "answer": answer,
        "share": count / samples,
        "samples": samples,
    }
    return line, sum(len(completion.tokens) for completion in completions)
