# Thin wrappers: each target makes sure of set-up, then hands over to one command that can be
# typed by hand as well. `make` alone prints the list below. Needs Python 3.11+.
#
# Variables: OUT (where `make verify` writes), JOBS (parallel test processes), ARGS (passed on to
# the command behind the target), PYTHON (the interpreter that set-up builds .venv from), SPARK (the
# versions of it to try).

OUT   ?= runs/verify
JOBS  ?= 3
ARGS  ?=
SPARK ?= 4.0.5 4.3.0

BIN := .venv/bin
# Where this variable is set, as in many containers, each process compiles all our modules anew:
# half of what a short command costs. To Python, empty is not set.
export PYTHONDONTWRITEBYTECODE :=
# A test that hangs is named, with what each thread does, before a CI server ends the suite.
TESTS = $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -o faulthandler_timeout=600
# What exists of our packages, so that lint covers a new one from its first file.
CODE := $(wildcard kraftcheck tla_utils reference specs traces tests benchmarks tools \
	experiments finds)
# The type checker follows the links in kraftcheck/; by their own paths it would see files twice.
TYPED := $(filter-out reference specs traces,$(CODE))

# Tests of one module each, without another program.
LAYERS := $(addprefix quorum/,. voters snapshots) $(addprefix groups/,. commits classic) \
    $(addprefix partition/,. reassignment moving directories hosting compaction) \
    $(addprefix shares/,. sessions sharegroup)
HANDLERS := $(addprefix tests/reference/,. kit clients $(LAYERS) transactions controllers cluster)
UNITS := $(wildcard $(addsuffix /test_*.py,$(HANDLERS))) $(addprefix tests/,osutil tla_utils \
    traces/checkers traces/formats kafka/observed traces/report quality/test_docs.py \
    quality/test_import_ladder.py quality/test_tidy.py)

.DEFAULT_GOAL := help
.PHONY: help setup verify check test test-slow test-acceptance test-kafka spec spec-medium chaos
.PHONY: bugs bugs-full kafka bench lint format docs answers size prove lock detection
.PHONY: cluster interceptor site spark-versions mutate-checkers attack clean distclean

help: ## print every target with its one-line help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## make .venv and check Java (under a second when done already)
	@tools/setup.sh

verify: setup ## the main job: models, faulty runs, conformance, a planted bug (OUT=dir)
	@$(BIN)/kraftcheck verify --out $(OUT) $(ARGS)

# Its tests keep a processor busy, where those that start TLC wait for it.
check: JOBS := 2
check: lint ## lint, types, tidiness and unit tests, in a minute (JOBS=n)
	@$(TESTS) -q $(UNITS) -m "not (slow or tlc or spark or kafka)" $(ARGS)

test: setup ## the test-suite, but for the next three (JOBS=n, ARGS="-k name")
	@$(TESTS) -m "not (slow or acceptance or kafka)" $(ARGS)

test-slow: setup ## the tests that take over three seconds each
	@$(TESTS) -m "slow and not (acceptance or kafka)" $(ARGS)

test-acceptance: setup ## the tests that install the kit, and type what its documents show
	@$(TESTS) -m "acceptance" $(ARGS)

test-kafka: setup ## the tests that drive Apache Kafka's own classes; Maven fetches them
	@$(TESTS) -m "kafka" $(ARGS)

spec: setup ## check the small TLA+ models with TLC (ARGS="--out DIR")
	@$(BIN)/kraftcheck spec check --tier small $(ARGS)

spec-medium: setup ## check the medium TLA+ models (minutes)
	@$(BIN)/kraftcheck spec check --tier medium $(ARGS)

chaos: setup ## search for schedules that break a promise (CHAOS_MINUTES=10)
	@$(BIN)/python -m pytest --hypothesis-profile=chaos $(ARGS)

detection: setup ## how soon chaos finds each bug: docs/measured/detection.md (hours, resumable)
	@$(BIN)/python -m tests.stateful.measure_detection $(ARGS)

mutate-checkers: setup ## change the checks point by point: does a test notice? (hours, resumable)
	@$(BIN)/python -m tests.mutation.search --jobs $(JOBS) $(ARGS)

attack: setup ## attack the kit with a seed of your own (ARGS="--seed 7"; hours for all)
	@$(BIN)/python -m tests.mutation.attack $(ARGS)

bugs: setup ## have each known bug found again by each oracle, as stored (minutes)
	@$(BIN)/kraftcheck bugs run --stored $(ARGS)

bugs-full: setup ## TLC from the beginning, then campaigns: runs to detection (hours, resumable)
	@$(BIN)/kraftcheck spec check --tier bugs
	@$(BIN)/kraftcheck bugs campaigns --store $(ARGS)

prove: setup ## prove the invariants by induction, for 3 and 5 nodes (minutes)
	@$(BIN)/kraftcheck prove --nodes 3 $(ARGS)
	@$(BIN)/kraftcheck prove --nodes 5 --budget 300 $(ARGS)

kafka: setup ## fetch Apache Kafka for real clusters, and check its hashes
	@$(BIN)/kraftcheck cluster fetch $(ARGS)

interceptor: ## build and test the jar that records Java applications
	@cd kraftcheck/kafka/live/interceptor && mvn -q -B package $(ARGS) && cp target/*.jar $(CURDIR)

bench: setup ## the published figures, measured now (ARGS="NAME ..." for another)
	@$(BIN)/python -m benchmarks $(ARGS)

cluster: setup ## Spark on loopback, for --master spark://127.0.0.1:7077 (Ctrl-C ends it)
	@$(BIN)/python -m kraftcheck.standalone

spark-versions: setup ## the tests on other versions of Spark (SPARK="4.0.5 4.3.0")
	@tools/spark_versions.sh $(SPARK)

lint: setup ## ruff (rules and format) and mypy in strict mode
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/mypy $(TYPED)

format: setup ## rewrite the code in the one format and sort imports
	@$(BIN)/ruff check --select I --fix --quiet $(CODE)
	@$(BIN)/ruff format $(CODE)

docs: setup ## write the generated tables of the documentation again
	@$(BIN)/python -m kraftcheck.docs

site: setup ## build the documentation's site into build/site; a broken link fails
	@$(BIN)/uv run --quiet --isolated --no-project --with-requirements requirements/site.txt \
	    python tools/site.py

size: ## count lines by kind (ARGS=REVISION ...: there)
	@python3 -m tools.size $(ARGS)

answers: setup ## have TLC answer what tests ask of changed models (ARGS=--again: all)
	@$(BIN)/python -m tests.specs $(ARGS)

lock: setup ## resolve requirements/*.txt again (ARGS=--upgrade for newer versions)
	@tools/lock.sh $(ARGS)

clean: ## remove caches and build output; .venv and runs/ stay
	@rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache states
	@find . -path ./.venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## clean, and remove .venv too; runs/ and the failures Hypothesis saved stay
	@rm -rf .venv .setup.lock
