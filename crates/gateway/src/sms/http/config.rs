//! Settings of an SMS route by HTTP: a carrier's account, its request, and the names of its fields.

use super::fields;
use super::request::RequestTemplates;
use crate::context::RouteProblem;
use crate::http_calls::headers::{self, HeaderLines};
use crate::notice::caller::CallerSettings;
use crate::route_loop::{ChangeScope, RouteSettings};
use net::{TlsClient, TlsClientSettings};
use settings::Secret;
use std::path::PathBuf;
use std::time::Duration;

/// Requests under way at most.
pub const CONNECTIONS_MAX: usize = 1_000;
/// Longest time-out.
const TIME_MAX: Duration = Duration::from_secs(3_600);
/// Values of one list.
const VALUES_MAX: usize = 100;

/// One `[[route]]` of channel `sms` with `protocol = "http"`.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpSmsRoute {
    /// The route's name.
    pub name: String,
    /// Parts per second; 0 is unlimited.
    pub rate: f64,
    /// Its mode is drill.
    pub drill: bool,
    /// Longest the network tries, seconds; nothing: to the alert's own end.
    pub validity_s: Option<u32>,
    /// The sender where the alert names none.
    pub from: String,
    /// Requests under way at a time.
    pub connections: usize,
    /// From a request to its response.
    pub timeout: Duration,
    /// For connecting alone.
    pub connect_timeout: Duration,
    /// PEM certificates trusted beside the world's roots.
    pub ca_file: Option<PathBuf>,
    /// A message's request.
    pub request: HttpRequest,
    /// What its response means.
    pub response: ResponseNames,
    /// Receipts.
    pub receipt: ReceiptNames,
    /// Messages from people.
    pub inbound: InboundNames,
}

/// A message's request: templates.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HttpRequest {
    /// `POST`, `PUT` or `GET`.
    pub method: String,
    /// The URL.
    pub url: Secret,
    /// Header lines.
    pub headers: HeaderLines,
    /// The body, if it has one.
    pub body: Option<String>,
}

/// Paths and values of a response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResponseNames {
    /// Of the carrier's id.
    pub id: Option<String>,
    /// Of the value that decides.
    pub state: Option<String>,
    /// Of the carrier's words.
    pub text: Option<String>,
    /// Values that mean accepted.
    pub accepted: Vec<String>,
    /// Values that mean refused for good.
    pub refused: Vec<String>,
    /// Values that mean refused for now.
    pub temporary: Vec<String>,
}

/// Paths and values of a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReceiptNames {
    /// Of the list, if several come together.
    pub items: Option<String>,
    /// Of the id.
    pub id: String,
    /// Of the state.
    pub state: String,
    /// Of the carrier's words.
    pub text: Option<String>,
    /// States of a delivered message.
    pub delivered: Vec<String>,
    /// States of one that will not arrive.
    pub failed: Vec<String>,
    /// States of one whose time ran out.
    pub expired: Vec<String>,
}

/// Paths of a message from a person.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InboundNames {
    /// Of the list, if several come together.
    pub items: Option<String>,
    /// Of their number.
    pub from: String,
    /// Of ours.
    pub to: String,
    /// Of the text.
    pub text: String,
}

impl HttpSmsRoute {
    /// How its client connects.
    pub(super) fn caller(&self) -> CallerSettings {
        CallerSettings {
            timeout: self.timeout,
            connect_timeout: self.connect_timeout,
            ca_file: self.ca_file.clone(),
            idle_max: Some(self.connections),
        }
    }

    fn paths(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let ResponseNames { id, state, text, .. } = &self.response;
        let response = [id, state, text].into_iter().flatten().map(|path| ("response", path.as_str()));
        let receipt = [&self.receipt.items, &self.receipt.text].into_iter().flatten();
        let receipt = receipt.chain([&self.receipt.id, &self.receipt.state]);
        let InboundNames { items, from, to, text } = &self.inbound;
        let inbound = items.iter().chain([from, to, text]);
        response
            .chain(receipt.map(|path| ("receipt", path.as_str())))
            .chain(inbound.map(|path| ("inbound", path.as_str())))
    }

    fn lists(&self) -> [(&'static str, &[String]); 6] {
        let (response, receipt) = (&self.response, &self.receipt);
        [
            ("response", &response.accepted),
            ("response", &response.refused),
            ("response", &response.temporary),
            ("receipt", &receipt.delivered),
            ("receipt", &receipt.failed),
            ("receipt", &receipt.expired),
        ]
    }
}

impl RouteSettings for HttpSmsRoute {
    fn name(&self) -> &str {
        &self.name
    }

