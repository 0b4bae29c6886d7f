# Verbs of the project; `make help` lists them. Every target puts the project's own Node 24 first on the PATH.
SHELL := /bin/bash
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
NODE := node --no-warnings
.DEFAULT_GOAL := help
.PHONY: help run test check format bench chaos fuzz outage example account docs

help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

# npm comes with the machine's Node; the package `node` then brings Node 24 into node_modules/.bin.
node_modules/.installed: package.json package-lock.json
	npm ci --no-fund --no-audit --loglevel=error
	@touch $@

run: node_modules/.installed ## start everything and take the tour (PROCESSORS=2, TOUR=0, PORT=8080, FRESH=1, STACK=containers|processes)
	@exec $(NODE) deploy/local/run.ts

test: node_modules/.installed ## all tests, on real Kafka, Postgres, Redis and registry (ONLY=path to run some; STACK=containers for the integration tests over containers)
	@$(NODE) test/run.ts $(ONLY)

check: node_modules/.installed ## format, lint, types, generated pages
	@oxfmt --check .
	@oxlint --deny-warnings
	@tsc --noEmit
	@for page in connectors errors status-table; do $(NODE) docs/write-$$page.ts --check || exit 1; done

format: node_modules/.installed ## write the format that check wants
	@oxfmt --write .

bench: node_modules/.installed ## measure, side by side, verified: SUITE=product|latency|neighbours|connectors|http|matrix|all for more; writes test/bench/latest.json
	@SUITE="$(SUITE)" $(NODE) test/bench/bench.ts

chaos: node_modules/.installed ## break everything under load and count: MINUTES=20 SEED=7 (RATE=11000); writes test/chaos/latest.json
	@MINUTES="$(MINUTES)" SEED="$(SEED)" RATE="$(RATE)" $(NODE) test/chaos/run.ts

fuzz: node_modules/.installed ## requests that nobody means, and Schemathesis: REQUESTS=100000 SEED=7 EXAMPLES=60
	@REQUESTS="$(REQUESTS)" SEED="$(SEED)" EXAMPLES="$(EXAMPLES)" $(NODE) test/fuzz/run.ts

outage: node_modules/.installed ## ten minutes of load without control plane, Postgres and Redis: MINUTES=10
	@MINUTES="$(MINUTES)" $(NODE) test/chaos/outage.ts

example: node_modules/.installed ## the contract's example at full size, processors killed on the way: ROWS=1000000 KILLS=10
	@ROWS="$(ROWS)" KILLS="$(KILLS)" $(NODE) test/chaos/contract-example.ts

docs: node_modules/.installed ## write the generated pages: error table, status table, connectors
	@$(NODE) docs/write-errors.ts
	@$(NODE) docs/write-status-table.ts
	@$(NODE) docs/write-connectors.ts

account: node_modules/.installed ## make an account and key: NAME=… TYPE=developer|professional|enterprise, with the control plane's environment
	@$(NODE) services/control-plane/create-account.ts "$(NAME)" "$(TYPE)"
