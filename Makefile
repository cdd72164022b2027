# Copyright The ServiceBulkhead Authors.
# SPDX-License-Identifier: Apache-2.0

# Needs Go, git, make, bash and a C compiler (for the race detector). Everything
# else is built from Go modules at pinned versions.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

# A newer toolchain is never fetched behind your back.
export GOTOOLCHAIN ?= local

TOOL := go tool -modfile=$(CURDIR)/hack/tools/go.mod
MODULES := . api pkg pkg/agent/agentgrpc examples bench hack/kubernetes hack/pods hack/rules
HEADER := $(CURDIR)/hack/boilerplate.go.txt

# What generate and manifests write.
GENERATED := api/v1alpha1/zz_generated.deepcopy.go config/crd/bases config/rbac/role.yaml config/install.yaml

# in: run $(2) in the folder of module $(1). The module that holds Kubernetes gets
# the flags of its one big build, so that the build cache serves both: -trimpath
# and cgo each change every package's cache key.
in = echo "  $(1)" && cd $(CURDIR)/$(1) && $(if $(filter hack/kubernetes,$(1)),CGO_ENABLED=0 GOFLAGS="$$(go env GOFLAGS) -trimpath") $(2)
each = $(foreach module,$(1),($(call in,$(module),$(2)));)

# quoted: a text as one word for the shell.
quoted = '$(subst ','\'',$(1))'

