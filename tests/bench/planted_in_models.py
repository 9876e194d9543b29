"""More faults for `bench_planted_faults`, in what the lists there leave out: decoding and its key/values, limits of
texts, reading of models, control points, the field's baselines, vectors of other tools, problems and answers.
"""

from __future__ import annotations

IN_MODELS: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    ("esm/test_control_point.py", "engine/esm/online/control_point.py", (
        (
            "return Branch(row, self.sampling(answer, None), seed=seed, processor=self.processor)",
            "return Branch(row, self.sampling(answer, None), seed=seed)",
        ),
        (
            "[null, *(Branch(plan.row, sampling, steer, processor=under) for steer in steers)]",
            "[null, *(Branch(plan.row, sampling, steer) for steer in steers)]",
        ),
        ("keep=self.temperature == 0, processor=under", "keep=self.temperature == 0"),
        ("continue_from=plan.null_probe if self.temperature == 0 else None", "continue_from=plan.null_probe"),
        ("continue_from=plan.null_probe if self.temperature == 0 else None", "continue_from=None"),
        ("seed = derive_seed(self.seed, \"tail\", answer.example)", "seed = derive_seed(0, \"tail\", answer.example)"),
        (
            "Sampling(self.budget - len(answer.tokens), self.temperature, stop)",
            "Sampling(self.budget, self.temperature, stop)",
        ),
    )),
    ("esm/test_control_point.py", "engine/esm/evaluation/eval_work.py", (
        ("self.task.extract_marked(answer.text)", "self.task.extract(answer.text)"),
        ("self._line(batch.first + position, example, answer)", "self._line(position, example, answer)"),
    )),
    ("esm/test_control_point.py", "engine/esm/online/forced.py", (
        ("m > self.m", "m >= self.m and False"),
        ("return m == self.m or", "return m >= self.m or"),
    )),
    ("esm/test_decide.py", "engine/esm/online/decide.py", (
        ("rows, similarity = memory.similarities(m - 1, states)", "rows, similarity = memory.similarities(m, states)"),
    )),
    ("esm/test_decide.py", "engine/esm/library/memory.py", (
        ("queries = states / np.maximum(norms, 1e-12)", "queries = states"),
    )),
    ("esm/test_dpp.py", "engine/esm/library/dpp.py", (
        ("row**2", "row"),
        ("1.0, 0.0) + epsilon", "1.0, 0.0)"),
    )),
    ("esm/test_export.py", "engine/esm/export.py", (
        ("online[\"k_scale\"] * online[\"beta\"] * float", "online[\"k_scale\"] * float"),
        (
            "float(np.mean([entry.record[\"quality\"] for entry in entries]))",
            "entries[0].record[\"quality\"]",
        ),
        (
            "if not record[\"vector_path\"] and (not layers or record[\"layer\"] in layers)",
            "if not record[\"vector_path\"]",
        ),
        ("if memory and not ids:", "if memory:"),
    )),
    ("esm/test_field_sources.py", "engine/esm/baselines/cast.py", (
        ("np.tanh((states @ unit)[:, None] * unit)", "(states @ unit)[:, None] * unit"),
        (
            "middle = (steer.mean(axis=0) + leave.mean(axis=0)) / 2",
            "middle = np.concatenate([steer, leave]).mean(axis=0)",
        ),
    )),
    ("esm/test_field_sources.py", "engine/esm/baselines/field.py", (
        (
            "return fit(np.stack(keys[\"wrong\"]), np.stack(keys[\"right\"]))",
            "return fit(np.stack(keys[\"right\"]), np.stack(keys[\"wrong\"]))",
        ),
        ("if (row[\"vector_path\"] is None) is (kind == \"right\")", "if True"),
        ("if row[\"layer\"] == layer]", "]"),
        ('question=f"{e.question}\\n{behind}")', "question=e.question)"),
        ("config.offline_mine.temperature, config.run.seed)", "config.offline_mine.temperature, 0)"),
    )),
    ("esm/test_field_sources.py", "engine/esm/layers.py", (
        ("mined[len(mined) // 2] if", "mined[0] if"),
    )),
    ("esm/test_field_sources.py", "engine/esm/baselines/seal.py", (
        ("model.tokenizer.encode_chat(prompt, system)", "model.tokenizer.encode_chat(prompt)"),
    )),
    ("esm/test_field_sources.py", "engine/esm/baselines/stable.py", (
        ("tuple(model.tokenizer.encode_chat(prompt, system))", "tuple(model.tokenizer.encode_chat(prompt))"),
        ("enumerate(beginnings[first : first + _AT_ONCE], first)", "enumerate(beginnings[first : first + _AT_ONCE])"),
        ("derive_seed(seed, \"stable\", str(number), again)", "derive_seed(0, \"stable\", str(number), again)"),
        ("Sampling(MOST_TOKENS, temperature, stop=delimiter)", "Sampling(MOST_TOKENS, 1.0, stop=delimiter)"),
    )),
    ("esm/test_gold.py", "engine/esm/mining/gold.py", (
        ("length = len(tokens) + 1", "length = len(tokens)"),
        ("len(prompt) + end - 1 for end", "len(prompt) + end for end"),
        ("missing = config.control_points.M - solution.count(delimiter)", "missing = config.control_points.M"),
    )),
    ("esm/test_imported.py", "engine/esm/library/imported.py", (
        ("if row[\"kind\"] == \"wrong\" and row[\"layer\"] == entry.layer", "if row[\"kind\"] == \"wrong\""),
        ("if row[\"kind\"] == \"wrong\" and row[\"layer\"] == entry.layer", "if row[\"layer\"] == entry.layer"),
    )),
    ("esm/test_plain.py", "engine/esm/baselines/plain.py", (
        (
            "sampling = Sampling(of.config.decode.max_new_tokens, of.config.decode.temperature)",
            "sampling = Sampling(of.config.decode.max_new_tokens)",
        ),
        ("derive_seed(of.config.run.seed, purpose", "derive_seed(0, purpose"),
    )),
    ("esm/test_side_effects.py", "engine/esm/evaluation/side_effects.py", (
        ("(np.exp(p) * (p - q)).sum()", "(np.exp(q) * (q - p)).sum()"),
        ("prefix = [*prompt, *answer.tokens[:begin]]", "prefix = [*prompt]"),
        (
            "                    begin += decision.committed_tokens\n",
            "                        begin += decision.committed_tokens\n",
        ),
        ("Steer(vector, decision.layer, decision.alpha)", "Steer(vector, decision.layer, 1.0)"),
    )),
    ("esm/test_static.py", "engine/esm/baselines/prompt_pairs.py", (
        ("model.tokenizer.encode_chat(prompt, system)", "model.tokenizer.encode_chat(prompt)"),
    )),
    ("esm/test_static.py", "engine/esm/baselines/static.py", (
        ("*vector, of.config.eval.contrast.scale)", "*vector, 1.0)"),
        (
            "{\"contrast_mean\": mean_difference, \"contrast_pca\": principal_difference}",
            "{\"contrast_mean\": mean_difference, \"contrast_pca\": mean_difference}",
        ),
    )),
    ("esm/test_static.py", "engine/esm/layers.py", (
        ("info.num_layers // 2 if", "info.num_layers - 1 if"),
    )),
    ("lm/test_generate.py", "engine/lm/context.py", (
        ("length >= info.context:", "length + 1 >= info.context:"),
    )),
    ("lm/test_generate.py", "engine/lm/transformers/decoding.py", (
        ("max(0, count - NEWEST_TOKENS) : count", ": count"),
        (
            "steers = [self.jobs[job].steer if is_new else None for job, is_new in new]",
            "steers = [self.jobs[job].steer for job, is_new in new]",
        ),
        ("seeds_array([job.seed for job in jobs])", "seeds_array(list(range(len(jobs))))"),
        ("if temperatures.any() else None", "if temperatures.all() else None"),
        ("full = (self.counts[ids] >= self.limits[ids])", "full = (self.counts[ids] > self.limits[ids])"),
        ("self._finish(ids[full], \"length\")", "self._finish(ids[full], \"stop\")"),
    )),
    ("lm/test_generate.py", "engine/lm/transformers/model.py", (
        ("        if between is not None:\n            between(call, working)\n", ""),
    )),
    ("lm/test_gguf.py", "engine/lm/loading/gguf_file.py", (
        ("owned = parts if len(parts) == 3 else", "owned = parts if len(parts) == 4 else"),
        ("path.lower().endswith(\".gguf\")", "path.endswith(\".gguf\")"),
    )),
    ("lm/test_kept_texts.py", "engine/lm/kept_texts.py", (
        (
            "self._records, self._unwritten, self._written = {}, [], self._clock()",
            "self._records, self._written = {}, self._clock()",
        ),
        ("        self._tokens[row] += committed.tokens\n", ""),
    )),
    ("lm/test_load.py", "engine/lm/loading/cpu_dtype.py", (
        ("max(min(times[1:]), 1e-9)", "max(max(times[1:]), 1e-9)"),
        ("if gain < FASTER:", "if gain <= FASTER:"),
    )),
    ("lm/test_load.py", "engine/lm/loading/device.py", (
        ("if saved in DTYPES.values() else (torch.float32, \"\")", "if saved is None else (torch.float32, \"\")"),
        (
            "{\"cuda\": torch.cuda.is_available(), \"mps\": torch.backends.mps.is_available(), \"cpu\": True}",
            "{\"cpu\": True, \"cuda\": torch.cuda.is_available(), \"mps\": torch.backends.mps.is_available()}",
        ),
    )),
    ("lm/test_load.py", "engine/lm/transformers/self_check.py", (
        ("if not error <= TOLERANCE.get(network.dtype, 0.1):", "if error > TOLERANCE.get(network.dtype, 0.1):"),
    )),
    ("lm/test_prefixes.py", "engine/lm/context.py", (
        ("sampling.max_tokens <= room", "sampling.max_tokens <= room + 1"),
    )),
    ("lm/test_prefixes.py", "engine/lm/continuation.py", (
        (
            "return earlier.ended == \"stop\" and branch.continue_from is not earlier",
            "return earlier.ended == \"stop\"",
        ),
        ("(len(earlier.tokens) == budget and earlier.ended != \"eos\")", "len(earlier.tokens) == budget"),
        ("- (earlier.ended == \"eos\")", ""),
        ("earlier.tokens[: min(text_end, budget)]", "earlier.tokens[:text_end]"),
    )),
    ("lm/test_prefixes.py", "engine/lm/transformers/decoding.py", (
        (" - self.earlier, text)", ", text)"),
        ("if len(rows) == len(ids):", "if True:"),
        ("logits[rows] = _as_logits(", "logits[: len(rows)] = _as_logits("),
        (
            "written = [self.tokens[i, : self.counts[i]].tolist() for i in ids[rows]]",
            "written = [self.tokens[i, : self.counts[i]].tolist() for i in rows]",
        ),
        ("return [kv if self.counts[job] else kv.part(0, kv.length - 1)]", "return [kv]"),
        ("earlier.kept.kv.part(0, int(self.counts[job]))", "earlier.kept.kv.part(0, int(self.counts[job]) - 1)"),
        ("self._keep(job, kv.part(kv.length - 1, kv.length))", "self._keep(job, kv.part(kv.length, kv.length))"),
        ("end - int(self.counts[job]), end", "end - int(self.counts[job]) + 1, end"),
        (
            "uniforms(self.seeds[ids], counts.astype(np.uint64))",
            "uniforms(self.seeds[ids], 0 * counts.astype(np.uint64))",
        ),
        ("                self.tokens[index, :count] = job.continue_from.tokens\n", ""),
    )),
    ("lm/test_prefixes.py", "engine/lm/transformers/prefixes.py", (
        ("        prefix.version = object()\n", ""),
        ("sampling=within_context(branch.sampling, own.kv.length, self._info)", "sampling=branch.sampling"),
        ("        check_prompt(len(prompt), self._info)\n", ""),
    )),
    ("lm/test_prefixes.py", "engine/lm/transformers/steering_hook.py", (
        ("torch.from_numpy(vector * np.float32(steer.scale))", "torch.from_numpy(vector)"),
        ("        if steer.layer not in matrices:\n            matrices", "        if True:\n            matrices"),
    )),
    ("tasks/test_financebench.py", "engine/tasks/financebench.py", (
        ("if not 0 <= index < len(examples)]", "if not 0 <= index <= len(examples)]"),
        ("if not 0 <= index < len(examples)]", "if index >= len(examples)]"),
    )),
    ("tasks/test_loaders.py", "engine/tasks/formats.py", (
        ("int(bare) <= _LARGEST_AIME", "int(bare) < _LARGEST_AIME"),
    )),
    ("tasks/test_loaders.py", "engine/tasks/metrics.py", (
        ("return equivalent(gold, pred)", "return equivalent(pred, gold)"),
        ("if max(len(pred), len(gold)) > _LONGEST:", "if min(len(pred), len(gold)) > _LONGEST:"),
    )),
    ("tasks/test_loaders.py", "engine/tasks/split_files.py", (
        ("\"validation\": (\"validation\", \"valid\", \"val\", \"dev\")", "\"validation\": (\"validation\", \"dev\")"),
        ("\"dev\": (\"dev\", \"validation\", \"valid\", \"val\")", "\"dev\": (\"dev\",)"),
    )),
    ("tasks/test_file_records.py", "engine/tasks/file_records.py", (
        ("letters = _LETTERS[: len(choices)] if choices else _LETTERS", "letters = _LETTERS"),
        ("if choices.count(answer) == 1:", "if answer in choices:"),
        ("not 2 <= len(choices) <= len(_LETTERS)", "not 2 < len(choices) <= len(_LETTERS)"),
        ("not 2 <= len(choices) <= len(_LETTERS)", "not 2 <= len(choices)"),
    )),
    ("vectors/test_formats.py", "engine/vectors/gguf_form.py", (
        ("if tensor.tensor_type.name not in (\"F32\", \"F16\", \"F64\"):", "if False:"),
        ("_NAME.fullmatch(tensor.name)", "_NAME.match(tensor.name)"),
        (
            "        for name, text in vectors.notes.items():\n      "
            "      writer.add_string(f\"{ARCHITECTURE}.{name}\", text)\n",
            "",
        ),
    )),
    ("vectors/test_formats.py", "engine/vectors/layer_vectors.py", (
        ("array.size != max(array.shape, default=0)", "array.ndim != 1"),
        ("if layer is None and vectors.unplaced is not None:", "if False:"),
    )),
    ("vectors/test_formats.py", "engine/vectors/safetensors_form.py", (
        ("_NAME.fullmatch(name)", "_NAME.match(name)"),
    )),
)  # fmt: skip
"""Where the tests stand that are to notice them, below tests/engine; the file; what takes whose place."""
