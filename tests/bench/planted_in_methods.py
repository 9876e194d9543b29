"""Further faults for `bench_planted_faults`: the tests that are to notice them (below tests/engine), the file, and what
stands there in place of what."""

from __future__ import annotations

_S, _V, _T = "engine/gflownet/sampler/", "engine/gflownet/evaluation/", "engine/gflownet/training/"
_G, _E, _P, _M = "engine/gflownet/graphs/", "engine/evolution/", "engine/pool/", "engine/slsm/"

IN_METHODS: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    ("gflownet/training/test_training.py", f"{_T}training.py", (
        ("(self.section.learning_rate, self.section.log_z_learning_rate)",
         "(self.section.learning_rate, self.section.learning_rate)"),
        ('group["lr"] = rate * self._schedule(step)', 'group["lr"] = rate'),
        ("end + (1 - end) * 0.5", "(1 - end) * 0.5"),
        ("clip_grad_norm_(learning, section.grad_clip)", "clip_grad_norm_(learning, 1e9)"),
        ("float(losses.pb_avg_entropy)", "0.0"),
        ("prior_alpha(self.section, self.step - 1)", "prior_alpha(self.section, self.step)"),
    )),
    ("gflownet/training/test_training.py", f"{_T}step.py", (
        ("rng.random() >= section.gt_replay_ratio", "rng.random() < section.gt_replay_ratio"),
        ('section.gt_replay == "likelihood")', 'section.gt_replay != "likelihood")'),
        ('f"replay {name}", step)', 'f"replay {name}", 0)'),
        ("each, step * each)", "each, step)"),
        ("range(step * self.size, (step + 1) * self.size)", "range(0, self.size)"),
        ('STAGE, "order", epoch)', 'STAGE, "order", 0)'),
        ("Sampling(actor.policy_temperature, alpha, actor.random_action_prob)",
         "Sampling(actor.policy_temperature, alpha)"),
        ("Sampling(actor.policy_temperature, alpha", "Sampling(actor.eval_policy_temperature, alpha"),
    )),
    ("gflownet/answer/test_path_reader.py", "engine/gflownet/answer/readers.py", (
        ("np.argmax(rows[1:] @ rows[0])", "np.argmin(rows[1:] @ rows[0])"),
        ("if step.tail not in seen", "if True"),
        ("reversed(relations)", "relations"),
        ("if len(starts) == most\n        ]", "\n        ]"),
        ("head for head in leaving if head in prompt.question", "head for head in leaving"),
    )),
    ("gflownet/sampler/test_networks.py", f"{_S}embedder.py", (
        ("self.head(node)[batch.heads]", "self.head(node)[batch.tails]"),
        ("self.score(batch.edge_scores.clamp(min=1e-4).log()[:, None])", "self.score(batch.edge_scores[:, None])"),
        ("flags[batch.starts, 0] = 1", "pass"),
        ("return total / batch.start_ptr.diff().clamp(min=1)[:, None]", "return total"),
        ("torch.stack([batch.out_degree, batch.in_degree], 1)", "torch.stack([batch.in_degree, batch.out_degree], 1)"),
    )),
    ("gflownet/sampler/test_networks.py", f"{_S}policies/edge_gat.py", (
        ("reached[batch.tails] + self.edge(edge)", "reached[batch.heads] + self.edge(edge)"),
        ("index_add(0, batch.heads, heard", "index_add(0, batch.tails, heard"),
    )),
    ("gflownet/sampler/test_networks.py", f"{_S}policies/edge_frontier.py", (
        ("total / count.clamp(min=1)", "total"),
        ("self.steps.weight[step]", "self.steps.weight[0]"),
    )),
    ("gflownet/sampler/test_networks.py", f"{_S}policies/make.py", (
        ("kind(section.hidden, max_steps, section.dropout)", "kind(section.hidden, max_steps)"),
    )),
    ("gflownet/evaluation/test_evaluator.py", f"{_V}evaluator.py", (
        ("Sampling(self.section.actor.eval_policy_temperature, prior_alpha)",
         "Sampling(self.section.actor.policy_temperature, prior_alpha)"),
        ("Sampling(prior_alpha=prior_alpha, greedy=True)", "Sampling(greedy=True)"),
        ("self.module.eval()", "pass"),
        ("spearman(log_pf, log_reward)", "pearson(log_pf, log_reward)"),
        ('rollout_seeds(self.run_seed, "evaluate"', 'rollout_seeds(0, "evaluate"'),
        ("beam_search(self.module.env, batch, self._each, edge_bonus)",
         "beam_search(self.module.env, batch, self._each)"),
        ("Sampling(prior_alpha=1.0), self._each", "Sampling(), self._each"),
        ("not math.isnan(distance)", "math.isnan(distance)"),
        ("paired_bootstrap(evaluation.both_ways[name], baseline.both_ways[name], seed)",
         "paired_bootstrap(baseline.both_ways[name], evaluation.both_ways[name], seed)"),
    )),
    ("gflownet/evaluation/test_evaluator.py", f"{_V}all_questions.py", (("*[0.0] * missed", "*[1.0] * missed"),)),
    ("gflownet/evaluation/test_paths.py", f"{_V}paths.py", (
        ("(-len(counted[path]), -probability", "(len(counted[path]), -probability"),
        ("(-len(counted[path]), -probability", "(-len(counted[path]), probability"),
        ("torch.argsort(batch.edge_scores, descending=True, stable=True)",
         "torch.argsort(batch.edge_scores, stable=True)"),
        ("batch.is_answer[tail]", "batch.is_answer[int(batch.heads[edge])]"),
    )),
    ("gflownet/evaluation/test_paths.py", f"{_V}path_prompt.py", (
        ("if spent + cost > budget:", "if cost > budget:"),
        ("if spent + cost > budget:", "if spent + cost >= budget:"),
        ("            break\n", "            continue\n"),
    )),
    ("gflownet/evaluation/test_metrics.py", f"{_V}metrics.py", (
        ("(last - (count.double() - 1) / 2)[place]", "last[place]"),
        ("return (walked | (truth < 0)).all(1)", "return walked.all(1)"),
        ("(_full_hit(batch, walks) & exists)", "_full_hit(batch, walks)"),
        ('figures["modes_found"] / batch.answer_count', 'figures["modes_found"] / batch.gold_count'),
    )),
    ("gflownet/graphs", f"{_G}shortest_paths.py", (
        ("sorted(walked, key=len)[:MOST_PATHS]", "walked[:MOST_PATHS]"),
    )),
    ("gflownet/graphs/test_pathquestion.py", f"{_G}pathquestion/source.py", (
        ('generator(self._seed, "graphs"', 'generator(0, "graphs"'),
    )),
    ("gflownet/graphs/test_pathquestion_splits.py", f"{_G}pathquestion/splits.py", (
        ("name for line in same for name in line.answers", "name for name in same[0].answers"),
    )),
    ("evolution/test_comparison.py", f"{_E}comparison.py", (
        ("caps[max(int((means <= mean).sum()) - 1, 0)]", "caps[min(int((means <= mean).sum()), len(caps) - 1)]"),
        ("_composites(draws, first, scale) - _composites(draws, second, scale)",
         "_composites(draws, second, scale) - _composites(draws, first, scale)"),
        ("tokens / draws.sum(axis=1) / scale", "tokens / scale"),
        ("right / np.maximum(judged, 1)", "right / draws.sum(axis=1)"),
        ("beats = (first.ahead_low or 0.0) > 0", "beats = (first.ahead_high or 0.0) > 0"),
        ('sure = "" if (first.ahead_high or 0.0) < 0', 'sure = "" if (first.ahead_low or 0.0) < 0'),
        ("if row.composite > best.composite]", "if row.composite >= best.composite]"),
        ("key=lambda row: -row.composite)", "key=lambda row: row.composite)"),
        ("np.random.default_rng(seed), []", "np.random.default_rng(0), []"),
    )),
    ("evolution/test_comparison.py", f"{_E}baselines.py", (
        ("math.ceil(longest * step / count)", "longest * step // count"),
        ("key=lambda one: one.score.composite, default", "key=lambda one: one.score.correctness, default"),
    )),
    ("evolution/reflectors/test_prompt.py", f"{_E}reflectors/prompt.py", (
        ("given.history.summary or FIRST", "FIRST"),
        ("json.dumps(given.deltas)", "json.dumps(dict.fromkeys(given.deltas, 0.0))"),
        ("{text[:characters]} [cut", "{text[-characters:]} [cut"),
        ('{True: "yes", False: "no", None', '{True: "no", False: "yes", None'),
    )),
    ("pool/test_normalise.py", f"{_P}normalise.py", (("taken = {*pool, *excluded}", "taken = {*pool}"),)),
    ("pool/test_mining.py", f"{_P}global_positive_miner.py", (("most + len(known) + 1)", "most + 1)"),)),
    ("pool/test_neighbours.py", f"{_P}neighbours.py", (('file["table"].tolist() == table_size', "True"),)),
    ("pool/data/test_vqa_files.py", f"{_P}data/vqa_files.py", (
        ("if len(given) < FEWEST_ANNOTATORS", "if len(given) <= FEWEST_ANNOTATORS"),
    )),
    ("pool/data/test_vqa_files.py", f"{_P}data/dataset.py", (
        ("(-counts[answer], answer)", "(counts[answer], answer)"),
    )),
    ("pool/selector/test_selector_oracle.py", f"{_P}selector/selector.py", (
        ("self.chosen(keys), keys) + plain[:, None]", "self.chosen(keys), keys)"),
        ("[:, 0] + plain\n", "[:, 0]\n"),
    )),
    ("pool/selector/test_training.py", f"{_P}selector/training.py", (
        ('f"rollouts {name}", self.step)', 'f"rollouts {name}", 0)'),
        ('generator(self._run_seed, STAGE, "order", epoch)', 'generator(self._run_seed, STAGE, "order", 0)'),
        ("weight_decay=section.weight_decay", "weight_decay=0.0"),
    )),
    ("test_verdicts.py", f"{_P}verdicts.py", (("running(after)", "running(before)"),)),
    ("slsm/checks", f"{_M}checks/measures.py", (
        ('marked = mark in "!?"', 'marked = mark in "!"'),
        ("return len(text.strip())", "return len(text)"),
        ("if block.strip()]", "]"),
    )),
    ("slsm/checks", f"{_M}checks/checks.py", (
        ('_range(match["unit"], high + 1, None) if', '_range(match["unit"], high, None) if'),
    )),
    ("slsm/test_multichallenge.py", f"{_M}judges/judge.py", (
        ("answer == answer.upper() and answer != answer.lower()", "answer == answer.upper()"),
    )),
    ("slsm/judges", f"{_M}judges/scoring.py", (
        ("if axes and all(deltas) and not is_baseline", "if axes and all(deltas)"),
        ("wasted=len(injected) - fixed - broke", "wasted=len(injected) - fixed"),
        ("for event in own) / max(1, n)", "for event in own) / max(1, len(own))"),
        ("any(verdicts) if verdicts else None, injected)", "any(verdicts) if verdicts else None, event.injected)"),
    )),
    ("slsm/judges", f"{_M}judges/published_board.py", (
        ("counted = not unjudged or judge.failures_fail", "counted = judge.failures_fail"),
    )),
    ("slsm/test_turns.py", f"{_M}turns.py", (("number < len(self.turns) - 1 and", "number < len(self.turns) and"),)),
    ("levers/test_notes_lever.py", "engine/levers/notes_lever.py", (
        ("for count in range(len(turns), 0, -1):", "for count in range(1, len(turns) + 1):"),
        ("read.spent + detection.spent", "detection.spent"),
        ("tokens=tokens + spent.tokens", "tokens=tokens"),
        ("self._controller.update(state, turns[: number + 1])", "self._controller.update(state, turns)"),
        ("self._states.popitem(last=False)", "self._states.popitem()"),
        ("self._states.move_to_end(turns[:count])", "pass"),
        ("turns[number], self._section.gated_kinds)", "turns[number], ())"),
    )),
    ("comparison", "engine/comparison/fields.py", (("(*first, *second)", "(*first,)"),)),
    ("comparison", "engine/comparison/methods/gflownet.py", (("sorted(golds)", "golds"),)),
    ("comparison", "engine/comparison/methods/esm.py", (("if c.probed}", "}"),)),
    ("comparison", "engine/comparison/methods/slsm.py", (("turns[-1][0] if turns", "turns[0][0] if turns"),)),
    ("sweep/test_grammar.py", "engine/sweep/grammar.py", (("if first >= last:", "if first > last:"),)),
    ("sweep/test_resolution.py", "engine/sweep/resolution.py", (
        ("width * errors, 0.0)", "width * errors, np.inf)"),
        (" or mcnemar(table[a], table[b]) > 1 - LEVEL)", ")"),
    )),
    ("test_verdict_curve.py", "engine/verdict_curve.py", (("MOST = 48", "MOST = 47"),)),
    ("test_statistics.py", "engine/statistics.py", (("first.shape != second.shape", "first.size != second.size"),)),
)  # fmt: skip
