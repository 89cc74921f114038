# Everything happens in .venv, which the first target that needs it creates with plain venv and pip.
#   make demo ROUNDS=1000      a shorter (or longer) demo
#   make test PYTHON=python3.12 VENV=.venv-3.12   another interpreter, in an environment of its own
#   make test CONSTRAINTS=     the newest versions that pyproject.toml allows instead of the pinned ones

PYTHON ?= python3
CONSTRAINTS ?= constraints.txt
ROUNDS ?=
VENV := .venv
RUN := $(VENV)/bin/python -m
TESTED := cli,serve,sweep,spark,test
QUICK := cli,serve,sweep,test
# Three for two cores: many tests wait for a server, a disk or Java.
WORKERS := 3

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL: # two pips in one environment would get in each other's way
.PHONY: help demo test test-quick test-deep test-lowest bench lint docs figure wheel clean

help: ## say what there is
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | while IFS='	' read -r name text; do printf '  make %-10s %s\n' "$$name" "$$text"; done

demo: $(VENV)/.with-cli ## track and compare a real stream, replay the paper; the report goes to out/report.html
	@mkdir -p out
	$(VENV)/bin/swordplay demo --report out/report.html $(if $(ROUNDS),--rounds $(ROUNDS))

test: $(VENV)/.with-$(TESTED) ## run the tests (minutes)
	@$(VENV)/bin/swordplay warm --processes 2 # or every worker would compile the same kernels
	PYTHONDONTWRITEBYTECODE= $(RUN) pytest -n $(WORKERS) --dist loadgroup -m "not deep" # each of many processes would compile our sources

test-quick: $(VENV)/.with-$(QUICK) ## run the tests of tests/quick.txt, for another interpreter: PYTHON=python3.13 VENV=.venv-3.13
	@$(VENV)/bin/swordplay warm --processes 2
	PYTHONDONTWRITEBYTECODE= $(RUN) pytest -n 2 --dist loadgroup -m "not deep" @tests/quick.txt

test-deep: $(VENV)/.with-$(TESTED) ## run the long campaigns (much longer)
	HYPOTHESIS_PROFILE=deep $(RUN) pytest -n 2 --dist loadgroup -m "deep or hypothesis" # the latter: with more examples than in "test"

test-lowest: ## run the tests with the lowest versions that pyproject.toml allows, in an environment of their own
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) tests/lowest.py > .venv-lowest/wanted.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --constraint .venv-lowest/wanted.txt --editable '.[sklearn,river,cli,serve,sweep,spark,test]'
	.venv-lowest/bin/python -m pytest -n 2 -m "not deep" -W ignore::DeprecationWarning # of old packages about newer ones

bench: $(VENV)/.with-bench ## time the library beside its peers
	$(RUN) benchmarks

lint: $(VENV)/.with-$(TESTED) $(VENV)/.with-lint ## ruff, mypy --strict and the import contract
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(VENV)/bin/lint-imports

docs: $(VENV)/.with-cli $(VENV)/.with-serve $(VENV)/.with-sweep $(VENV)/.with-spark $(VENV)/.with-sklearn $(VENV)/.with-river $(VENV)/.with-docs ## build the site into out/site; a link or a name that leads nowhere is an error
	$(RUN) sphinx --fail-on-warning --keep-going --fresh-env --quiet --doctree-dir out/doctrees docs out/site

figure: $(VENV)/.with-cli ## redraw the figure of the README
	$(VENV)/bin/swordplay reproduce --figure docs/figures/regret.svg

wheel: $(VENV)/.with-$(TESTED) ## build a wheel with machine code for this Python into dist (with PYTHON=... VENV=... for others)
	$(VENV)/bin/python tests/make_wheel.py

clean: ## remove the environments and everything that was made
	rm -rf .venv .venv-* out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .benchmarks
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp says that the environment is whole: an interrupted venv would have a python and no pip.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit("swordplay needs Python 3.11 or newer. Try: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	@$(RUN) pip --version > /dev/null
	@touch $@

# .with-x: the package itself (editable) with its extra x (or several: x,y), again whenever pyproject.toml or the pins change.
$(VENV)/.with-%: pyproject.toml $(CONSTRAINTS) $(VENV)/.made
	$(RUN) pip install --quiet --disable-pip-version-check $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS)) --editable '.[$*]'
	@touch $@
