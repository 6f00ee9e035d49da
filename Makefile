# Everything a contributor runs. `make` alone lists the targets.

SHELL := /bin/sh
.DEFAULT_GOAL := help

FUZZTIME ?= 20s
BENCHTIME ?= 400ms
ROUNDS ?= 5
CALLS ?= 200000
TIMEOUT ?= 10m
PLATFORMS := darwin/arm64 windows/amd64
GOLANGCI_LINT := .tools/bin/golangci-lint
GORELEASER := .tools/bin/goreleaser

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' Makefile

.PHONY: build
build: ## Build the program into ./bin
	go build -trimpath -o bin/ ./cmd/recourse

.PHONY: demo
demo: build ## Show calls without and with Recourse, then keep serving
	bin/recourse demo

# What the tests run against: npm packages, and servers in Debian's packages.
INSTALL := tools/install-node.sh && tools/install-services.sh

# GO_TEST is go test with the race detector if it is available. The long tests run without it: it would make some of them ten
# times as long.
define GO_TEST
race="$(RACE)"; \
	if [ -n "$$race" ] && { [ "$$(go env CGO_ENABLED)" != 1 ] || ! command -v "$$(go env CC | cut -d ' ' -f 1)" >/dev/null; }; then \
		echo "make: WITHOUT THE RACE DETECTOR: it needs cgo and a C compiler" >&2; \
		if [ "$$CI" = true ]; then exit 1; fi; \
		race=; \
	fi; \
	go test $$race -timeout $(TIMEOUT)
endef

# SQLite is C translated to Go: watching its memory accesses would take most of the time of tests that use a store.
RACE := -race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false

# By default, a program with the race detector sleeps for a second before it exits, and whenever it allocates a large buffer,
# it releases the detector's memory for it, only to request it again page by page.
export GORACE := atexit_sleep_ms=0 clear_shadow_mmap_threshold=10000000

# Collecting garbage is expensive under the race detector, and there is enough memory to do so less often.
test test-one: export GOGC := 400

# The rooms in which goroutines meet. The race detector would find nothing in the others, and take most of the time.
RACED := ./internal/gateway/... ./internal/upstream/... ./internal/policy/... ./internal/connection/... ./internal/store/... \
	./internal/ops/... ./internal/lab/... ./internal/call/door ./internal/protocol/http1 ./mcptool/... ./recovery/... ./systems/...

.PHONY: test
test: ## Run the tests, under the race detector where goroutines meet
	@$(INSTALL)
	@$(MAKE) --no-print-directory -j2 test-race test-plain
	@go test -v -run '^TestWildRates$$' ./contract | grep -E -o '(right of the half|taken for a failure:) .*'

.PHONY: test-race
test-race:
	@$(GO_TEST) $(RACED)

.PHONY: test-plain
test-plain:
	@go test -timeout $(TIMEOUT) $$(go list ./... | grep -v -x -F -e "$$(go list $(RACED))")
	@for module in tools/bench tools/frameworks tools/simulate; do (cd $$module && go test -timeout $(TIMEOUT) ./...) || exit 1; done

.PHONY: test-one
test-one: ## Run the tests of PKG, such as ./internal/gateway, or those of them that RUN matches
	@$(INSTALL)
	@$(GO_TEST) -run '$(RUN)' $(or $(PKG),$(error say which package: PKG=./internal/gateway))

.PHONY: test-long
test-long: RACE :=
test-long: ## Run the tests that take long, which test leaves out
	@$(INSTALL)
	@packages=$$(grep -rl --include='*_test.go' --exclude-dir=.tools --exclude-dir=tools '^func TestLong' . | xargs dirname | sort -u); \
	export RECOURSE_TEST_LONG=1; $(GO_TEST) -run '^TestLong' $$packages
	@cd tools/simulate && RECOURSE_TEST_LONG=1 go test -timeout $(TIMEOUT) -run '^TestLong' ./...

.PHONY: test-dist
test-dist: TIMEOUT := 15m
test-dist: $(GORELEASER) ## Build a release of what is committed, and look into it
	@cd tools/dist && go test -count=1 -timeout $(TIMEOUT) ./...

.PHONY: charts
charts: ## Render the Helm chart, and check it; compiles Helm, so not part of make test
	@cd tools/charts && go test -timeout $(TIMEOUT) ./...

.PHONY: clients
clients: ## Build the packages of clients/, install each into a clean environment, and test it there
	@tools/clients.sh

.PHONY: site
site: ## Build the pages of docs/ as a site into ./dist/site, and check their links; needs python3
	@tools/site.sh

.PHONY: test-all
test-all: test test-long test-dist ## Run all three

