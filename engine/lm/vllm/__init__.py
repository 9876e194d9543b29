"""The vLLM backend: the stock engine (not a fork) in processes of its own, with steering and capture at prefill.

`model` is the `LanguageModel`, `prefixes` what branches from it, `driver` runs requests through the engine,
`engine_options` starts it. In vLLM's own processes: `worker_extension` puts hooks on the decoder layers,
`pass_plan` finds the rows they touch, `sampler` draws tokens as every other backend does, `block_hash` keeps
steered key/values apart from unsteered ones. `request_args` is what travels with each request.
"""
