# Each target is one line into npm scripts; `make` alone lists them.
SHELL := /bin/sh
.DEFAULT_GOAL := help
NODE_BIN := $(shell scripts/node-path.sh)
export PATH := $(NODE_BIN):$(PATH)
JEST := NODE_OPTIONS="--experimental-vm-modules --no-warnings" npx jest

.PHONY: help generate build check clean

help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

# Install scripts are not run: every package here ships its binaries, and none needs a compiler.
node_modules/.installed: package.json package-lock.json
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

generate: node_modules/.installed ## TypeScript from the protobuf files
	@npm run -s generate

build: generate ## Compile to dist/
	@npm run -s build

check: generate ## The fast loop: lint, types, import rules, unit tests
	npm run -s lint
	npm run -s typecheck
	npm run -s imports
	$(JEST) --selectProjects unit

clean: ## Remove what was built (not the data)
	rm -rf dist proto/gen coverage
