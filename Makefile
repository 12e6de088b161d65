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
.PHONY: help install run test test-proofs test-real test-pages test-bridges check docs client lock train bench bench-peers chaos simulate mutants mutants-map clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

run: $(VENV)/.run ## Start everything with sample conversations and keep serving (PORT=n, else 8080)
	@$(BIN)/agent-feedback up --sample $(if $(PORT),--port $(PORT))

install: $(VENV)/.dev ## Make .venv with everything that running, testing and checking needs

# An image may forbid bytecode; then each of the many processes would compile all modules again.
test test-proofs test-real test-pages test-bridges: export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/.dev ## Run the tests that need nothing but installed wheels
	@PATH="$$PATH:/usr/sbin:/usr/local/sbin"; command -v nginx >/dev/null \
	  || echo "Without nginx the tests of deploy/gateway.conf are skipped: apt-get install nginx-light"
	@command -v npm >/dev/null || echo "Without npm the tests of the TypeScript client are skipped: install Node 20"
	@echo "Running the tests (six to ten minutes) ..."
	@$(BIN)/pytest -q -m "not real and not browser and not bridges and not monitoring and not helm" -n 3 --dist worksteal tests

test-proofs: $(VENV)/.dev ## Test the fault injection, the simulation and the mutants, each with planted bugs
	@$(BIN)/pytest -q -m "not real" -n 2 --dist worksteal proofs

test-real: $(VENV)/.dev ## Run the tests on a real Kafka (Java comes as a wheel, Kafka's jars from Maven Central)
	@$(BIN)/pytest -q -m real -n 2 --dist loadfile

test-pages: $(VENV)/.dev ## Run the tests of the pages in Chromium
	@$(BIN)/pytest -q -m browser -n 2 --dist loadfile

test-bridges: $(VENV)/.dev ## Run examples and exports with Phoenix, MLflow, frameworks for agents, TRL and an S3 server (fetched into .agent-feedback/bridges, about 9 GB)
	@$(BIN)/pytest -q -m bridges tests/bridges tests/ports/test_reporting_mirror.py

.PHONY: test-monitoring
test-monitoring: $(VENV)/.dev ## Test the alert rules and the dashboard's queries on a real Prometheus
	@command -v promtool >/dev/null || { echo "Install Prometheus: apt-get install prometheus"; exit 1; }
	@$(BIN)/pytest -q -m monitoring tests/deploy/test_monitoring.py

HELM := .agent-feedback/helm/helm
$(HELM):
	@command -v go >/dev/null || { echo "Helm is built with Go: install Go 1.24 or later"; exit 1; }
	@echo "Building Helm (three minutes, once) ..."
	@GOBIN="$(CURDIR)/$(@D)" go install helm.sh/helm/v3/cmd/helm@v3.19.0

.PHONY: test-helm
test-helm: $(VENV)/.dev $(HELM) ## Render the Helm chart and compare it with the schemas of Kubernetes, and run oauth2-proxy (Go builds Helm, oauth2-proxy and an OpenID provider)
	@HELM="$(CURDIR)/$(HELM)" $(BIN)/pytest -q -m helm tests/deploy

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

.PHONY: test-install release
test-install: $(VENV)/.dev ## Build the distributions and the image's content, install them in clean environments and run them
	@PYTHON=$(PYTHON) deploy/test-install $(VENV)

release: $(VENV)/.dev ## Build everything that is published into dist/, with checksums and an SBOM; upload nothing
	@deploy/release $(VENV)

.PHONY: audit
audit: ## Compare the pinned versions with known vulnerabilities (needs the internet)
	@$(PYTHON) -m venv .agent-feedback/audit
	@.agent-feedback/audit/bin/python -m pip install -q --disable-pip-version-check pip-audit==2.10.1
	@.agent-feedback/audit/bin/pip-audit --strict --disable-pip --require-hashes -r requirements.txt -r requirements-dev.txt

.PHONY: format
format: $(VENV)/.dev ## Format the Python code, and fix what the linter can
	@$(BIN)/ruff check -q --fix-only .
	@$(BIN)/ruff format -q .

docs: $(VENV)/.dev ## Write what is made from the code: JSON schemas, docs/events.md, libs/contracts/asyncapi.json, docs/sources.md, the tables in docs/inference.md, the client's types, the schema of the Helm chart's values
	@$(BIN)/python -m docgen

.PHONY: site
site: $(VENV)/.dev ## Build the documentation as a site with search, and fail if a link leads nowhere
	@$(BIN)/python -m docgen.site $(BIN)/zensical .agent-feedback/site

client: ## Build the TypeScript client, and the widget that is built on it (needs Node 20 and npm)
	@cd clients/typescript && npm ci --silent && npm run --silent build && npm run --silent widget >thumbs.tmp
	@mv clients/typescript/thumbs.tmp services/feedback/widget/thumbs.min.js

bench: $(VENV)/.dev ## Measure and write benchmarks/results/latest.json
	@$(BIN)/python -m benchmarks

bench-peers: $(VENV)/.dev ## Measure judgements over HTTP beside Phoenix's annotations (fetched into .agent-feedback/bridges, about 1 GB)
	@$(BIN)/python -m benchmarks.peers

MINUTES ?= 2
chaos: $(VENV)/.dev ## Break things for MINUTES=n (SEED=s, RATE=events a second, EDGES=further faults) and prove that nothing is lost or doubled
	@$(BIN)/python -m proofs.chaos --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(RATE),--rate $(RATE)) $(if $(EDGES),--edges $(EDGES))

.PHONY: chaos-brokers
chaos-brokers: $(VENV)/.dev ## Break one or two of three replicated brokers for MINUTES=n (SEED=s, RATE=events a second) and prove the same
	@$(BIN)/python -m proofs.chaos brokers --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(RATE),--rate $(RATE))

SEEDS ?= 10000
simulate: $(VENV)/.dev ## Run SEEDS=n simulated histories of crashes, delays and reorderings
	@$(BIN)/python -m proofs.simulation --seeds $(SEEDS)

.PHONY: alarms
alarms: $(VENV)/.dev ## Simulate years of verdicts and print false alarms and reported drops of the alert rules
	@$(BIN)/python -m proofs.alarms

N ?= 60
mutants: $(VENV)/.dev .agent-feedback/mutants/map.json ## Break the code in N=n small ways, chosen by SEED=s, one at a time, and see if the tests notice (NAME=part of a path, FULL=1 all tests)
	@$(BIN)/python -m proofs.mutants -n $(N) $(if $(SEED),--seed $(SEED)) $(if $(NAME),--name $(NAME)) $(if $(FULL),--full)

mutants-map: $(VENV)/.dev ## Run the tests and record the lines that each one runs, for `make mutants` (TESTS=add only these)
	@$(BIN)/python -m proofs.mutants --record $(TESTS)

.agent-feedback/mutants/map.json:
	@$(MAKE) mutants-map

# The kit comes from this repository, so no index has its hash.
COMPILE = $(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
  --no-header --no-emit-package agent-feedback-kit
RUN_EXTRAS = --extra standalone --extra encoder --extra issues --extra artifacts --extra tracing
lock: ## Pin all dependencies with hashes (needs uv)
	@test -n "$(UV)" || { echo "Install uv first: pip install uv"; exit 1; }
	@$(COMPILE) --upgrade $(RUN_EXTRAS) pyproject.toml -o requirements.txt
	@$(COMPILE) $(RUN_EXTRAS) --group dev -c requirements.txt pyproject.toml -o requirements-dev.txt

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
