# Requires only Go (1.26 or newer), git and make: every tool is built from a pinned module.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo recording up e2e chaos attacks sim sim-manager sim-mutants oracle fuzz build image release reproducible release-push test checklist bench bench-cluster lint prose docs generate web-vendor vuln env chromium local demo-program

# Number of one-CPU pods that `make demo` runs.
PODS ?= $(if $(filter aws azure,$(CLOUD)),10,100)
# Cloud provider of `make demo`, `make up` and `make chaos`: kwok, or aws for the AWS provider against a local AWS test server. `make demo` and
# `make up` also know azure, the provider for AKS against a local Azure test server.
CLOUD ?= kwok
# Control plane of `make demo`: memory, or real, which is built from its sources first. CLOUD=aws and CLOUD=azure need the real one.
CONTROL_PLANE ?= memory
# Scene that `make demo` runs instead of provisioning: consolidation, drift, expiry, repair, legacy-repair, reboot or gang; approval: a person approves disruption, on the real control plane; shadow: beside upstream's controller on the real control plane; with CLOUD=aws or azure: drift or storm (use about PODS=500).
SCENE ?=
# Random seed of the faults that `make chaos` injects, and of the first problem of `make oracle`; and how many times it kills the controller.
SEED ?= 1
KILLS ?= 50
# Set it to let disruption wait for approval in `make chaos`.
APPROVAL ?=
# Attacks that `make attacks` runs: a regular expression; all by default.
ATTACK ?=
# Number of random problems that `make oracle` judges, from seed SEED on.
COUNT ?= 10000
# Seeds that `make sim` simulates from SEED on, and the simulated hours with faults of each.
SEEDS ?= 100
HOURS ?= 0.5
# Faults and properties of the simulated cluster, by field of Faults and Scene in test/sim, such as "LostLaunch=0.3 Static=4".
SET ?=
# The simulated time without faults in which nothing may move, at the end of each seed.
QUIET ?= 4h
# SHRINK=1 has `make sim` reduce SEED to the choices that its first violation needs, and print them as a case. INCIDENT is the incident of
# TestIncidents whose events happen.
SHRINK ?=
INCIDENT ?=
# TWICE=1 has it run each seed twice, for half of HOURS, and compare all steps and writes.
TWICE ?=
# EXHAUST is a scene whose schedules `make sim` explores instead, or all; DEPTH the number of choices, DEVIATIONS how many of them differ from the
# usual order, and LIMIT the time for each scene; 0 for no limit.
EXHAUST ?=
DEPTH ?= 50
DEVIATIONS ?= 1
LIMIT ?= 0
# Simulated days of `make sim-manager`, the simulated time of its handovers, and the mean time between two actions of users.
DAYS ?= 1
HANDOVERS ?= 2h
EVERY ?= 4m
# Mutants that `make sim-mutants` tries: a regular expression, all by default; and for how long each.
MUTANT ?=
MUTANTTIME ?= 10m
# Seeds that each mutant is simulated with at most; 0 for as many as there is time for.
MUTANTSEEDS ?= 0
# Folder that gets a reduced case for each mutant that is killed; none by default.
MUTANTCASES ?=
# Fuzzers that `make fuzz` runs: a regular expression for package and name, such as azure or request:FuzzClass; and for how long each.
FUZZ ?=
FUZZTIME ?= 1m
# Catalog of instance types and prices: generic, or a region such as aws/us-east-1 or azure/eastus.
CATALOG ?= generic
# Folder that `make docs` builds the site in, one folder in it for each version.
SITE ?= dist/docs
# Minor version of Kubernetes of everything that needs a real control plane, such as 1.34; empty for the newest.
K8S ?=
ifneq ($(K8S),)
export LOCAL_KUBERNETES := $(K8S)
endif
# Upstream's minor version for `make bench-cluster`, one of bench/releases; empty for that of bench/go.mod. It may need a newer Go.
UPSTREAM ?=
UPSTREAM_MOD = $(if $(UPSTREAM),-modfile=releases/$(UPSTREAM).mod)
UPSTREAM_GO = $(if $(UPSTREAM),GOTOOLCHAIN=$$(awk '$$1 == "go" {print $$1 $$2}' bench/releases/$(UPSTREAM).mod)) go
# Number of nodes that the first controller of `make bench-cluster CASE=switch` launches.
NODES ?= 10
# How long the day of `make demo SCENE=shadow` and `make bench-cluster CASE=shadow` takes.
DAY ?= 10m
# Tests that `make e2e` runs: a regular expression; all by default.
RUN ?=
# Architecture of the image that `make image` builds, and version of images, releases and the site.
ARCH ?= $(shell go env GOARCH)
VERSION ?= $(shell awk '/^appVersion:/ { print $$2 }' charts/karpenter/Chart.yaml)

