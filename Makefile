# The project's commands; `make help` lists them. Every target puts the project's own Node 24 first on the PATH.
SHELL := /bin/bash
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
NODE := node --no-warnings
.DEFAULT_GOAL := help
.PHONY: help run test check format build bench chaos attack fuzz outage example console-budget console-heap account link suspend quotas republish docs clients

help: ## list these targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'

# npm comes with the machine's Node; the package `node` then brings Node 24 into node_modules/.bin.
node_modules/.installed: package.json package-lock.json
	npm ci --no-fund --no-audit --loglevel=error
	@touch $@

run: node_modules/.installed ## start everything and take the tour (PROCESSORS=2, TOUR=0, PORT=8080, FRESH=1, STACK=containers|processes)
	@exec $(NODE) deploy/local/run.ts

test: node_modules/.installed ## all tests, on real Kafka, Postgres, Redis and registry (ONLY=path runs some; STACK=containers runs the integration tests on containers)
	@$(NODE) test/run.ts $(ONLY)

check: node_modules/.installed ## check format, lint, types, generated clients and the rules of the house, generated pages among them
	@failed=; part() { local from=$$SECONDS; echo "— $$1"; "$${@:2}" || failed="$$failed $$1;"; echo "  $$((SECONDS - from)) s"; }; \
	part 'format' oxfmt --check .; \
	part 'lint' oxlint --deny-warnings; \
	part 'types' tsc --noEmit; \
	part 'types of the console' tsc --noEmit -p services/console; \
	part 'generated clients' $(NODE) clients/generate/main.ts --check; \
	part 'rules of the house' $(NODE) test/run.ts test/house; \
	[ -z "$$failed" ] || { echo "failed:$${failed%;}"; exit 1; }

build: node_modules/.installed ## build the console and the documentation
	@$(NODE) deploy/local/web-pages.ts

console-budget: node_modules/.installed ## build the console and say what a browser loads of it, beside what it may
	@$(NODE) deploy/local/web-pages.ts
	@$(NODE) test/console/budget.ts

console-heap: node_modules/.installed ## follow a stream in a browser, and say what the page keeps meanwhile (MINUTES=30)
	@TAIL_MINUTES=$(or $(MINUTES),30) $(NODE) test/run.ts test/console/heap.test.ts

format: node_modules/.installed ## format the code as `make check` requires
	@oxfmt --write .

bench: node_modules/.installed ## run the benchmarks, side by side and verified: SUITE=product|modules|latency|neighbours|connectors|http|matrix|all runs others; writes test/bench/latest.json
	@SUITE="$(SUITE)" $(NODE) test/bench/bench.ts

chaos: node_modules/.installed ## inject faults under load and check every record: MINUTES=20 SEED=7 (RATE=11000); writes test/chaos/latest.json
	@MINUTES="$(MINUTES)" SEED="$(SEED)" RATE="$(RATE)" $(NODE) test/chaos/run.ts

attack: node_modules/.installed ## let an account with hostile modules and lying servers loose beside another one: MODULES=60 SERVERS=40 SEED=7; writes test/attack/latest.json
	@MODULES="$(MODULES)" SERVERS="$(SERVERS)" SEED="$(SEED)" $(NODE) test/attack/run.ts

fuzz: node_modules/.installed ## send odd and malformed requests, then run Schemathesis: REQUESTS=100000 SEED=7 EXAMPLES=60 (SCHEMATHESIS=0 leaves it out)
	@REQUESTS="$(REQUESTS)" SEED="$(SEED)" EXAMPLES="$(EXAMPLES)" SCHEMATHESIS="$(SCHEMATHESIS)" $(NODE) test/fuzz/run.ts

outage: node_modules/.installed ## run ten minutes of load without control plane, Postgres and Redis: MINUTES=10
	@MINUTES="$(MINUTES)" $(NODE) test/chaos/outage.ts

example: node_modules/.installed ## run the bucket-to-table example at full size while processors are killed: ROWS=1000000 KILLS=10
	@ROWS="$(ROWS)" KILLS="$(KILLS)" $(NODE) test/chaos/bucket-to-table.ts

clients: node_modules/.installed ## write what is generated of the client libraries
	@$(NODE) clients/generate/main.ts

docs: node_modules/.installed ## write the generated pages: error table, status table, connectors, settings, metrics
	@for writer in $(filter-out docs/write-page.ts,$(wildcard docs/write-*.ts)); do $(NODE) $$writer || exit 1; done

account: node_modules/.installed ## create an account and key: NAME=… TYPE=developer|professional|enterprise; beside make run, or with the control plane's environment
	@$(NODE) deploy/local/operator-script.ts create-account.ts "$(NAME)" "$(TYPE)"

link: node_modules/.installed ## make a link that signs an owner in to the console: ACCOUNT=acc_… EMAIL=…; beside make run, or with the control plane's environment
	@$(NODE) deploy/local/operator-script.ts sign-in-link.ts "$(ACCOUNT)" "$(EMAIL)"

republish: node_modules/.installed ## publish anew what processors run, after a restore of Postgres or the loss of the topic of definitions; beside make run, or with the control plane's environment
	@$(NODE) deploy/local/operator-script.ts republish.ts

suspend: node_modules/.installed ## suspend an account, or, without REASON, end its suspension: ACCOUNT=acc_… REASON=…; beside make run, or with the control plane's environment
	@$(NODE) deploy/local/operator-script.ts suspend-account.ts "$(ACCOUNT)" "$(REASON)"

quotas: node_modules/.installed ## replace quotas of an account's type: ACCOUNT=acc_… QUOTAS='{"streams": 100}'; beside make run, or with the control plane's environment
	@$(NODE) deploy/local/operator-script.ts set-quotas.ts "$(ACCOUNT)" '$(QUOTAS)'
