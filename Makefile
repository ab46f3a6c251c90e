# Everything a fresh clone needs: `make demo` builds and runs the main job, `make test` runs the whole test suite.
#
# Needed beforehand: git, make, a C++17 compiler, CPython 3.10-3.13 with venv and headers (on Debian and Ubuntu:
# python3-venv and python3-dev). Everything else is installed into .venv*/; ccache and lld are used where present.
#
#   PYTHON=python3.12   another interpreter (each has its own environment and build folder)
#   TORCH=none          do not install torch; the tests that need it are skipped

PYTHON ?= python3
TORCH ?= auto
PYTEST_ARGS ?=

# The tag keeps interpreters apart. An environment that is already active is not touched.
TAG := $(shell $(PYTHON) -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
ifeq ($(TAG),)
$(error $(PYTHON) was not found; set PYTHON=/path/to/python)
endif
VENV ?= .venv-$(TAG)
BUILD ?= build-wheel/$(TAG)
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
STAMPS := $(VENV)/stamps

# What the built package depends on. The sources themselves are left to CMake, which runs every time and is quick when
# nothing changed.
.PHONY: help demo test build wheel lint format docs clean distclean test-lit test-python
.DEFAULT_GOAL := help

help:
	@echo "make demo    build, then compile and run the main job on this machine"
	@echo "make test    build, then run the whole test suite"
	@echo "make build   build and install into $(VENV)"
	@echo "make wheel   build a wheel for $(PYTHON) into dist/"
	@echo "make lint    ruff, mypy and clang-format; make format corrects what they can"
	@echo "make docs    regenerate the dialect and pass reference"
	@echo "make clean   remove the build folder; distclean also removes the environment"

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; assert (3, 10) <= sys.version_info[:2] < (3, 14), sys.version' \
	  || { echo "tilemlir needs CPython 3.10-3.13; set PYTHON=..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	  || { echo "no virtual environment could be made; on Debian and Ubuntu install python3-venv and python3-dev"; exit 1; }
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/requirements: $(STAMPS)/venv pyproject.toml cmake/build_requirements.py
	@# The pip of Debian 12 and of older CPython releases does not know -C.
	$(PIP) install --quiet --upgrade "pip>=23.1"
	$(BIN)/python cmake/build_requirements.py test cuda > $(VENV)/requirements.txt
	$(PIP) install --quiet -r $(VENV)/requirements.txt
	@touch $@

# The CPU build of torch is a small download where an index offers it; elsewhere the default build serves.
$(STAMPS)/torch: $(STAMPS)/requirements
ifeq ($(TORCH),none)
	@echo "TORCH=none: the tests that need torch will be skipped"
else
	@$(PIP) install --quiet "torch==2.13.0+cpu" 2>/dev/null || $(PIP) install --quiet "torch>=2.4" \
	  || echo "torch could not be installed: the tests that need it will be skipped"
	@touch $@
endif

build: $(STAMPS)/requirements
	TILEMLIR_ENABLE_TESTS=ON $(PIP) install --quiet --no-build-isolation --no-deps --force-reinstall \
	  -Cbuild-dir=$(BUILD) .

demo: build
	$(BIN)/python examples/gemm.py

test: test-lit test-python

test-lit: build
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake --build $(BUILD) --target check-tilemlir

test-python: build $(STAMPS)/torch
	TILEMLIR_BUILD_DIR="$(CURDIR)/$(BUILD)" $(BIN)/python -m pytest $(PYTEST_ARGS)

wheel: $(STAMPS)/requirements
	$(PIP) wheel --quiet --no-build-isolation --no-deps -Cbuild-dir=$(BUILD) --wheel-dir dist .
	@ls -l dist

# Needs nothing that was built. `test` for what the checked files import.
$(STAMPS)/lint: $(STAMPS)/venv pyproject.toml cmake/build_requirements.py
	$(BIN)/python cmake/build_requirements.py --no-build lint test > $(VENV)/lint-requirements.txt
	$(PIP) install --quiet -r $(VENV)/lint-requirements.txt
	@touch $@

lint: $(STAMPS)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	git ls-files '*.cpp' '*.h' | xargs $(BIN)/clang-format --dry-run --Werror

format: $(STAMPS)/lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	git ls-files '*.cpp' '*.h' | xargs $(BIN)/clang-format -i

docs: build
	$(BIN)/python docs/generate.py

clean:
	rm -rf $(BUILD)

distclean: clean
	rm -rf $(VENV)