BIN := $(CURDIR)/bin
# Folder of the release, and registry that `make release-push` pushes it to, such as 127.0.0.1:5000 or ghcr.io/karpenter-anew.
RELEASE = $(CURDIR)/dist/$(VERSION)
REGISTRY ?=

TOOL := go tool -modfile=tools/go.mod
# The modules of the repository besides the main one that contain first-party code.
MODULES := local tools/ec2catalog tools/charts tools/release test/chart test/alerts test/browser test/ecosystem test/oracle
# Modules whose tests run with the race detector: those of what users run. The others hold generators of files and tests that run programs of
# others, which may have data races of their own; compiling all of these once more takes long.
RACED := . local
# Packages of the main module, with those below them, whose tests run without the race detector, which makes them about ten times slower. They
# compute a lot in one goroutine each; what goroutines share in them, they share in the tests of the controllers as well.
UNRACED := internal/command/diff internal/command/explain internal/command/simulate internal/core/bound internal/explain test/scenario test/sim
# The browser for test/browser. Without it, `make test` says so and runs everything else.
CHROMIUM_FOUND := $(shell command -v "$${CHROMIUM-}" chromium chromium-browser google-chrome 2>/dev/null | head -1)
# Files that `make prose` checks, except those that match .vale/unchecked; UNCHECKED=/dev/null checks all.
PROSE := git ls-files -co --exclude-standard -- '*.md' '*.go' '*.yaml' 'docs/*.txt' | grep -vE '(^|/)testdata/|^bench/cases/'
UNCHECKED ?= .vale/unchecked
# Folders and pages that `make generate` writes to.
GENERATED := api charts docs/metrics.md

# Collecting garbage this rarely takes a few GiB of memory. Tests and the control plane that they run on use a sixth to a quarter less processor time,
# linters half.
test lint: export GOGC ?= 400

# The race detector needs a C compiler; a machine without one still runs every test.
CC_FOUND := $(shell command -v "$$(go env CC)" 2>/dev/null)
RACE := $(if $(CC_FOUND),-race,)

help: ## Show this list
	@echo "make <target>, for example: make demo PODS=1000 CATALOG=aws/us-east-1"
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# With CONSOLE=1, the controller serves its console until Ctrl-C.
DEMO_CONSOLE = $(if $(CONSOLE),--console-addr=127.0.0.1:8082)

ifeq ($(SCENE),shadow)
demo: CASE = shadow
demo: bench-cluster
else ifeq ($(SCENE),approval)
demo: build local demo-program # the admission of approvals needs a real API server
	@$(BIN)/demo -cloud=kwok -pods='$(PODS)' -catalog='$(CATALOG)' -scene=approval $(DEMO_CONSOLE)
else ifeq ($(CONTROL_PLANE)$(CLOUD),memorykwok)
demo: build ## Provision and remove nodes: PODS=100 SCENE=drift CATALOG=aws/us-east-1 CONTROL_PLANE=real CLOUD=aws or azure CONSOLE=1
	@$(BIN)/karpenter demo --pods='$(PODS)' --catalog='$(CATALOG)' --scene='$(SCENE)' $(DEMO_CONSOLE)
