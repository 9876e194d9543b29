"""llama.cpp's server from the wheel `xllamacpp`, in a process of its own until it is ended.

    python tests/llama_server.py --model FILE.gguf --slots 2 --context 2048 --served-model-name N --host H --port P

Runs in an environment without this project. One thread; each slot has `context` tokens. A prompt is read anew each
time: what is left of an earlier one would change how it is divided, and so the last digits of its logits.
"""

import argparse
import signal

import xllamacpp  # type: ignore[import-not-found]


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--slots", type=int, required=True)
    parser.add_argument("--context", type=int, required=True)
    parser.add_argument("--served-model-name", required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    chosen = parser.parse_args()
    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias = chosen.model, {chosen.served_model_name}
    params.hostnames, params.port = [chosen.host], chosen.port
    params.n_parallel, params.n_ctx = chosen.slots, chosen.slots * chosen.context
    params.kv_unified = params.cache_prompt = params.warmup = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
