//! HTTP client of notices, webhooks and HTTP carriers: it calls what the outbound policy allows, and URLs of
//! the configuration.
//!
//! A host that is an address is judged before the call. A name is judged as part of connecting: the client
//! has a resolver of its own, which passes on the allowed addresses alone, so what was judged is what is
//! connected to. Redirects are not followed, and proxies of the environment are not used.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::future::BoxFuture;
use net::{OutboundPolicy, OutboundRefusal, OutboundTarget, TlsClient, TlsClientSettings};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Method, RequestBuilder, Url};

use crate::context::RouteProblem;

/// How a client connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallerSettings {
    /// From connecting to the end of the answer.
    pub(crate) timeout: Duration,
    /// For connecting alone.
    pub(crate) connect_timeout: Duration,
    /// PEM certificates trusted beside the world's roots.
    pub(crate) ca_file: Option<PathBuf>,
    /// Connections to one host that are kept open without a request; nothing: any number.
    pub(crate) idle_max: Option<usize>,
}

/// How a name becomes addresses.
pub(crate) type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// By the system's resolver.
pub(crate) fn system_lookup() -> Lookup {
    Arc::new(|name| Box::pin(async move { Ok(tokio::net::lookup_host((name.as_str(), 0)).await?.collect()) }))
}

/// Why there is no call.
#[derive(Debug)]
pub(crate) enum NoCall {
    /// The address is none, and will not become one.
    NoUrl,
    /// It may be made when the configuration allows it.
    Refused(String),
}

/// The client. A clone shares connections.
#[derive(Clone)]
pub(crate) struct OutboundCaller {
    settings: CallerSettings,
    lookup: Lookup,
    policy: Arc<ArcSwap<OutboundPolicy>>,
    /// For hosts that the operator named.
    named: reqwest::Client,
    judged: Arc<ArcSwap<JudgedClient>>,
}

/// A client whose connections all were made under this policy.
struct JudgedClient {
    policy: Arc<OutboundPolicy>,
    client: reqwest::Client,
}

impl OutboundCaller {
    pub(crate) fn new(
        settings: &CallerSettings,
        policy: Arc<ArcSwap<OutboundPolicy>>,
        lookup: Lookup,
    ) -> Result<OutboundCaller, Vec<RouteProblem>> {
        let judged = JudgedClient::new(settings, policy.load_full(), &lookup)?;
        Ok(OutboundCaller {
            settings: settings.clone(),
            named: builder(settings)?.build().map_err(|error| problem("ca_file", &error))?,
            judged: Arc::new(ArcSwap::from_pointee(judged)),
            lookup,
            policy,
        })
    }

    /// A request for an address, if it may be called.
    pub(crate) fn request(&self, method: Method, url: &str) -> Result<RequestBuilder, NoCall> {
        let url = Url::parse(url).map_err(|_| NoCall::NoUrl)?;
        let policy = self.policy.load();
        match policy.judge(&url) {
            Ok(OutboundTarget::Named) => Ok(self.named.request(method, url)),
            Ok(OutboundTarget::Judged) => Ok(self.judged(&policy)?.request(method, url)),
            Err(OutboundRefusal::NoUrl) => Err(NoCall::NoUrl),
            Err(refusal) => Err(NoCall::Refused(refusal.to_string())),
        }
    }

    /// A request for an address that the configuration names: nobody judges it.
    pub(crate) fn named(&self, method: Method, url: Url) -> RequestBuilder {
        self.named.request(method, url)
    }

    /// Whether an address may be called without TLS.
    pub(crate) fn allows_plain(&self, url: &Url) -> bool {
        self.policy.load().allows_plain(url)
    }

    /// The client of this policy. After a reload it is another one: an open connection was judged by the
    /// policy before.
    fn judged(&self, policy: &Arc<OutboundPolicy>) -> Result<reqwest::Client, NoCall> {
        let judged = self.judged.load();
        if Arc::ptr_eq(&judged.policy, policy) {
            return Ok(judged.client.clone());
        }
        let made = JudgedClient::new(&self.settings, policy.clone(), &self.lookup);
        let made = made.map_err(|problems| {
            NoCall::Refused(problems.first().map(ToString::to_string).unwrap_or_default())
        })?;
        let client = made.client.clone();
        self.judged.store(Arc::new(made));
        Ok(client)
    }
}

impl JudgedClient {
    fn new(
        settings: &CallerSettings,
        policy: Arc<OutboundPolicy>,
        lookup: &Lookup,
    ) -> Result<JudgedClient, Vec<RouteProblem>> {
        let resolver = JudgedResolver { policy: policy.clone(), lookup: lookup.clone() };
        let client = builder(settings)?.dns_resolver(resolver).build();
        Ok(JudgedClient { policy, client: client.map_err(|error| problem("ca_file", &error))? })
    }
}

fn builder(settings: &CallerSettings) -> Result<reqwest::ClientBuilder, Vec<RouteProblem>> {
    let trust = TlsClientSettings { ca_file: settings.ca_file.clone(), server_name: None };
    let tls = TlsClient::new(&trust).map_err(|error| problem("ca_file", &error))?;
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls.config())
        // Whoever answers is whom the sender named: nobody is sent elsewhere with a signed body.
        .redirect(reqwest::redirect::Policy::none())
        // A proxy would resolve the name by itself.
        .no_proxy()
        .connect_timeout(settings.connect_timeout)
        .timeout(settings.timeout)
        .pool_max_idle_per_host(settings.idle_max.unwrap_or(usize::MAX))
        .tcp_nodelay(true)
        .user_agent(concat!("campanile/", env!("CARGO_PKG_VERSION"))))
}

fn problem(field: &'static str, reason: &dyn std::fmt::Display) -> Vec<RouteProblem> {
    vec![RouteProblem { field, reason: reason.to_string() }]
}

struct JudgedResolver {
    policy: Arc<OutboundPolicy>,
    lookup: Lookup,
}

impl Resolve for JudgedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, found) = (self.policy.clone(), (self.lookup)(name.as_str().to_owned()));
        Box::pin(async move {
            let mut addresses = found.await?;
            addresses.retain(|address| policy.allows_address(address.ip()));
            if addresses.is_empty() {
                return Err(OutboundRefusal::Resolved.into());
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
