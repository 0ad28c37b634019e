//! Keys of a route of channel `webhook`, and its settings made of them.

use super::WebhookRoute;
use crate::http_calls::headers::{HeaderFormat, HeaderLines};
use crate::route_keys::RouteKeys;
use crate::surroundings::Surroundings;
use records::Mode;
use settings::{Secret, section};
use std::path::PathBuf;
use std::time::Duration;

section! {
    /// Devices and systems that take alerts by HTTP: each message is a POST to the URL that is its address.
    /// docs/webhook.md has the request, its answers, and how a device reports later. Addresses are checked as
    /// [URLs that clients give](operating.md#urls-that-clients-give).
    WebhookKeys {
        /// Time from connecting to the end of the answer, at most 5m.
        timeout: Duration = WebhookRoute::default().timeout,
        /// Requests under way at a time, 1 to 1,000; as many connections are kept open.
        connections: usize = WebhookRoute::default().connections,
        /// Header lines of every request. Their values are shown nowhere.
        #[manual(default = "none", example = ["Authorization: Bearer secret"])]
        headers: HeaderLines as HeaderFormat = WebhookRoute::default().headers,
        /// Template of the body (Jinja), for services with a form of their own. In JSON a text is escaped as
        /// it is put in, without quotes around it; other values are written as JSON. `Content-Type` is
        /// `application/json`, unless `headers` has another. Names: `type`, `id`, `alert`, `headline`,
        /// `text`, `mode`, `emergency`, `expires`, `sender`, `language`, `choices`, `link`, `reply_url`,
        /// `receipt_url`.
        #[manual(
            default = "an object with all of these names",
            example = "{\"text\": \"{{ headline }}: {{ text }}\"}"
        )]
        body: Option<String> = WebhookRoute::default().body,
        /// Secret that signs every request after Standard Webhooks: `whsec_` and base64 of 24 to 64 octets.
        /// Several with a space between sign side by side, while they are being changed.
        #[manual(default = "none: requests are not signed", example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
        secret: Option<Secret> = WebhookRoute::default().secret,
        /// Certificates (PEM) that are trusted beside the public roots.
        #[manual(example = "tls/devices.pem")]
        ca_file: Option<PathBuf> = WebhookRoute::default().ca_file,
    }
}

impl WebhookKeys {
    /// Settings of a route with these keys.
    pub(super) fn route(&self, common: &RouteKeys, around: &Surroundings) -> WebhookRoute {
        WebhookRoute {
            name: common.name.clone(),
            rate: common.rate,
            drill: common.mode == Some(Mode::Drill),
            timeout: self.timeout,
            connections: self.connections,
            headers: self.headers.clone(),
            body: self.body.clone(),
            secret: self.secret.clone(),
            ca_file: self.ca_file.as_ref().map(|file| around.below(file)),
        }
    }
}
