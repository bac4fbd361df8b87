# `make demo` and `make test` each work on a fresh machine as the first command typed.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOCK := requirements.lock
# What the image installs: no test tools, and the build backend for the package itself.
RUNTIME_LOCK := requirements-runtime.lock
# Debian packages of the servers that tests and demo start on loopback, each as package:command.
SERVERS := prometheus:prometheus prometheus-alertmanager:prometheus-alertmanager \
    chromium:chromium postgresql:psql
PYTEST_WORKERS ?= 2
# What failed beside other tests is run once more alone: on a busy machine time-outs can be too short.
AGAIN := $(BIN)/pytest --last-failed --last-failed-no-failures none

.PHONY: help demo demotest test check fmt lint types bench lock servers clean

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) servers ## Ask the agent, then inject every known failure and show its alert (200 s).
	@$(BIN)/loopscope demo

test: $(READY) servers check ## Everything CI checks: lint, types, import rules, all tests with coverage (about 20 min on 2 cores).
	@$(BIN)/pytest -n $(PYTEST_WORKERS) -m "not servers" --cov --cov-report= || $(AGAIN)
	@$(BIN)/pytest -n $(PYTEST_WORKERS) --dist loadfile -m servers --ignore=tests/agent/demo --cov --cov-append --cov-report=term || $(AGAIN)

demotest: $(READY) servers ## The demo's own end-to-end tests: wall-clock, so on a machine with nothing else to do.
	@$(BIN)/pytest -m servers tests/agent/demo

check: lint types ## Lint, types and import rules, without the tests.

fmt: $(READY) ## Format the code.
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

lint: $(READY)
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/lint-imports

types: $(READY)
	@$(BIN)/mypy

bench: $(READY) ## Print the benchmarks' tables (long).
	@for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python "$$file" || exit 1; done

lock: ## Write the lock files anew from pyproject.toml (needs uv).
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-emit-find-links --no-annotate --no-header -o $(LOCK)
	echo hatchling | uv pip compile pyproject.toml - --extra console --extra openai --extra postgres --universal \
	    --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	    --no-annotate --no-header -c $(LOCK) -o $(RUNTIME_LOCK)

$(READY): $(LOCK) pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "error: Python 3.11 or newer is needed, got $$($(PYTHON) --version 2>&1)." \
	           "Name one with: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Making $(VENV) from $(LOCK) (about a minute the first time)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# Installs what is missing where it may; otherwise says what is missing and goes on without it.
servers:
	@missing=""; \
	for server in $(SERVERS); do \
	    command -v "$${server#*:}" >/dev/null || missing="$$missing $${server%%:*}"; \
	done; \
	[ -z "$$missing" ] && exit 0; \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    echo "Installing$$missing"; \
	    export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1; \
	    { apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing; } >/dev/null 2>&1 && exit 0; \
	fi; \
	echo "Missing:$$missing. What needs them is skipped; install them with:" \
	     "sudo apt-get install$$missing" >&2

clean: ## Remove the virtual environment and caches.
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .coverage build dist var
