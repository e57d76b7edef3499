# Two commands matter: `make report` and `make test`. Both set up everything they need in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# What is imported is compiled then: a fifth of the time of an installation.
PIP := $(BIN)/python -m pip install --quiet --no-compile
SOURCES := pyproject.toml $(shell find pipeline sql -type f -not -name '*.pyc')
SAMPLE := data_samples

.PHONY: report sample explore dev quick check bounds test test-thorough test-all lint samples truth pictures site pages pins packages clean

report: $(VENV)/installed
	@$(BIN)/clickassay run --project $(SAMPLE)/clickassay.toml --out reports/sample --force

# What a reader looks at: its test makes the run again and compares.
SHOWN := summary.png $(addprefix tables/,$(addsuffix .csv,baselines click_models funnel health influence_queries \
  table1_statistics table2_correlations table2_noise_corrected))
sample: report
	rm -rf docs/sample && mkdir docs/sample
	cd reports/sample && cp $(SHOWN) ../../docs/sample && cat ../../docs/make/sample_head.txt summary.md > ../../docs/sample/report.md

explore: report
	$(BIN)/clickassay explore reports/sample

# Four answers, each with all that the one before it has: seconds, four minutes, a push, a night.
PYTEST := $(BIN)/pytest -n auto
ONE_ORACLE := tests/agreement/test_agreement.py::test_the_package_and_the_oracle_agree_on_messy_logs[0]
ONE_RUN := tests/commands/test_cli.py::test_a_run_ends_with_the_decision_the_ranking_its_health_and_the_place_of_the_report
ONE_CASE := tests/sql_cases/test_sql_cases.py::test_the_pattern_table_is_the_one_worked_out_by_hand[click_at_the_limit_of_time-duckdb]
CHECKED := tests/unit tests/sql_cases tests/project/test_house.py tests/project/test_promises.py \
  tests/project/test_sample_report.py "$(ONE_ORACLE)" "$(ONE_RUN)"

# One run, one SQL case, and the unit tests of the modules that changed and of all that import them.
quick: $(VENV)/installed $(VENV)/tools
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && PYTHONPATH=pipeline $(BIN)/lint-imports >/dev/null
	@tests=$$(PYTHONPATH=pipeline $(BIN)/python tests/support/affected.py) && \
	  $(PYTEST) --hypothesis-profile=quick "$(ONE_RUN)" "$(ONE_CASE)" $$tests

# Unit tests but the slow ones, SQL cases on DuckDB, five logs of the oracle, a whole run, the sample report.
check: $(VENV)/installed $(VENV)/tools lint
	$(PYTEST) --hypothesis-profile=quick -m "not spark and not slow" $(CHECKED)

# Everything but what is marked thorough.
test: $(VENV)/installed $(VENV)/tools lint
	$(PYTEST)

# The lowest and the newest versions that pyproject.toml allows run the sample.
bounds: $(VENV)/installed $(VENV)/tools
	$(BIN)/python tests/support/bounds.py

# What is marked thorough alone: with `make test` before it, everything.
test-thorough: $(VENV)/installed $(VENV)/tools
	$(PYTEST) --only-thorough

# Everything, and how much of the code it reaches.
test-all: $(VENV)/installed $(VENV)/tools lint
	$(PYTEST) --thorough --cov --cov-report=term --cov-fail-under=95

lint: $(VENV)/tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/sqlfluff lint --processes 2 sql
	PYTHONPATH=pipeline $(BIN)/lint-imports

# The wheel is what is installed and tested, never the tree.
$(VENV)/installed: $(VENV)/pinned $(SOURCES) README.md
	@rm -rf dist
	@$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@$(PIP) --no-deps --force-reinstall dist/clickassay-*.whl
	@touch $@

$(VENV)/pinned: requirements/run.txt requirements/build.txt
	@$(PYTHON) -c 'import sys; sys.exit("clickassay needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing pinned dependencies into $(VENV) ..."
	@$(PIP) --require-hashes -r requirements/build.txt -r requirements/run.txt
	@touch $@

$(VENV)/documents: $(VENV)/pinned requirements/docs.txt
	@$(PIP) --require-hashes -r requirements/docs.txt
	@touch $@

$(VENV)/tools: $(VENV)/pinned requirements/test.txt
	@$(PIP) --require-hashes -r requirements/test.txt
	@touch $@

# For those who work on the package: what is installed is this checkout, until the next `make report`.
dev: $(VENV)/pinned $(VENV)/tools
	$(PIP) --no-deps --no-build-isolation --editable .
	@rm -f $(VENV)/installed

samples: $(VENV)/installed
	$(BIN)/clickassay simulate --world web --actions --n-searches 100000 --n-queries 250 --seed 1 --out build/fresh
	mv build/fresh/* $(SAMPLE)/
	rm -r build/fresh
	$(BIN)/clickassay simulate --world web --n-searches 20000 --n-queries 250 --seed 1 --out build/fresh
	mv build/fresh/* $(SAMPLE)/inconclusive/

site: $(VENV)/installed $(VENV)/documents
	$(BIN)/python -m sphinx -q -W --keep-going -c docs/make -d build/doctrees . build/site
	@echo "Documents: build/site/index.html"

pages: report $(VENV)/tools
	$(BIN)/python docs/make/cli.py
	$(BIN)/python docs/make/settings.py
	$(BIN)/python docs/make/audit.py
	$(BIN)/python docs/make/glossary.py
	$(BIN)/python docs/make/health.py
	$(BIN)/python docs/make/tables.py
	$(BIN)/python docs/make/questions.py
	$(BIN)/python docs/make/sql.py
	$(BIN)/python docs/make/notebook.py

pictures: report $(VENV)/tools
	$(BIN)/python docs/make/pictures.py

truth: $(VENV)/installed
	$(BIN)/python -m benchmarks.promises.truth

# Extras stay in the pins: pip before 23.3 does not apply the pin of a package to the package with an extra.
COMPILE := uv pip compile -q --universal --generate-hashes --no-strip-extras --python-version 3.11
EVERY := --extra cloud --extra lake --extra spark --group test
pins:
	$(COMPILE) pyproject.toml -o requirements/run.txt
	$(COMPILE) pyproject.toml --group docs -c requirements/run.txt -o requirements/docs.txt
	$(COMPILE) pyproject.toml --extra spark -c requirements/docs.txt \
	  -c requirements/constraints.in -o requirements/spark.txt
	$(COMPILE) pyproject.toml $(EVERY) -c requirements/docs.txt -c requirements/spark.txt -o requirements/test.txt
	printf 'hatch-fancy-pypi-readme>=25.1\nhatchling>=1.27\n' | $(COMPILE) - -c requirements/test.txt -o requirements/build.txt

# What a release publishes.
packages: $(VENV)/installed $(VENV)/tools
	$(BIN)/python -m hatchling build -t sdist -d dist

clean:
	rm -rf $(VENV) dist build .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis
