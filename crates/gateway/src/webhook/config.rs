//! Settings of a webhook route: how its requests look, and how many are under way.

use super::payload::Payload;
use crate::context::RouteProblem;
use crate::http_calls::headers::{self, HeaderLines};
use crate::notice::Signer;
use crate::notice::caller::CallerSettings;
use crate::route_loop::{ChangeScope, RouteSettings};
use net::{TlsClient, TlsClientSettings};
use settings::Secret;
use std::path::PathBuf;
use std::time::Duration;

/// Requests under way at most.
pub const CONNECTIONS_MAX: usize = 1_000;
/// Longest time of a request.
const TIMEOUT_MAX: Duration = Duration::from_secs(300);
/// Time for connecting alone.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// One `[[route]]` of channel `webhook`.
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookRoute {
    /// The route's name.
    pub name: String,
    /// Requests per second; 0 is unlimited.
    pub rate: f64,
    /// Its mode is drill.
    pub drill: bool,
    /// From connecting to the end of the answer.
    pub timeout: Duration,
    /// Requests under way at a time.
    pub connections: usize,
    /// Header lines of every request.
    pub headers: Vec<(String, Secret)>,
    /// Template of the body; nothing: an object of our own.
    pub body: Option<String>,
    /// Secrets that sign, with a space between; nothing: nobody does.
    pub secret: Option<Secret>,
    /// PEM certificates trusted beside the world's roots.
    pub ca_file: Option<PathBuf>,
}

impl Default for WebhookRoute {
    fn default() -> WebhookRoute {
        WebhookRoute {
            name: String::new(),
            rate: 0.0,
            drill: false,
            timeout: Duration::from_secs(15),
            connections: 64,
            headers: HeaderLines::new(),
            body: None,
            secret: None,
            ca_file: None,
        }
    }
}

impl WebhookRoute {
    /// How its client connects.
    pub(super) fn caller(&self) -> CallerSettings {
        CallerSettings {
            timeout: self.timeout,
            connect_timeout: self.timeout.min(CONNECT_MAX),
            ca_file: self.ca_file.clone(),
            idle_max: Some(self.connections),
        }
    }

    /// What signs its requests, if something does.
    pub(super) fn signer(&self) -> Result<Option<Signer>, String> {
        let Some(secret) = &self.secret else { return Ok(None) };
        let secrets: Vec<Secret> = secret.reveal().split_ascii_whitespace().map(Secret::from).collect();
        Signer::new(&secrets).map(Some)
    }
}

impl RouteSettings for WebhookRoute {
    fn name(&self) -> &str {
        &self.name
    }

    fn problems(&self) -> Vec<RouteProblem> {
        let mut problems = Vec::new();
        let mut check = |field: &'static str, wrong: Option<String>| {
            problems.extend(wrong.map(|reason| RouteProblem { field, reason }));
        };
        check("name", self.name.is_empty().then(|| "is needed".to_owned()));
        let rate = !self.rate.is_finite() || self.rate < 0.0;
        check("rate", rate.then(|| format!("{} is not a rate", self.rate)));
        let timeout = self.timeout.is_zero() || self.timeout > TIMEOUT_MAX;
        check("timeout", timeout.then(|| "is not above 0 and at most 5m".to_owned()));
        let outside = !(1..=CONNECTIONS_MAX).contains(&self.connections);
        let reason = || format!("{} is not between 1 and {CONNECTIONS_MAX}", self.connections);
        check("connections", outside.then(reason));
        check("headers", headers::problem_of(&self.headers));
        check("body", Payload::new(self).err());
        check("secret", self.signer().err());
        let trust = TlsClientSettings { ca_file: self.ca_file.clone(), server_name: None };
        let trust = self.ca_file.as_ref().and_then(|_| TlsClient::new(&trust).err());
        check("ca_file", trust.map(|error| error.to_string()));
        problems
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn slots(&self) -> u32 {
        self.connections as u32 // at most CONNECTIONS_MAX
    }

    fn down_after(&self) -> Duration {
        DOWN_AFTER
    }

    fn step_to(&self, to: &WebhookRoute) -> ChangeScope {
        if self == to { ChangeScope::None } else { ChangeScope::InPlace }
    }
}

/// Each message has a far end of its own: the route does not go down, but a stop.
const DOWN_AFTER: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_key_is_named_without_its_secret() {
        let good = WebhookRoute { name: "hooks".to_owned(), ..WebhookRoute::default() };
        assert_eq!(good.problems(), []);
        let hour = Duration::from_secs(3_600);
        let line = |name: &str| vec![(name.to_owned(), Secret::from("sesame"))];
        for (field, route) in [
            ("name", WebhookRoute { name: String::new(), ..good.clone() }),
            ("rate", WebhookRoute { rate: -1.0, ..good.clone() }),
            ("timeout", WebhookRoute { timeout: hour, ..good.clone() }),
            ("timeout", WebhookRoute { timeout: Duration::ZERO, ..good.clone() }),
            ("connections", WebhookRoute { connections: 0, ..good.clone() }),
            ("connections", WebhookRoute { connections: CONNECTIONS_MAX + 1, ..good.clone() }),
            ("headers", WebhookRoute { headers: line("Host"), ..good.clone() }),
            ("body", WebhookRoute { body: Some("{{ nobody }}".to_owned()), ..good.clone() }),
            ("body", WebhookRoute { body: Some("{\"text\": {{ text }}}".to_owned()), ..good.clone() }),
            ("secret", WebhookRoute { secret: Some("sesame".into()), ..good.clone() }),
            ("ca_file", WebhookRoute { ca_file: Some("/nowhere.pem".into()), ..good.clone() }),
        ] {
            let problems = route.problems();
            let fields: Vec<_> = problems.iter().map(|problem| problem.field).collect();
            assert_eq!(fields, [field]);
            assert!(!format!("{problems:?} {route:?}").contains("sesame"), "{problems:?}");
        }
    }

    #[test]
    fn two_secrets_sign_side_by_side() {
        let one = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let two = format!("{one} whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
        for (secret, signatures) in [(one, 1), (two.as_str(), 2)] {
            let route = WebhookRoute { secret: Some(secret.into()), ..WebhookRoute::default() };
            let signature = route.signer().unwrap().unwrap().sign("id", 1, "body");
            assert_eq!(signature.split(' ').count(), signatures);
        }
    }
}
