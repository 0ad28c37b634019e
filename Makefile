# What people type. ARGS reaches the program: make demo ARGS="--recipients 200 --exit"

ARGS ?=

.PHONY: help demo test bench fmt lint

help:
	@echo 'make demo    a simulated town, one alert, its report; stays up to be looked at (ARGS="--exit" ends it)'
	@echo 'make test    everything CI checks: format, lints, tidy, all tests, with real peers'
	@echo 'make bench   measures: ARGS="alert --recipients 100000 --channels sms,mail" and others, see ARGS="--help"'
	@echo 'make fmt     formats the code'
	@echo 'make lint    clippy with warnings as errors, and tidy'

demo:
	cargo run --profile perf -p campanile -- demo $(ARGS)

test:
	scripts/test

bench:
	cargo build --profile perf -p campanile -p bench && "$${CARGO_TARGET_DIR:-target}/perf/campanile" bench $(ARGS)

fmt:
	cargo fmt --all
	rustfmt --edition 2024 crates/channels/src/*.rs # declared by a macro, which cargo fmt does not open

lint:
	cargo clippy --workspace --all-targets -- -D warnings
	cargo xtask tidy
