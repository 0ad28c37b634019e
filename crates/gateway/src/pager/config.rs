//! Settings of a pager route: the carrier and its protocol, the form of a page, and the polling of two-way
//! pages.

use super::text::TextShape;
use crate::context::RouteProblem;
use crate::mail::{MailRoute, TlsMode};
use crate::route_loop::{ChangeScope, RouteSettings};
use net::{TlsClient, TlsClientSettings};
use settings::Secret;
use snpp::client::{SnppClientOptions, SnppTimeouts};
use snpp::command::{LEVEL_MAX, WORD_OCTETS_MAX};
use std::path::PathBuf;
use std::time::Duration;

/// Connections of a route at most.
pub const SESSIONS_MAX: usize = 64;
/// Two-way pages that are asked for at a time at most.
pub const POLL_PAGES_MAX: usize = 50_000;
/// Octets of a caller's id at most.
const CALLER_OCTETS_MAX: usize = 64;
/// Bounds of the polling interval.
const POLL_MIN: Duration = Duration::from_secs(1);
const POLL_MAX: Duration = Duration::from_secs(3_600);
/// Bounds of the time in which a page is asked for.
const POLL_FOR_MIN: Duration = Duration::from_secs(60);
const POLL_FOR_MAX: Duration = Duration::from_secs(7 * 86_400);
/// A carrier that is gone for longer has what waits for it tried elsewhere.
const DOWN_AFTER: Duration = Duration::from_secs(30);

/// Protocol of a paging carrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagerProtocol {
    /// SNPP (RFC 1861).
    Snpp,
    /// Mail (RFC 5321).
    Smtp,
}

/// One `[[route]]` of channel `pager`.
#[derive(Debug, Clone, PartialEq)]
pub struct PagerRoute {
    /// The route's name.
    pub name: String,
    /// Pages per second over all connections; 0 is unlimited.
    pub rate: f64,
    /// Connections at most.
    pub sessions: usize,
    /// The form of a page's text.
    pub shape: TextShape,
    /// How the carrier is reached.
    pub transport: PagingTransport,
}

/// How a paging carrier is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum PagingTransport {
    /// By SNPP.
    Snpp(Box<SnppSettings>),
    /// By mail: the relay. Its name, rate and sessions are the route's.
    Smtp(Box<MailRoute>),
}

/// An SNPP server, and what its pages have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct SnppSettings {
    /// `host:port`.
    pub address: String,
    /// TLS from the first octet, or none.
    pub tls: TlsMode,
    /// PEM certificates trusted beside the world's roots.
    pub ca_file: Option<PathBuf>,
    /// The name in the server's certificate, where it is not the address's host.
    pub server_name: Option<String>,
    /// LOGIn.
    pub login: Option<String>,
    /// Its password.
    pub password: Option<Secret>,
    /// Pages are of level 3, and asked for; `None`: of level 2.
    pub two_way: Option<Polling>,
    /// LEVEl.
    pub level: Option<u8>,
    /// COVErage.
    pub coverage: Option<String>,
    /// CALLerid.
    pub caller: Option<String>,
}

/// How two-way pages are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Polling {
    /// How often.
    pub every: Duration,
    /// For how long.
    pub at_most_for: Duration,
    /// So many pages at a time.
    pub pages: usize,
}

impl Default for Polling {
    fn default() -> Polling {
        Polling { every: Duration::from_secs(30), at_most_for: Duration::from_secs(86_400), pages: 10_000 }
    }
}

impl Default for SnppSettings {
    fn default() -> SnppSettings {
        SnppSettings {
            address: String::new(),
            tls: TlsMode::None,
            ca_file: None,
            server_name: None,
            login: None,
            password: None,
            two_way: None,
            level: None,
            coverage: None,
            caller: None,
        }
    }
}

impl SnppSettings {
    /// How its sessions are.
    pub(super) fn options(&self) -> SnppClientOptions {
        let password = self.password.as_ref().map(|word| word.reveal().to_owned());
        SnppClientOptions {
            login: self.login.clone().map(|login| (login, password)),
            timeouts: SnppTimeouts::default(),
        }
    }

    /// What makes TLS; nothing for a route without it.
    ///
    /// # Errors
    /// The file that cannot be used.
    pub(super) fn tls_client(&self) -> Result<Option<TlsClient>, RouteProblem> {
        if self.tls == TlsMode::None {
            return Ok(None);
        }
        let settings =
            TlsClientSettings { ca_file: self.ca_file.clone(), server_name: self.server_name.clone() };
        let problem = |reason: String| RouteProblem { field: "ca_file", reason };
        TlsClient::new(&settings).map(Some).map_err(|error| problem(error.to_string()))
    }

