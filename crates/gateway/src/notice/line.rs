//! One address: its notices, one after another.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use pace::Backoff;
use records::{Notice, NoticeVerb, Redacted};
use reqwest::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER};
use reqwest::{Method, StatusCode};

use super::NoticeDispatcher;
use super::caller::NoCall;
use super::sign::seconds;
use crate::context::Stop;

pub(crate) const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
pub(crate) const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
pub(crate) const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
/// An address that is gone is not asked again for so long: notices that come after are as much in vain.
const GONE_FOR: Duration = Duration::from_secs(3_600);

/// How a try ended.
pub(super) enum TryResult {
    Yes,
    /// The address wants no more of this, ever.
    Gone,
    /// Again, at the earliest after so long.
    NotYet(String, Option<Duration>),
}

/// Tells an address everything that waits for it, until nothing does.
pub(super) async fn run(office: Arc<NoticeDispatcher>, url: String, mut stop: Stop) {
    let mut backoff = Backoff::new(office.settings.retry_first, office.settings.retry_max);
    let mut gone: Option<tokio::time::Instant> = None;
    while let Some(index) = office.first(&url) {
        if stop.is_set() {
            return;
        }
        let Some(notice) = office.read(index).await else {
            // Trimmed away: too old to be told.
            office.done(&url, index);
            continue;
        };
        if office.context.now() > notice.expires {
            tracing::warn!(
                url = %Redacted::Url(&url),
                id = notice.id,
                tries = backoff.failures(),
                "the callback expired before the address accepted it: it is dropped"
            );
            office.done(&url, index);
            backoff.reset();
            continue;
        }
        if gone.is_some_and(|until| tokio::time::Instant::now() < until) {
            office.done(&url, index);
            continue;
        }
        let wait = match tell(&office, &notice).await {
            TryResult::Yes => {
                office.done(&url, index);
                backoff.reset();
                continue;
            }
            TryResult::Gone => {
                tracing::warn!(
                    url = %Redacted::Url(&url),
                    id = notice.id,
                    "the address answered 410 (gone): no callbacks are sent there for an hour"
                );
                office.done(&url, index);
                backoff.reset();
                gone = Some(tokio::time::Instant::now() + GONE_FOR);
                continue;
            }
            TryResult::NotYet(why, at_least) => {
                let wait = backoff.wait(chance()).max(at_least.unwrap_or_default());
                tracing::info!(
                    url = %Redacted::Url(&url),
                    id = notice.id,
                    why,
                    wait_ms = wait.as_millis() as u64,
                    "the address did not accept the callback: it is retried"
                );
                wait
            }
        };
        // Not beyond its end, so that what waits behind it need not wait longer than it.
        let left = notice.expires.us_since(office.context.now()).max(0);
        let wait = wait.min(Duration::from_micros(left as u64 + 1));
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stop.wait() => return,
        }
    }
}

async fn tell(office: &NoticeDispatcher, notice: &Notice) -> TryResult {
    // It is never closed.
    let _permit = office.requests.acquire().await;
    let now = seconds(office.context.now());
    let request = match office.client.request(Method::POST, &notice.url) {
        Ok(request) => request,
        Err(NoCall::NoUrl) => return TryResult::Gone,
        Err(NoCall::Refused(why)) => return TryResult::NotYet(why, None),
    };
    let signature = match &notice.verb {
        NoticeVerb::PostFor(account) => office.signer.of_account(account).sign(&notice.id, now, &notice.body),
        _ => office.signer.sign(&notice.id, now, &notice.body),
    };
    let request = request
        .header(CONTENT_TYPE, &notice.content_type)
        .header(WEBHOOK_ID, &notice.id)
        .header(WEBHOOK_TIMESTAMP, now)
        .header(WEBHOOK_SIGNATURE, signature)
        .body(notice.body.clone());
    match request.send().await {
        Ok(response) => judge(office, &response),
        // A header that cannot be sent never can.
        Err(error) if error.is_builder() => TryResult::Gone,
        Err(error) => TryResult::NotYet(words(error), None),
    }
}

pub(super) fn judge(office: &NoticeDispatcher, response: &reqwest::Response) -> TryResult {
    let status = response.status();
    if status.is_success() {
        return TryResult::Yes;
    }
    if status == StatusCode::GONE {
        return TryResult::Gone;
    }
    let after = retry_after(response).map(|after| after.min(office.settings.retry_max));
    TryResult::NotYet(status.to_string(), after)
}

/// Seconds of Retry-After (RFC 9110, 10.2.3); a date is passed over.
pub(crate) fn retry_after(response: &reqwest::Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The innermost cause says most. The address is not in it: it may have secrets.
pub(crate) fn words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    if error.is_timeout() { format!("no answer in time: {cause}") } else { cause.to_string() }
}

/// From 0 to 1.
pub(crate) fn chance() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}
