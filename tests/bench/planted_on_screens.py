"""Faults of one line in what a user sees, for `bench_planted_faults`: the tests that are to notice them (below
tests/), the file, and of each whether the tests noticed it before any were added for it, what stands there, and
what takes its place."""

from __future__ import annotations

ON_SCREENS: tuple[tuple[str, str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "app/batch/test_display.py app/batch",
        "app/batch/display.py", (
            ("yes", "event.parameters / 1e6:,.1f", "event.parameters / 1e3:,.1f"),
        ),
    ),
    (
        "app/blocks/test_terminal.py screens/overview/test_efficiency.py screens/test_replicas.py "
        "screens/runs/test_runs.py",
        "app/blocks/bars.py", (
            ("no", "halves = round(max(", "halves = int(max("),
        ),
    ),
    (
        "app/blocks/test_terminal.py app/report/test_report.py app/test_stale_runs.py",
        "app/blocks/html.py", (
            ("yes", '{"+": "ins", "-": "del"}', '{"+": "del", "-": "ins"}'),
        ),
    ),
    (
        "app/blocks/test_terminal.py app/report/test_report.py app/test_stale_runs.py",
        "app/blocks/markdown.py", (
            ("no", '" --- " if place < words else " ---: "', '" ---: " if place < words else " --- "'),
        ),
    ),
    (
        "app/report/test_plots.py app/report/test_report.py app/methods/esm/test_results.py",
        "app/blocks/plots.py", (
            ("yes", "bounds(row.low, row.high, digits)", "bounds(row.high, row.low, digits)"),
            ("yes", "ends = apart([up.at(y[-1])", "ends = apart([up.at(y[0])"),
        ),
    ),
    (
        "app/cli/test_export.py app/cli",
        "app/cli/export_vectors.py", (
            ("yes", "len(exported.files) - 3", "len(exported.files) - 2"),
        ),
    ),
    (
        "app/test_compare.py screens/compare",
        "app/compare/json_form.py", (
            ("no", '"only_in_a": paired.only_a,', '"only_in_a": paired.only_b,'),
        ),
    ),
    (
        "app/test_compare.py screens/compare",
        "app/compared/columns.py", (
            ("yes", 'f"{f.tokens_a:.0f} → {f.tokens_b:.0f}"', 'f"{f.tokens_b:.0f} → {f.tokens_a:.0f}"'),
        ),
    ),
    (
        "app/ctl/test_ctl.py app/ctl app/test_stale_runs.py",
        "app/ctl/decisions.py", (
            ("yes", 'stages.get("eval")', 'stages.get("mine")'),
        ),
    ),
    (
        "app/ctl/test_ctl.py app/ctl app/runs/test_time_left.py",
        "app/ctl/runs.py", (
            ("no", "left is None else left.whole", "left is None else left.seconds"),
        ),
    ),
    (
        "app/doctor app/test_cli.py",
        "app/doctor/machine.py", (
            ("no", "_LEAST_FREE = 1 << 30", "_LEAST_FREE = 1 << 20"),
        ),
    ),
    (
        "app/test_shell.py app/test_cli.py screens/test_run_screen.py app/test_leaving.py",
        "app/leaving.py", (
            ("no", "128 + number", "128 - number"),
        ),
    ),
    (
        "app/methods/evolution app/methods/pool app/methods/gflownet app/methods/esm/test_results.py "
        "app/methods/slsm screens/runs/test_runs.py",
        "app/methods/cells.py", (
            ("yes", '"good" if (high < 0) == lower_is_better', '"good" if (high < 0) != lower_is_better'),
            ("yes", "lambda row: bounds(*ends(row))", "lambda row: interval(*ends(row))"),
        ),
    ),
    (
        "app/methods/esm/test_pairs_and_entries.py",
        "app/methods/esm/pairs.py", (
            ("yes", "writing(event.positive_text)]", "writing(event.negative_text)]"),
        ),
    ),
    (
        "app/methods/esm/test_results.py screens/esm app/methods/esm",
        "app/methods/esm/results.py", (
            ("yes", "ratio = _tokens(row) / _tokens(greedy) - 1", "ratio = row.mean_tokens / _tokens(greedy) - 1"),
        ),
    ),
    (
        "app/methods/evolution screens/evolution",
        "app/methods/evolution/iterations.py", (
            ("yes", "gain = score.composite - before", "gain = before - score.composite"),
        ),
    ),
    (
        "app/methods/evolution screens/evolution",
        "app/methods/evolution/results.py", (
            ("yes", "digits=1, lower_is_better=True", "digits=1"),
        ),
    ),
    (
        "app/methods/gflownet/test_results.py screens/gflownet app/methods/gflownet",
        "app/methods/gflownet/results.py", (
            ("yes", "value=_at(_SUCCESS),", "value=_at(_REACHED),"),
        ),
    ),
    (
        "app/methods/gflownet screens/gflownet",
        "app/methods/gflownet/training.py", (
            ("yes", "lambda row: row.quantiles[2]", "lambda row: row.quantiles[1]"),
            ("yes", "-(-len(rows) // _MOST_STEPS)", "max(1, len(rows) // _MOST_STEPS)"),
            ("yes", "{signed(q[-1], 2)}", "{signed(q[-2], 2)}"),
        ),
    ),
    (
        "app/methods/pool screens/pool",
        "app/methods/pool/queries.py", (
            ("yes", "turned_cell((after > before)", "turned_cell((after >= before)"),
        ),
    ),
    (
        "app/methods/pool screens/pool screens/what_if",
        "app/methods/pool/what_if.py", (
            ("no", "best = max(asked,", "best = min(asked,"),
        ),
    ),
    (
        "screens/serve/test_serve.py screens/serve",
        "app/methods/serve/page.py", (
            ("no", '[row.seconds for row in latest if row.outcome == "answered"]', "[row.seconds for row in latest]"),
        ),
    ),
    (
        "screens/serve app/test_serve_command.py",
        "app/methods/serve/requests.py", (
            ("no", "{row.prompt_tokens:,} + {event.tokens:,} tokens",
             "{event.tokens:,} + {row.prompt_tokens:,} tokens"),
        ),
    ),
    (
        "app/methods/slsm/test_slsm_page.py screens/slsm",
        "app/methods/slsm/answers.py", (
            ("yes", "last if source.step is None else min(source.step, last)",
             "0 if source.step is None else min(source.step, last)"),
        ),
    ),
    (
        "app/methods/slsm screens/slsm app/test_slsm_board.py",
        "app/methods/slsm/memory.py", (
            ("yes", "after turn {state.turn + 1}", "after turn {state.turn}"),
        ),
    ),
    (
        "app/methods/slsm/test_slsm_page.py app/test_slsm_board.py screens/slsm",
        "app/methods/slsm/results.py", (
            ("yes", "(row.score or 0.0, -row.injections))", "(row.score or 0.0, row.injections))"),
            ("yes", 'f"{row.controller_calls:.2f}", f"{row.model_calls:.2f}"',
             'f"{row.model_calls:.2f}", f"{row.controller_calls:.2f}"'),
            ("yes", "/ (len(line) + 1)", "/ max(1, len(line))"),
        ),
    ),
    (
        "app/report/test_report.py app/cli/test_export.py",
        "app/report/case.py", (
            ("no", "'' if seq is None else f'@{seq}'", "'' if not seq else f'@{seq}'"),
        ),
    ),
    (
        "app/methods/esm/test_pairs_and_entries.py app/report/test_report.py app/state/test_entry_names.py",
        "app/report/item_words.py", (
            ("no", "rollout {e.draw + 1} of", "rollout {e.draw} of"),
        ),
    ),
    (
        "app/report/test_report.py app/test_stale_runs.py",
        "app/report/run_report.py", (
            ("no", "counted(state.seq + 1, 'events')", "counted(state.seq, 'events')"),
            ("yes", "_SECRET_FIELD.search(name)", "_SECRET_FIELD.match(name)"),
            ("no", "{len(items) - _MOST_CASES} more", "{len(items)} more"),
        ),
    ),
    (
        "app/runs/test_item_search.py screens/test_search.py",
        "app/runs/item_search.py", (
            ("yes", ".find(word) - _AROUND", ".find(word) + _AROUND"),
        ),
    ),
    (
        "app/test_stale_runs.py screens/runs app/runs",
        "app/runs/run_list.py", (
            ("yes", "not (active.settled or active.stale)", "not active.settled"),
        ),
    ),
    (
        "app/runs/test_time_left.py screens/runs app/runs",
        "app/runs/time_left.py", (
            ("yes", "median(earlier.times[stage.name]) * (1 - stage.fraction)",
             "median(earlier.times[stage.name]) * stage.fraction"),
        ),
    ),
    (
        "screens/overview/test_efficiency.py app/state/test_state.py app/state/test_told_again.py",
        "app/state/efficiency.py", (
            ("no", "if event.tokens < use.tokens:", "if event.tokens <= use.tokens:"),
            ("no", "max(use.resident, event.resident)", "event.resident"),
        ),
    ),
    (
        "app/state/test_ledger.py app/state screens/esm app/methods/esm",
        "app/state/esm.py", (
            ("yes", "if event.chosen is not None and event.method == METHOD:", "if event.chosen is not None:"),
        ),
    ),
    (
        "app/state/test_state.py screens/widgets/test_timeline.py app/runs/test_session.py app/snapshots",
        "app/state/event_index.py", (
            ("no", "ev.WorkerStarted() if event.attempt > 1", "ev.WorkerStarted() if event.attempt > 0"),
        ),
    ),
    (
        "app/methods/evolution app/state/test_state.py screens/evolution",
        "app/state/evolution.py", (
            ("yes", "event.tokens - plain.tokens", "plain.tokens - event.tokens"),
            ("yes", "if i.iteration < iteration and i.best]", "if i.iteration <= iteration and i.best]"),
        ),
    ),
    (
        "screens/test_replicas.py app/state/test_state.py",
        "app/state/scale.py", (
            ("no", "redone=row.redone + event.redone", "redone=event.redone"),
        ),
    ),
    (
        "app/test_sweep_progress.py screens/sweep app/test_sweep.py",
        "app/swept/progress.py", (
            ("yes", "/ min(results.record.jobs, left)", "/ max(results.record.jobs, left)"),
        ),
    ),
    (
        "screens/runs/test_runs.py screens/runs app/runs screens/sweep app/test_sweep.py "
        "app/test_sweep_progress.py app/table/test_difference.py",
        "app/table/difference.py", (
            ("no", '"▲": "good", "▼": "bad"', '"▲": "bad", "▼": "good"'),
        ),
    ),
    (
        "screens/esm/test_gates.py app/state/test_entry_names.py app/methods/esm/test_decisions.py",
        "app/wording/gate_text.py", (
            ("no", "before=decision.m - 1", "before=decision.m"),
        ),
    ),
    (
        "screens/overview/test_stages.py app/test_stale_runs.py app/ctl",
        "app/wording/stage_words.py", (
            ("yes", "seconds = sum(all_stages[name].seconds", "seconds = max(all_stages[name].seconds"),
        ),
    ),
    (
        "app/test_cli.py app/batch/test_display.py app/test_text_console.py screens/overview/test_stages.py "
        "screens/overview/test_efficiency.py app/runs/test_time_left.py app/report",
        "app/wording/text.py", (
            ("no", "divmod(max(0, round(seconds)), 60)", "divmod(max(0, int(seconds)), 60)"),
        ),
    ),
    (
        "app/test_verdict_text.py screens/overview/test_digest.py screens/overview/test_overview.py",
        "app/wording/verdict_text.py", (
            ("yes", "if verdict.probe_tokens and not closest.probe_tokens",
             "if verdict.probe_tokens and closest.probe_tokens"),
            ("yes", "digits = 0 if abs(of.difference) * scale >= 10", "digits = 0 if abs(of.difference) >= 10"),
            ("yes", "if times >= 2 else", "if times > 2 else"),
        ),
    ),
    (
        "engine/test_closest.py engine/test_verdicts.py",
        "engine/closest.py", (
            ("yes", "return simple.low > 0 if simple.lower_is_better else simple.high < 0",
             "return simple.high < 0 if simple.lower_is_better else simple.low > 0"),
        ),
    ),
    (
        "engine/comparison/test_figures.py engine/comparison app/test_compare.py screens/compare",
        "engine/comparison/remarks.py", (
            ("no", "if 0 < len(pairs.pairs) - pairs.unjudged < _FEW", "if 0 < len(pairs.pairs) < _FEW"),
        ),
    ),
    (
        "screens/overview/test_curves.py screens/compare",
        "screens/compare/curves.py", (
            ("yes", '[_named("A", lines[name]), _named("B", others[name])]',
             '[_named("B", lines[name]), _named("A", others[name])]'),
            ("no", "page.title != system", "page.title == system"),
        ),
    ),
    (
        "screens/compare/test_compare_screen.py screens/compare",
        "screens/compare/pairs.py", (
            ("yes", "f\"{field.name} {field.a or 'not there'} → {field.b or 'not there'}\" for field",
             "f\"{field.name} {field.b or 'not there'} → {field.a or 'not there'}\" for field"),
            ("no", '"B better": "better", "A better": "worse"', '"B better": "worse", "A better": "better"'),
        ),
    ),
    (
        "screens/compare app/test_compare.py",
        "screens/compare/screen.py", (
            ("yes", "_KINDS = (1, 2, 0, 3)", "_KINDS = (0, 1, 2, 3)"),
            ("no", "item {self.items.cursor + 1} of", "item {self.items.cursor} of"),
        ),
    ),
    (
        "screens/compare/test_compare_screen.py screens/compare engine/comparison/test_trace.py "
        "app/test_compare.py",
        "screens/compare/trace_drawing.py", (
            ("no", "enumerate(parting.steps[first:], first)", "enumerate(parting.steps[first:])"),
            ("yes", "{first} steps before it", "{first + 1} steps before it"),
        ),
    ),
    (
        "screens/esm/test_esm.py app/table/test_decision_view.py",
        "screens/esm/decision_source.py", (
            ("yes", "Cell(against_greedy(look.sign)", "Cell(against_greedy(-look.sign)"),
        ),
    ),
    (
        "screens/esm/test_esm.py app/table/test_decision_view.py",
        "screens/esm/decisions.py", (
            ("yes", "{'find' if finding else 'filter'} {text}", "{'filter' if finding else 'find'} {text}"),
            ("yes", "committed, probe = row.mean_tokens, row.mean_probe_tokens",
             "probe, committed = row.mean_tokens, row.mean_probe_tokens"),
            ("no", 'f"{len(view):,} of "', 'f"{view.total - len(view):,} of "'),
        ),
    ),
    (
        "screens/evolution",
        "screens/evolution/branch.py", (
            ("yes", "left = planned - copied", "left = planned - iteration"),
            ("yes", "return iteration + 1 + _count(text)", "return iteration + _count(text)"),
        ),
    ),
    (
        "screens/evolution/test_evolution.py screens/evolution",
        "screens/evolution/screen.py", (
            ("no", "not (row.item.finished or row.item.inherited)", "not row.item.finished"),
        ),
    ),
    (
        "screens/test_run_screen.py app/report/test_report.py screens/notes",
        "screens/exports.py", (
            ("no", "safe(document, [run_dir])", "safe(document, [])"),
        ),
    ),
    (
        "screens/notes app/runs/test_notes.py screens/test_item_marks.py",
        "screens/item_marks.py", (
            ("no", "BOTH if seq in signs_by_event else MARKED", "BOTH if seq not in signs_by_event else MARKED"),
        ),
    ),
    (
        "screens/test_run_screen.py app/test_shell.py app/test_small_mercies.py",
        "screens/leaving.py", (
            ("no", "{'●' if run.alive else '■'}", "{'■' if run.alive else '●'}"),
        ),
    ),
    (
        "screens/levers/test_levers_screen.py screens/levers",
        "screens/levers/screen.py", (
            ("no", "sum(effect.tokens for effect in answer.effects)",
             "max((effect.tokens for effect in answer.effects), default=0)"),
            ("yes", "more = answer.tokens - plain.tokens", "more = plain.tokens - answer.tokens"),
        ),
    ),
    (
        "screens/test_method_progress.py screens/overview/test_digest.py screens/overview/test_overview.py "
        "screens/serve",
        "screens/method_progress.py", (
            ("no", "sum(stage.seconds for stage in self.shown)", "max(stage.seconds for stage in self.shown)"),
            ("yes", "min(self.fraction, 0.99)", "min(self.fraction, 1.0)"),
        ),
    ),
    (
        "screens/test_run_screen.py screens/esm/test_esm.py screens/pool/test_pool.py screens/gflownet",
        "screens/method_screen.py", (
            ("no", '"good" if verdict.shown else "warn"', '"warn" if verdict.shown else "good"'),
            ("yes", "[*self.method.results(state), *self.method.more_results(state)]",
             "[*self.method.results(state)]"),
        ),
    ),
    (
        "screens/test_new_run.py app/runs/test_start.py",
        "screens/new_run.py", (
            ("yes", '.append(f"{before} → {now}")', '.append(f"{now} → {before}")'),
            ("yes", "(check.lacking and self._agreed != (path, changes))", "check.lacking"),
        ),
    ),
    (
        "screens/notes app/runs/test_notes.py",
        "screens/notes/screen.py", (
            ("yes", "key=lambda row: row.entry.time, reverse=True)", "key=lambda row: row.entry.time)"),
            ("yes", "key=lambda row: row.entry.time, reverse=True", "key=lambda row: row.entry.time"),
        ),
    ),
    (
        "screens/overview/test_curves.py screens/test_method_progress.py screens/overview/test_digest.py "
        "screens/overview/test_overview.py",
        "screens/overview/card_content.py", (
            ("yes", "        return stated[-1]", "        return stated[0]"),
        ),
    ),
    (
        "screens/overview/test_highlights.py screens/overview/test_overview.py",
        "screens/overview/cards.py", (
            ("no", "content.highlights[at].place)", "content.highlights[0].place)"),
        ),
    ),
    (
        "screens/overview/test_curves.py",
        "screens/overview/curve_view.py", (
            ("yes", 'marks[-1], marks[0] = f"{min(held)', 'marks[0], marks[-1] = f"{min(held)'),
        ),
    ),
    (
        "screens/overview/test_digest.py screens/overview/test_overview.py",
        "screens/overview/digest.py", (
            ("yes", '"▲": self._styles.good, "▼": self._styles.bad', '"▲": self._styles.bad, "▼": self._styles.good'),
            ("yes", "_TO_THE_RIGHT = (1, 2)", "_TO_THE_RIGHT = (0, 1)"),
            ("yes", "so far {cells.baseline} {cells.before} → {cells.value}",
             "so far {cells.baseline} {cells.value} → {cells.before}"),
        ),
    ),
    (
        "screens/overview/test_efficiency.py screens/overview/test_overview.py app/test_server_usage.py",
        "screens/overview/efficiency.py", (
            ("yes", "- (not any(use.gpu", "- (any(use.gpu"),
            ("yes", "{say(min(values)) or 0} at least", "{say(values[-1]) or 0} at least"),
        ),
    ),
    (
        "app/test_server_usage.py screens/overview/test_overview.py screens/overview/test_files.py",
        "screens/overview/files.py", (
            ("yes", "not in (FINISHED, WAITING)", "not in (WAITING,)"),
            ("no", "{stage.done:,} of {counted(stage.total, stage.unit)}",
             "{stage.total:,} of {counted(stage.done, stage.unit)}"),
        ),
    ),
    (
        "screens/overview/test_overview.py screens/overview/test_stages.py",
        "screens/overview/screen.py", (
            ("yes", "for status in (FINISHED, SKIPPED))", "for status in (SKIPPED, FINISHED))"),
        ),
    ),
    (
        "screens/overview/test_stages.py screens/overview",
        "screens/overview/stages.py", (
            ("yes", "stage.status != FINISHED)", "stage.status == FINISHED)"),
        ),
    ),
    (
        "screens/panels screens/widgets/test_chart.py",
        "screens/panels/chart_screen.py", (
            ("no", "len(self._places()) // 10)", "len(self._places()) // 100)"),
        ),
    ),
    (
        "screens/test_replicas.py screens/panels",
        "screens/panels/replicas.py", (
            ("yes", "died {row.deaths}×, {counted(row.redone, 'items')}",
             "died {row.redone}×, {counted(row.deaths, 'items')}"),
        ),
    ),
    (
        "screens/test_search.py app/runs/test_item_search.py",
        "screens/panels/search.py", (
            ("yes", "max(counts.values(), default=0) > MOST", "max(counts.values(), default=0) >= MOST"),
            ("no", "counts[method] <= MOST", "counts.total() <= MOST"),
            ("yes", "counts[method] <= MOST", "counts[method] < MOST"),
        ),
    ),
    (
        "screens/test_replicas.py screens/overview/test_efficiency.py screens/overview/test_overview.py "
        "screens/overview/test_stages.py",
        "screens/panels/session_panel.py", (
            ("no", "if self._session.revision != self._drawn", "if self._drawn is None"),
        ),
    ),
    (
        "screens/pool/test_pool.py screens/gflownet screens/test_run_screen.py",
        "screens/panes/blocks.py", (
            ("yes", "self.set_class(not any(widget.series", "self.set_class(any(widget.series"),
        ),
    ),
    (
        "screens/test_run_screen.py screens/overview/test_overview.py",
        "screens/run_screen.py", (
            ("no", "failure.time > max(self._opened_at, self._failure_read) and",
             "failure.time > self._failure_read and"),
        ),
    ),
    (
        "screens/test_run_screen.py app/runs/test_time_left.py screens/widgets/test_run_header.py "
        "screens/widgets/test_model_line.py",
        "screens/run_session.py", (
            ("yes", "or session.cursor is not None or session.frozen:", "or session.frozen:"),
        ),
    ),
    (
        "screens/runs/test_runs.py screens/runs app/runs",
        "screens/runs/about.py", (
            ("yes", "at iteration {point.iteration}", "at iteration {point.iteration + 1}"),
        ),
    ),
    (
        "screens/runs/test_runs.py screens/runs/test_keeping.py screens/runs/test_groups.py "
        "app/test_stale_runs.py",
        "screens/runs/columns.py", (
            ("no", "or value >= 100 else", "or value >= 10 else"),
            ("yes", "(verdict.baseline_value,))[0]", "(verdict.value,))[0]"),
        ),
    ),
    (
        "screens/runs/test_groups.py",
        "screens/runs/fields.py", (
            ("yes", "return -verdict.difference if verdict.lower_is_better",
             "return -verdict.difference if not verdict.lower_is_better"),
        ),
    ),
    (
        "screens/runs/test_groups.py screens/runs screens/sweep app/test_sweep.py app/test_sweep_progress.py",
        "screens/runs/groups.py", (
            ("yes", "for point in points if not point.report}", "for point in points}"),
        ),
    ),
    (
        "screens/runs/test_keeping.py screens/runs/test_runs.py screens/runs/test_groups.py",
        "screens/runs/run_filter.py", (
            ("no", "row.record.name, *row.label.tags, row.state", "row.record.name, row.state"),
        ),
    ),
    (
        "screens/runs/test_groups.py screens/runs/test_runs.py screens/runs/test_keeping.py",
        "screens/runs/source.py", (
            ("no", "runs.sort(key=lambda run: run.record.run_id)",
             "runs.sort(key=lambda run: run.record.run_id, reverse=True)"),
            ("yes", "self.marked.index(row.path) + 1", "self.marked.index(row.path)"),
        ),
    ),
    (
        "screens/slsm",
        "screens/slsm/chat.py", (
            ("yes", "last.states, len(turns) - 1)", "last.states, len(turns))"),
        ),
    ),
    (
        "screens/test_new_run.py app/runs/test_start.py",
        "screens/start_form.py", (
            ("no", 'f"default {row.default}   in the file {self.form.in_file(row)}"',
             'f"default {self.form.in_file(row)}   in the file {row.default}"'),
            ("yes", "(at + 1) % len(row.choices)", "(at + 2) % len(row.choices)"),
        ),
    ),
    (
        "app/test_sweep_progress.py screens/sweep",
        "screens/sweep/heat_map.py", (
            ("no", "(one.gain.high - one.gain.low) / 2", "(one.gain.high - one.gain.low)"),
            ("yes", "(one.gain.high - one.gain.low) / 2)", "(one.gain.high - one.gain.low))"),
        ),
    ),
    (
        "screens/sweep app/test_sweep.py app/test_sweep_progress.py",
        "screens/sweep/screen.py", (
            ("no", "return [(b, a) for i, a", "return [(a, b) for i, a"),
        ),
    ),
    (
        "screens/esm/test_esm.py screens/test_run_screen.py screens/notes",
        "screens/tabbed_screen.py", (
            ("yes", "for row in range(len(source))]\n", "for row in range(1, len(source))]\n"),
            ("no", "{self.session.run_dir}@{event.seq}", "{self.session.run_dir}@{event.seq + 1}"),
        ),
    ),
    (
        "screens/what_if/test_what_if_screens.py screens/what_if screens/esm/test_what_if.py screens/levers",
        "screens/what_if/drawing.py", (
            ("no", "*answers.tried[answers.most_telling :][:1]]", "*answers.tried[:1]]"),
            ("yes", "answers.tried[answers.most_telling :][:1]", "answers.tried[:1]"),
        ),
    ),
    (
        "screens/what_if screens/esm/test_what_if.py screens/levers",
        "screens/what_if/screen.py", (
            ("yes", "[value[0] * factor for factor in SWEEP]", "[value[0] + factor for factor in SWEEP]"),
        ),
    ),
    (
        "screens/widgets/test_chart.py screens/widgets/test_chart_coordinates.py screens/widgets",
        "screens/widgets/charts/plot.py", (
            ("yes", "apart([high - 1 - up.dot(value) // UP", "apart([high - 2 - up.dot(value) // UP"),
        ),
    ),
    (
        "screens/widgets/test_spark.py screens/overview/test_curves.py",
        "screens/widgets/charts/spark.py", (
            ("yes", "round((high - value) / span", "round((value - low) / span"),
        ),
    ),
    (
        "screens/esm/test_jump.py screens/pool/test_pool.py screens/slsm/test_slsm.py",
        "screens/widgets/detail_pane.py", (
            ("no", "self._chosen = None if top else self._chosen", "self._chosen = None"),
        ),
    ),
    (
        "screens/runs/test_runs.py screens/test_keys.py screens/test_help.py screens/test_find.py "
        "app/test_typed_keys.py",
        "screens/widgets/key_line.py", (
            ("no", "binding.key in _TYPED and not binding.priority", "binding.key in _TYPED and binding.priority"),
        ),
    ),
    (
        "screens/widgets/test_model_line.py",
        "screens/widgets/model_line.py", (
            ("yes", "[-max(room, 0) :]", "[: max(room, 0)]"),
        ),
    ),
    (
        "screens/widgets/test_run_header.py screens/test_run_screen.py app/test_shell.py",
        "screens/widgets/run_header.py", (
            ("yes", "max(0, session.total_events - 1)", "max(0, session.total_events)"),
            ("no", "of {max(0, session.total_events - 1):,} ", "of {max(0, session.total_events):,} "),
        ),
    ),
    (
        "screens/test_run_screen.py screens/widgets/test_stage_bar.py screens/overview/test_stages.py",
        "screens/widgets/stage_bar.py", (
            ("no", "{stage.done:,}/{stage.total:,} kept", "{stage.total:,}/{stage.done:,} kept"),
        ),
    ),
    (
        "screens/widgets/test_stage_bar.py screens/test_run_screen.py screens/runs/test_runs.py",
        "screens/widgets/stretch.py", (
            ("yes", "room - 4 - widths[current]", "room - widths[current]"),
        ),
    ),
    (
        "screens/test_run_screen.py screens/esm/test_esm.py",
        "screens/widgets/tab_line.py", (
            ("yes", "self.tabs[self.active].id != tab_id", "self.tabs[self.active].id == tab_id"),
        ),
    ),
    (
        "screens/widgets/test_virtual_table.py screens/test_find.py screens/esm/test_esm.py",
        "screens/widgets/tables/cells.py", (
            ("no", "start, minus_length = min(matches)", "start, minus_length = max(matches)"),
        ),
    ),
    (
        "screens/widgets/test_virtual_table.py screens/notes screens/runs/test_runs.py",
        "screens/widgets/tables/column_layout.py", (
            ("no", "max(reversed(kept), key=", "max(kept, key="),
        ),
    ),
    (
        "screens/widgets/test_rows.py screens/widgets/test_virtual_table.py screens/runs/test_runs.py",
        "screens/widgets/tables/rows.py", (
            ("no", "return (not missing, 0", "return (missing, 0"),
        ),
    ),
    (
        "screens/widgets/test_virtual_table.py screens/test_find.py screens/esm/test_esm.py",
        "screens/widgets/tables/virtual_table.py", (
            ("yes", 'arrow = "↓" if self.sort_reverse else "↑"', 'arrow = "↑" if self.sort_reverse else "↓"'),
            ("yes", '"↓" if self.sort_reverse else "↑"', '"↑" if self.sort_reverse else "↓"'),
        ),
    ),
    (
        "screens/test_run_screen.py screens/widgets/test_timeline.py",
        "screens/widgets/timeline.py", (
            ("no", "self._index.time_of(seq) - self._index.began()",
             "self._index.time_of(last) - self._index.began()"),
            ("yes", "_RANK.get(before, len(_RANK)) > _RANK[sign]", "_RANK.get(before, len(_RANK)) < _RANK[sign]"),
            ("no", "max(1, self._track_width - 1) * last)", "self._track_width * last)"),
        ),
    ),
)  # fmt: skip