    fn problems(&self) -> Vec<RouteProblem> {
        let mut problems = Vec::new();
        let mut check = |field: &'static str, wrong: Option<String>| {
            problems.extend(wrong.map(|reason| RouteProblem { field, reason }));
        };
        let is_word = |word: &str| {
            (1..=WORD_OCTETS_MAX).contains(&word.len()) && word.bytes().all(|octet| octet.is_ascii_graphic())
        };
        let one_word = || format!("is not one word of 1 to {WORD_OCTETS_MAX} visible ASCII characters");
        let no_word = |word: Option<&str>| word.filter(|word| !is_word(word)).map(|_| one_word());
        check("address", wrong_address(&self.address));
        check("login", no_word(self.login.as_deref()));
        let alone = self.password.is_some() && self.login.is_none();
        check("password", alone.then(|| "needs login".to_owned()));
        check("password", no_word(self.password.as_ref().map(Secret::reveal)));
        check("coverage", no_word(self.coverage.as_deref()));
        let high = self.level.filter(|level| *level > LEVEL_MAX);
        check("level", high.map(|level| format!("{level} is over {LEVEL_MAX}")));
        check("caller", self.caller.as_deref().and_then(wrong_caller));
        let starttls = self.tls == TlsMode::StartTls;
        check("tls", starttls.then(|| "SNPP has no STARTTLS: set \"tls\" or \"none\"".to_owned()));
        match self.tls {
            TlsMode::None => {
                let idle = |given: bool| given.then(|| "has no effect with tls = \"none\"".to_owned());
                check("ca_file", idle(self.ca_file.is_some()));
                check("server_name", idle(self.server_name.is_some()));
            }
            _ => check("ca_file", self.tls_client().err().map(|problem| problem.reason)),
        }
        if let Some(polling) = self.two_way {
            problems.extend(polling.problems());
        }
        problems
    }
}

impl Polling {
    fn problems(self) -> Vec<RouteProblem> {
        let outside = |value: Duration, min: Duration, max: Duration| !(min..=max).contains(&value);
        let checks = [
            ("poll", outside(self.every, POLL_MIN, POLL_MAX), "is not between 1s and 1h".to_owned()),
            (
                "poll_for",
                outside(self.at_most_for, POLL_FOR_MIN, POLL_FOR_MAX),
                "is not between 1m and 7d".to_owned(),
            ),
            (
                "poll_pages",
                !(1..=POLL_PAGES_MAX).contains(&self.pages),
                format!("is not between 1 and {POLL_PAGES_MAX}"),
            ),
        ];
        let wrong = checks.into_iter().filter(|(_, is_wrong, _)| *is_wrong);
        wrong.map(|(field, _, reason)| RouteProblem { field, reason }).collect()
    }
}

impl RouteSettings for PagerRoute {
    fn name(&self) -> &str {
        &self.name
    }

    fn problems(&self) -> Vec<RouteProblem> {
        let mut problems = Vec::new();
        let mut check = |field: &'static str, wrong: bool, reason: String| {
            if wrong {
                problems.push(RouteProblem { field, reason });
            }
        };
        check("name", self.name.is_empty(), "is needed".to_owned());
        if let Some(reason) = self.shape.problem() {
            check("length", true, reason);
        }
        match &self.transport {
            PagingTransport::Snpp(settings) => {
                let rate = self.rate;
                check("rate", !rate.is_finite() || rate < 0.0, format!("{rate} is not a rate"));
                let sessions = !(1..=SESSIONS_MAX).contains(&self.sessions);
                check("sessions", sessions, format!("is not between 1 and {SESSIONS_MAX}"));
                problems.extend(settings.problems());
            }
            PagingTransport::Smtp(relay) => problems.extend(relay.problems().into_iter().map(as_pager_key)),
        }
        problems
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn protocol(&self) -> Option<&'static str> {
        Some(match &self.transport {
            PagingTransport::Snpp(_) => "snpp",
            PagingTransport::Smtp(_) => "smtp",
        })
    }

    fn sessions(&self) -> Option<u32> {
        u32::try_from(self.sessions).ok()
    }

    fn slots(&self) -> u32 {
        match &self.transport {
            // SNPP has one page under way on a connection.
            PagingTransport::Snpp(_) => self.sessions as u32,
            PagingTransport::Smtp(relay) => relay.slots(),
        }
    }

    fn down_after(&self) -> Duration {
        DOWN_AFTER
    }

    fn step_to(&self, to: &PagerRoute) -> ChangeScope {
        // Pages in hand have the text that the shape gave them.
        let bound = |route: &PagerRoute| PagerRoute { rate: 0.0, sessions: 0, ..route.clone() };
        if self == to {
            return ChangeScope::None;
        }
        match (&self.transport, &to.transport) {
            (PagingTransport::Smtp(one), PagingTransport::Smtp(other)) if self.shape == to.shape => {
                one.step_to(other)
            }
            (PagingTransport::Snpp(_), PagingTransport::Snpp(_)) if bound(self) == bound(to) => {
                ChangeScope::InPlace
            }
            _ => ChangeScope::Reopen,
        }
    }

    fn connect_to(&mut self, simulator: &str) {
        match &mut self.transport {
            PagingTransport::Snpp(settings) => simulator.clone_into(&mut settings.address),
            PagingTransport::Smtp(relay) => relay.connect_to(simulator),
        }
    }
}

