"""Faults of one line in the rooms of the engine that all methods share, for `bench_planted_faults`: as
`planted_on_screens` has them. `""` where the tests nearby had no answer within a minute."""

from __future__ import annotations

IN_ROOMS: tuple[tuple[str, str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "app/doctor/test_check.py",
        "engine/check/__init__.py",
        (
            (
                "yes",
                "for need in STAGES[name].needs if need not in names]",
                "for need in STAGES[name].needs if need in names]",
            ),
        ),
    ),
    (
        "app/doctor/test_check.py",
        "engine/check/data.py",
        (
            ("no", "{len(training)} of them to train on", "{len(given)} of them to train on"),
            (
                "no",
                "sizes = [len(part) for part in (splits.pool, splits.validation, splits.test)]",
                "sizes = [len(part) for part in (splits.pool, splits.test, splits.validation)]",
            ),
        ),
    ),
    (
        "app/doctor/test_check.py",
        "engine/check/finding.py",
        (("no", '(self.kind == "absent" and not self.fetched)', 'self.kind == "absent"'),),
    ),
    (
        "app/doctor/test_check.py",
        "engine/check/own_classes.py",
        (("no", "(CONTROLLER, config.slsm.controller.kind))", "(CONTROLLER, config.slsm.judge.kind))"),),
    ),
    (
        "app/doctor/test_check.py",
        "engine/check/requirements.py",
        (
            ("yes", "elif not lacks_key(name, section.base_url):", "elif not lacks_key(name, None):"),
            ("yes", '"slsm" in stages and config.slsm.answers.kind == "local"', '"slsm" in stages'),
        ),
    ),
    (
        "engine/comparison",
        "engine/comparison/methods/esm.py",
        (("no", '"entry": event.chosen or "null"', '"entry": event.chosen or "none"'),),
    ),
    (
        "engine/comparison",
        "engine/comparison/methods/reader.py",
        (("yes", "sum(tokens) if tokens else None", "max(tokens) if tokens else None"),),
    ),
    (
        "engine/comparison",
        "engine/comparison/pairing.py",
        (
            (
                "yes",
                "sum(first.score is None or second.score is None",
                "sum(first.score is None and second.score is None",
            ),
        ),
    ),
    (
        "engine/comparison",
        "engine/comparison/remarks.py",
        (
            (
                "no",
                "if name in b.models and a.models[name] != b.models[name]]",
                "if name in b.models and a.models[name] == b.models[name]]",
            ),
        ),
    ),
    (
        "engine/comparison",
        "engine/comparison/run_items.py",
        (("no", "since |= {event.stage: place.offset}", "since = {event.stage: place.offset}"),),
    ),
    (
        "engine/comparison/test_fields.py engine/config",
        "engine/config/changes.py",
        (("yes", 'f"{above}{name}.")', 'f"{name}.")'),),
    ),
    (
        "engine/config/test_file.py",
        "engine/config/file.py",
        (
            ("yes", "    origins[tuple(keys)] = origin\n", ""),
            ("yes", "_merge(over[key], value)", "over[key] = value"),
            ("no", "max(0, len(problems) - _MOST_PROBLEMS) + max(", "max("),
        ),
    ),
    (
        "app/runs/test_start.py engine/config/test_settings_page.py",
        "engine/config/form.py",
        (("yes", "return value if _reads_as_itself(value) else", "return value if True else"),),
    ),
    (
        "engine/config/test_file.py",
        "engine/config/schema.py",
        (("no", '("exclusiveMinimum", "above")', '("exclusiveMinimum", "at least")'),),
    ),
    (
        "engine/config/test_file.py engine/run/test_stage_choices.py",
        "engine/config/stages.py",
        (("yes", "set(_needs(name)).union(*map(all_needs, _needs(name)))", "set(_needs(name))"),),
    ),
    (
        "engine/doctor/test_checks.py engine/doctor/test_server_doctor.py",
        "engine/doctor/capabilities.py",
        (
            (
                "yes",
                "same, others = set(texts[:4]), set(texts[4:])",
                "same, others = set(texts[:3]), set(texts[3:])",
            ),
            ("no", "text.startswith(stopped.rstrip())", "True"),
        ),
    ),
    (
        "engine/doctor/test_server_doctor.py",
        "engine/doctor/chat_probe.py",
        (("yes", "self.turned_away.append(pause is not None)", "self.turned_away.append(pause is None)"),),
    ),
    (
        "engine/test_events.py",
        "engine/events/__init__.py",
        (
            ("no", "if isinstance(kind, type))\n    others", "if False)\n    others"),
            ("no", "not -(2**63) <= value < 2**63:", "not -(2**63) <= value < 2**64:"),
        ),
    ),
    (
        "engine/levers/test_levers.py engine/levers/test_all_levers.py",
        "engine/levers/deltas_lever.py",
        (
            ("no", '"" if scale == 1 else f", times {scale:g}"', '""'),
            ("yes", "(self._row * np.float32(scale)).astype", "self._row.astype"),
        ),
    ),
    (
        "engine/levers/test_evaluated_prompt.py",
        "engine/levers/evaluated_prompt.py",
        (("no", "if len(messages) > (1 if given is None else 2):", "if len(messages) > 2:"),),
    ),
    (
        "engine/levers/test_levers.py engine/levers/test_all_levers.py",
        "engine/levers/evidence_lever.py",
        (
            ("yes", "self._by_text.get(normalise(asked))", "self._by_text.get(asked)"),
            ("no", 'if edited[0]["role"] != "system":', 'if edited[0]["role"] == "system":'),
        ),
    ),
    (
        "engine/levers/test_levers.py",
        "engine/levers/levers.py",
        (
            ("no", "if not 0 <= token < size), None)", "if not 0 <= token <= size), None)"),
            ("no", "temperature > 0 and limits.top_p < 1", "limits.top_p < 1"),
        ),
    ),
    (
        "engine/levers/test_levers.py",
        "engine/levers/load.py",
        (
            (
                "yes",
                'NO_PICTURES if there else "no demonstration pool"',
                '"no demonstration pool" if there else NO_PICTURES',
            ),
        ),
    ),
    (
        "engine/levers/test_notes_lever.py",
        "engine/levers/notes_lever.py",
        (("yes", "for count in range(len(turns), 0, -1):", "for count in range(1, len(turns) + 1):"),),
    ),
    (
        "engine/levers/test_levers.py engine/serve",
        "engine/levers/token_logprobs.py",
        (("no", "return len(text) if self._tokenizer.decode([token]) else 0", "return len(text)"),),
    ),
    ("engine/run/test_control.py", "engine/run/control.py", (("yes", "os.umask(0o177)", "os.umask(0o117)"),)),
    (
        "engine/run/test_control.py",
        "engine/run/control_address.py",
        (("no", "<= LONGEST\n", "<= LONGEST + 1\n"),),
    ),
    (
        "engine/run/test_directory.py",
        "engine/run/directory.py",
        (
            (
                "no",
                'return "skipped" if self.status == "pending" else',
                'return "skipped" if self.status != "pending" else',
            ),
            ("no", 'strftime("%Y%m%d-', 'strftime("%Y%d%m-'),
            ("no", "    record.branched_from = branched_from\n", "    pass\n"),
        ),
    ),
    (
        "engine/run/test_event_log.py",
        "engine/run/event_log.py",
        (
            ("no", "            self._failure = error\n", "            pass\n"),
            ("yes", "self.unknown[event.type] += 1", "self.unknown[event.type] = 1"),
        ),
    ),
    (
        "engine/run/test_gate.py",
        "engine/run/gate.py",
        (
            (
                "yes",
                "        if not self._stop:\n            self._emit(StageResumed())",
                "        self._emit(StageResumed())",
            ),
        ),
    ),
    (
        "engine/run/test_lock.py",
        "engine/run/lock.py",
        (("yes", "            if not self._holder.last_words:\n", "            if True:\n"),),
    ),
    (
        "engine/run/test_worker.py",
        "engine/run/stage.py",
        (("no", "self.stage, item, draw)", "self.stage, item)"),),
    ),
    (
        "engine/run/test_stage_choices.py",
        "engine/run/stage_choices.py",
        (
            ("yes", "names.index(stage) + 1 :]", "names.index(stage) :]"),
            ("", "if not any(stage.status in _HALF_DONE", "if any(stage.status in _HALF_DONE"),
        ),
    ),
    (
        "engine/run/test_stage_state.py",
        "engine/run/stage_state.py",
        (("no", "status=STOPPED, done=event.done,", "status=STOPPED,"),),
    ),
    (
        "engine/run/test_worker.py",
        "engine/run/worker.py",
        (
            (
                "yes",
                'f"{summary[-1].filename}:{summary[-1].lineno}"',
                'f"{summary[0].filename}:{summary[0].lineno}"',
            ),
            ("no", "round(record.seconds + seconds, 3)", "round(seconds, 3)"),
            ("yes", "code = FAILED if isinstance(error, DiskError) else BAD_INPUT", "code = BAD_INPUT"),
            ("no", "                        self._log.sync()\n", "                        pass\n"),
        ),
    ),
    (
        "engine/scale/test_replicas.py",
        "engine/scale/cluster.py",
        (("", "            self._missed_since = None\n", "            pass\n"),),
    ),
    (
        "engine/scale/test_replicas.py",
        "engine/scale/replicas.py",
        (("", "self._failed_starts += not member.ready", "self._failed_starts += 1"),),
    ),
    (
        "engine/servers/test_client.py engine/servers/test_transport.py",
        "engine/servers/address.py",
        (
            (
                "yes",
                "return address.is_loopback or address.is_unspecified",
                "return address.is_loopback or address.is_private",
            ),
            ("yes", "secrets |= {value for _, value in parse_qsl(parts.query)}", "pass"),
        ),
    ),
    (
        "engine/servers/test_client.py",
        "engine/servers/client.py",
        (
            ("no", "content=status == 413 or (status in", "content=(status in"),
            ("yes", 'headers.get("x-should-retry") == "false"', 'headers.get("x-should-retry") == "true"'),
            (
                "yes",
                "failure.final or tries > self._config.retries",
                "failure.final or tries >= self._config.retries",
            ),
        ),
    ),
    (
        "engine/servers/test_completion.py",
        "engine/servers/completion.py",
        (
            (
                "yes",
                "completion if _is_count(completion) else 0",
                "completion if _is_count(completion) else None",
            ),
        ),
    ),
    (
        "engine/servers/test_transport.py engine/doctor",
        "engine/servers/http.py",
        (
            (
                "no",
                "return 200 <= self.status < 300 and self.body is not None",
                "return self.status < 400 and self.body is not None",
            ),
        ),
    ),
    (
        "engine/servers/test_client.py engine/servers/test_request_form.py",
        "engine/servers/known_servers.py",
        (("no", "            if self.form != old:\n                return False\n", ""),),
    ),
    (
        "engine/servers/test_client.py engine/servers/test_request_form.py",
        "engine/servers/refusal.py",
        (("yes", 'error.get("message") or error.get("detail")', 'error.get("message")'),),
    ),
    (
        "engine/servers/test_request_rate.py",
        "engine/servers/request_rate.py",
        (("yes", "self._free = due + self._gap", "self._free = now + self._gap"),),
    ),
    (
        "engine/servers/test_client.py",
        "engine/servers/retry_after.py",
        (("no", "when.replace(tzinfo=UTC)", "when.astimezone(UTC)"),),
    ),
    (
        "engine/servers/test_usage.py",
        "engine/servers/usage.py",
        (
            ("no", "                os.fsync(self._file.fileno())\n", ""),
            (
                "no",
                "unreported=total.unreported + (answered and not counted)",
                "unreported=total.unreported + (not counted)",
            ),
            (
                "yes",
                "retries=total.retries + (request.attempt > 1)",
                "retries=total.retries + request.attempt",
            ),
        ),
    ),
    (
        "engine/sweep/test_grammar.py",
        "engine/sweep/grammar.py",
        (
            ("yes", "number / (count - 1) for", "number / count for"),
            ("yes", 'one.get("type") == "string" and "enum" not in one', 'one.get("type") == "string"'),
        ),
    ),
    (
        "engine/sweep/test_results.py",
        "engine/sweep/results.py",
        (
            ("no", "+ bool(self.record.choose_on)", "+ bool(self.record.report)"),
            ("no", "abs(mean - verdict.value) > 1e-6", "abs(mean - verdict.value) > 1"),
        ),
    ),
    (
        "engine/sweep/test_sharing.py",
        "engine/sweep/sharing.py",
        (
            ("no", "theirs.shared_from or donor.record.run_id", "donor.record.run_id"),
            ("yes", "islice(theirs, 1, donor.left.events)", "islice(theirs, 1, None)"),
        ),
    ),
    (
        "engine/sweep/test_sweep_file.py engine/sweep/test_queue.py",
        "engine/sweep/sweep.py",
        (("no", "path.parent.name, reverse=True)", "path.parent.name)"),),
    ),
)
