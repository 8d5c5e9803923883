# Every target does its own set-up. A fresh clone needs Python >= 3.11, make, and Go >= 1.26 (or KUBEBUILDER_ASSETS)
# for the control plane of the tests.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
JOBS   ?= 2
CRD       := crds/kvtier.dev_kvcachepools.yaml
REFERENCE := docs/reference/api.md
POD_TYPES := operator/kvtier/data/pod_types.yaml
export PYTHONPATH := operator:tests

.DEFAULT_GOAL := help
.PHONY: help demo test test-engine verify lint generate pod-types golden messages bench lock clean

help: ## Show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kvtier needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m testbed.progress "Installing Python packages into $(VENV), about 1 minute (requirements/dev.txt)." \
		$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY) ## Run a pool on a simulated GKE cluster (options: VERBOSE=1 KEEP=1)
	@$(BIN)/python -m testbed.demo $(if $(KEEP),--keep) $(if $(VERBOSE),--verbose)

test: $(READY) ## Run all tests (ARGS="tests/unit" runs only the unit tests)
	@$(BIN)/python -m testbed.control_plane.binaries
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

test-engine: $(READY) ## Test with the real vLLM and LMCache (7.4 GB in ~/.cache/kvtier)
	@$(BIN)/python -m engine.environment
	$(BIN)/python -m pytest tests/engine -n $(JOBS) $(ARGS)

verify: $(READY) lint ## Check style, types, layers and generated files
	@$(BIN)/kvtier crd | diff -u $(CRD) - || { echo "$(CRD) is out of date: make generate"; exit 1; }
	@$(BIN)/python -m kvtier.api.reference | diff -u $(REFERENCE) - || { echo "$(REFERENCE) is out of date: make generate"; exit 1; }
	@echo "verified"

lint: $(READY)
	$(BIN)/ruff check operator tests
	$(BIN)/ruff format --check operator tests
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/yamllint --strict .
	$(BIN)/hadolint Dockerfile
	@if command -v go >/dev/null; then test -z "$$(gofmt -l tests/testbed/go)" && $(BIN)/python -m testbed.control_plane.binaries vet; else echo "go is not installed: skipped go vet"; fi

generate: $(READY) ## Write the CRD and the API reference
	$(BIN)/kvtier crd > $(CRD)
	$(BIN)/python -m kvtier.api.reference > $(REFERENCE)

pod-types: $(READY) ## Read the types of a PodSpec from the API server of the tests
	@$(BIN)/python -m testbed.control_plane.binaries
	$(BIN)/python -m testbed.pod_types > $(POD_TYPES).new && mv $(POD_TYPES).new $(POD_TYPES)

# A changed Pod template restarts the engines of every user.
golden: $(READY) ## Update the expected manifests of the samples
	@for file in manifests/samples/*.yaml; do \
		$(BIN)/kvtier render -f $$file > tests/unit/plan/golden/$$(basename $$file); done

messages: $(READY) ## Write the page of all messages from what the unit tests see
	$(BIN)/python -m pytest -q tests/unit -p unit.messages --messages docs/reference/messages.md \
		--ignore tests/unit/test_messages.py

bench: $(READY) ## Measure performance; writes build/bench.json
	@$(BIN)/python -m bench $(ARGS)

lock: ENGINE := --quiet --python-version 3.11 --python-platform x86_64-manylinux_2_28 --generate-hashes --no-header
lock: $(READY) ## Update the locked dependencies
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --upgrade pyproject.toml --output-file requirements/runtime.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --upgrade --extra dev pyproject.toml --output-file requirements/dev.txt
	$(BIN)/uv pip compile $(ENGINE) --upgrade --overrides requirements/engine-overrides.in requirements/engine.in --output-file requirements/engine.txt
	$(BIN)/uv pip compile $(ENGINE) --no-deps requirements/engine-source.in --output-file requirements/engine-source.txt

clean: ## Remove .venv and build
	rm -rf $(VENV) build
