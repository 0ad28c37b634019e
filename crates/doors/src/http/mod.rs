//! The HTTP door: the API, the answer page, CAP, and pages for people.
//!
//! Each noun of the API has a folder or a file, which begins with its routes: [`alerts`], [`answer_page`],
//! [`person_page`], [`callbacks`], [`recipients`], [`groups`], [`accounts`], [`tokens`], [`users`],
//! [`session`], [`oidc`], [`approvals`], [`cap`], [`attachments`], [`drafts`], [`templates`], [`areas`],
//! [`schedules`], [`audit`], [`operations`], [`pages`], [`openapi`], [`imports`], [`directories`], [`scim`],
//! [`help_cases`], [`profiles`], [`audience`], [`previews`], [`evidence`](mod@evidence), [`carriers`] (the
//! operators' routes), [`messages`], [`clients`], [`system`], [`map`], [`readiness`], [`demo`],
//! [`event_stream`]. What no route takes is the [`console`]'s.
//!
//! Every request passes the [`server`], the [`router`], the guard
//! ([`auth`], by the table in [`routes`]) and the [`forward`]ing to the leader; it is read by [`request`],
//! and handed to the engine or the store. All its problems are reported at once, field by field
//! ([`problem`]).

mod account_places;
mod accounts;
mod alerts;
mod answer_page;
mod app;
mod approvals;
mod areas;
mod attachments;
mod audience;
mod audit;
mod auth;
mod authors;
mod callbacks;
mod cap;
mod carriers;
mod clients;
mod console;
mod demo;
mod directories;
mod drafts;
mod event_stream;
mod evidence;
mod forward;
mod group_requests;
mod groups;
mod help_cases;
mod imports;
mod map;
mod messages;
mod methods;
mod oidc;
mod openapi;
mod operations;
mod pages;
mod person_page;
mod previews;
mod problem;
mod profiles;
mod readiness;
mod recipients;
pub(crate) mod request;
mod role_matrix;
mod router;
mod routes;
mod schedules;
mod scim;
mod scope;
mod server;
mod session;
mod stops;
mod system;
mod templates;
#[cfg(test)]
pub(crate) mod tests;
mod tokens;
mod uploads;
pub(crate) mod users;
mod versioned;

pub use self::cap::incoming::CapSender;
pub use self::cap::outgoing::cap_document;
pub use alerts::body::check_audience;
pub use answer_page::links::{AnswerLinks, LINK_KEY_OCTETS};
pub(crate) use auth::hash as token_hash;
pub use auth::{AdminOnRecord, AdminRecord, AdminToken, ensure_admin_token, mint_token};
pub use callbacks::CallbackTarget;
pub use carriers::RouteInConfig;
pub use console::{StaticFile, StaticFiles};
pub use demo::{CarrierBehaviour, DemoCarrier, DemoCarriers};
pub use directories::{DIRECTORY_ATTRIBUTE, Directories, DirectoryRow, DirectorySettings, DirectorySource};
pub use forward::Forwarding;
pub use map::{MapFiles, MapPaths};
pub use openapi::openapi_document;
pub(crate) use server::is_host;
pub use server::{HttpRunning, ServeError, serve};
pub use session::links::SignInLinks;
pub use sign_in::oidc::discovery::is_url as is_provider_url;
pub use system::{
    CheckedConfig, ConfigAccess, ConfigKey, ConfigProblem, ConfigSection, EdgeSiteFacts, ServerFacts,
    ServerHandles, ShownConfig,
};
pub use users::offline::add_user;
pub use users::sign_in_state::{OidcSettings, SignInPolicy, USER_KEY_OCTETS};

use crate::MessageIntake;
use crate::guessing::GuessingGuard;
use crate::kannel::Platforms;
use crate::live_tokens::LiveTokens;
use arc_swap::ArcSwap;
use engine::{Clock, Engine};
use futures_util::future::BoxFuture;
use metrics_exporter_prometheus::PrometheusHandle;
use net::{Balancers, DescriptorBudget, OutboundPolicy};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use store::SharedStore;

/// Address, TLS and limits of the door.
#[derive(Clone)]
pub struct HttpConfig {
    /// Address; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Certificate chain and key; without it the door serves plain HTTP.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Where people reach this server, such as `https://alerts.example`.
    pub public_url: Option<String>,
    /// Limits.
    pub limits: HttpLimits,
    /// Balancers whose connections begin with a PROXY header.
    pub balancers: Balancers,
    /// Proxies that name the client in `X-Forwarded-For`.
    pub trusted_proxies: Balancers,
    /// What all doors together may open.
    pub descriptors: Arc<DescriptorBudget>,
    /// How people sign in, until a reload says otherwise.
    pub sign_in: SignInPolicy,
    /// The console's files; nothing: people have the pages without scripts alone.
    pub console: Option<Arc<dyn StaticFiles>>,
}

impl HttpConfig {
    /// Plain HTTP with the usual limits, and no balancer in front.
    pub fn plain(listen: SocketAddr, public_url: Option<String>) -> HttpConfig {
        HttpConfig {
            listen,
            tls: None,
            public_url,
            limits: HttpLimits::default(),
            balancers: Balancers::default(),
            trusted_proxies: Balancers::default(),
            descriptors: DescriptorBudget::unlimited(),
            sign_in: SignInPolicy::default(),
            console: None,
        }
    }
}

