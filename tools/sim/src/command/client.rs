//! `sim credit --connect`: the other side.

use super::put;
use crate::credit::client::{CreditClientOptions, Script};
use clap::Args;

/// The server's options that are of no use to a client.
pub(super) const OF_THE_SERVER: [&str; 6] =
    ["listen", "balance", "latency", "refused", "refused_with", "lost"];

/// What a client does.
#[derive(Debug, Args)]
pub(super) struct ClientArgs {
    /// Run a client instead: it drives sessions against the server at this address, prints their results, and
    /// exits
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = OF_THE_SERVER, conflicts_with = "seed")]
    pub(super) connect: Option<String>,
    /// Steps of each session: I5 (INITIAL, requests 5), U3/5 (UPDATE, 3 used, requests 5), T2 (TERMINATION, 2
    /// used), E5, R5, B5, P5 (EVENT: debit, refund, balance, price), = (the last one again, with the T bit),
    /// 200ms (a pause) [default: "I5 U5/5 T5"]
    #[arg(long, value_name = "WORDS", requires = "connect")]
    script: Option<Script>,
    /// Number of sessions [default: 1]
    #[arg(long, value_name = "N", requires = "connect")]
    sessions: Option<u64>,
    /// Sessions at once [default: 1]
    #[arg(long, value_name = "N", requires = "connect")]
    at_once: Option<usize>,
    /// New sessions a second at most
    #[arg(long, value_name = "N", requires = "connect")]
    rate: Option<f64>,
    /// Telephone number of the first subscriber [default: 46701740605]
    #[arg(long, value_name = "DIGITS", requires = "connect")]
    subscriber: Option<u64>,
    /// Number of subscribers, with consecutive numbers, used in turn [default: 1]
    #[arg(long, value_name = "N", requires = "connect")]
    subscribers: Option<u64>,
}

impl ClientArgs {
    /// What is asked for; nothing: no client.
    pub(super) fn options(
        self,
        origin_host: Option<String>,
        origin_realm: Option<String>,
    ) -> Result<Option<CreditClientOptions>, String> {
        let Some(connect) = self.connect else { return Ok(None) };
        let mut options = CreditClientOptions { connect, rate: self.rate, ..CreditClientOptions::default() };
        put(&mut options.origin_host, origin_host);
        put(&mut options.origin_realm, origin_realm);
        put(&mut options.script, self.script);
        put(&mut options.sessions, self.sessions);
        put(&mut options.at_once, self.at_once);
        put(&mut options.subscriber, self.subscriber);
        put(&mut options.subscribers, self.subscribers);
        options.check()?;
        Ok(Some(options))
    }
}