/// The key by which a pager route calls what a mail route calls otherwise.
fn as_pager_key(problem: RouteProblem) -> RouteProblem {
    match problem.field {
        "username" => {
            RouteProblem { field: "login", reason: "login and password belong together".to_owned() }
        }
        _ => problem,
    }
}

fn wrong_address(address: &str) -> Option<String> {
    let port = address
        .rsplit_once(':')
        .filter(|(host, _)| !host.is_empty())
        .and_then(|(_, port)| port.parse::<u16>().ok());
    port.is_none_or(|port| port == 0).then(|| format!("{address:?} is not host:port"))
}

fn wrong_caller(caller: &str) -> Option<String> {
    let fits = (1..=CALLER_OCTETS_MAX).contains(&caller.len())
        && caller.bytes().all(|octet| (b' '..=b'~').contains(&octet))
        && caller.trim() == caller;
    (!fits).then(|| format!("is not 1 to {CALLER_OCTETS_MAX} visible ASCII characters"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pager::text::PagerCharset;

    fn route(change: impl FnOnce(&mut PagerRoute, &mut SnppSettings)) -> PagerRoute {
        let mut settings = SnppSettings { address: "snpp.example:444".to_owned(), ..SnppSettings::default() };
        let mut route = PagerRoute {
            name: "carrier".to_owned(),
            rate: 0.0,
            sessions: 2,
            shape: TextShape::default(),
            transport: PagingTransport::Snpp(Box::default()),
        };
        change(&mut route, &mut settings);
        route.transport = PagingTransport::Snpp(Box::new(settings));
        route
    }

    #[test]
    fn every_problem_names_its_key() {
        assert_eq!(route(|_, _| {}).problems(), []);
        type Change = fn(&mut PagerRoute, &mut SnppSettings);
        let cases: [(&str, Change); 14] = [
            ("name", |r, _| r.name.clear()),
            ("rate", |r, _| r.rate = -1.0),
            ("sessions", |r, _| r.sessions = 0),
            ("length", |r, _| r.shape.length = 19),
            ("length", |r, _| r.shape.length = 901),
            ("address", |_, s| s.address = "snpp.example".to_owned()),
            ("login", |_, s| s.login = Some("a b".to_owned())),
            ("password", |_, s| s.password = Some(Secret::from("word"))),
            ("coverage", |_, s| s.coverage = Some(String::new())),
            ("level", |_, s| s.level = Some(12)),
            ("caller", |_, s| s.caller = Some("a\r\nSEND".to_owned())),
            ("server_name", |_, s| s.server_name = Some("x".to_owned())),
            ("poll", |_, s| s.two_way = Some(Polling { every: Duration::ZERO, ..Polling::default() })),
            ("poll_pages", |_, s| s.two_way = Some(Polling { pages: 0, ..Polling::default() })),
        ];
        for (field, change) in cases {
            let fields: Vec<_> = route(change).problems().into_iter().map(|problem| problem.field).collect();
            assert_eq!(fields, [field]);
        }
        let starttls = route(|_, s| s.tls = TlsMode::StartTls);
        assert!(starttls.problems().iter().any(|problem| problem.field == "tls"));
    }

    #[test]
    fn a_password_is_shown_nowhere() {
        let route = route(|_, s| {
            s.login = Some("city".to_owned());
            s.password = Some(Secret::from("s3cret"));
        });
        assert_eq!(route.problems(), []);
        assert!(!format!("{route:?}").contains("s3cret"));
    }

    #[test]
    fn what_pages_in_hand_depend_on_opens_the_route_anew() {
        let from = route(|_, _| {});
        for (step, to) in [
            (ChangeScope::None, route(|_, _| {})),
            (ChangeScope::InPlace, route(|r, _| r.rate = 5.0)),
            (ChangeScope::InPlace, route(|r, _| r.sessions = 3)),
            (ChangeScope::Reopen, route(|r, _| r.shape.charset = PagerCharset::Utf8)),
            (ChangeScope::Reopen, route(|_, s| s.two_way = Some(Polling::default()))),
            (ChangeScope::Reopen, route(|_, s| s.address = "other:444".to_owned())),
        ] {
            assert_eq!(from.step_to(&to), step);
        }
    }
}
