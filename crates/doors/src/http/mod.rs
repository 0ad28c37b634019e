//! The HTTP door: the API, the answer page, CAP, and a small page for people.
//!
//! A request is admitted by the table in [`routes`], read within limits by [`body`], parsed by one `*_body`
//! module into a noun, and handed to the engine or the store. What is wrong with it is told at once, field by
//! field ([`problem`]).

mod accept;
mod accounts;
mod alert_body;
mod alert_events;
mod alert_view;
mod alerts;
mod answer_page;
mod app;
mod attachments;
mod auth;
pub(crate) mod body;
mod cap_api;
mod cap_in;
mod cap_out;
mod credit_sessions;
mod diameter_peers;
mod fields;
mod forward;
mod group_body;
mod groups;
mod json;
mod links;
mod openapi;
mod ops;
mod pages;
mod problem;
mod query;
mod recipients;
mod recipients_stream;
mod rest_of_body;
mod router;
mod routes;
mod server;
mod sessions;
mod tariffs;
#[cfg(test)]
mod tests;
mod texts_body;
mod time_text;
mod tokens;

pub use alert_body::check_audience;
pub use auth::ensure_admin_token;
pub(crate) use auth::hash as token_hash;
pub use cap_in::CapSender;
pub use cap_out::cap_document;
pub use forward::Forwarding;
pub use links::{AnswerLinks, LINK_KEY_OCTETS};
pub use server::{Running, ServeError, serve};

use crate::kannel::{MessageIntake, Platforms};
use arc_swap::ArcSwap;
use engine::{Clock, Engine};
use futures_util::future::BoxFuture;
use metrics_exporter_prometheus::PrometheusHandle;
use std::net::SocketAddr;
use std::sync::Arc;
use store::SharedStore;

/// Where and how to listen.
#[derive(Clone)]
pub struct HttpConfig {
    /// Address; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Certificate chain and key; without it the door speaks plain HTTP.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Where people reach this server, such as `https://alerts.example`.
    pub public_url: Option<String>,
    /// Limits.
    pub limits: Limits,
}

/// Limits of the door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Decompressed octets of a body that is read whole.
    pub body_octets_max: usize,
    /// Octets of one attachment.
    pub attachment_octets_max: u64,
    /// Requests a second of one token; 0 is unlimited.
    pub requests_per_s: u32,
    /// Requests of one token at once above the rate.
    pub burst: u32,
    /// Connections at once; the next ones wait.
    pub connections_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body_octets_max: 64 << 20,
            attachment_octets_max: 256 << 20,
            requests_per_s: 20_000,
            burst: 40_000,
            connections_max: 10_000,
        }
    }
}

/// What the door needs from the server.
pub struct Deps {
    /// The engine.
    pub engine: Engine,
    /// SQL.
    pub store: SharedStore,
    /// Files that alerts carry.
    pub media: store::media::Media,
    /// The wall clock.
    pub clock: Clock,
    /// Answer links; the engine has the same.
    pub links: Arc<AnswerLinks>,
    /// Whom CAP messages reach, by sender; a reload may store another list here.
    pub cap_senders: Arc<ArcSwap<Vec<CapSender>>>,
    /// Takes platforms' messages: [`engine::Messages`].
    pub messages: Arc<dyn MessageIntake>,
    /// Who may send by the old way; a reload may store another table here.
    pub platforms: Arc<ArcSwap<Platforms>>,
    /// What is known of addresses; a reload may store something else here.
    pub defaults: Arc<ArcSwap<channels::Defaults>>,
    /// Reads the config again; tells what changed.
    pub reload: Option<Reload>,
    /// The ledger, where there is one.
    pub ledger: Option<LedgerAccess>,
    /// Renders metrics.
    pub metrics: Option<PrometheusHandle>,
    /// Passes on what another process must answer; nothing: this is the only one.
    pub forwarding: Option<Forwarding>,
}

/// The ledger as the API shows it.
#[derive(Clone)]
pub struct LedgerAccess {
    /// Its accounts, prices and rules.
    pub books: ledger::books::Books,
    /// The connected Diameter peers, from which its sessions come.
    pub peers: Arc<charging::session_notifier::SessionNotifier>,
}

/// Reads the config again: what changed, in words, or what is wrong with it, line by line.
pub type Reload =
    Arc<dyn Fn() -> BoxFuture<'static, Result<Vec<String>, Vec<engine::Problem>>> + Send + Sync>;
