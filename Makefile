# Each target works on a fresh clone: the environment is made, and made again when its definition changes.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: run test lint train-embedded menuconfig clean

run: $(STAMP)
	$(BIN)/steer-tui --config configs/demo.yaml

test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

train-embedded: $(STAMP)
	$(BIN)/steer-tui --batch --stages train-embedded --set run.name=train-embedded --set model.path=$(or $(MODEL),arithmetic)

menuconfig: $(STAMP)
	KCONFIG_CONFIG=configs/.config $(BIN)/menuconfig configs/Kconfig

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,offline,ray]'
	touch $@
