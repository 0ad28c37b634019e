//! `campanile serve`: a server from the config, until it is told to stop.

use crate::config::{self, Config, Place, Problems};
use crate::log;
use crate::pairing::EmptyBus;
use crate::server::RunningServer;
use crate::server_facts::ConfigFile;
use crate::service_manager::ServiceManager;
use futures_util::future::BoxFuture;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

/// Reloads that may wait.
const RELOADS_MAX: usize = 16;

type Answer = Result<Vec<String>, Vec<engine::Problem>>;

/// Runs until SIGTERM or SIGINT; SIGHUP reads the config again.
pub async fn run(options: crate::cli::Serve) -> Result<(), String> {
    let crate::cli::Serve { config: file, data, without_bus } = options;
    let empty_bus = if without_bus { EmptyBus::Taken } else { EmptyBus::Refused };
    crate::descriptors::raise();
    let (config, found) = read(file.clone(), data.clone()).await.map_err(|problems| problems.to_string())?;
    let mut warnings = ConfigWarnings::default();
    warnings.log(found);
    let setup = config.setup(&data)?;
    let (asking, mut asked) = mpsc::channel::<oneshot::Sender<Answer>>(RELOADS_MAX);
    let mut server = RunningServer::open_with(setup, Some(by_channel(asking)), empty_bus).await?;
    server.show_config(Arc::new(ConfigFile { file: file.clone(), data: data.clone() }));
    // Last of all: a start that fails must not have made a token.
    server.ensure_admin_token(crate::first_token::print).await?;
    if let Some(address) = server.http() {
        let words = format!("campanile listens on http://{address}; data is in {}", data.display());
        log::say("INFO", &words);
    }
    let mut signals =
        Signals::new().map_err(|error| format!("signal handlers cannot be installed: {error}"))?;
    // Once it is told so, a service manager may send any of them.
    let manager = ServiceManager::from_environment();
    manager.ready();
    let watch = tokio::spawn(manager.clone().keep_watch(engine_probe(&server)));
    let mut ended = std::pin::pin!(server.ended());
    loop {
        tokio::select! {
            () = &mut ended => break,
            _ = signals.terminate.recv() => break,
            _ = signals.interrupt.recv() => break,
            _ = signals.hangup.recv() => {
                manager.reloading();
                let store = server.store.clone();
                let reloading = reload(&mut server, &mut warnings, file.as_deref(), &data);
                log_answer(&crate::audit_trail::noted_by_signal(store, reloading).await);
                manager.ready();
            }
            Some(reply) = asked.recv() => {
                manager.reloading();
                let answer = reload(&mut server, &mut warnings, file.as_deref(), &data).await;
                manager.ready();
                log_answer(&answer);
                let _ = reply.send(answer);
            }
        }
    }
    tracing::info!("closing: the doors first, then the routes, once their messages under way are done");
    manager.stopping();
    watch.abort();
    server.close().await;
    Ok(())
}

/// Asks the engine for a sign of life: its loop answers, and nobody for it.
fn engine_probe(server: &RunningServer) -> impl FnMut() -> BoxFuture<'static, bool> + use<> {
    let engine = server.engine.clone();
    move || {
        let engine = engine.clone();
        Box::pin(async move { engine.health().await.is_ok() })
    }
}

/// Reads the config on a thread of its own: host names in it are looked up.
async fn read(file: Option<PathBuf>, data: PathBuf) -> Result<(Config, Vec<String>), Problems> {
    let load = move || config::load_to_serve(file.as_deref(), &data);
    let (config, warnings) = tokio::task::spawn_blocking(load).await.unwrap_or_else(|error| {
        let mut problems = Problems::new(config::FILE);
        problems.add(Place::Nowhere, "", format!("cannot be read: {error}"));
        Err(problems)
    })?;
    Ok((config, warnings))
}

/// Warnings of the config that the log has: a reload says only what is new.
#[derive(Default)]
struct ConfigWarnings(Vec<String>);

impl ConfigWarnings {
    fn log(&mut self, found: Vec<String>) {
        for warning in found.iter().filter(|warning| !self.0.contains(warning)) {
            tracing::warn!("{warning}");
        }
        self.0 = found;
    }
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }
}

/// The HTTP door asks by a channel: the server is owned by the loop.
fn by_channel(asking: mpsc::Sender<oneshot::Sender<Answer>>) -> doors::http::Reload {
    Arc::new(move || -> BoxFuture<'static, Answer> {
        let asking = asking.clone();
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            if asking.send(reply).await.is_err() {
                return Err(vec![problem("", "the server is closing")]);
            }
            answer.await.unwrap_or_else(|_| Err(vec![problem("", "the server is closing")]))
        })
    })
}

/// A bad file changes nothing and says why.
async fn reload(
    server: &mut RunningServer,
    warnings: &mut ConfigWarnings,
    file: Option<&Path>,
    data: &Path,
) -> Answer {
    let (config, found) =
        read(file.map(Path::to_owned), data.to_owned()).await.map_err(|problems| listed(&problems))?;
    warnings.log(found);
    let setup = config.setup(data).map_err(|why| vec![problem("", &why)])?;
    server.apply(&setup).await.map_err(|why| vec![problem("", &why)])
}

fn listed(problems: &Problems) -> Vec<engine::Problem> {
    let one = |found: &config::SettingsProblem| {
        problem(&format!("{}: {}", problems.place(found), found.field), &found.reason)
    };
    problems.list().iter().map(one).collect()
}

fn problem(field: &str, reason: &str) -> engine::Problem {
    engine::Problem { field: field.to_owned(), reason: reason.to_owned() }
}

fn log_answer(answer: &Answer) {
    match answer {
        Ok(changes) => tracing::info!(changes = changes.join("; "), "the config was reloaded"),
        Err(problems) => {
            for problem in problems {
                tracing::error!(
                    field = problem.field,
                    problem.reason,
                    "the config has a problem; nothing was changed"
                );
            }
        }
    }
}