/// Limits of the door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpLimits {
    /// Decompressed octets of a body that is read whole.
    pub body_octets_max: usize,
    /// Octets of one attachment.
    pub attachment_octets_max: u64,
    /// Octets of all attachments of one account.
    pub attachments_total_max: u64,
    /// An attachment that no alert names is removed after so long.
    pub attachments_unnamed_kept: Duration,
    /// Octets that must stay free on the disk of attachments; 0: none.
    pub attachments_disk_reserve: u64,
    /// Requests a second of one token; 0 is unlimited.
    pub requests_per_s: u32,
    /// Requests of one token at once above the rate.
    pub burst: u32,
    /// Connections at once. One more takes the place of a waiting one, or is closed.
    pub connections_max: usize,
    /// Connections at once of one address (in IPv6: of its first 64 bits). At the limit its oldest connection
    /// without a whole request, or that does not read, makes room for its next one.
    pub connections_per_address_max: usize,
    /// Time until a request's head is whole; an idle connection is closed after it.
    pub head_timeout: Duration,
    /// Time that a client may leave its answers unread.
    pub write_stall: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        HttpLimits {
            body_octets_max: 64 << 20,
            attachment_octets_max: 256 << 20,
            attachments_total_max: 1 << 30,
            attachments_unnamed_kept: Duration::from_secs(86_400),
            attachments_disk_reserve: 256 << 20,
            requests_per_s: 20_000,
            burst: 40_000,
            connections_max: 10_000,
            connections_per_address_max: 2_500,
            head_timeout: Duration::from_secs(30),
            write_stall: Duration::from_secs(30),
        }
    }
}

/// The parts of the server that the door uses.
pub struct Deps {
    /// The engine.
    pub engine: Engine,
    /// SQL.
    pub store: SharedStore,
    /// Files that alerts carry.
    pub media: store::media::Media,
    /// The wall clock.
    pub clock: Clock,
    /// What the door signs with, or shows to whom it belongs.
    pub secrets: DoorSecrets,
    /// Answer links; the engine has the same.
    pub links: Arc<AnswerLinks>,
    /// Takes platforms' messages: [`engine::Messages`].
    pub messages: Arc<dyn MessageIntake>,
    /// Tokens by which something is open, in all doors.
    pub live_tokens: Arc<LiveTokens>,
    /// Bounds guesses of passwords and tokens over all doors.
    pub guessing: Arc<GuessingGuard>,
    /// What a reload may change.
    pub policies: ReloadedPolicies,
    /// Forgets a person in what neither engine nor store keeps.
    pub forget_elsewhere: Option<engine::ForgetElsewhere>,
    /// Reads the config again.
    pub reload: Option<Reload>,
    /// The ledger, where there is one.
    pub ledger: Option<LedgerAccess>,
    /// Renders metrics.
    pub metrics: Option<PrometheusHandle>,
    /// Forwards requests to the leading process; nothing if this is the only process.
    pub forwarding: Option<Forwarding>,
}

/// Secrets that the door is given.
#[derive(Clone)]
pub struct DoorSecrets {
    /// Signs what retention drops from the audit trail.
    pub audit: store::AuditKey,
    /// The secrets that sign callbacks.
    pub callbacks: CallbackSecrets,
    /// Seals what users sign in with; the same in all processes.
    pub users: [u8; USER_KEY_OCTETS],
    /// Verifies evidence of alerts. No secret: it is shown.
    pub evidence: ::evidence::PublicKey,
}

/// The secret that signs an account's callbacks, `whsec_` and base64; nothing where it cannot be made.
pub type CallbackSecrets = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Tables and policies of the config; a reload may store others in each.
#[derive(Clone, Default)]
pub struct ReloadedPolicies {
    /// Audiences of CAP messages, by sender.
    pub cap_senders: Arc<ArcSwap<Vec<CapSender>>>,
    /// Platforms that may use sendsms.
    pub platforms: Arc<ArcSwap<Platforms>>,
    /// Defaults for addresses.
    pub defaults: Arc<ArcSwap<channels::Defaults>>,
    /// Whom to call for clients: judges callbacks and `dlr-url`.
    pub outbound: Arc<ArcSwap<OutboundPolicy>>,
    /// How people sign in.
    pub sign_in: Arc<ArcSwap<SignInPolicy>>,
    /// Directories that people are imported from.
    pub directories: Arc<ArcSwap<Directories>>,
    /// What the configuration says of routes, for people.
    pub routes: Arc<ArcSwap<Vec<RouteInConfig>>>,
    /// The server itself, as operators see it.
    pub server: Arc<ServerHandles>,
}

/// The ledger as the API shows it.
#[derive(Clone)]
pub struct LedgerAccess {
    /// Its accounts, prices and rules.
    pub books: ledger::books::Books,
    /// The connected Diameter peers, from which its sessions come.
    pub peers: Arc<charging::session_notifier::SessionNotifier>,
}

/// Reads the config again: resolves to the changes in words, or to the problems of the config, line by line.
pub type Reload =
    Arc<dyn Fn() -> BoxFuture<'static, Result<Vec<String>, Vec<engine::Problem>>> + Send + Sync>;
