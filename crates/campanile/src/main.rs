//! The campanile command.

use campanile::cli::{self, Demo, Rooms, Serve};
use campanile::{demo, house, serve};
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// HTTP, the simulators and the wiring share one small runtime; protocols have a runtime per core of their own.
const WORKERS: usize = 2;

fn main() -> ExitCode {
    house::choose_cryptography();
    cli::main(&Rooms { serve: serve_house, demo: show_demo, bench: measure })
}

fn serve_house(serve: Serve) -> Result<(), String> {
    log("info");
    runtime()?.block_on(serve::run(serve.config, serve.data))
}

fn show_demo(demo: Demo) -> Result<bool, String> {
    log("error");
    let options = demo::Options { recipients: demo.recipients, exit: demo.exit, listen: demo.listen };
    runtime()?.block_on(demo::run(options))
}

fn measure(bench: bench::Command) -> Result<(), String> {
    let program =
        std::env::current_exe().map_err(|error| format!("this program's own path is not known: {error}"))?;
    bench.run(&program)
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))
}

/// The log goes to standard error; `CAMPANILE_LOG` says how much (`debug`, `gateway=trace`), `CAMPANILE_LOG_FORMAT=json` in which form.
fn log(level: &str) {
    let filter = EnvFilter::try_from_env("CAMPANILE_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let logger = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if std::env::var("CAMPANILE_LOG_FORMAT").is_ok_and(|format| format == "json") {
        logger.json().init();
    } else {
        logger.init();
    }
}
