//! Calls to a provider, bounded in time and octets. The configuration names the issuer, so its host is called
//! wherever it is; other hosts that the provider's document names are called as far as `[outbound]` goes.

use super::provider::unavailable;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use futures_util::StreamExt;
use net::{OutboundPolicy, OutboundRefusal, OutboundTarget, TlsClient, TlsClientSettings};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Method, RequestBuilder, StatusCode};
use sign_in::oidc::DOCUMENT_OCTETS_MAX;
use std::sync::Arc;
use std::time::Duration;

const CONNECT_MAX: Duration = Duration::from_secs(5);
/// A whole answer, its body included.
const ANSWER_MAX: Duration = Duration::from_secs(15);

/// Clients for one provider.
pub(super) struct ProviderCalls {
    policy: Arc<OutboundPolicy>,
    /// For hosts that the operator named.
    named: reqwest::Client,
    /// For all others: each address is judged once it is resolved.
    judged: reqwest::Client,
}

impl ProviderCalls {
    pub(super) fn new(issuer: &str, policy: &OutboundPolicy) -> HttpResult<ProviderCalls> {
        let policy = Arc::new(policy.clone().trusting([issuer]));
        let resolver = JudgedResolver(policy.clone());
        let judged = builder()?.dns_resolver(resolver).build().map_err(no_client)?;
        Ok(ProviderCalls { policy, named: builder()?.build().map_err(no_client)?, judged })
    }

    /// A request for a URL of the provider's document.
    ///
    /// # Errors
    /// The URL is not called.
    pub(super) fn request(&self, method: Method, url: &str) -> HttpResult<RequestBuilder> {
        let client = match self.policy.judge_text(url) {
            Ok(OutboundTarget::Named) => &self.named,
            Ok(OutboundTarget::Judged) => &self.judged,
            Err(refusal) => return Err(not_called(&refusal)),
        };
        Ok(client.request(method, url).header("accept", "application/json"))
    }

    /// A document of the provider.
    pub(super) async fn document(&self, url: &str) -> HttpResult<Vec<u8>> {
        let (status, octets) = sent(self.request(Method::GET, url)?).await?;
        if status.is_success() { Ok(octets) } else { Err(answered_with(status)) }
    }
}

/// The answer to a request: its status, as far as it is the provider's word and no failure, and its body,
/// within the limit and an octet more.
pub(super) async fn sent(request: RequestBuilder) -> HttpResult<(StatusCode, Vec<u8>)> {
    let answer = request.send().await.map_err(|error| silent(&error))?;
    let status = answer.status();
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return Err(answered_with(status));
    }
    let mut body = answer.bytes_stream();
    let mut octets = Vec::new();
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|error| silent(&error))?;
        let room = (DOCUMENT_OCTETS_MAX + 1).saturating_sub(octets.len());
        octets.extend_from_slice(&piece[..piece.len().min(room)]);
        if octets.len() > DOCUMENT_OCTETS_MAX {
            break;
        }
    }
    Ok((status, octets))
}

fn builder() -> HttpResult<reqwest::ClientBuilder> {
    let trust = TlsClientSettings { ca_file: None, server_name: None };
    let tls = TlsClient::new(&trust).map_err(no_client)?;
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls.config())
        .no_proxy()
        .connect_timeout(CONNECT_MAX)
        .timeout(ANSWER_MAX)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("campanile/", env!("CARGO_PKG_VERSION"))))
}

fn no_client(why: impl std::fmt::Display) -> HttpProblem {
    HttpProblem::new(ProblemKind::Internal, format!("no HTTP client: {why}"))
}

fn not_called(refusal: &OutboundRefusal) -> HttpProblem {
    tracing::warn!(%refusal, "the provider of OpenID Connect names an address that is not called");
    let detail = format!("an address that the provider names is not called: {refusal}; ask an administrator");
    HttpProblem::new(ProblemKind::SignInFailed, detail)
}

fn answered_with(status: StatusCode) -> HttpProblem {
    tracing::warn!(status = status.as_u16(), "the provider of OpenID Connect failed");
    unavailable(&format!("answered with status {}", status.as_u16()))
}

fn silent(error: &reqwest::Error) -> HttpProblem {
    // Its URL may have secrets in its query.
    let kind = if error.is_timeout() { "did not answer in time" } else { "cannot be reached" };
    tracing::warn!(kind, is_connect = error.is_connect(), "the provider of OpenID Connect failed");
    unavailable(kind)
}

struct JudgedResolver(Arc<OutboundPolicy>);

impl Resolve for JudgedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = self.0.clone();
        Box::pin(async move {
            let mut addresses: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            addresses.retain(|address| policy.allows_address(address.ip()));
            if addresses.is_empty() {
                return Err(OutboundRefusal::Resolved.into());
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
