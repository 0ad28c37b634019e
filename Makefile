# Commands of a day's work. ARGS reaches the program: make demo ARGS="--recipients 200 --exit"

ARGS ?=

.PHONY: help demo check test test-all fuzz bench bench-console console fmt lint

help:
	@echo 'make demo      a simulated town, one alert, its report; stays up to be looked at (ARGS="--exit" ends it)'
	@echo 'make check     format, tidy, clippy and all tests that need no foreign software: the quick loop'
	@echo 'make test      the same and all other tests; installs foreign software as late as it can'
	@echo 'make test-all  everything, whatever has changed, with all seeds; writes tools/it/full-run, to be committed'
	@echo 'make fuzz      every fuzz target: ten minutes after a change, else two; writes tools/fuzz-run, to be committed'
	@echo 'make bench     measures: ARGS="alert --recipients 100000 --channels sms,mail" and others, see ARGS="--help"'
	@echo 'make console   builds the web console, which the next build of the program embeds; needs Node 20 or newer'
	@echo 'make bench-console  measures the console in a browser'
	@echo 'make fmt       formats the code'
	@echo 'make lint      clippy with warnings as errors, and tidy'
	@echo 'One story, one group of stories, more seeds: docs/dev/testing.md'

demo:
	@scripts/build-console
	cargo run --profile ci -p campanile --features tokio/test-util -- demo $(ARGS) # the same build as the tests'

check:
	cargo xtask check

test:
	cargo xtask test

test-all:
	cargo xtask test --all

fuzz:
	cargo xtask fuzz $(ARGS)

bench:
	cargo build --profile perf -p campanile -p bench && "$${CARGO_TARGET_DIR:-target}/perf/campanile" bench $(ARGS)

console:
	scripts/build-console --required

bench-console: console
	cargo build --profile perf -p campanile
	CAMPANILE_BIN="$$(realpath "$${CARGO_TARGET_DIR:-target}/perf/campanile")" npm run bench --prefix console -- $(ARGS)

fmt:
	cargo fmt --all
	rustfmt --edition 2024 crates/channels/src/*.rs crates/gateway/src/*/mod.rs # declared by macros, which cargo fmt does not open

lint:
	cargo clippy --profile ci --workspace --all-targets -- -D warnings
	cargo xtask tidy
