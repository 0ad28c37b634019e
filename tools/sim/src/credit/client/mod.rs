//! A client of credit control: drives sessions against a server as a script says, by one connection, and
//! looks whether the answers are what they should be. For drills of a charging server, as [`Ocs`](super::Ocs)
//! is for those of a client.
//!
//! Whatever is repeated must be answered as before, and nothing may stay without an answer. When the server
//! wants credit to be asked for again (RAR), an UPDATE follows at once, also out of a pause; when it wants a
//! session ended (ASR), a TERMINATION.

mod connection;
mod script;
mod session;
#[cfg(test)]
mod tests;

pub use script::Script;

use connection::{ClientConnection, Driver};
use diameter::peer::{Application, Connection, ConnectionConfig, Identity, Start};
use net::{Link, drive};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Connecting takes at most so long.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Sessions of one run at most.
const SESSIONS_MAX: u64 = 10_000_000;
/// Subscribers have so many digits at most (E.164).
const DIGITS_MAX: usize = 15;

/// What the client is and does.
#[derive(Debug, Clone, PartialEq)]
pub struct CreditClientOptions {
    /// Where the server is, `host:port`.
    pub connect: String,
    /// Its DiameterIdentity.
    pub origin_host: String,
    /// Its realm.
    pub origin_realm: String,
    /// What each session does.
    pub script: Script,
    /// How many sessions.
    pub sessions: u64,
    /// So many of them at once.
    pub at_once: usize,
    /// New sessions a second; nothing: as fast as others end.
    pub rate: Option<f64>,
    /// The first subscriber's number (E.164).
    pub subscriber: u64,
    /// How many subscribers there are; sessions take turns.
    pub subscribers: u64,
    /// How long an answer is waited for (Tx).
    pub tx: Duration,
}

impl Default for CreditClientOptions {
    fn default() -> CreditClientOptions {
        CreditClientOptions {
            connect: "127.0.0.1:3868".to_owned(),
            origin_host: "client.sim.example".to_owned(),
            origin_realm: "sim.example".to_owned(),
            script: Script::default(),
            sessions: 1,
            at_once: 1,
            rate: None,
            subscriber: 46_701_740_605,
            subscribers: 1,
            tx: diameter::credit::client::TX_DEFAULT,
        }
    }
}

impl CreditClientOptions {
    /// Whether they can be.
    ///
    /// # Errors
    /// The field that cannot be.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=SESSIONS_MAX).contains(&self.sessions) {
            return Err(format!("sessions: {} is not 1 to {SESSIONS_MAX}", self.sessions));
        }
        if self.at_once == 0 || self.at_once > diameter::peer::WINDOW_MAX {
            return Err(format!("at_once: {} is not 1 to {}", self.at_once, diameter::peer::WINDOW_MAX));
        }
        if self.rate.is_some_and(|rate| !(0.001..=1e6).contains(&rate)) {
            return Err("rate: must be from 0.001 to 1000000 a second".to_owned());
        }
        let last = self.subscriber.saturating_add(self.subscribers);
        if self.subscribers == 0 || last.to_string().len() > DIGITS_MAX {
            return Err(format!("subscribers: at least 1, and numbers of at most {DIGITS_MAX} digits"));
        }
        if self.origin_host.is_empty() || self.origin_realm.is_empty() {
            return Err("origin_host and origin_realm are needed".to_owned());
        }
        match self.tx.is_zero() {
            true => Err("tx: must be more than nothing".to_owned()),
            false => Ok(()),
        }
    }
}

/// What became of the sessions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CreditClientReport {
    /// Sessions that are through with their script, or were ended by the server.
    pub sessions: u64,
    /// Requests, with those that were repeated.
    pub requests: u64,
    /// Answers by Result-Code.
    pub answers: BTreeMap<u32, u64>,
    /// Requests without an answer in time.
    pub unanswered: u64,
    /// Answers to repeated requests that were as the first ones, but for the Hop-by-Hop Identifier.
    pub alike: u64,
    /// And those that were not.
    pub unlike: u64,
    /// Service-specific units that were granted.
    pub granted: u64,
    /// Units that were told as used, or debited, and taken.
    pub used: u64,
    /// Times that the server wanted more credit to be asked for (RAR).
    pub asked_again: u64,
    /// Times that it wanted a session ended (ASR).
    pub aborted: u64,
    /// How long it took.
    pub took: Duration,
}

impl CreditClientReport {
    /// What should not have been.
    pub fn problem(&self) -> Option<String> {
        let unlike =
            (self.unlike > 0).then(|| format!("{} repeated requests were answered otherwise", self.unlike));
        unlike.or_else(|| {
            (self.unanswered > 0).then(|| format!("{} requests were not answered in time", self.unanswered))
        })
    }
}

/// Runs all sessions, and says what became of them.
///
/// # Errors
/// Options that cannot be (`InvalidInput`), a server that is not there, does not let the client in or ends
/// the connection.
pub async fn drill(options: CreditClientOptions) -> io::Result<CreditClientReport> {
    options.check().map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
    let stream = net::connect(&options.connect, None, CONNECT_MAX).await.map_err(io::Error::other)?;
    let local = stream.local()?.ip();
    let application = Application::auth(diameter::dictionary::application::CREDIT_CONTROL);
    let mut config =
        ConnectionConfig::new(Identity::new(&options.origin_host, &options.origin_realm, application));
    config.window = options.at_once;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let began = Instant::now();
    let start = Start { local, is_secured: false, watchdog: None, seed: since.subsec_nanos().into() };
    let connection = Connection::connecting(Arc::new(config), start, None, began);
    let mut connection = ClientConnection::new(connection, options, since, began);
    let end = drive(&mut Link::new(stream), &mut connection, &mut Driver::default()).await;
    let mut report = connection.report().map_err(|why| io::Error::other(format!("{why} ({end:?})")))?;
    report.took = began.elapsed();
    Ok(report)
}

/// Runs all sessions, and prints what became of them.
///
/// # Errors
/// As [`drill`]; answers that are not what they should be.
pub fn run(options: CreditClientOptions) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(drill(options))?;
    report.print(&mut io::stdout().lock())?;
    report.problem().map_or(Ok(()), |why| Err(io::Error::other(why)))
}

impl CreditClientReport {
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let seconds = self.took.as_secs_f64();
        writeln!(out, "{} sessions, {} requests in {seconds:.2} s", self.sessions, self.requests)?;
        for (code, count) in &self.answers {
            writeln!(out, "  {code:>5}  {count} answers")?;
        }
        writeln!(out, "  units  {} granted, {} used", self.granted, self.used)?;
        writeln!(out, "  again  {} answered alike, {} otherwise", self.alike, self.unlike)?;
        writeln!(
            out,
            "  server {} times RAR, {} times ASR; {} without an answer",
            self.asked_again, self.aborted, self.unanswered
        )
    }
}
