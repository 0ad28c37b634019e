//! The campanile command.

use campanile::cli::{self, Demo, InProcessCommands, Serve};
use campanile::config::LogFormat;
use campanile::{data_folder, demo, log, serve, server};
use std::process::ExitCode;

/// HTTP, the simulators and the wiring share one small runtime; protocols have a runtime per core of their
/// own.
const WORKERS: usize = 2;

fn main() -> ExitCode {
    server::choose_cryptography();
    cli::main(&InProcessCommands { serve: serve_house, demo: show_demo })
}

fn serve_house(serve: Serve) -> Result<(), String> {
    data_folder::keep_private();
    // The server itself reports errors in the config.
    log::begin(serve.config.as_deref(), &serve.data);
    runtime()?.block_on(serve::run(serve))
}

fn show_demo(demo: Demo) -> Result<bool, String> {
    data_folder::keep_private();
    log::begin_with("error", LogFormat::Text);
    if demo.charging {
        let options = demo::charging::ChargingDemoOptions {
            listen: demo.listen,
            diameter: demo.diameter,
            origin_host: demo.origin_host,
            realm: demo.realm,
            exit: demo.exit,
        };
        return runtime()?.block_on(demo::charging::run(options));
    }
    let options = demo::DemoOptions { recipients: demo.recipients, exit: demo.exit, listen: demo.listen };
    runtime()?.block_on(demo::run(options))
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))
}
