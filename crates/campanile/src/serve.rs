//! `campanile serve`: a server from the config, until it is told to stop.

use crate::config::{self, Problems};
use crate::server::RunningServer;
use futures_util::future::BoxFuture;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

/// Reloads that may wait.
const RELOADS_MAX: usize = 16;

type Answer = Result<Vec<String>, Vec<engine::Problem>>;

/// Runs until SIGTERM or SIGINT; SIGHUP reads the config again.
pub async fn run(file: Option<PathBuf>, data: PathBuf) -> Result<(), String> {
    crate::descriptors::raise();
    let setup =
        config::load(file.as_deref(), &data).map_err(|problems| problems.to_string())?.setup(&data)?;
    let (asking, mut asked) = mpsc::channel::<oneshot::Sender<Answer>>(RELOADS_MAX);
    let mut server = RunningServer::open(setup, Some(by_channel(asking))).await?;
    if let Some(token) = &server.admin_token {
        println!("admin token: {token}");
    }
    if let Some(address) = server.http() {
        eprintln!("campanile listens on http://{address}; data is in {}", data.display());
    }
    let mut signals =
        Signals::new().map_err(|error| format!("signal handlers cannot be installed: {error}"))?;
    let mut ended = std::pin::pin!(server.ended());
    loop {
        tokio::select! {
            () = &mut ended => break,
            _ = signals.terminate.recv() => break,
            _ = signals.interrupt.recv() => break,
            _ = signals.hangup.recv() => log_answer(&reload(&mut server, file.as_deref(), &data).await),
            Some(reply) = asked.recv() => {
                let answer = reload(&mut server, file.as_deref(), &data).await;
                log_answer(&answer);
                let _ = reply.send(answer);
            }
        }
    }
    tracing::info!("closing: the doors first, then the routes, once their messages under way are done");
    server.close().await;
    Ok(())
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
async fn reload(server: &mut RunningServer, file: Option<&Path>, data: &Path) -> Answer {
    let config = config::load(file, data).map_err(|problems| listed(&problems))?;
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
