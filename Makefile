# Every target that runs Python first makes its own virtual environment in $(VENV).
# Needed beforehand: make and a Python >= 3.11 (choose one with `make PYTHON=/path/to/python ...`).
# Without a C++20 compiler, that of ziglang comes from PyPI.

VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
CANDIDATES := $(or $(PYTHON),python3.13 python3.12 python3.11 python3)
SUITABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
SOURCES = $(shell find native -name '*.h' -o -name '*.cpp')
SANITIZED_TESTS ?= tests/kernels tests/families tests/oracles
# The core is not compiled by pip but by native/build.py, which keeps what it has compiled.
PIP_OPTIONS := --quiet --disable-pip-version-check --config-settings=wheel.cmake=false \
    --config-settings=wheel.py-api= --config-settings=editable.mode=inplace
CACHES := .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.PHONY: help demo test quick test-browser test-checker test-cluster test-install test-lowest native sanitize lint format docs benchmarks clean clean-venv
.DEFAULT_GOAL := help

help:
	@echo "make demo        tune a clustering algorithm exactly, and show the result"
	@echo "make test        run the test suite and the examples in docstrings"
	@echo "make quick       run the tests that take about a minute"
	@echo "make native      compile what has changed in native/"
	@echo "make test-browser  look at a report in the system's chromium (chromium-driver)"
	@echo "make test-install  build a wheel, install it where nothing else is, and tune with it"
	@echo "make test-lowest   run the quick tests with the oldest packages that are admitted"
	@echo "make test-checker  test the checker of certificates, which is a program of its own"
	@echo "make test-cluster  tune on local clusters of Dask and Ray, and kill their workers"
	@echo "make docs        build the documentation in build/docs; a warning is an error"
	@echo "make sanitize    run the tests of the compiled core with sanitizers (g++)"
	@echo "make lint        ruff, clang-format, mypy and the import contract"
	@echo "make format      let ruff and clang-format sort imports and format the code"
	@echo "make benchmarks  run every script in benchmarks/"
	@echo "make clean       remove the environment, caches and build output"

demo: native
	$(BIN)/python -m certune.demo

test: native
	$(BIN)/python -m pytest -n auto --dist worksteal

quick: native
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

native: $(INSTALLED)
	$(BIN)/python native/build.py

test-browser: native
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group browser
	$(BIN)/python -m pytest browser -p no:cacheprovider

# The oldest releases that pyproject.toml admits, in an environment of their own.
test-lowest: native
	$(BIN)/python tools/lowest_versions.py > build/lowest.txt
	$(BIN)/python -m venv --clear build/lowest
	build/lowest/bin/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	build/lowest/bin/python -m pip install $(PIP_OPTIONS) --constraint build/lowest.txt --editable '.[dev]'
	build/lowest/bin/python -m pytest -m "not slow"

test-install: $(INSTALLED)
	$(BIN)/python tools/try_install.py

test-checker: native
	cd checker && "$(abspath $(BIN))/python" -m pytest

test-cluster: native
	$(BIN)/python -m pip install $(PIP_OPTIONS) --editable '.[dask,ray]'
	$(BIN)/python -m pytest cluster -p no:cacheprovider

docs: native
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs

# The runtime of the sanitizers must be there before Python is; exceptions need libstdc++ beside it.
# Python keeps what it has until it ends, which is no leak.
sanitize: $(INSTALLED)
	$(BIN)/python native/build.py --sanitize
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
	    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	    PYTHONPATH="$(CURDIR)/build/sanitized" \
	    $(BIN)/python -m pytest -p no:cacheprovider $(SANITIZED_TESTS)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(SOURCES)

benchmarks: native
	@set -e; \
	scripts='$(sort $(filter-out benchmarks/_%,$(wildcard benchmarks/*.py)))'; \
	if [ -z "$$scripts" ]; then echo "There is no script in benchmarks/." >&2; exit 1; fi; \
	for script in $$scripts; do echo "== $$script"; $(BIN)/python "$$script"; done

clean: clean-venv
	rm -rf build dist src/certune/*.so $(CACHES)
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +

clean-venv:
	rm -rf "$(VENV)"

# A Python that answers but lacks venv or ensurepip is passed over, as is a shim without a version.
# Groups of pyproject.toml need pip 25.1; an older Python brings an older one.
$(INSTALLED): pyproject.toml
	@set -e; \
	if ! "$(BIN)/python" -c '$(SUITABLE)' >/dev/null 2>&1; then \
	    base=; \
	    for candidate in $(CANDIDATES); do \
	        if "$$candidate" -c '$(SUITABLE)' >/dev/null 2>&1; then base=$$candidate; break; fi; \
	    done; \
	    if [ -z "$$base" ]; then \
	        echo "certune needs Python >= 3.11 with the venv and ensurepip modules." >&2; \
	        echo "Tried: $(CANDIDATES)." >&2; \
	        echo "Install one (Debian, Ubuntu: python3 and python3-venv), or name it:" >&2; \
	        echo "    make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; \
	        exit 1; \
	    fi; \
	    echo "Making $(VENV) with $$base ($$("$$base" -V))"; \
	    "$$base" -m venv --clear "$(VENV)"; \
	fi
	"$(BIN)/python" -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	"$(BIN)/python" -m pip install $(PIP_OPTIONS) --editable '.[dev]'
	@touch "$@"