    fn problems(&self) -> Vec<RouteProblem> {
        let mut problems = Vec::new();
        let mut check = |field: &'static str, wrong: Option<String>| {
            problems.extend(wrong.map(|reason| RouteProblem { field, reason }));
        };
        check("name", self.name.is_empty().then(|| "a route needs one".to_owned()));
        let rate = !self.rate.is_finite() || self.rate < 0.0;
        check("rate", rate.then(|| format!("{} is not a rate", self.rate)));
        let outside = !(1..=CONNECTIONS_MAX).contains(&self.connections);
        let reason = || format!("{} is not between 1 and {CONNECTIONS_MAX}", self.connections);
        check("connections", outside.then(reason));
        for (field, time) in [("response_timeout", self.timeout), ("connect_timeout", self.connect_timeout)] {
            let wrong = time.is_zero() || time > TIME_MAX;
            check(field, wrong.then(|| "is not above 0 and at most 1h".to_owned()));
        }
        check("request", headers::problem_of(&self.request.headers));
        check("request", RequestTemplates::new(self).err());
        for (field, path) in self.paths() {
            check(field, fields::problem_of(path));
        }
        for (field, values) in self.lists() {
            let over = values.len() > VALUES_MAX;
            check(field, over.then(|| format!("{} values are over the limit of {VALUES_MAX}", values.len())));
        }
        let alone =
            self.response.state.is_none() && self.lists()[..3].iter().any(|(_, list)| !list.is_empty());
        check(
            "response",
            alone.then(|| "accepted, refused and temporary are values of state: it is missing".to_owned()),
        );
        let trust = TlsClientSettings { ca_file: self.ca_file.clone(), server_name: None };
        let trust = self.ca_file.as_ref().and_then(|_| TlsClient::new(&trust).err());
        check("ca_file", trust.map(|error| error.to_string()));
        problems
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn protocol(&self) -> Option<&'static str> {
        Some("http")
    }

    fn slots(&self) -> u32 {
        self.connections as u32 // at most CONNECTIONS_MAX
    }

    fn down_after(&self) -> Duration {
        DOWN_AFTER
    }

    fn step_to(&self, to: &HttpSmsRoute) -> ChangeScope {
        if self == to { ChangeScope::None } else { ChangeScope::InPlace }
    }
}

/// A carrier that cannot be reached for longer has what waits for it tried elsewhere.
const DOWN_AFTER: Duration = Duration::from_secs(5);

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A route to a carrier that takes JSON.
    pub(in crate::sms::http) fn route() -> HttpSmsRoute {
        HttpSmsRoute {
            name: "carrier".to_owned(),
            rate: 0.0,
            drill: false,
            validity_s: None,
            from: "CITY".to_owned(),
            connections: 16,
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            ca_file: None,
            request: HttpRequest {
                method: "POST".to_owned(),
                url: "https://sms.carrier.example/v1/messages".into(),
                headers: vec![("Authorization".to_owned(), "Bearer sesame".into())],
                body: Some(
                    r#"{"to": "{{ to }}", "from": "{{ from }}", "text": "{{ text }}", "ref": "{{ id }}"}"#
                        .to_owned(),
                ),
            },
            response: ResponseNames::default(),
            receipt: ReceiptNames {
                id: "id".to_owned(),
                state: "state".to_owned(),
                delivered: vec!["delivered".to_owned()],
                failed: vec!["failed".to_owned()],
                expired: vec!["expired".to_owned()],
                ..ReceiptNames::default()
            },
            inbound: InboundNames {
                items: None,
                from: "from".to_owned(),
                to: "to".to_owned(),
                text: "text".to_owned(),
            },
        }
    }

    #[test]
    fn each_wrong_key_is_named_without_its_secrets() {
        assert_eq!(route().problems(), []);
        let with = |change: &dyn Fn(&mut HttpSmsRoute)| {
            let mut route = route();
            change(&mut route);
            route
        };
        type Change<'a> = &'a dyn Fn(&mut HttpSmsRoute);
        let cases: [(&str, Change<'_>); 14] = [
            ("name", &|r| r.name = String::new()),
            ("rate", &|r| r.rate = f64::NAN),
            ("connections", &|r| r.connections = 0),
            ("response_timeout", &|r| r.timeout = Duration::ZERO),
            ("request", &|r| r.request.method = "DELETE".to_owned()),
            ("request", &|r| r.request.url = "sesame".into()),
            ("request", &|r| r.request.url = "ftp://h.example/sesame".into()),
            ("request", &|r| r.request.url = "https://{{ to }}.example/sesame".into()),
            ("request", &|r| r.request.url = "https://h.example/{{ sesame }}".into()),
            ("request", &|r| r.request.body = Some("{{ text }}".to_owned())),
            ("request", &|r| r.request.headers = vec![("Host".to_owned(), "sesame".into())]),
            ("response", &|r| r.response.accepted = vec!["ok".to_owned()]),
            ("receipt", &|r| r.receipt.id = String::new()),
            ("inbound", &|r| r.inbound.from = "word:0".to_owned()),
        ];
        for (field, change) in cases {
            let route = with(change);
            let problems = route.problems();
            let fields: Vec<_> = problems.iter().map(|problem| problem.field).collect();
            assert_eq!(fields, [field], "{problems:?}");
            let shown = format!("{problems:?}");
            assert!(!shown.contains("sesame") || route.request.url.reveal().contains("{{ sesame"), "{shown}");
            assert!(!format!("{route:?}").contains("sesame"));
        }
    }
}
