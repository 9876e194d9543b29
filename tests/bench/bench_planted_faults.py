"""Faults of one line each, planted in the cores of the five methods: do the tests notice?

    python -m tests.bench.bench_planted_faults [METHOD ...]

The later ones lie in what is told about the methods (intervals, tests, tables, verdicts, comparisons), in what all
share (draws, kept texts, formats of vectors, answers and examples), and in the console: its screens (METHOD: screens),
and the pages, reports and words that it has in common with batch and ctl (METHOD: app);
last in the engine's rooms that serve all methods (METHOD: run, sweep, config, servers and so on).

Each fault is planted in a copy of the committed files, and the tests that are to notice it are run there until one
fails. Writes results/planted_faults.csv; faults that stand there are not planted again: remove the file to begin anew.
"""

from __future__ import annotations

import csv
import importlib
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tests.bench.planted_in_methods import IN_METHODS
from tests.bench.planted_in_models import IN_MODELS
from tests.bench.planted_in_rooms import IN_ROOMS
from tests.bench.planted_on_screens import ON_SCREENS

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).resolve().parent / "results" / "planted_faults.csv"
FIELDS = ("method", "file", "old", "new", "noticed", "by", "first")
"""`first`: whether it was noticed before tests were added for those of its set that were not, where that is known."""


@dataclass(frozen=True)
class Fault:
    """`old` stands once in `file`, and `new` takes its place."""

    method: str
    file: str
    old: str
    new: str
    tests: str = ""
    """Where the tests stand that are to notice it, below tests/, with spaces between; none: those of the method."""
    first: str = ""


TESTS: dict[str, tuple[str, ...]] = {
    "evolution": ("test_oracle.py", "test_score.py", "test_deltas.py"),
    "gflownet": ("test_oracle.py", "evaluation/test_metrics.py", "sampler"),
    "slsm": (
        "test_policy.py", "test_outcome.py", "test_multichallenge.py", "test_oracle.py", "test_answering.py",
        "controllers", "test_slsm_stage.py",
    ),
    "pool": (
        "test_oracle.py", "test_trajectory_quality_controller.py", "test_top_k.py", "test_improve.py",
        "test_candidate_pool_injector.py", "selector/test_selector_oracle.py", "selector/test_heldout.py",
        "selector/test_selector.py", "selector/test_training.py",
    ),
    "esm": ("test_decide.py", "test_dpp.py", "test_effects.py", "test_oracle.py"),
}  # fmt: skip
"""Of each method, below tests/engine/METHOD."""

