# Every target sets up what it needs: a virtual environment in .venv and, where possible, Java.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test lint bench bench-queries bench-flink bench-streambench bench-sustain bench-search bench-verdicts bench-compare bench-coverage bench-simulators fault-table mutants fuzz setup clean

help: ## show this help
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 20

$(READY): pyproject.toml
	@scripts/setup $(PYTHON) $(VENV)
	@touch $@

setup: $(READY) ## create .venv, install everything, find or install Java

demo: setup ## measure YSB for half a minute and show the summary
	@$(BIN)/streamgauge run ysb --rate 100k --duration 30s

test: setup lint ## formatter, linter, spelling, type check, all tests
	@scripts/setup-services
	@$(BIN)/pytest -q -n 2 -m "not spark and not service and not fault"
	@$(BIN)/pytest -q -n 2 --dist worksteal -m "spark and not service and not fault"
	@$(BIN)/pytest -q -rs -n 2 --dist loadfile -m "service or fault"

lint: setup ## formatter, linter, spelling and strict type check
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/codespell src docs benchmarks scripts *.md
	@$(BIN)/mypy

bench: setup ## print the table of speed ratios, measured side by side
	@$(BIN)/python benchmarks/run.py

bench-queries: setup ## print the throughput of every NEXMark query
	@$(BIN)/python benchmarks/queries.py

bench-flink: setup ## compare NEXMark queries with Apache Flink's SQL
	@$(BIN)/python benchmarks/queries.py --flink

bench-streambench: setup ## test the directions that StreamBench's authors published
	@$(BIN)/python benchmarks/streambench.py

bench-sustain: setup ## search for a sustainable rate that is known
	@$(BIN)/python benchmarks/sustain.py

bench-search: setup ## simulate searches on noisy machines: how often do their ends hold?
	@$(BIN)/python benchmarks/search.py

bench-verdicts: setup ## simulate runs above and below capacity: how often is their verdict wrong?
	@$(BIN)/python benchmarks/verdicts.py

bench-compare: setup ## simulate comparisons of runs: how often do they err, how often do they find a change?
	@$(BIN)/python benchmarks/compare.py

bench-coverage: setup ## simulate calibrations and new runs: how often do intervals of predict hold?
	@$(BIN)/python benchmarks/coverage.py

bench-simulators: setup ## measure the simulators of the model beside SimPy and Ciw
	@$(BIN)/pip install --quiet --disable-pip-version-check -r benchmarks/simulators.txt
	@$(BIN)/python benchmarks/simulators.py

fault-table: setup ## make every fault into every sink and print what came out, about 40 minutes
	@$(BIN)/python scripts/fault-table

fuzz: setup ## damage stored runs, files and logs by chance for MINUTES, or repeat one CASE
	@$(BIN)/python scripts/fuzz $(if $(CASE),--case $(CASE),--minutes $(or $(MINUTES),10))

mutants: setup ## plant faults in measure, model and arrivals and count those that the tests find
	@$(BIN)/python scripts/mutants $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED))

clean: ## remove what the targets made
	rm -rf $(VENV) benchmarks/flink/.venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