else
demo: build local demo-program
	@$(BIN)/demo -cloud='$(CLOUD)' -pods='$(PODS)' -catalog='$(CATALOG)' -scene='$(SCENE)' $(DEMO_CONSOLE)
endif

recording: build ## Record the demo as the image of the README
	@go run ./test/recording -out=docs/images/demo.svg -title='karpenter demo' $(BIN)/karpenter demo

up: build local demo-program ## Run a local cluster with the controller until Ctrl-C: CATALOG=generic
	@eval "$$($(BIN)/local env)"; exec $(BIN)/demo -stay -cloud='$(CLOUD)' -catalog='$(CATALOG)' $(DEMO_CONSOLE)

e2e: build local ## Run the built controller through all scenarios on a real control plane: K8S=1.34 RUN=regexp
	@eval "$$($(BIN)/local env)"; KARPENTER_BIN=$(BIN)/karpenter go test $(RACE) -timeout=60m ./test/e2e -run='$(RUN)'

chaos: build local ## Inject random faults into the controller and the API server, and check the invariants: SEED=1 KILLS=50 CLOUD=aws APPROVAL=1
	@go build -o $(BIN)/chaos ./test/chaos
	@$(BIN)/chaos -launcher=$(BIN)/local -controller=$(BIN)/karpenter -cloud='$(CLOUD)' -seed='$(SEED)' -kills='$(KILLS)' $(if $(APPROVAL),-approval)

attacks: build local ## Run hostile tenants beside honest pods, and check that these run and memory is bounded: ATTACK=many-keys
	@go build -o $(BIN)/attacks ./test/attacks
	@$(BIN)/attacks -launcher=$(BIN)/local -controller=$(BIN)/karpenter -attack='$(ATTACK)'

# Each process simulates one seed at a time.
sim: ## Simulate the controllers, an API server, a cloud and their faults in one process, and check invariants: SEED=1 SEEDS=100 HOURS=0.5 SET="Static=4", SHRINK=1 or TWICE=1; EXHAUST=one-pod explores the schedules of a scene
	@go test -c -o $(BIN)/sim.test ./test/sim && $(BIN)/sim.test -test.run='^$(if $(EXHAUST),TestExhaust,$(if $(SHRINK),TestShrink,$(if $(TWICE),TestSameSeed,TestInvariants)))$$' -test.v -test.timeout=0 \
	  $(if $(EXHAUST),-exhaust='$(EXHAUST)' -depth='$(DEPTH)' -deviations='$(DEVIATIONS)' -limit='$(LIMIT)') $(if $(SHRINK),-shrink) -seed='$(SEED)' -seeds='$(SEEDS)' -hours='$(HOURS)' -quiet='$(QUIET)' -set='$(SET)' -incident='$(INCIDENT)'

sim-manager: ## Run two controllers with their managers, informers and lease in one process, with the race detector, for simulated days: DAYS=7 HANDOVERS=2h EVERY=4m SEED=1
	@go test $(RACE) -c -o $(BIN)/sim-manager.test ./test/manager && $(BIN)/sim-manager.test -test.v -test.timeout=0 \
	  -seed='$(SEED)' -days='$(DAYS)' -handovers='$(HANDOVERS)' -every='$(EVERY)'

sim-mutants: ## Break the controllers, one place at a time, and report which breaks the simulation notices: MUTANT=regexp MUTANTTIME=10m MUTANTSEEDS=5 MUTANTCASES=folder
	@go run ./test/sim/mutants -time='$(MUTANTTIME)' -seeds='$(MUTANTSEEDS)' -shrink='$(MUTANTCASES)' '$(MUTANT)'