_E, _G, _S, _P = (f"engine/{method}/" for method in ("evolution", "gflownet", "slsm", "pool"))
FAULTS: tuple[Fault, ...] = (
    *(
        Fault("evolution", f"{_E}{file}", old, new)
        for file, old, new in (
            ("score.py", "CORRECTNESS_WEIGHT = 0.4, 0.6", "CORRECTNESS_WEIGHT = 0.5, 0.5"),
            ("score.py", "1.0 / (1.0 + tokens / scale)", "1.0 / (1.0 + scale / max(tokens, 1))"),
            ("score.py", "right / len(judged)", "right / len(outcomes)"),
            ("score.py", "/ len(outcomes)\n    short", "/ len(judged)\n    short"),
            ("score.py", "/ (len(values) - 1)", "/ len(values)"),
            ("score.py", "math.sqrt(variance / len(values))", "math.sqrt(variance)"),
            ("history.py", "reversed(self.iterations) if item.best", "self.iterations if item.best"),
            ("history.py", "last.deltas if last.new_deltas is None else last.new_deltas", "last.deltas"),
            ("history.py", "len(self.iterations) - 1 - best.iteration", "len(self.iterations) - best.iteration"),
            ("minibatch.py", '"evolve", "minibatch", iteration', '"evolve", "minibatch"'),
            ("minibatch.py", "order[validation_size:aside]", "order[:test_size]"),
            ("deltas.py", "abs(number) > LARGEST", "number > LARGEST"),
            ("deltas.py", "[cluster for cluster in clusters if cluster not in value]", "[]"),
        )
    ),
    *(
        Fault("gflownet", f"{_G}{file}", old, new)
        for file, old, new in (
            ("sampler/trajectory_balance.py", "log_z + log_pf - log_pb", "log_z + log_pf + log_pb"),
            ("sampler/trajectory_balance.py", "- log_reward", "+ log_reward"),
            ("sampler/reward.py", " + self.lambda_reach * reach,", ","),
            ("sampler/reward.py", "success = hits > 0", "success = hits >= 0"),
            ("sampler/reward.py", "_first(nodes[:, 1:])", "(nodes[:, 1:] >= 0)"),
            ("sampler/reward.py", ".tril(-1)", ".triu(1)"),
            ("sampler/reward.py", "return along & (length >= taught) &", "return (length >= taught) &"),
            ("sampler/reward.py", "2 * precision * recall", "precision * recall"),
            ("sampler/replay.py", "own + first", "own"),
            ("evaluation/metrics.py", "success[:, :k].any(1)", "success[:, :k].all(1)"),
            ("evaluation/metrics.py", "answers / batch.gold_count", "answers / batch.answer_count"),
            ("evaluation/metrics.py", "edges = walks.edges[:, :window]", "edges = walks.edges"),
            ("evaluation/metrics.py", "walks.nodes[met].unique()", "walks.nodes[met]"),
            ("evaluation/metrics.py", "ended = length > 0", "ended = length >= 0"),
        )
    ),
    *(
        Fault("slsm", f"{_S}{file}", old, new)
        for file, old, new in (
            ("policy.py", 'Decision(True, "always")', 'Decision(False, "always")'),
            ("policy.py", "if plan.mode in risk_modes", "if plan.mode not in risk_modes"),
            ("policy.py", "if not note:", "if False:"),
            ("policy.py", '        return Decision(False, "never: the', '        return Decision(True, "never: the'),
            ("policy.py", "(broken, others, state.edits, state.facts)", "(others, broken, state.edits, state.facts)"),
            ("policy.py", "for item in reversed(group)]", "for item in group]"),
            ("policy.py", "ranked[:max_items]", "ranked"),
            ("outcome.py", "first.cost + second.cost", "second.cost"),
            ("outcome.py", "last = second or first", "last = first"),
            ("outcome.py", "Spent(1, detected.cost.tokens, detected.cost.cost)", "detected.cost"),
            ("controllers/diff.py", "            del items[place]", "            pass"),
            ("controllers/diff.py", "items[place] = item", "items.append(item)"),
            ("controllers/diff.py", "return bool(target) and target in turn_text", "return True"),
            ("controllers/diff.py", "if item.id in touched:", "if False:"),
            ("note.py", 'f"{message}\\n\\n{note}" if note', 'f"{note}\\n\\n{message}" if note'),
            ("note.py", 'f"[{status}] {text}"', "text"),
            ("note.py", "    text = memory_text.strip()", "    text = memory_text.strip()[:20]"),
            ("turns.py", '"assistant", "content": turn.assistant', '"user", "content": turn.assistant'),
            ("answering.py", "variant) if record.conflicts else", "variant) if True else"),
            ("answering.py", 'return "flat" if memory == "flat" else "structured"', 'return "structured"'),
            ("outcome.py", 'first_answer="" if second is None else first.text', "first_answer=first.text"),
            ("judges/scoring.py", "float(bool(judged[key].passed)) -", "float(bool(judged[key].passed)) +"),
            ("judges/scoring.py", "fixed = sum(bool(judged[key].passed) >", "fixed = sum(bool(judged[key].passed) >="),
            ("judges/scoring.py", "in judged.values() if outcome.axis == axis", "in judged.values()"),
            ("judges/judge.py", "words[-len(words_of(word)) :]", "words[: len(words_of(word))]"),
            ("judges/judge.py", "reply == criterion.pass_criteria,", 'reply == "YES",'),
        )
    ),
    *(
        Fault("pool", f"{_P}{file}", old, new)
        for file, old, new in (
            ("trajectory_quality_controller.py", "if score > max(scores", "if score >= max(scores"),
            ("trajectory_quality_controller.py", "NO_IMPROVEMENT if score in scores else NEW_SCORE", "NO_IMPROVEMENT"),
            ("trajectory_quality_controller.py", "positive[:p] + partial[:q]", "partial[:q] + positive[:p]"),
            ("trajectory_quality_controller.py", "[: self.target_trajectory_count]\n", "\n"),
            ("trajectory_quality_controller.py", "chosen[number % len(chosen)]", "chosen[0]"),
            ("candidate_pool_injector.py", "(similarity[place], -place)", "(-similarity[place], -place)"),
            ("candidate_pool_injector.py", "(similarity[place], -place)", "(similarity[place], place)"),
            ("candidate_pool_injector.py", "if row not in referenced)", ")"),
            ("candidate_pool_injector.py", "min(self.max_inject_per_query, len(free))", "self.max_inject_per_query"),
            ("improve.py", "-item[1], len(set(item[0]) - inside)", "item[1], len(set(item[0]) - inside)"),
            ("improve.py", "-item[1], len(set(item[0]) - inside)", "-item[1], 0"),
            ("improve.py", "and not worth_a_place", "and False"),
            ("improve.py", "            current.append(trajectory)", "            pass"),
            ("improve.py", "oracle(query.candidate_pool_indices, known)", "oracle(pool, known)"),
            ("improve.py", "scores.items() if inside.issuperset(pair)", "scores.items() if inside.intersection(pair)"),
            ("top_k.py", "np.argsort(-similarity", "np.argsort(similarity"),
            ("top_k.py", "scores[:, unusable] = -np.inf", "pass"),
            ("selector/training.py", "group.mask & (group.score > 0)", "group.mask"),
            ("selector/training.py", "group.score.clamp(min=1e-6).log()", "group.score.clamp(min=1e-6)"),
            ("selector/training.py", "max(1, int(useful.any(-1).sum()))", "len(useful)"),
            ("selector/training.py", "(group.score - baseline)", "(group.score + baseline)"),
            ("selector/training.py", "(~self.mask, _IMPOSSIBLE).log_softmax(-1)", "(~self.mask, _IMPOSSIBLE)"),
            ("selector/training.py", " & (labels[..., 0] != labels[..., 1])", ""),
            ("selector/training.py", "same.tril(-1)", "same.triu(1)"),
            ("selector/training.py", 'keys[query, first, last] = float("-inf")', "pass"),
            ("selector/training.py", "section.learning_rate if supervised", "section.learning_rate if True"),
            ("selector/rl_beam_dataset.py", "if not trajectory.failed", "if True"),
            ("selector/rl_beam_dataset.py", "[trajectory.pointer for", "[trajectory.pointer[::-1] for"),
            ("selector/heldout.py", 'np.argsort(-similarity, kind="stable")', 'np.argsort(similarity, kind="stable")'),
            ("selector/heldout.py", "(-(pair.score or 0.0), pair.pair)", "(pair.score or 0.0, pair.pair)"),
            ("selector/selector.py", 'second.masked_fill(same, float("-inf"))', "second"),
        )
    ),
    *(
        Fault("esm", f"engine/esm/{file}", old, new)
        for file, old, new in (
            ("dpp.py", "np.log1p(quality)", "quality"),
            ("dpp.py", "self._lambda * np.log", "-self._lambda * np.log"),
            ("dpp.py", "self._free[index] = False", "pass"),
            ("memory.py", "keys / np.maximum(norms, 1e-12)", "keys"),
            ("select_stage.py", "(-candidates[i][\"quality\"], i)", "(candidates[i][\"quality\"], i)"),
            ("mine_stage.py", "(-pairs[i][\"quality\"], i)", "(pairs[i][\"quality\"], i)"),
        )
    ),
    *(
        Fault(file.split("/")[1] if "/" in file[7:] else "figures", file, old, new, f"engine/{tests}")
        for tests, file, faults in (
            ("test_statistics.py", "engine/statistics.py", (
                ("means = draws @ values / len(delta)", "means = draws @ values / len(values)"),
                ("/ size / len(groups)", "/ size"),
                ("mean = np.mean([np.mean(", "mean = np.max([np.mean("),
                ("np.random.default_rng(seed).multinomial", "np.random.default_rng(0).multinomial"),
                ("generator = np.random.default_rng(seed)", "generator = np.random.default_rng(0)"),
                ("range(min(gained, lost) + 1)", "range(gained + 1)"),
                ("Fraction(2 * below", "Fraction(below"),
            )),
            ("test_statistics.py", "engine/wilson.py", (
                ("share + z * z / (2 * n)", "share + z / (2 * n)"),
                ("z * z / (4 * n * n)", "z * z / (4 * n)"),
                ("max(0.0, centre - half)", "centre - half"),
            )),
            ("comparison", "engine/comparison/figures.py", (
                ("mean_a=_mean(first)", "mean_a=_mean(second)"),
                ("tokens_a=_mean([a for a, _ in counted])", "tokens_a=_mean([b for _, b in counted])"),
                ("paired_bootstrap(second_tokens, first_tokens", "paired_bootstrap(first_tokens, second_tokens"),
                ("paired_bootstrap(second, first", "paired_bootstrap(first, second"),
                ("(True, False): 1, (False, True): 2", "(True, False): 2, (False, True): 1"),
            )),
            ("comparison", "engine/comparison/trace.py", (
                ("isinstance(a, float) and isinstance(b, float)", "isinstance(a, float)"),
                ("if pair.written_otherwise), None", "if True), None"),
            )),
            ("comparison", "engine/comparison/methods/pool.py", (
                ("and len(scores) == 1 else None", "else None"),
                ("((_BEFORE, event.oracle_before), (_AFTER, event.oracle_after))",
                 "((_AFTER, event.oracle_before), (_BEFORE, event.oracle_after))"),
            )),
            ("comparison", "engine/comparison/methods/slsm.py", (
                ("passed = any(verdicts)", "passed = all(verdicts)"),
                ("sum(event.tokens for", "max(event.tokens for"),
            )),
            ("comparison", "engine/comparison/methods/evolution.py", (
                ("AnswersScored) and event.best", "AnswersScored)"),
            )),
            ("sweep/test_results.py", "engine/sweep/results.py", (
                ("one.value if one.verdict.lower_is_better else -one.value", "-one.value"),
                ("return value, one.tokens or 0.0,", "return value, 0.0,"),
                ("key: _mean(scores) for key", "key: scores[-1] for key"),
                ("ordered = sorted(keys)", "ordered = list(settings[0].scores)"),
            )),
            ("sweep/test_resolution.py", "engine/sweep/resolution.py", (
                ("np.median(half[shown])", "np.median(errors[shown])"),
            )),
            ("esm/test_report.py", "engine/esm/evaluation/report.py", (
                ('"mean_probe_tokens": sum(line["probe_tokens_used"]', '"mean_probe_tokens": sum(line["tokens_used"]'),
                ('sum(step["alpha"] for step in steered)', 'sum(step["score"] for step in steered)'),
                ('"steered_share": len(steered) / len(steps)', '"steered_share": len(steered) / len(own)'),
                ('if b["correct"] and not a["correct"]', 'if not b["correct"] and not a["correct"]'),
                ("sum(known) / len(known)", "len(known) / len(known)"),
            )),
            ("esm/test_decide.py", "engine/esm/online/decide.py", (
                ("injectable = any(hit.entry.vector is not None for", "injectable = any(hit.entry.vector is None for"),
                ("len(rows) < max(online.min_entries, 1)", "len(rows) <= max(online.min_entries, 1)"),
                ("hits[0].similarity < online.min_sim", "hits[0].similarity <= online.min_sim"),
                ("scores[best] < online.tau_null", "scores[best] <= online.tau_null"),
                ("key=lambda hit: -hit.ahat)[:most]", "key=lambda hit: -hit.similarity)[:most]"),
            )),
            ("test_verdicts.py", "engine/esm/evaluation/verdict.py", (
                ('["accuracy"] > own["accuracy"]', '["accuracy"] >= own["accuracy"]'),
            )),
            ("test_verdicts.py", "engine/slsm/judges/mode_verdict.py", (
                ('("reminder", "baseline")', '("baseline", "reminder")'),
                ("value < 0 for axis", "value <= 0 for axis"),
                ("max(1, len({a.conversation_id for a in answers}))", "max(1, len(answers))"),
            )),
            ("test_verdicts.py", "engine/slsm/judges/pairs.py", (
                ("[[two - one for one, two in axis]", "[[one - two for one, two in axis]"),
            )),
            ("slsm/test_outcome.py", "engine/slsm/outcome.py", (
                ("item=found.item, why=found.why", "item=found.why, why=found.item"),
            )),
            ("test_verdicts.py", "engine/gflownet/evaluation/verdict.py", (
                ("fixed=int((mine > theirs)", "fixed=int((mine < theirs)"),
                ("prior.mean() > mine.mean()", "prior.mean() >= mine.mean()"),
            )),
            ("test_verdicts.py", "engine/pool/verdicts.py", (
                ("broken=int((own < other)", "broken=int((own <= other)"),
                ("np.array(after), np.array(before)", "np.array(before), np.array(after)"),
            )),
            ("test_verdicts.py", "engine/evolution/verdict.py", (
                ("baseline_value=sum(other for _, other in pairs)", "baseline_value=sum(own for own, _ in pairs)"),
                ("low=best.tokens_low or 0.0", "low=best.tokens_high or 0.0"),
            )),
            ("evolution/judges/test_agreement.py", "engine/evolution/judges/agreement.py", (
                ("_TAIL = 2.5", "_TAIL = 5"),
                ("np.zeros(4))", "np.zeros(8))"),
            )),
            ("evolution/reflectors", "engine/evolution/reflectors/statistical_reflector.py", (
                ("best - item.score.error", "best"),
                ("max(change[NUMBER_CLUSTER], 0.0)", "min(change[NUMBER_CLUSTER], 0.0)"),
                ("np.argsort(-lengths, kind", "np.argsort(lengths, kind"),
                ("wrong = judged & ~right", "wrong = ~right"),
            )),
            ("esm/test_contrast.py", "engine/esm/mining/contrast.py", (
                ("return self.right_key - self.wrong_key", "return self.wrong_key - self.right_key"),
                ("len(wrong) < config.min_incorrect_rollouts", "not wrong"),
                ("has_gold or len(right) >= config.min_correct_rollouts", "len(right) >= config.min_correct_rollouts"),
                ("ranked[: len(ranked) // 2], ranked[len(ranked) // 2 :]",
                 "ranked[len(ranked) // 2 :], ranked[: len(ranked) // 2]"),
                ("rollout.states[m - 1, layer_index]", "rollout.states[m - 2, layer_index]"),
            )),
            ("lm/test_sampling.py", "engine/lm/sampling.py", (
                ("_mix(seeds + _GAMMA)", "(seeds + _GAMMA)"),
                ("counters + np.uint64(1)", "counters + np.uint64(2)"),
                ("seed & 0xFFFFFFFFFFFFFFFF", "seed & 0xFFFFFFFF"),
                ('wide = torch.float32 if logits.device.type == "mps" else torch.float64', "wide = torch.float32"),
                ("np.maximum(temperatures, _COLDEST)", "temperatures"),
            )),
            ("lm/test_kept_texts.py", "engine/lm/kept_texts.py", (
                ("(vector, steer.layer, steer.scale)", "(vector, steer.layer)"),
                ("info.fingerprint, info.dtype, ", "info.dtype, "),
                ("_steer(branch.steer), branch.seed, earlier", "_steer(branch.steer), earlier"),
                ("branch.processor is not None or (", "False or ("),
            )),
            ("vectors", "engine/vectors/torch_forms.py", (
                ('entry.get("steering_coefficient", 1.0)', 'entry.get("steering_coefficient", 0.0)'),
                ('or entry.get("bias") is not None', ""),
                ('{layer: _vector(v, f"{path}: layer {layer}") for layer, v in content',
                 '{layer - 1: _vector(v, f"{path}: layer {layer}") for layer, v in content'),
            )),
            ("tasks/test_loaders.py", "engine/tasks/extractors.py", (
                ("plain_number(marked[-1])", "plain_number(marked[0])"),
                ("named[-1].upper()", "named[0].upper()"),
                ("said[-1].strip()", "said[0].strip()"),
            )),
            ("tasks/test_loaders.py", "engine/tasks/loaders.py", (
                ("generator(seed, ", "generator(0, "),
                ("return examples[:size]", "return examples[-size:]"),
            )),
            *IN_MODELS,
        )
        for old, new in faults
    ),
    *(
        Fault(file.split("/")[1] if "/" in file[7:] else "figures", file, old, new, f"engine/{tests}")
        for tests, file, faults in IN_METHODS
        for old, new in faults
    ),
    *(
        Fault(file.partition("/")[0], file, old, new, tests, first)
        for tests, file, faults in ON_SCREENS
        for first, old, new in faults
    ),
    *(
        Fault(file.split("/")[1], file, old, new, tests, first)
        for tests, file, faults in IN_ROOMS
        for first, old, new in faults
    ),
)  # fmt: skip


