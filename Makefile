# Each verb sets up what it needs: a virtual environment in .venv, made once and again when the pins change.

PYTHON ?= python3
WORKERS ?= 2
DATA ?= $(MASKDIFF_DATA)
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# What checks in the browser whether everyone can use a page.
AXE := $(VENV)/node_modules/axe-core/axe.min.js

.DEFAULT_GOAL := help
.PHONY: help install demo test test-ray test-lowest browser check docs bench clean
.DELETE_ON_ERROR:

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-17s %s\n", $$1, $$2 }'

install: $(STAMP) ## create .venv and install maskdiff with its development tools

demo: $(STAMP) ## generate claims, find the odd ones, then learn from normal ones; with reasons
	$(BIN)/maskdiff demo $(ARGS)

# One thread per worker: two workers with a torch pool each would fight over the same cores; a third worker makes the
# suite slower. A worker takes tests that follow each other, so that fixtures of a module are mostly made once. Compiled
# files are kept even where that is switched off: every worker and every command that a test starts would compile all
# modules anew.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
test: $(STAMP) $(AXE) ## run the tests, doctests and the code in README and docs (ARGS="-k word")
	$(PYTEST) -n $(WORKERS) --dist worksteal --durations=25 -m "not ray" $(ARGS)
	$(TEST_RAY)

# On the one cluster of the process, which keeps all cores busy. Where ARGS choose tests, there may be none of these.
TEST_RAY = $(PYTEST) --durations=10 -m ray $(or $(ARGS),tests/distributed) $(if $(ARGS),|| test $$? = 5)
test-ray: $(STAMP) ## run only the tests that kill workers, drivers and nodes of a real Ray cluster
	$(TEST_RAY)

# The rooms that read data and learn, with the lowest versions of all libraries that pyproject.toml names. Left out are
# UUIDs in Arrow tables and whole numbers beyond any float, which fail with the lowest pyarrow and pandas.
LOWEST := tests/detectors/test_tables.py tests/encoders/table tests/io/test_csv.py tests/io/test_excel.py \
	tests/test_storage.py
test-lowest: ## run the tests of reading and learning with the lowest versions, in .venv-lowest
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --constraint constraints-lowest.txt \
		--editable . pytest pytest-xdist hypothesis sybil polars openpyxl
	OMP_NUM_THREADS=1 $(VENV)-lowest/bin/python -m pytest -n $(WORKERS) $(LOWEST) \
		-k 'not uuids and not test_infinite_values_at_fit' $(ARGS)

# The pages are tested in a real browser where there is one; without it those tests are skipped.
browser: $(AXE) ## install Chromium for the browser tests where this machine allows it (Debian, as root)
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
		|| echo 'no Chromium here and none could be installed: the browser tests will be skipped'

check: $(STAMP) docs ## ruff, mypy, who may import whom, spelling, and the guide
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict --num-workers $(WORKERS) src
	$(BIN)/lint-imports
	$(BIN)/codespell

# Strict: a link, a heading or a name that leads nowhere ends it. (--quiet would not count such warnings.)
docs: $(STAMP) ## build the guide into site/, to be read from the disk or put on a web server
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@! grep -rlE '<(script|img|iframe)[^>]* src="https?:|<link[^>]* href="https?://fonts' site --include='*.html' \
		|| { echo 'these pages fetch something from the network' >&2; exit 1; }
	@echo 'the guide: site/index.html'

bench: $(STAMP) ## measure the detectors on the data sets in DATA (make bench DATA=folder)
	@test -n "$(DATA)" || { echo 'make bench needs the folder with the data sets: make bench DATA=path/to/folder' \
		'(or set MASKDIFF_DATA)' >&2; exit 2; }
	$(BIN)/maskdiff bench tables --data "$(DATA)" --methods ours $(ARGS)

clean: ## remove .venv, caches and build outputs
	rm -rf $(VENV) $(VENV)-lowest build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf src/*.egg-info
	find src tests examples docs -name __pycache__ -type d -prune -exec rm -rf {} +

$(AXE): $(STAMP)
	@command -v npm >/dev/null && npm install --silent --no-audit --no-fund --prefix $(VENV) axe-core@4.14.0 >/dev/null \
		|| { echo 'no npm here: the tests with axe-core will be skipped'; mkdir -p $(@D); touch $@; }

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'maskdiff needs Python 3.11 or newer; name one with: make PYTHON=python3.11 ...' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable ".[dev,docs]"
	@# pip would compile one file after the other, for over a minute. Templates among the files cannot be compiled.
	-@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib >/dev/null
	@touch $@
