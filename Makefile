# Targets that a person calls; `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow check bench clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/installed ## make .venv and install mtrain and its tools into it

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "mtrain needs Python 3.10 or later")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: setup ## train, translate with and score a small model on the sample, in minutes
	$(BIN)/mtrain prepare
	$(BIN)/mtrain fit
	head -n 5 data/sample/zh-en/test.zh | $(BIN)/mtrain translate
	$(BIN)/mtrain bleu

test: setup ## run the fast tests
	$(BIN)/python -m pytest -m "not slow"

test-slow: setup ## run all tests, those that train models included
	$(BIN)/python -m pytest

check: setup ## lint, types and architecture
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py

bench: setup ## measure training speed on this machine, beside other toolkits
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python scripts/bench/train_speed.py

clean: ## remove .venv, runs and prepared data
	rm -rf $(VENV) runs data/prepared
