# Every command sets up what it needs: a bare machine with Python 3.11 or newer, pip, venv and make is enough.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
RUN := $(VENV)/bin/python
# An idle process takes tests from a busy one. The slowest 20 are printed, so that the suite stays quick.
PYTEST = $(RUN) -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal --durations 20 --durations-min 1
# Array shapes are checked at run time, except in the laboratory: it reads millions of values of results.
TYPED := armwise.data,armwise.evaluation,armwise.losses,armwise.mixtures,armwise.models,armwise.native
WEEKLY := armwise.planner,armwise.programme,armwise.report,armwise.weekly
SHAPES := --jaxtyping-packages=armwise._validation,$(TYPED),$(WEEKLY),armwise.rmab,armwise.training,beartype.beartype
INSTALL = $(RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-slow test-all lint format bench clean

help: ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(VENV)/core ## a simulated programme, from raw files to a call list and a report
	$(RUN) -m armwise demo

docs: $(VENV)/docs ## the documentation site in site/, every link checked
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --strict --quiet

test: $(VENV)/dev ## every package and every claim once, by its fastest honest oracle; a few minutes
	$(PYTEST) -m "not exhaustive"

test-all: $(VENV)/dev ## everything: also sweeps, kill loops, slow references, browsers, and array shapes at run time
	$(PYTEST) $(SHAPES)

test-slow: $(VENV)/dev ## what test leaves out; with test before it, every test has run
	$(PYTEST) -m exhaustive $(SHAPES)

lint: $(VENV)/dev ## ruff and mypy, both clean
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy

format: $(VENV)/dev ## let ruff lay out the code
	$(RUN) -m ruff check --fix
	$(RUN) -m ruff format

bench: $(VENV)/bench ## measure, side by side with peers, and rewrite results, README and docs; FULL=1 takes longer
	for name in rmab mixtures losses training growth plan startup history; do \
	  $(RUN) -m benchmarks.$$name $(if $(FULL),--full) || exit 1; \
	done
	$(if $(FULL),$(RUN) -m benchmarks.simulation && $(RUN) -m benchmarks.states && $(RUN) -m benchmarks.chains)
	$(RUN) -m benchmarks.figure
	$(RUN) -m benchmarks.pages

clean: ## remove the virtual environment and every cache
	rm -rf $(VENV) site .pytest_cache .jax_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# One stamp per set of extras, renewed when the requirements change.
$(VENV)/core: $(VENV)/bin/python pyproject.toml constraints.txt
	$(INSTALL) .
	@touch $@

$(VENV)/%: $(VENV)/bin/python pyproject.toml constraints.txt
	$(INSTALL) '.[$*]'
	@touch $@
