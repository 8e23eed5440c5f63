# make              bin/wok
# make run          the relay on ws://127.0.0.1:7777
# make test         all tests
# make check        everything a change must pass before review
# make bench        benchmarks; make bench-PACKAGE those of one package
# make bench-import import of 200k events, with and without verification
# make bench-storage  bytes an event, plain and compressed, and how fast commands are;
#                   STRFRYDB=DIR for migrate too
# make bench-query  queries of all shapes on a million events
# make bench-relay  wok and its peers over the socket, one table
# make conformance  the rules of the protocol, one by one, on relays it starts
# make crash        kills a relay and other commands 500 times, and looks at what
#                   is left
# make fuzz         each fuzz target for FUZZTIME
# make generate     the files that follow from golpe.yaml
#
# libsecp256k1 checks signatures five times as fast as pure Go, and needs a C
# compiler, as LMDB does. Without the tag everything works, only slower.
export GOFLAGS := $(strip $(GOFLAGS) -tags=libsecp256k1)

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
FUZZTIME ?= 30s
COUNT    ?= 6
ROUNDS   ?= 500
EVENTS   ?= 200000
QUERIED  ?= 1000000
FRESH    ?= 200000
STRFRY   ?=
STRFRYDB ?=

.PHONY: build run test check fmt vet lint vuln race invariants bench bench-import bench-storage bench-query bench-relay conformance crash fuzz generate clean

build:
	go build -trimpath -buildvcs=false -ldflags '-X main.version=$(VERSION)' -o bin/wok ./cmd/wok

run: build
	bin/wok relay

test:
	go test ./...

check: fmt vet lint vuln race invariants

fmt:
	@files=$$(gofmt -l .); [ -z "$$files" ] || { echo "gofmt -w is due:"; echo "$$files"; exit 1; }

vet:
	go vet ./...

lint:
	go tool staticcheck ./...

# The database of vulnerabilities is not everywhere within reach.
vuln:
	@out=$$(go tool govulncheck ./... 2>&1) && echo "govulncheck: none known" || \
	case "$$out" in \
	*"fetching vulnerabilities"*) echo "govulncheck: skipped, no answer from its database" ;; \
	*) echo "$$out"; exit 1 ;; \
	esac

# internal/arch is among them.
race:
	go test -race -timeout 30m ./...

invariants:
	go test -tags libsecp256k1,invariants -timeout 30m ./...

bench:
	go test -run '^$$' -bench . -benchmem ./...
	$(MAKE) bench-import

bench-%:
	go test -run '^$$' -bench . -benchmem -count $(COUNT) ./$*/...

bench-import: build bin/bench/$(EVENTS).jsonl
	@for flag in --no-verify=false --no-verify; do \
		rm -rf bin/bench/db; \
		echo "== import $$flag"; \
		bin/wok --db bin/bench/db import $$flag < bin/bench/$(EVENTS).jsonl; \
		echo "$$(($$(wc -c < bin/bench/db/data.mdb) / $(EVENTS))) bytes of database an event, $$(($$(wc -c < bin/bench/$(EVENTS).jsonl) / $(EVENTS))) of JSON"; \
	done

# The tables of docs/operations.md. STRFRYDB=DIR, of a database of strfry's, measures
# migrate as well.
bench-storage: build bin/bench/$(EVENTS).jsonl
	go test -run '^TestStorage$$' -count 1 -v -timeout 60m ./cmd/wok \
		-storage.wok $(CURDIR)/bin/wok -storage.events $(CURDIR)/bin/bench/$(EVENTS).jsonl \
		$(if $(STRFRYDB),-storage.strfry $(abspath $(STRFRYDB)))

bin/bench/%.jsonl:
	@mkdir -p bin/bench
	go run ./internal/testdb/gen -n $* > $@.part
	@mv $@.part $@

# A table of queries of all shapes: plans, work, times, and the best of the other
# plans forced in turn.
bench-query: build bin/bench/$(QUERIED).jsonl
	@[ -d bin/bench/query-$(QUERIED) ] || \
		{ bin/wok --db bin/bench/query-$(QUERIED).part import --no-verify < bin/bench/$(QUERIED).jsonl && \
		mv bin/bench/query-$(QUERIED).part bin/bench/query-$(QUERIED); }
	go test -run '^TestTable$$' -count 1 -v -timeout 30m ./planner -table.db $(CURDIR)/bin/bench/query-$(QUERIED)

# Events to publish: of the same people, and of the days after.
bin/bench/$(EVENTS)-fresh-%.jsonl:
	@mkdir -p bin/bench
	go run ./internal/testdb/gen -n $* -seed 2 -start 1702592000 -span 48h \
		-authors $$(($(EVENTS)/20)) -hashtags $$(($(EVENTS)/40)) > $@.part
	@mv $@.part $@

# STRFRY=path to its executable measures strfry as well. See docs/benchmarks.md.
bench-relay: build bin/bench/$(EVENTS).jsonl bin/bench/$(EVENTS)-fresh-$(FRESH).jsonl
	cd bench && go build -o ../bin/bench-relay . && go build -o ../bin/bench-khatru ./peers/khatru
	bin/bench-relay --events bin/bench/$(EVENTS).jsonl --fresh bin/bench/$(EVENTS)-fresh-$(FRESH).jsonl \
		--dir bin/bench/relays --json bin/bench/relays.json \
		--wok bin/wok --khatru bin/bench-khatru $(if $(STRFRY),--strfry $(STRFRY)) $(BENCHFLAGS)

# Any other relay: go run ./conformance/cmd --url wss://relay.example.com
conformance: build
	go run ./conformance/cmd --wok bin/wok

crash: build
	CRASH_ROUNDS=$(ROUNDS) go test -run Crash -count 1 -timeout 0 -v ./cmd/wok

# go test fuzzes one target of one package at a time.
fuzz:
	@grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sort | while IFS=: read -r file func; do \
		name=$${func#func }; dir=$$(dirname "$$file"); \
		echo "== $$dir $$name"; \
		go test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) "$$dir" || exit 1; \
	done

generate:
	go generate ./...

clean:
	rm -rf bin
