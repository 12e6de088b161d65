# The two commands a newcomer needs are `make run` and `make test`; both set up what is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
export UV_PYTHON_DOWNLOADS := never
ifdef UV
  NEW_VENV := $(UV) venv -q --python $(PYTHON) --allow-existing $(VENV)
  INSTALL := $(UV) pip install -q --python $(BIN)/python
else
  NEW_VENV := $(PYTHON) -m venv $(VENV)
  INSTALL := $(BIN)/python -m pip install -q --disable-pip-version-check
endif

.DEFAULT_GOAL := help
.PHONY: help run test check format docs stress install test-install release client lock bench clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

run: $(VENV)/.run ## Start everything with sample conversations and keep serving (PORT=n, else 8080)
	@$(BIN)/agent-feedback up --sample $(if $(PORT),--port $(PORT))

TESTS_main = -m "not real and not browser and not bridges and not monitoring and not helm" -n 3 --dist worksteal tests
TESTS_proofs = -m "not real" -n 2 --dist worksteal proofs
TESTS_kafka = -m real -n 2 --dist loadfile
TESTS_pages = -m browser -n 2 --dist loadfile
TESTS_bridges = -m bridges tests/bridges tests/stores/test_reporting_mirror.py
TESTS_monitoring = -m monitoring tests/release
TESTS_helm = -m helm tests/release
HELM := .agent-feedback/helm/helm
# An image may forbid bytecode; then each of the many processes would compile all modules again.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(VENV)/.dev $(if $(filter helm,$(ONLY)),$(HELM)) ## Run the tests that need nothing but installed wheels (ONLY=kafka, pages, proofs, helm, monitoring or bridges: those)
	@PATH="$$PATH:/usr/sbin:/usr/local/sbin"; command -v nginx >/dev/null \
	  || echo "Without nginx the tests of deploy/gateway.conf are skipped: apt-get install nginx-light"
	@command -v npm >/dev/null || echo "Without npm the tests of the TypeScript client are skipped: install Node 20"
	@HELM="$(CURDIR)/$(HELM)" $(BIN)/pytest -q $(or $(TESTS_$(or $(ONLY),main)),$(error no such tests: $(ONLY)))

$(HELM):
	@command -v go >/dev/null || { echo "Helm is built with Go: install Go 1.24 or later"; exit 1; }
	@echo "Building Helm (three minutes, once) ..."
	@GOBIN="$(CURDIR)/$(@D)" go install helm.sh/helm/v3/cmd/helm@v3.19.0

check: $(VENV)/.dev ## Lint, types, import rules, exported schemas and docs, the compose file
	@$(BIN)/ruff check -q .
	@$(BIN)/ruff format -q --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports >/dev/null || $(BIN)/lint-imports
	@$(BIN)/python -m docgen --check
	@$(BIN)/check-jsonschema -q --builtin-schema vendor.compose-spec deploy/compose.yaml deploy/compose.override.example.yaml
	@commit=$$(sed -n 's/.*"commit": "\(.*\)".*/\1/p' benchmarks/results/latest.json); \
	 age=$$(git rev-list --count "$$commit..HEAD" -- libs services 2>/dev/null || echo 0); \
	 [ "$$age" -le 200 ] || echo "The figures of benchmarks/results/latest.json are $$age commits of the product old: run make bench."
	@echo "All checks passed."

format: $(VENV)/.dev ## Format the Python code, and fix what the linter can
	@$(BIN)/ruff check -q --fix-only .
	@$(BIN)/ruff format -q .

docs: $(VENV)/.dev ## Write what is made from the code: docs/events.md, libs/contracts/asyncapi.json, the client's types, the schema of the Helm chart's values
	@$(BIN)/python -m docgen

MINUTES ?= 2
SEEDS ?= 1000
stress: $(VENV)/.dev ## Recount 500 channels, simulate SEEDS=n histories, then break real parts for MINUTES=n (SEED=s, RATE=events a second, FAULTS=kinds), and prove that nothing is lost or doubled
	@EXCHANGE_CHANNELS=500 $(BIN)/pytest -q tests/stores/test_reporting_exchanges.py -k recount_of_channels
	@$(BIN)/python -m proofs.simulation --seeds $(SEEDS)
	@$(BIN)/python -m proofs.chaos --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(RATE),--rate $(RATE)) $(if $(FAULTS),--faults $(FAULTS))

install: $(VENV)/.dev ## Make .venv with everything that running, testing and checking needs

test-install: $(VENV)/.dev ## Build the distributions and the image's content, install them in clean environments and run them
	@PYTHON=$(PYTHON) deploy/test-install $(VENV)

release: $(VENV)/.dev ## Build everything that is published into dist/, with checksums and an SBOM; upload nothing
	@deploy/release $(VENV)

client: ## Build the TypeScript client, and the widget that is built on it (needs Node 20 and npm)
	@cd clients/typescript && npm ci --silent && npm run --silent build && npm run --silent widget >thumbs.tmp
	@mv clients/typescript/thumbs.tmp services/feedback/widget/thumbs.min.js

bench: $(VENV)/.dev ## Measure and write benchmarks/results/latest.json
	@$(BIN)/python -m benchmarks

# The kit comes from this repository, so no index has its hash.
COMPILE = $(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
  --no-header --no-emit-package agent-feedback-kit
RUN_EXTRAS = --extra standalone --extra encoder --extra issues --extra artifacts --extra tracing
lock: ## Pin all dependencies with hashes, and compare them with known vulnerabilities (needs uv and the internet)
	@test -n "$(UV)" || { echo "Install uv first: pip install uv"; exit 1; }
	@$(COMPILE) --upgrade $(RUN_EXTRAS) pyproject.toml -o requirements.txt
	@$(COMPILE) $(RUN_EXTRAS) --group dev -c requirements.txt pyproject.toml -o requirements-dev.txt
	@$(UV) tool run --from pip-audit==2.10.1 pip-audit --strict --disable-pip --require-hashes -r requirements.txt -r requirements-dev.txt

clean: ## Remove the environment and the local state
	@rm -rf $(VENV) .agent-feedback

$(VENV)/.venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or later is needed; say which with PYTHON=..."; exit 1; }
	@echo "Making an environment in $(VENV) ..."
	@$(NEW_VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.venv requirements.txt pyproject.toml libs/agentkit/pyproject.toml
	@echo "Installing agent-feedback (about a minute the first time) ..."
	@$(INSTALL) --require-hashes -r requirements.txt
	@$(INSTALL) --no-deps -e libs/agentkit -e .
	@$(BIN)/agent-feedback encoder >/dev/null || echo "Going on without it: requests are compared by words."
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.txt
	@echo "Installing what tests and checks need ..."
	@$(INSTALL) --require-hashes -r requirements-dev.txt
	@touch $@
