//! The campanile command.

use campanile::cli::{self, Demo, InProcessCommands, Serve};
use campanile::config::{self, LogFormat};
use campanile::{demo, serve, server};
use std::io::IsTerminal;
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// HTTP, the simulators and the wiring share one small runtime; protocols have a runtime per core of their
/// own.
const WORKERS: usize = 2;

fn main() -> ExitCode {
    server::choose_cryptography();
    cli::main(&InProcessCommands { serve: serve_house, demo: show_demo })
}

fn serve_house(serve: Serve) -> Result<(), String> {
    // The server itself reports errors in the config.
    let log_config =
        config::load(serve.config.as_deref(), &serve.data).map(|config| config.log).unwrap_or_default();
    log(&log_config.filter, log_config.format);
    runtime()?.block_on(serve::run(serve.config, serve.data))
}

fn show_demo(demo: Demo) -> Result<bool, String> {
    log("error", LogFormat::Text);
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

/// The log goes to standard error. `CAMPANILE_LOG` (`debug`, `gateway=trace`) and `CAMPANILE_LOG_FORMAT=json`
/// go over `[log]`.
fn log(filter: &str, format: LogFormat) {
    let filter = EnvFilter::try_from_env("CAMPANILE_LOG").unwrap_or_else(|_| EnvFilter::new(filter));
    let logger = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(is_coloured(std::io::stderr().is_terminal(), std::env::var_os("NO_COLOR")))
        .with_writer(std::io::stderr);
    let wants_json = std::env::var("CAMPANILE_LOG_FORMAT").is_ok_and(|format| format == "json");
    if wants_json || format == LogFormat::Json {
        logger.json().init();
    } else {
        logger.init();
    }
}

/// Colours are for eyes: in a journal or a container's log they are noise that no search finds its way
/// through. `NO_COLOR` (not empty) takes them from terminals too.
fn is_coloured(is_terminal: bool, no_color: Option<std::ffi::OsString>) -> bool {
    is_terminal && no_color.is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::is_coloured;

    #[test]
    fn a_log_has_colours_on_a_terminal_alone_and_not_where_they_are_unwanted() {
        assert!(is_coloured(true, None) && is_coloured(true, Some("".into())));
        assert!(!is_coloured(false, None) && !is_coloured(true, Some("1".into())));
    }
}
