# `make book` builds the site, `make test` runs every test. Each installs what it needs first.
PYTHON ?= python3
UV ?= uv
PORT ?= 8000

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SPHINX_STRICT := -n -W --keep-going --all

# One thread for each process: the tests and the book run several processes side by side, and matrices are small.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# SymPy's path through a simplification can depend on the order of sets.
export PYTHONHASHSEED ?= 0

.DEFAULT_GOAL := help
.PHONY: help install book test refresh serve pdf weigh claims sweep lock clean

help:
	@echo "make book      build the site, executing every chapter: _build/html/index.html"
	@echo "make test      run every test: style, library, notebooks, site"
	@echo "make refresh   rerun the notebooks in place; CHAPTER=experiments/mnist for one of them"
	@echo "make serve     show the built site on localhost (PORT=$(PORT))"
	@echo "make pdf       print the built site as one file: _build/book.pdf (needs chromium)"
	@echo "make weigh     list what each page of the built site weighs, heaviest first"
	@echo "make claims    write the claims page from book/claims.yml"
	@echo "make sweep     a small sweep on all cores; CLUSTER=tcp://host:8786 runs it on a Dask cluster"
	@echo "make install   create $(VENV) from requirements.lock"
	@echo "make lock      pin the dependencies of pyproject.toml anew (for maintainers, needs uv)"
	@echo "make clean     remove the built site and caches"

install: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "This book needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)."; \
		echo "Name another one like this: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@if [ ! -x $(BIN)/python ]; then \
		echo "Creating the environment in $(VENV) ..."; \
		$(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed; on Debian: apt-get install python3-venv"; exit 1; }; fi
	@echo "Installing the pinned packages of requirements.lock (once, a minute or two) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

book: $(STAMP)
	@echo "Building the site; every chapter is executed, which takes some minutes ..."
	$(BIN)/jupyter-book build . --path-output . $(SPHINX_STRICT)
	@echo "Done: _build/html/index.html (make serve shows it)."

test: $(STAMP)
	@echo "Checking style, then running the tests, the notebooks and the site build on 2 processes ..."
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -n 2 --dist loadscope --no-loadscope-reorder \
		--nbval --nbval-current-env --nbval-cell-timeout=120 tests book

refresh: $(STAMP)
	$(BIN)/python tools/refresh.py $(CHAPTER)

claims: $(STAMP)
	$(BIN)/python tools/claims.py

sweep: $(STAMP)
	$(BIN)/python tools/sweep.py $(if $(CLUSTER),--cluster $(CLUSTER))

serve: $(STAMP)
	@test -f _build/html/index.html || { echo "There is no site yet: run 'make book' first."; exit 1; }
	@echo "http://localhost:$(PORT)/  (Ctrl+C ends it)"
	@$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

pdf: $(STAMP)
	@test -f _build/html/index.html || { echo "There is no site yet: run 'make book' first."; exit 1; }
	$(BIN)/python tools/make_pdf.py

weigh: $(STAMP)
	@test -f _build/html/index.html || { echo "There is no site yet: run 'make book' first."; exit 1; }
	@$(BIN)/python tools/weigh.py

lock:
	@command -v $(UV) >/dev/null || { echo "make lock needs uv: pip install uv"; exit 1; }
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(UV) pip compile --quiet pyproject.toml --extra book --extra test --universal \
		--fork-strategy fewest --python-version 3.11 --no-annotate --no-emit-index-url --output-file requirements.lock

clean:
	rm -rf _build .pytest_cache .ruff_cache .hypothesis