##@ Use
.PHONY: help
help: ## Show this.
	@while IFS= read -r line; do \
	  if [[ $$line =~ ^##@\ (.*)$$ ]]; then printf '\n%s\n' "$${BASH_REMATCH[1]}"; fi; \
	  if [[ $$line =~ ^([a-z0-9-]+):.*\ ##\ (.*)$$ ]]; then printf '  make %-10s %s\n' "$${BASH_REMATCH[1]}" "$${BASH_REMATCH[2]}"; fi; \
	done < Makefile

.PHONY: demo
demo: ## Show the whole path on a local control plane, in about a minute. DEMO_KEEP=1 leaves it running.
	@go build -o bin/demo ./hack/demo && exec bin/demo

.PHONY: cluster
cluster: ## Run a local control plane, without nodes, until Ctrl-C, and say how to use it.
	@go build -o bin/cluster ./hack/cluster && exec bin/cluster

.PHONY: demo-pods
demo-pods: ## Show it on real pods, on a node of this machine's own: a change that both follow, a rolling restart under load.
	@exec hack/pods/on-a-node demo

.PHONY: node-check
node-check: tools-pods ## Say whether a node can run here, and what is missing where it cannot.
	@exec bin/node check

.PHONY: node-up
node-up: tools-pods ## Start a node of Kubernetes in its own namespaces; as root, on Linux.
	@bin/node check >/dev/null; assets=$$(go run ./hack/cluster assets); export KUBEBUILDER_ASSETS=$$assets; exec bin/node up

.PHONY: node-run
node-run: tools-pods ## Run a command on the node, by a shell there: make node-run CMD='kubectl get nodes'.
	@exec bin/node run -- bash -c $(call quoted,$(or $(value CMD),$(error say what to run: make node-run CMD='kubectl get nodes')))

.PHONY: node-down
node-down: tools-pods ## Stop the node and remove every trace of it.
	@exec bin/node down

.PHONY: images
images: tools-pods ## Build the images of the operator and of the demo's programs: dist/images/*.tar.
	@exec bin/images build -o dist/images

.PHONY: tools-pods
tools-pods:
	@cd hack/pods && go build -o $(CURDIR)/bin/ ./node ./images

.PHONY: build
build: ## Build the operator and the kubectl plugin: bin/operator, bin/kubectl-bulkhead.
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o bin/operator ./cmd/operator
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o bin/kubectl-bulkhead ./cmd/kubectl-bulkhead

##@ Check
.PHONY: test
test: test-pure test-plane ## Run all tests.

.PHONY: test-pure
test-pure: ## Run the tests that need no control plane, with the race detector.
	@$(call each,pkg pkg/agent/agentgrpc examples api bench hack/rules,go test -race ./...)

# -count=1: go test's cache does not see the manifests and binaries that these
# tests hand to other processes. -v: to see how often each rule was reached.
.PHONY: test-plane
test-plane: ## Run the operator's tests, and those of the local control plane they run on.
	@$(call in,hack/kubernetes,go test ./...)
	@echo '  .'; assets=$$(go run ./hack/cluster assets); export KUBEBUILDER_ASSETS=$$assets; \
	(cd hack/pods && go test -race -count=1 ./...); \
	go test -race -count=1 -timeout 20m $$(go list ./... | grep -v -e /test/differential$$ -e /test/e2e$$); \
	go test -race -count=1 -v ./test/differential -ginkgo.no-color

.PHONY: e2e
e2e: ## Run the end-to-end tests on real pods: on a node of this machine's own, or with KUBECONFIG=… REGISTRY=… on that cluster.
	@exec hack/pods/on-a-node e2e

.PHONY: lint
lint: ## Run the linters of .golangci.yml over every module, and kube-api-linter over the API's types.
	@$(call each,$(MODULES),$(TOOL) golangci-lint run ./...)
	@$(call in,api,$(TOOL) golangci-lint-kube-api-linter run -c $(CURDIR)/.golangci.api.yml ./v1alpha1)

.PHONY: verify
verify: ## Fail when generated files, go.mod files or the formatting are stale, or go vet complains.
	@state() { GIT_INDEX_FILE=$$index git add -A -- $(GENERATED) && GIT_INDEX_FILE=$$index git write-tree; }; \
	index=$$(mktemp -u); trap 'rm -f "$$index"' EXIT; \
	before=$$(state); $(MAKE) generate manifests; after=$$(state); \
	if ! git diff --exit-code "$$before" "$$after"; then echo 'generated files were stale: commit what make generate manifests wrote' >&2; exit 1; fi
	@stale=$$(git ls-files -co --exclude-standard --deduplicate -- '*.go' | while read -r file; do if [[ -e $$file ]]; then gofmt -l "$$file"; fi; done); \
	if [[ -n $$stale ]]; then printf 'gofmt would change:\n%s\n' "$$stale" >&2; exit 1; fi
	@$(call each,$(MODULES) hack/tools,go mod tidy -diff)
	@$(call each,$(MODULES),go vet ./...)

.PHONY: bench
bench: ## Measure the limiter beside its peers: ten rounds, one table of ratios. Wants an idle machine.
	@mkdir -p dist
	cd bench && go test -c -o ../dist/bench.test .
	@for round in {1..10}; do \
	  echo "  round $$round of 10" >&2; \
	  dist/bench.test -test.run '^$$' -test.bench . -test.benchtime 300ms; \
	done >dist/bench.txt
	@cd bench && go run ./report <../dist/bench.txt

.PHONY: scale
scale: ## Measure the operator with 5,000 bulkheads in 500 ConfigMaps, in about five minutes. Wants an idle machine.
	@go build -o bin/scale ./hack/scale && exec bin/scale

.PHONY: chaos
chaos: ## Kill, stall and edit what the operator depends on, in about three minutes. CHAOS_SEED=7 repeats the choices of a run.
	@go build -o bin/chaos ./hack/chaos && exec bin/chaos $(if $(CHAOS_SEED),-seed $(CHAOS_SEED))

##@ Change
.PHONY: generate
generate: ## Generate deep copies from the API's types.
	@cd api && $(TOOL) controller-gen object:headerFile=$(HEADER) paths=./v1alpha1

.PHONY: manifests
manifests: ## Generate the CRD from the API's types, the operator's role from the controllers' markers, and install.yaml.
	@cd api && $(TOOL) controller-gen crd paths=./v1alpha1 output:crd:dir=$(CURDIR)/config/crd/bases
	@$(TOOL) controller-gen rbac:roleName=servicebulkhead-operator paths=./controllers/... output:rbac:dir=config/rbac
	@rendered=$$($(TOOL) kustomize build config/default); \
	printf '# config/default in one file, written by make manifests. docs/install.md says how to use it.\n%s\n' "$$rendered" >config/install.yaml

.PHONY: clean
clean: ## Remove what was built here. The binaries of the local control plane stay in their cache.
	rm -rf bin dist
