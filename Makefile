# `make demo` on a fresh clone needs Python 3.11 or later and nothing else.
#   PYTHON=python3.12            another interpreter
#   TORCH_INDEX=https://...      where pip finds the torch build for this machine (on Linux, PyPI's is the large CUDA one)
#   JOBS=4                       test processes
VENV ?= .venv
PYTHON ?= python3
JOBS ?= $(shell OMP_NUM_THREADS= nproc 2>/dev/null || echo 2)
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt \
	$(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
# One thread a process: tests run side by side, and results do not depend on the machine.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
# Test files that pytest has compiled are kept, whatever the environment says: half the time that it takes to begin.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup demo check test test-slow test-gpu test-web notebooks notebooks-test docs bench campaign

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 16

setup: $(VENV)/.ready-all ## Create .venv with everything that developing needs

demo: $(VENV)/.ready-train ## Train the built-in English-Chinese demo and look at it
	$(BIN)/yiwen demo

check: $(VENV)/.ready-all ## Format, lint, types, shape of the house
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(ONE_THREAD) $(BIN)/pytest -q tests/architecture/test_architecture.py

test: $(VENV)/.ready-all ## All tests that take seconds
	$(ONE_THREAD) $(BIN)/pytest -q -n $(JOBS) --dist worksteal

test-slow: $(VENV)/.ready-all ## The tests that take minutes
	$(ONE_THREAD) $(BIN)/pytest -q -m slow --timeout 3600

test-gpu: $(VENV)/.ready-all ## The tests that need a CUDA device
	OMP_NUM_THREADS=2 $(BIN)/pytest -q -m gpu --timeout 600

notebooks: $(VENV)/.ready-all ## The lessons in JupyterLab, on port 7000
	$(BIN)/python notebooks/build.py
	$(BIN)/jupyter lab --port 7000 --notebook-dir notebooks/built

notebooks-test: $(VENV)/.ready-all ## Run every lesson
	$(BIN)/pytest -q -m notebooks --timeout 1200

test-web: $(VENV)/.ready-all ## The page of `yiwen serve` in Chromium, its types by TypeScript where there is npm
	$(ONE_THREAD) $(BIN)/pytest -q -m web --timeout 600 -n $(JOBS) --dist worksteal

docs: $(VENV)/.ready-all ## The manual in both languages, into site/
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --strict --clean
	$(BIN)/mkdocs build --strict --config-file mkdocs.zh.yml

bench: $(VENV)/.ready-all ## Every benchmark, small
	for script in $(wildcard benchmarks/*.py); do $(BIN)/python $$script --quick || exit 1; done

campaign: $(VENV)/.ready-all ## The campaign against the service, long (20 minutes), its table into benchmarks/results
	$(BIN)/python benchmarks/campaign.py --output

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "yiwen needs Python 3.11 or later; name one with PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready-train: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[train]'
	@touch $@

$(VENV)/.ready-all: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[all]'
	@touch $(VENV)/.ready-train $@
