# Everything needs only Go (1.26 or newer), git and make: each tool is built from a pinned module.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo up chaos build image test checklist bench bench-cluster lint generate vuln env local demo-program

# How many one-CPU pods `make demo` runs.
PODS ?= $(if $(filter aws,$(CLOUD)),10,100)
# Which cloud: kwok, or aws for the real provider against a small AWS on loopback.
CLOUD ?= kwok
# What `make demo` shows instead of the whole loop: consolidation, drift, expiry or repair; with CLOUD=aws: storm, for which PODS=500 is about right.
SCENE ?=
# Where `make chaos` draws its faults from, and how often it kills the controller.
SEED ?= 1
KILLS ?= 50
# Which instance types and prices: generic, or a region of EC2 such as aws/us-east-1.
CATALOG ?= generic
# What `make image` builds for, and which version it says that it is.
ARCH ?= $(shell go env GOARCH)
VERSION ?= $(shell awk '/^appVersion:/ { print $$2 }' charts/karpenter/Chart.yaml)

BIN := $(CURDIR)/bin
TOOL := go tool -modfile=tools/go.mod
# The modules of the repository besides the main one that have code of ours.
MODULES := local tools/ec2catalog tools/charts tools/image test/chart test/alerts
# What `make generate` writes.
GENERATED := api charts

# The race detector needs a C compiler; a machine without one still runs every test.
CC_FOUND := $(shell command -v "$$(go env CC)" 2>/dev/null)
RACE := $(if $(CC_FOUND),-race,)

help: ## Show this list
	@echo "make <target>, for example: make demo PODS=1000 CATALOG=aws/us-east-1"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build local demo-program ## Show the whole loop on a real control plane: PODS=100 SCENE=drift CLOUD=aws
	@$(BIN)/demo -cloud='$(CLOUD)' -pods='$(PODS)' -catalog='$(CATALOG)' -scene='$(SCENE)'

up: build local demo-program ## Run a cluster and the controller until Ctrl-C: CATALOG=generic
	@eval "$$($(BIN)/local env)"; exec $(BIN)/demo -stay -cloud='$(CLOUD)' -catalog='$(CATALOG)'

chaos: build local ## Kill, cut off and refuse the controller at random moments, and see whether all ends well: SEED=1 KILLS=50
	@go build -o $(BIN)/chaos ./test/chaos
	@$(BIN)/chaos -launcher=$(BIN)/local -controller=$(BIN)/karpenter -seed='$(SEED)' -kills='$(KILLS)'

build: ## Build bin/karpenter
	@echo "building bin/karpenter"
	@go build -o $(BIN)/karpenter ./cmd/karpenter

image: ## Build a container image and its bill of materials into dist/: ARCH=arm64 VERSION=1.2.3
	@mkdir -p dist; echo "building for linux/$(ARCH)"
	@CGO_ENABLED=0 GOOS=linux GOARCH=$(ARCH) go build -trimpath -ldflags='-s -w -X main.version=$(VERSION)' -o dist/karpenter-linux-$(ARCH) ./cmd/karpenter
	@go run -C tools/image . -binary=$(CURDIR)/dist/karpenter-linux-$(ARCH) -version='$(VERSION)' \
	  -out=$(CURDIR)/dist/karpenter-linux-$(ARCH).tar -sbom=$(CURDIR)/dist/karpenter-linux-$(ARCH).cdx.json

test: build local ## Run every test: unit, CRDs, scenarios on the engine and on a real control plane
	@test -n '$(RACE)' || echo "note: there is no C compiler here, so the tests run without the race detector"
	@eval "$$($(BIN)/local env)"; export KARPENTER_BIN=$(BIN)/karpenter; failed=""; \
	  log="$$(mktemp)"; trap 'rm -f "$$log"' EXIT; \
	  for module in . $(MODULES); do \
	    echo "module $$module: go vet"; go vet -C $$module ./... || failed+=" $$module"; \
	    echo "module $$module: go test $(RACE)"; go test -C $$module $(RACE) -timeout=30m ./... | tee -a "$$log" || failed+=" $$module"; \
	  done; \
	  if [ -n "$$failed" ]; then echo "failed in module$$failed:"; grep -E '^ *--- FAIL|^panic:|WARNING: DATA RACE|^ *[a-z_]+_test\.go:[0-9]+: ' "$$log" | cut -c 1-800 || true; exit 1; fi