LIBRARIES = (
    "torch", "transformers", "torch_geometric.nn", "scipy.stats", "sklearn.cluster", "hypothesis", "openai", "textual",
    "pyarrow.parquet", "lmdb", "safetensors.torch", "pydantic", "msgspec", "yaml", "PIL.Image", "_pytest.config",
)  # fmt: skip
"""What the tests import besides this project: loaded once, and taken over by each fault's process."""


def run_tests(copy: Path, told: Path, tests: list[str]) -> NoReturn:
    """In a process of its own: pytest over the copy, which says in `told` what it found."""
    import pytest

    output = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(copy)
    os.environ |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    sys.path[:] = [str(copy), *(place for place in sys.path if place and Path(place).resolve() != ROOT)]
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "engine", "app", "screens")]:
        del sys.modules[name]
    code = pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests])
    sys.stdout.flush()
    os._exit(int(code))


def planted(fault: Fault, copy: Path) -> str:
    """The first test that fails with the fault, or ""."""
    path = copy / fault.file
    text = path.read_text(encoding="utf-8")
    if text.count(fault.old) != 1:
        raise SystemExit(f"{fault.file}: {fault.old!r} stands there {text.count(fault.old)} times")
    path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
    try:
        names = fault.tests.split() or [f"engine/{fault.method}/{name}" for name in TESTS[fault.method]]
        tests = [f"tests/{name}" for name in names]
        told = copy / "told.txt"
        process = os.fork()
        if process == 0:
            run_tests(copy, told, [name for name in tests if (copy / name).exists()])
        os.waitpid(process, 0)
        lines = told.read_text(encoding="utf-8").splitlines()
        assert any(" in " in line for line in lines[-2:]), f"the tests did not run: {lines[-5:]}"
        failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        return failed[0].split(" ")[1] if failed else ""
    finally:
        path.write_text(text, encoding="utf-8")


def main(methods: list[str]) -> None:
    """Plant what the table does not hold yet."""
    known: set[tuple[str, str, str]] = set()
    if TABLE.exists():
        with TABLE.open(newline="", encoding="utf-8") as file:
            known = {(row["file"], row["old"], row["new"]) for row in csv.DictReader(file)}
    for library in LIBRARIES:
        importlib.import_module(library)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        for fault in FAULTS:
            shown = (fault.file, fault.old.strip(), fault.new.strip())
            if (methods and fault.method not in methods) or shown in known:
                continue
            by = planted(fault, copy)
            new = not TABLE.exists()
            with TABLE.open("a", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, lineterminator="\n")
                if new:
                    writer.writerow(FIELDS)
                writer.writerow([fault.method, *shown, "yes" if by else "no", by, fault.first])


if __name__ == "__main__":
    main(sys.argv[1:])
