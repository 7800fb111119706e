# The targets are implemented in scripts/.
.DEFAULT_GOAL := help
.PHONY: help all demo demo-distributed test test-all test-faults accept fuzz papers bench bench-core bench-documents bench-duplicates scaling quality explore install deb clean

export PG_CONFIG DESTDIR TESTS STAGES FROM_VERSION LOAD_SECONDS LOAD_CLIENTS ROUNDS N DIMS KIND MANY MEMBERS REPEATS DATA PROFILE UPDATE PREFER NEAR SECONDS_EACH TARGETS KEEP PART PARTS

help: ## list the targets
	@echo "pg_lsbf: locality-sensitive Bloom filters for PostgreSQL"
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-22s %s\n", $$1, $$2 }'
	@echo
	@echo "PG_CONFIG=/path/to/pg_config selects the server (PostgreSQL 15 to 18); by default one is found or installed."

demo: ## build, start a private server and find characters that look alike, with and without a filter; plot in target/demo; PART=1 compares all pairs
	@scripts/demo.sh

demo-distributed: ## run a similarity join between three private servers and count the bytes transferred; UPDATE=1 writes docs/distributed.md
	@scripts/demo-distributed.sh

test: ## run the tests, also on PostgreSQL 16 and 18 with pgvector; TESTS="name ..." selects from tests/sql and tests/scenarios, STAGES="..." stages
	@scripts/test.sh

test-all: ## before a release: every test on every server, more fuzzing, the papers at full size, then test-faults (hours)
	@ALL=1 scripts/test.sh
	@scripts/fault-tests.sh

test-faults: ## run the long tests: ten minutes of load, crashes, pg_upgrade, corrupted values, random calls; TESTS="name ..." of tests/faults, LOAD_SECONDS=, ROUNDS=
	@scripts/fault-tests.sh $(TESTS)

accept: ## rewrite the expected output of the SQL tests, or of TESTS="name ..."
	@scripts/sql-tests.sh --accept $(TESTS)

fuzz: ## test the core under the address sanitizer, then fuzz it for a minute per target; SECONDS_EACH=, TARGETS=, KEEP=1: see scripts/fuzz.sh
	@scripts/sanitize.sh
	@scripts/fuzz.sh

papers: ## repeat the papers' experiments at full size and write docs/papers.md (several minutes)
	@cargo run --release --quiet -p lsbf-tools --bin papers

bench: ## compare with pgvector and print ratios, then bench-duplicates; N=, DIMS=, KIND=: see docs/benchmarks.md
	@scripts/bench.sh
	@scripts/bench-duplicates.sh

bench-core: ## measure hashing and queries without a server
	@scripts/bench-core.sh

bench-documents: ## screen documents for near-duplicates, compared with datasketch; N=2000 is quick: see docs/documents.md
	@scripts/bench-documents.sh

bench-duplicates: ## screen rows for near-duplicates in one pass, compared with pgvector; MANY=50000 is quick: see docs/duplicates.md
	@scripts/bench-duplicates.sh

scaling: ## measure how costs grow and write docs/scaling.md (a minute)
	@cargo run --release --quiet -p lsbf-tools --bin bench scaling

quality: ## evaluate the filters that lsbf_design_for chooses against exact distances (several minutes); UPDATE=1 writes docs/quality.md
	@scripts/quality.sh

explore: ## write target/explore.html, a page with sliders that shows what passes filters of several radii and sizes
	@scripts/explore.sh

all: ## build in release mode only, as PGXN's client does first
	@scripts/install.sh --build

install: ## build in release mode and install into the server of PG_CONFIG; DESTDIR is honoured
	@scripts/install.sh

deb: ## build a Debian package for the server of PG_CONFIG, and test it
	@scripts/deb.sh

clean: ## remove everything that was built
	cargo clean
	rm -rf .tools
