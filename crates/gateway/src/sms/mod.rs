//! Short messages, by SMPP: a client of the carriers.
//!
//! ```text
//! config    what a route is told
//! encode    text to parts, once for a body
//! submit    the submit_sm of a part
//! session   one connection: submits, hears answers, receipts and people
//! carrier   what the sessions of a route share: limit, retries, ids
//! outcome   what the carrier's words mean
//! inbound   messages from people, put together
//! ```

mod carrier;
pub mod config;
mod encode;
mod flight;
mod inbound;
mod outcome;
mod pace;
mod session;
mod submit;
#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::pace::Backoff;
use bus::BusError;
use net::{End, Link, TlsClient, connect, drive, hang_up};
use records::NotTried;
use smpp::pdu::{Bind, BindMode};
use smpp::session::{Role, Session};
use tokio::task::JoinSet;

pub use config::SmsRoute;
pub use encode::{Prepared, SmsCraft, parts, parts_of_short};

use crate::feed::{Feed, FeedSettings};
use crate::world::{Problem, Running, Stop, World};
use carrier::Carrier;
use session::{Ending, Talk};

/// First wait between attempts to connect.
const RECONNECT_FIRST: Duration = Duration::from_millis(500);
/// Longest one.
const RECONNECT_MAX: Duration = Duration::from_secs(30);
/// A session that was bound for so long begins with the first wait again.
const STEADY: Duration = Duration::from_secs(10);
/// A route whose topics cannot be opened tries again after so long.
const REOPEN: Duration = Duration::from_secs(5);

/// Starts a route.
///
/// # Errors
/// Everything that is wrong with its settings.
pub fn start(config: SmsRoute, world: &World) -> Result<Running, Vec<Problem>> {
    let problems = config.problems();
    if !problems.is_empty() {
        return Err(problems);
    }
    let tls = match config.tls.as_ref().map(TlsClient::new).transpose() {
        Ok(tls) => tls,
        Err(error) => return Err(vec![Problem { field: "tls", reason: error.to_string() }]),
    };
    let (name, core) = (config.name.clone(), world.cores.next());
    let given = world.clone();
    Ok(Running::start(&name, world, core, move |stop| run(config, tls, given, stop)))
}

async fn run(config: SmsRoute, tls: Option<TlsClient>, world: World, mut stop: Stop) {
    let carrier = loop {
        match open(&config, &world).await {
            Ok(carrier) => break carrier,
            Err(error) => tracing::error!(route = config.name, %error, "the route cannot start yet"),
        }
        tokio::select! {
            () = tokio::time::sleep(REOPEN) => {}
            () = stop.wait() => return,
        }
    };
    let feed = Arc::clone(&carrier.feed);
    let mut feeding = tokio::spawn(async move { feed.run().await });
    let mut sessions = JoinSet::new();
    for mode in carrier.config.modes() {
        sessions.spawn(keep_session(Arc::clone(&carrier), tls.clone(), mode, stop.clone()));
    }
    tokio::select! {
        () = stop.wait() => {}
        // When the bus is closing, or by a fault of ours.
        ended = &mut feeding => tracing::error!(route = carrier.config.name, ?ended, "the route has no feed any more"),
    }
    carrier.feed.close();
    while sessions.join_next().await.is_some() {}
    carrier.give_up_all(NotTried::Closing);
    carrier.feed.finish();
    if !feeding.is_finished()
        && let Err(error) = feeding.await
    {
        tracing::error!(route = carrier.config.name, %error, "the route's feed ended in a panic");
    }
}

async fn open(config: &SmsRoute, world: &World) -> Result<Arc<Carrier>, BusError> {
    let settings = FeedSettings { route: config.name.clone(), slots: config.slots(), rate: config.rate };
    let feed = Feed::open(world, settings, SmsCraft::new(config)).await?;
    Ok(Arc::new(Carrier::new(config.clone(), world.clone(), feed)?))
}

/// One session, bound again whenever it ends, until the route stops.
async fn keep_session(carrier: Arc<Carrier>, tls: Option<TlsClient>, mode: BindMode, mut stop: Stop) {
    let mut backoff = Backoff::new(RECONNECT_FIRST, RECONNECT_MAX);
    while !stop.is_set() {
        let begun = Instant::now();
        let (trouble, bound) = session(&carrier, tls.as_ref(), mode, &stop).await;
        if stop.is_set() {
            return;
        }
        if bound && begun.elapsed() >= STEADY {
            backoff.reset();
        }
        let wait = backoff.wait(chance());
        tracing::warn!(
            route = carrier.config.name,
            ?mode,
            trouble,
            wait_ms = wait.as_millis() as u64,
            "not bound"
        );
        carrier.feed.trouble(&trouble);
        carrier.give_up_if_down();
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stop.wait() => {}
        }
    }
}

/// From connecting to the end; says why it ended, and whether it was bound.
async fn session(
    carrier: &Arc<Carrier>,
    tls: Option<&TlsClient>,
    mode: BindMode,
    stop: &Stop,
) -> (String, bool) {
    let config = &carrier.config;
    let mut stopping = stop.clone();
    let stream = tokio::select! {
        stream = connect(&config.address, tls, config.connect_timeout) => match stream {
            Ok(stream) => stream,
            Err(error) => return (error.to_string(), false),
        },
        () = stopping.wait() => return ("stopped".to_owned(), false),
    };
    let now = Instant::now();
    let mut machine = Session::new(Role::Esme, config.session(), now);
    let bind = Bind {
        mode,
        system_id: config.system_id.as_bytes(),
        password: config.password.reveal().as_bytes(),
        system_type: config.system_type.as_bytes(),
        interface_version: config.version,
        ..Bind::default()
    };
    if let Err(error) = machine.bind(&bind, now) {
        return (format!("cannot bind: {error}"), false);
    }
    let mut talk = Talk::new(Arc::clone(carrier), mode, stop.clone());
    let mut link = Link::new(stream);
    let end = tokio::select! {
        end = drive(&mut link, &mut machine, &mut talk) => end,
        // The carrier does not even answer the unbind.
        () = overdue(&mut stopping, config.drain) => End::Finished,
    };
    hang_up(&mut machine, &mut talk);
    let why = words(&talk.end, &end);
    let ending = talk.leave(&why, Instant::now());
    (why, ending.bound)
}

/// Resolves when a session that was told to stop has had its time: for the rest of a message, for what was under way, and
/// as much again for the unbind.
async fn overdue(stopping: &mut Stop, drain: Duration) {
    stopping.wait().await;
    tokio::time::sleep(drain * 3).await;
}

fn words(ending: &Ending, end: &End) -> String {
    match (ending.refused, ending.reason, end) {
        (Some(status), ..) => format!("the carrier refused the bind: {status}"),
        (None, _, End::Broken(error)) => format!("the connection broke: {error}"),
        (None, Some(reason), _) => reason.to_string(),
        (None, None, _) => "the connection went away".to_owned(),
    }
}

/// From 0 to 1: so that a thousand sessions cut off together do not come back together.
fn chance() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}
