"""The vLLM backend: the stock engine (not a fork) in processes of its own, with steering and capture at prefill.

`model` is the `LanguageModel`, `prefixes` its `Prefixes`, `driver` runs requests through the engine, and
`engine_options` starts the engine. In vLLM's own processes: `worker_extension` puts hooks on the decoder layers,
`pass_plan` computes the rows they change, `sampler` draws tokens as every other backend does, `block_hash` keeps
steered key/values apart from unsteered ones. `request_args` travels with each request.
"""
