# Set-up, tests, checks and the quick evaluation. Every target installs what it needs first.
#   make setup      virtual environment, package, default model weights
#   make evaluate   closed_book, dense_rag, t2rag, threadrag and tog3 on the bundled sample world, real 0.5B model
#   make test       the default test suite
#   make lint       ruff, mypy, import contracts

PYTHON ?= python3
VENV   ?= .venv
# Installed first and alone, so that a CPU machine takes the build you choose here.
TORCH  ?= torch==2.13.0
EXTRAS ?= local,cpu,spacy,graph,openai,onnx,docs-formats,numba,stemmer,wandb,sweep,training,dev
MODELS ?= qwen2.5-coder-0.5b-instruct all-minilm-l6-v2 en-core-web-sm
# Settings added to the quick evaluation, e.g. make evaluate ARGS="limit=40"
ARGS   ?=

BIN := $(VENV)/bin
# Idle OpenMP threads that spin starve the working ones on a busy machine.
export OMP_WAIT_POLICY := passive
export TOKENIZERS_PARALLELISM := false

.PHONY: setup evaluate test lint clean
.DEFAULT_GOAL := evaluate

setup: $(VENV)/.installed $(VENV)/.models

$(VENV)/.installed: setup.cfg setup.py pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt "$(TORCH)"
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[$(EXTRAS)]"
	touch $@

$(VENV)/.models: $(VENV)/.installed
	$(BIN)/rag-research models fetch $(MODELS)
	touch $@

evaluate: setup
	$(BIN)/python evaluate/run.py system=closed_book,dense_rag,t2rag_rules,threadrag,tog3_rules dataset=sample_world limit=12 $(ARGS)

test: setup
	$(BIN)/python -m pytest -q

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
