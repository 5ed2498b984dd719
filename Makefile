# The one door for developers: `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LIGHT := .venv-light
SPARK ?= 3.5.7 4.2.0
# Where it is set, every start of a program would compile it anew, which no user's does.
unexport PYTHONDONTWRITEBYTECODE
# What needs nothing beyond the extra test-light, but for the tests in it that are marked `extras`.
FAST := tests/unit tests/property tests/golden tests/contract/test_connectors.py $(wildcard tests/test_*.py)
# The tests of a file stay together: what they share is made once. Not for Spark, which takes all cores as it is.
SIDE_BY_SIDE := -n auto --dist loadfile

.PHONY: help demo test dev lint golden samples test-fast test-no-spark test-property test-spark kafka-truth fuzz bench docs sweep accuracy clean test-apply test-crash test-storage package lock changelog coherence

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

dev: $(BIN)/.installed ## make the virtual environment with everything the tests need

$(BIN)/.installed: EXTRA := dev
$(BIN)/.installed: LOCK := dev.lock
$(BIN)/.installed: dev.lock
$(LIGHT)/bin/.installed: EXTRA := test-light

%/bin/.installed: setup.cfg pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ckpttool needs Python 3.11 or later; try make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $*
	$(if $(LOCK),$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK))
	$*/bin/python -m pip install --quiet --disable-pip-version-check --config-settings editable_mode=compat -e '.[$(EXTRA)]'
	@touch $@

demo: dev ## a guided tour over a sound, a crashed and a damaged checkpoint, and a real job that is killed
	$(BIN)/python -m tests.parts.spark 4.2.0 --jars
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash docs/demo.sh

lint: dev ## ruff, mypy over code and tests, names of changelog entries
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@$(BIN)/towncrier build --draft --version next > /dev/null 2>&1 || $(BIN)/towncrier build --draft --version next

# Thousands of small files, many of them flushed: in memory they take half of the time. All together are 4 GB.
MEMORY = $(shell df --output=avail /dev/shm 2> /dev/null | awk 'NR == 2 && $$1 > 8000000 { print "/dev/shm" }')
test-fast test-no-spark: export TMPDIR := $(or $(TMPDIR),$(MEMORY))
test-fast: $(LIGHT)/bin/.installed ## unit, property, golden, docs, connectors: a minute, in an environment of its own with little in it
	$(LIGHT)/bin/pytest -m 'not extras' $(SIDE_BY_SIDE) $(FAST)

test-no-spark: dev ## all tests that need no Spark: the same, and state, stores, recorded restarts, a Kafka that hesitates
	$(BIN)/pytest -m 'not spark and not crash and not at_length and not storage' $(SIDE_BY_SIDE)

package: dev ## build sdist and wheel, check them, and try the wheel in an empty environment
	rm -rf dist
	$(BIN)/python -m build --quiet --outdir dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/python -m tests.package dist
	$(BIN)/python -m tests.bill > dist/ckpttool.cdx.json

lock: dev ## choose the newest versions that setup.cfg allows for what developers install, and write dev.lock
	$(BIN)/uv pip compile setup.cfg --extra dev --universal --python-version 3.11 --generate-hashes --upgrade \
	    --no-annotate --quiet --custom-compile-command 'make lock' --output-file dev.lock

# Sparks and jars are fetched while the tests run that need none: what the network takes is not waited for.
test: dev ## everything that gates; installs the Sparks it compares with
	@$(BIN)/python -m tests.parts.spark $(SPARK) --jars & sparks=$$!; trap 'kill $$sparks 2> /dev/null' EXIT; \
	$(MAKE) --no-print-directory lint package test-no-spark && wait $$sparks
	$(BIN)/pytest -m 'spark and not crash and not at_length and not storage'

test-property: dev ## the laws, over many more inputs
	HYPOTHESIS_PROFILE=thorough $(BIN)/pytest tests/property