checklist: ## Print which behaviours are covered by which tests, and which are not: MISSING=1
	@go run ./test/checklist $(if $(MISSING),-missing) . $(MODULES)

bench: ## Measure the engine side by side with the peer: QUICK=1 CASE=name TRACE=file.csv
	@go build -C bench -o $(BIN)/bench . && $(BIN)/bench $(if $(QUICK),-quick) -case='$(CASE)' -trace='$(TRACE)'
	@[ -n '$(CASE)$(QUICK)' ] || { echo "what a controller does again and again in a large cluster:"; \
	  go test -C bench -run '^$$' -bench . ./fleet | grep ^Benchmark; \
	  go test -run '^$$' -bench 'Single|Multi|Drift' -benchtime 3x ./internal/core/disrupt | grep ^Benchmark; }

bench-cluster: build local ## Measure the running controller on a real control plane beside the peer: CASE=launch,empty,memory ONLY=ours
	@go build -C bench -o $(BIN)/bench-cluster ./cluster && go build -C bench -o $(BIN)/bench-peer sigs.k8s.io/karpenter/kwok
	@eval "$$($(BIN)/local env)"; $(BIN)/bench-cluster -launcher=$(BIN)/local -ours=$(BIN)/karpenter -peer=$(BIN)/bench-peer -case='$(CASE)' -only='$(ONLY)'

lint: ## Check style, architecture and that generated files are fresh
	@echo "building golangci-lint"; go build -C tools/golangci-lint -o $(BIN)/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@echo "gofumpt"; badly="$$($(TOOL) gofumpt -l .)"; \
	  if [ -n "$$badly" ]; then echo "not formatted; run: $(TOOL) gofumpt -w ."; echo "$$badly"; exit 1; fi
	@echo "golangci-lint"; $(BIN)/golangci-lint run ./...
	@for module in $(MODULES); do echo "golangci-lint $$module"; (cd $$module && $(BIN)/golangci-lint run --config=$(CURDIR)/.golangci.yml ./...); done
	@echo "generated files"; \
	  state() { git ls-files -co --exclude-standard -- $(GENERATED) | while read -r f; do [ ! -e "$$f" ] || echo "$$(git hash-object "$$f") $$f"; done; }; \
	  before="$$(state)"; $(MAKE) --no-print-directory generate; after="$$(state)"; \
	  if [ "$$before" != "$$after" ]; then \
	    echo "generated files were stale; commit what 'make generate' has just written:"; \
	    diff <(echo "$$before") <(echo "$$after") | sed -n 's/^> [0-9a-f]* /  /p'; exit 1; fi

generate: ## Write generated code, CRDs and what charts take from elsewhere
	@go generate ./api/...
	@go run -C tools/charts . -charts $(CURDIR)/charts -crds $(CURDIR)/api/crds

vuln: ## Look for known vulnerabilities (needs the network)
	@report="$$($(TOOL) govulncheck ./... 2>&1)" && { echo "$$report"; exit 0; }; echo "$$report"; \
	  if grep -qE 'vuln.go.dev|fetching vulnerabilities|dial tcp|no such host' <<<"$$report"; then \
	    echo "NOT CHECKED: the vulnerability database cannot be reached from here; nothing is known about this build"; fi; exit 1

env: local ## Print the environment for running single tests: eval "$(make env)"
	@$(BIN)/local env; echo 'export KARPENTER_BIN="$(BIN)/karpenter"'

# The launcher of the control plane, and the control plane itself: instant when they are there.
local:
	@go build -C local -o $(BIN)/local .
	@$(BIN)/local build > /dev/null

demo-program:
	@go build -o $(BIN)/demo ./test/demo