oracle: ## Have kube-scheduler judge plans and disruption for random problems, and compare prices and consolidation with upstream's; bin/oracle-failures gets scenarios: COUNT=10000 SEED=1
	@go build -C test/oracle -o $(BIN)/oracle . && go build -C bench -o $(BIN)/bench .
	@$(BIN)/oracle -count='$(COUNT)' -seed='$(SEED)' -out=$(BIN)/oracle-failures -bench=$(BIN)/bench

# The repository in the test of the checklist has a fuzzer that is only text. go test runs one fuzzer at a time. By default it spends a minute on
# making each new input smaller, and slow fuzzers nothing else.
fuzz: ## Run the fuzzers of the main module one after another; failing inputs are in testdata/fuzz of the package: FUZZ=regexp FUZZTIME=1m
	@failed=""; for found in $$(git grep --untracked -hoE '^func Fuzz[A-Za-z]+' -- '*_test.go' ':!test/checklist' | sort -u | sed 's/^func //'); do \
	  for package in $$(git grep --untracked -lE "^func $$found\\(" -- '*_test.go' ':!test/checklist' | xargs -n1 dirname | sort -u); do \
	    if ! grep -qE '$(FUZZ)' <<<"$$package:$$found"; then continue; fi; \
	    echo "$$package:$$found"; go test "./$$package" -run='^$$' -fuzz="^$$found\$$" -fuzztime='$(FUZZTIME)' -fuzzminimizetime=100x || failed+=" $$package:$$found"; \
	  done; done; [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

build: ## Build bin/karpenter
	@echo "building bin/karpenter"
	@go build -o $(BIN)/karpenter ./cmd/karpenter

image: ## Build a container image and its SBOM in dist/: ARCH=arm64 VERSION=1.2.3
	@echo "building for linux/$(ARCH)"
	@go run -C tools/release . image --root=$(CURDIR) --version='$(VERSION)' --arch='$(ARCH)' --out=$(CURDIR)/dist

release: ## Build everything that a release has in dist/VERSION, signed with $RELEASE_SIGNING_KEY: VERSION=1.2.3
	@go run -C tools/release . build --root=$(CURDIR) --version='$(VERSION)' --out='$(RELEASE)'

reproducible: ## Build the program of the commit HEAD in two folders as a release does, and compare the bytes
	@go run -C tools/release . compare --root=$(CURDIR) --version='$(VERSION)'

release-push: ## Push the image and the charts of dist/VERSION: REGISTRY=127.0.0.1:5000 VERSION=1.2.3
	@go run -C tools/release . push --dist='$(RELEASE)' --version='$(VERSION)' --registry='$(REGISTRY)'

# `make lint` has all checks of go vet. A program that was built with the race detector sleeps for a second before it exits, unless GORACE says not to.
test: build local ## Run all tests, including scenarios on a real control plane
	@test -n '$(RACE)' || echo "note: no C compiler found; running the tests without the race detector"
	@test -n '$(CHROMIUM_FOUND)' || echo "note: no Chromium found; skipping the tests of the console's page in test/browser (make chromium installs it)"
	@eval "$$($(BIN)/local env)"; export KARPENTER_BIN=$(BIN)/karpenter GORACE=atexit_sleep_ms=0; failed=""; \
	  unraced="$$(tr ' ' '|' <<<'$(UNRACED)')"; \
	  log="$$(mktemp)"; trap 'rm -f "$$log"' EXIT; \
	  for module in . $(if $(CHROMIUM_FOUND),$(MODULES),$(filter-out test/browser,$(MODULES))); do \
	    race=""; [[ " $(RACED) " != *" $$module "* ]] || race="$(RACE)"; \
	    packages=./...; [ $$module != . ] || packages="$$(go list ./... | grep -vE "/($$unraced)(/|$$)")"; \
	    echo "module $$module: go test $$race"; go test -C $$module $$race -vet=off -timeout=45m $$packages | tee -a "$$log" || failed+=" $$module"; \
	  done; \
	  echo "$(UNRACED): go test"; go test -vet=off -timeout=45m $(UNRACED:%=./%/...) | tee -a "$$log" || failed+=" $(UNRACED)"; \
	  if [ -n "$$failed" ]; then echo "failed in module$$failed:"; grep -E '^ *--- FAIL|^panic:|WARNING: DATA RACE|^ *[a-z_]+_test\.go:[0-9]+: ' "$$log" | cut -c 1-800 || true; exit 1; fi

checklist: ## Print the behaviors of the checklist and the tests that cover them: MISSING=1
	@go run ./test/checklist $(if $(MISSING),-missing) . $(MODULES)

bench: ## Benchmark the engine against upstream Karpenter: QUICK=1 CASE=name TRACE=file.csv
	@go build -C bench -o $(BIN)/bench . && $(BIN)/bench $(if $(QUICK),-quick) -case='$(CASE)' -trace='$(TRACE)'
	@[ -n '$(CASE)$(QUICK)' ] || { echo "periodic work of a controller in a large cluster:"; \
	  go test -C bench -run '^$$' -bench . ./fleet | grep ^Benchmark; \
	  go test -run '^$$' -bench 'Single|Multi|Drift' -benchtime 3x ./internal/core/disrupt | grep ^Benchmark; }

bench-cluster: build local ## Benchmark the running controller against upstream Karpenter: CASE=launch,empty,memory,trickle,switch,shadow ONLY=ours UPSTREAM=1.15 NODES=50
	@$(UPSTREAM_GO) build -C bench $(UPSTREAM_MOD) -o $(BIN)/bench-cluster ./cluster
	@$(UPSTREAM_GO) build -C bench $(UPSTREAM_MOD) -o $(BIN)/bench-upstream sigs.k8s.io/karpenter/kwok
	@eval "$$($(BIN)/local env)"; $(BIN)/bench-cluster -launcher=$(BIN)/local -ours=$(BIN)/karpenter -upstream=$(BIN)/bench-upstream -case='$(CASE)' -only='$(ONLY)' -switch-nodes='$(NODES)' -day='$(DAY)'

lint: prose ## Check prose, style, architecture, and that generated files are up to date
	@echo "building golangci-lint"; go build -C tools/golangci-lint -o $(BIN)/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@echo "gofumpt"; badly="$$($(TOOL) gofumpt -l .)"; \
	  if [ -n "$$badly" ]; then echo "unformatted files; run: $(TOOL) gofumpt -w ."; echo "$$badly"; exit 1; fi
	@echo "golangci-lint"; $(BIN)/golangci-lint run ./...
	@for module in $(MODULES); do echo "golangci-lint $$module"; (cd $$module && $(BIN)/golangci-lint run --config=$(CURDIR)/.golangci.yml ./...); done
	@echo "actionlint"; $(TOOL) actionlint -shellcheck= -pyflakes=
	@echo "generated files"; \
	  state() { git ls-files -co --exclude-standard -- $(GENERATED) | while read -r f; do [ ! -e "$$f" ] || echo "$$(git hash-object "$$f") $$f"; done; }; \
	  before="$$(state)"; $(MAKE) --no-print-directory generate; after="$$(state)"; \
	  if [ "$$before" != "$$after" ]; then \
	    echo "generated files were out of date; commit the files that 'make generate' rewrote:"; \
	    diff <(echo "$$before") <(echo "$$after") | sed -n 's/^> [0-9a-f]* /  /p'; exit 1; fi

# Vale parses Go with tree-sitter, which is written in C. The texts of scenarios, before their first file, are checked as one page.
prose: ## Check the wording of pages, comments and messages with Vale
ifeq ($(CC_FOUND),)
	@echo "note: no C compiler found; skipping the prose check"
else
	@echo "building vale"; CGO_CFLAGS='-O2 -w' go build -C tools/vale -o $(BIN)/vale github.com/vale-cli/vale/v3/cmd/vale
	@echo "vale"; { $(PROSE) | grep -vE -f '$(UNCHECKED)' || true; } | xargs -r $(BIN)/vale --output=line
	@$(MAKE) --no-print-directory help | $(BIN)/vale --ext=.md --output=line
	@awk 'FNR == 1 { text = 1 } /^-- / { text = 0 } text { print FILENAME ": " $$0 }' test/scenario/testdata/*.txtar > $(BIN)/scenarios.md; \
	  $(BIN)/vale --output=line $(BIN)/scenarios.md | while IFS=: read -r _ line _ rule message; do \
	    echo "$$(sed -n "$${line}p" $(BIN)/scenarios.md | cut -d: -f1):$$rule:$$message"; done | { ! grep .; }
endif

# The folder keeps the sites of other versions; versions.js lists them for the selector, and index.html leads to the newest.
docs: ## Build the documentation as a static site with search in dist/docs/VERSION: VERSION=1.2.3
	@[[ '$(VERSION)' =~ ^[0-9A-Za-z][0-9A-Za-z.+-]*$$ ]] || { echo "VERSION: '$(VERSION)' is no version: use letters, digits, dots, plus and minus signs"; exit 1; }
	@echo "building hugo"; go build -C tools/hugo -o $(BIN)/hugo github.com/gohugoio/hugo
	@mkdir -p '$(SITE)'; log="$$(HUGO_PARAMS_VERSION='$(VERSION)' $(BIN)/hugo --source=tools/docs --destination="$$(realpath '$(SITE)')/$(VERSION)" \
	  --cleanDestinationDir --panicOnWarning --noBuildLock --cacheDir=$(BIN)/hugo-cache 2>&1)" || { echo "$$log"; exit 1; }
	@cd '$(SITE)'; versions="$$(find . -mindepth 2 -maxdepth 2 -name search-index.js | cut -d/ -f2 | sort -rV)"; \
	  echo "karpenterVersions([$$(sed 's/.*/"&"/' <<<"$$versions" | paste -sd,)]);" > versions.js; newest="$$(head -1 <<<"$$versions")"; \
	  printf '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Karpenter, anew</title>\n' > index.html; \
	  printf '<meta http-equiv="refresh" content="0; url=%s/index.html">\n<p><a href="%s/index.html">Documentation of %s</a></p>\n' "$$newest" "$$newest" "$$newest" >> index.html
	@echo "open $(SITE)/$(VERSION)/index.html"

web-vendor: ## Fetch the libraries of the console's page that web/vendor/PACKAGES pins (requires npm)
	@web/vendor/fetch.sh

generate: ## Write generated code, CRDs and the generated parts of the charts
	@go generate ./api/...
	@go run -C tools/charts . -charts $(CURDIR)/charts -api $(CURDIR)/api -docs $(CURDIR)/docs

vuln: ## Check for known vulnerabilities (requires network access)
	@report="$$($(TOOL) govulncheck ./... 2>&1)" && { echo "$$report"; exit 0; }; echo "$$report"; \
	  if grep -qE 'vuln.go.dev|fetching vulnerabilities|dial tcp|no such host' <<<"$$report"; then \
	    echo "NOT CHECKED: the vulnerability database is unreachable"; fi; exit 1

env: local ## Print the environment for running single tests: eval "$(make env)"
	@$(BIN)/local env; echo 'export KARPENTER_BIN="$(BIN)/karpenter"'

# With apt-get and as root only: elsewhere, installing a browser is up to its owner.
chromium: ## Install the browser for test/browser, on Debian and as root
ifeq ($(CHROMIUM_FOUND),)
	@if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium > /dev/null && chromium --version; \
	else echo "note: Chromium is not installed: that needs apt-get and root"; fi
else
	@echo "Chromium is $(CHROMIUM_FOUND)"
endif

# The control plane and its launcher; a no-op if they are built.
local:
	@go build -C local -o $(BIN)/local .
	@$(BIN)/local build > /dev/null

demo-program:
	@go build -o $(BIN)/demo ./test/demo
