# The commands of the project. All of them work from a fresh clone, and nothing is done twice.
#
#   make quickstart   fit a network to a Gaussian process and compare it with the exact answer
#   make test         lint and the fast tests          make test-slow   the statistical tests of minutes
#   make lint         format, style, types, imports    make format      put the format right
#   make setup        all extras and the development tools in .venv
#   make docs         the documentation site, in docs/_build/html
#   make studies      the figures of the paper (studies/README.md); hours, and goes on where it was stopped

PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq -c constraints.txt

# Nothing of another environment may leak in: neither packages that hide a missing dependency, nor pip's targets.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PIP_TARGET PIP_PREFIX PIP_REQUIRE_VIRTUALENV
# Many tests start an interpreter, which would compile the library anew without its bytecode.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONNOUSERSITE := 1
export PIP_USER := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PATH := $(subst $(CURDIR)/$(BIN):,,$(PATH))

# A .venv is sound if it was made here (not moved or copied along), is closed to the system's packages, and its
# Python starts and is new enough. Any other is made anew.
SOUND := $(shell grep -qsF '$(CURDIR)/$(BIN)/python' $(BIN)/pip \
	&& grep -qs 'include-system-site-packages = false' $(VENV)/pyvenv.cfg \
	&& $(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo yes)

.PHONY: quickstart setup test lint format test-slow docs studies renew
.DEFAULT_GOAL := test

quickstart: $(VENV)/.core
	$(BIN)/priorfit quickstart

setup: $(VENV)/.setup

test: lint
	OMP_NUM_THREADS=1 MPLBACKEND=Agg $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test-slow: setup
	OMP_NUM_THREADS=1 MPLBACKEND=Agg $(BIN)/python -m pytest -n $(WORKERS) -m slow

docs: setup
	MPLBACKEND=Agg $(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

STUDIES := gp_density gp_gallery neural_process head_ablation gp_nll_vs_n gp_hyper_priors gp_hyper_priors_5d bnn_time_vs_nll bayesian_optimisation tabular kinds latents
studies: setup
	set -e; for study in $(STUDIES); do MPLBACKEND=Agg $(BIN)/python studies/$$study.py; done

lint: setup
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/basedpyright
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

# The stamps lie inside .venv and vanish with it. `setup` contains what `quickstart` needs, so it sets both.
$(VENV)/.core: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	@echo "Installing priorfit with its plots into $(VENV): a few minutes the first time."
	$(INSTALL) -e '.[plots]'
	@touch $@

$(VENV)/.setup: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	@echo "Installing priorfit with all extras and the tools into $(VENV): a few minutes the first time."
	$(INSTALL) -e '.[all,dev]'
	@touch $(VENV)/.core $@

renew:

$(VENV)/pyvenv.cfg: $(if $(SOUND),,renew)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "priorfit needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>/dev/null || echo missing)." >&2; \
		echo "Name another one: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