# MODULES are the modules beside the program's own.
MODULES := tools/bench tools/cluster tools/dist tools/frameworks tools/simulate tools/study

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run golangci-lint
	$(GOLANGCI_LINT) run ./...
	@for module in $(MODULES); do (cd $$module && $(CURDIR)/$(GOLANGCI_LINT) run ./...) || exit 1; done

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format the code as lint wants it
	$(GOLANGCI_LINT) fmt ./...

$(GOLANGCI_LINT): tools/go.mod tools/go.sum
	@echo "building $@, once"
	@cd tools && CGO_ENABLED=0 GOBIN="$(CURDIR)/.tools/bin" go install tool
	@touch $@

# The compact forms come first: the other files are written by programs that embed them.
.PHONY: golden
golden: ## Rewrite the golden files with what the code does now
	@go test ./contract -run '^TestCompactIsFresh$$' -update
	@files=$$(grep -rlE --include='*_test.go' --exclude-dir=.tools --exclude-dir=tools '[*]update[ ,]|contracttest[.]Golden\(' .); \
	tests=$$(awk '/^func / {name = $$2; sub(/\(.*/, "", name)} /[*]update[ ,]|contracttest[.]Golden\(/ {print name}' $$files | sort -u | paste -s -d '|'); \
	go test $$(dirname $$files | sort -u) -run "^($$tests)\$$" -update

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (20s)
	@listed=$$(go test -list '^Fuzz' ./...) || { echo "$$listed"; exit 1; }; \
	echo "$$listed" \
	| awk '/^Fuzz/ {name[++n] = $$1} /^ok/ {for (i = 1; i <= n; i++) print $$2, name[i]; n = 0}' \
	| while read -r package name; do \
		echo "$$package $$name"; \
		go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$package" </dev/null || exit 1; \
	done

.PHONY: load
load: ## Try what the gateway's memory does under hung calls, garbage and idle sessions; on Linux
	@cd tools/bench && go run . -load

.PHONY: bench
bench: ## Measure the gateway against its budgets, in ROUNDS (5) of BENCHTIME (400ms)
	@cd tools/bench && go run . -benchtime $(BENCHTIME) -rounds $(ROUNDS)

.PHONY: cluster
cluster: build ## Break a cluster in every way while CALLS (200000) are made, and report; on Linux, as root
	@cd tools/cluster && go run . -calls $(CALLS) ../../bin/recourse

.PHONY: picture
picture: ## Draw docs/demo.svg, the picture in the README, from what the demo shows
	go test ./internal/cli/demo -run '^TestPictureIsFresh$$' -update

.PHONY: screenshots
screenshots: ## Take the pictures in docs/console and docs/connections anew, in a real Chromium
	go test ./internal/ops/console ./internal/connection -run '^TestScreenshots$$' -screenshots

.PHONY: simulate
simulate: ## Play agents against a failing server, and write docs/simulation.md
	@cd tools/simulate && go run . -write ../../docs

.PHONY: study
study: ## Check public servers, and write docs/study.md, from the package registries
	@cd tools/study && go run . -write ../../docs/study.md

.PHONY: frameworks
frameworks: ## Run servers in Python, and agents of real frameworks against a failing server, and write docs/frameworks.md
	@tools/frameworks/install.sh
	@E2E_PYTHON_SERVERS="$${FRAMEWORKS:-$(CURDIR)/.tools/frameworks}" go test ./internal/test/e2e -run '^TestBare$$/^python-'
	@cd tools/frameworks && go run . -write ../../docs/frameworks.md

.PHONY: cross
cross: ## Compile all packages for darwin and windows; test-dist links the program for all six platforms
	@for platform in $(PLATFORMS); do \
		echo "$$platform"; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} CGO_ENABLED=0 go list -trimpath -export ./... >/dev/null || exit 1; \
	done

.PHONY: dist
dist: $(GORELEASER) ## Build a release into ./dist: archives, packages, bills of materials, checksums; with Docker, an image
	@PATH="$(CURDIR)/.tools/bin:$$PATH" $(GORELEASER) release --clean --skip=publish \
		$$(git describe --exact-match --tags >/dev/null 2>&1 || echo --snapshot) $$(docker info >/dev/null 2>&1 || echo --skip=docker)

.PHONY: release
release: $(GORELEASER) ## Build the release of the tag that is checked out, and publish it with the notes in NOTES: the workflow does that
	@PATH="$(CURDIR)/.tools/bin:$$PATH" $(GORELEASER) release --clean --release-notes "$(NOTES)"

$(GORELEASER): tools/dist/go.mod tools/dist/go.sum
	@echo "building $@, once"
	@cd tools/dist && CGO_ENABLED=0 GOBIN="$(CURDIR)/.tools/bin" go install tool
	@touch $@

.PHONY: clean
clean: ## Remove what make built and installed
	@if [ -d .tools ]; then chmod -R u+w .tools; fi # a module cache is read-only
	rm -rf bin dist .tools