test-spark: dev ## differential tests against the Sparks in SPARK="3.5.7 4.2.0"
	$(BIN)/python -m tests.parts.spark $(SPARK) --jars
	$(BIN)/pytest -m 'spark and not storage'

kafka-truth: dev ## hold what is said of Kafka sources against SPARK="3.4.4 4.0.0 4.0.4 4.1.3" too
	$(BIN)/python -m tests.parts.spark $(SPARK) --jars
	$(BIN)/python -m tests.differential.test_kafka_vs_spark --spark $(SPARK)

test-apply: dev ## kill apply and undo at every operation, twice too, and start Spark on what is there: an hour
	$(BIN)/python -m tests.parts.spark $(SPARK) --jars
	$(BIN)/pytest tests/apply

test-crash: dev ## crash every scenario at every point: the main tier, about an hour (SCENARIOS="..." for some)
	$(BIN)/python -m tests.parts.spark $(SPARK) --jars
	$(BIN)/pytest -m crash
	$(BIN)/python -m tests.crash.main $(SCENARIOS) --spark $(SPARK)

test-storage: dev ## every store of objects at length, HDFS with Kerberos (needs MIT's), another S3 (needs Go), Spark writing
	$(BIN)/python -m tests.parts.kerberos
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --config-settings editable_mode=compat -e '.[kerberos]'
	$(BIN)/python -m tests.parts.spark 3.5.7 4.2.0
	$(BIN)/python -m tests.parts.hdfs
	$(BIN)/python -m tests.parts.versity
	$(BIN)/pytest -m storage

sweep: dev ## record CASES=510 restarts of damaged checkpoints for SPARK=4.2.0, and write docs/accuracy.md
	$(BIN)/python -m tests.parts.spark $(SPARK) --jars
	for version in $(SPARK); do $(BIN)/python -m tests.differential.sweep.run --spark $$version --limit $(or $(CASES),510) || exit 1; done
	$(BIN)/python -m tests.differential.sweep.accuracy

accuracy: dev ## judge all recorded restarts anew, and write docs/accuracy.md
	$(BIN)/python -m tests.differential.sweep.accuracy

coherence: dev ## hold the commands against each other on every recorded restart, and shorten the list of known misses
	$(BIN)/pytest tests/coherence $(SIDE_BY_SIDE)
	$(BIN)/python -m tests.coherence.misses

fuzz: dev ## whole commands over hostile checkpoints, and parsers led by coverage, for SECONDS=3600 (SEED=1)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --config-settings editable_mode=compat -e '.[fuzz]'
	seconds=$(or $(SECONDS),3600) seed=$(or $(SEED),1); \
	$(BIN)/python -m tests.fuzz.parsers --guided --seconds $$seconds --seed $$seed & guided=$$!; \
	$(BIN)/python -m tests.fuzz.commands --seconds $$seconds --seed $$seed; ended=$$?; \
	wait $$guided && exit $$ended

golden: dev ## rewrite the golden files; review the diff
	REWRITE_GOLDEN=1 $(BIN)/pytest tests/golden -q

samples: dev ## remake sample_checkpoints/ from real Spark (NAMES="..." for some)
	$(BIN)/python -m tests.samples.make $(NAMES)

docs: dev ## rewrite the generated parts of docs/
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/generate_rules.py
	$(BIN)/python docs/generate_runbooks.py

changelog: dev ## show what the next release would tell; GATHER=yes writes it into CHANGELOG.md
	@$(BIN)/towncrier build $(if $(GATHER),--yes,--draft) --version $$($(BIN)/python -c 'import ckpttool; print(ckpttool.__version__)')

bench: dev ## measure start-up, growth, memory, and reading state beside Spark 4.2.0, as ratios; write docs/performance.md
	$(BIN)/python -m tests.parts.spark 4.2.0
	$(BIN)/python -m benchmarks; ended=$$?; $(BIN)/python -m benchmarks.state_vs_spark && exit $$ended

clean: ## remove what these targets made
	rm -rf $(VENV) $(LIGHT) .tox dist .hypothesis .mypy_cache .ruff_cache
