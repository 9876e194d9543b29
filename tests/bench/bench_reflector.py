"""What a reflector behind a server gets wrong, on messages that an evolution recorded.

    python -m tests.bench.bench_reflector RUN URL [--answers 2] [--max-tokens 250]

Each message is sent with a few of its answers at a time, as a small minibatch would have them. Prints a line for each
reflection, then how many replies broke which rule, and how many of those that could be used left all deltas as they
were.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from engine.config.models.openai import OpenAISection
from engine.evolution import layout
from engine.evolution.deltas import Problems, problem_words
from engine.evolution.history import History, read_history
from engine.evolution.reflectors.openai_reflector import OpenAIReflector
from engine.evolution.reflectors.reflector import ReflectorFailed, ReflectorInput
from engine.servers.client import OpenAIClient

_ANSWERS, _END, _ANSWER = "## Answers, with whether each is right and why\n", "\n\n---\n", "example_id: "


def messages(path: Path, count: int) -> Iterator[tuple[str, str]]:
    """System and user message of a recorded file, with `count` answers each until all were used."""
    system, user = path.read_text().removeprefix("=== system ===\n").rstrip("\n").split("\n\n=== user ===\n")
    head, rest = user.split(_ANSWERS)
    answers, end = rest.split(_END)
    parts = [_ANSWER + part for part in answers.removeprefix(_ANSWER).split(f"\n\n{_ANSWER}")]
    for first in range(0, len(parts), count):
        yield system, head + _ANSWERS + "\n\n".join(parts[first : first + count]) + _END + end


def totals(refused: Sequence[Problems], used: int, unchanged: int) -> str:
    """The last lines."""
    rules = Counter(rule for problems in refused for rule in problems).most_common()
    lines = [f"{len(refused) + used} replies, {len(refused)} refused"]
    lines += [f"  {count} {rule}" for rule, count in rules]
    return "\n".join([*lines, f"{used} used, of which {unchanged} leave all deltas as they were"])


def main() -> None:
    """Ask, in the order of the iterations."""
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=Path)
    parser.add_argument("url")
    parser.add_argument("--answers", type=int, default=2)
    parser.add_argument("--max-tokens", type=int, default=250)
    chosen = parser.parse_args()
    section = OpenAISection(
        model="m", base_url=chosen.url, api_key_env="none", max_tokens=chosen.max_tokens, timeout=1500
    )
    client = OpenAIClient(section, "evolution.reflector.openai")
    refused: list[Problems] = []
    used = unchanged = 0
    for item in read_history(layout.history(chosen.run)).iterations:
        given = ReflectorInput(item.iteration, item.deltas, {}, [], History(iterations=[]))
        for system, message in messages(layout.reflector_message(chosen.run, item.iteration), chosen.answers):
            try:
                reply = OpenAIReflector(client, "m", system).reflect(given, message)
                words, problems = reply.summary, reply.refused
                used, unchanged = used + 1, unchanged + (reply.deltas == item.deltas)
            except ReflectorFailed as error:
                words, problems = "no deltas", error.refused
            refused += problems
            print(item.iteration, *map(problem_words, problems), words, sep=" | ", flush=True)
    print(totals(refused, used, unchanged))


if __name__ == "__main__":
    main()
