//! A mail route: a relay, and how its mails look.

use super::encode::Letterhead;
use super::tag::Tags;
use crate::context::RouteProblem;
use crate::route_loop::{ChangeScope, RouteSettings};
use net::{TlsClient, TlsClientSettings};
use settings::Secret;
use smtp::client::{ClientOptions, Timeouts, TlsMode};
use smtp::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// Sessions of a route at most.
pub const SESSIONS_MAX: usize = 64;
/// Transactions under way on a session at most.
pub const WINDOW_MAX: usize = 1000;
/// A host name is at most so many octets (RFC 1035 §2.3.4).
const DOMAIN_OCTETS_MAX: usize = 253;
/// `answers+TAG@` takes 59 octets of an address's 254.
const DOOR_DOMAIN_OCTETS_MAX: usize = 190;

/// One `[[route]]` of channel `mail`.
#[derive(Debug, Clone, PartialEq)]
pub struct MailRoute {
    /// The route's name.
    pub name: String,
    /// `host:port` of the relay.
    pub address: String,
    /// When the connection becomes secure.
    pub tls: TlsMode,
    /// PEM certificates trusted beside the world's roots.
    pub ca_file: Option<PathBuf>,
    /// The name in the relay's certificate, where it is not the address's host.
    pub server_name: Option<String>,
    /// For AUTH.
    pub username: Option<String>,
    /// For AUTH.
    pub password: Option<Secret>,
    /// Author: `alerts@city.example`, or `City of X <alerts@city.example>`.
    pub from: String,
    /// Connections at most.
    pub sessions: usize,
    /// Transactions under way on each at most.
    pub window: usize,
    /// Mails per second over all sessions; 0 is unlimited.
    pub rate: f64,
    /// Where the SMTP door takes replies and bounces, if there is one: `[smtp] domain`.
    pub domain: Option<String>,
    /// Our name in EHLO; the domain of `from` if absent.
    pub hello: Option<String>,
    /// Its mails are marked as an exercise: the route's mode is drill.
    pub drill: bool,
    /// How long the relay may take; the standard's times.
    pub timeouts: Timeouts,
}

impl Default for MailRoute {
    fn default() -> Self {
        MailRoute {
            name: String::new(),
            address: String::new(),
            tls: TlsMode::None,
            ca_file: None,
            server_name: None,
            username: None,
            password: None,
            from: String::new(),
            sessions: 2,
            window: 20,
            rate: 0.0,
            domain: None,
            hello: None,
            drill: false,
            timeouts: Timeouts::default(),
        }
    }
}

impl MailRoute {
    /// How its sessions are.
    pub(super) fn options(&self) -> ClientOptions {
        let from = parse_author(&self.from).ok();
        let domain = from.as_ref().map_or("localhost", |(_, path)| path.domain());
        let credentials =
            self.username.clone().zip(self.password.as_ref().map(|word| word.reveal().to_owned()));
        ClientOptions {
            hello: self.hello.clone().unwrap_or_else(|| domain.to_owned()),
            tls: self.tls,
            credentials,
            window: self.window,
            timeouts: self.timeouts.clone(),
        }
    }

    /// Who is trusted; nothing for a route without TLS.
    pub(super) fn tls_settings(&self) -> TlsClientSettings {
        TlsClientSettings { ca_file: self.ca_file.clone(), server_name: self.server_name.clone() }
    }

    /// What makes TLS; nothing for a route without it.
    pub(crate) fn tls_client(&self) -> Result<Option<TlsClient>, RouteProblem> {
        let problem = |reason: String| RouteProblem { field: "ca_file", reason };
        match self.tls {
            TlsMode::None => Ok(None),
            TlsMode::StartTls | TlsMode::Implicit => {
                TlsClient::new(&self.tls_settings()).map(Some).map_err(|error| problem(error.to_string()))
            }
        }
    }

    /// What its mails have in common.
    pub(crate) fn letterhead(&self, tags: Tags) -> Result<Letterhead, RouteProblem> {
        let (from_name, from) =
            parse_author(&self.from).map_err(|reason| RouteProblem { field: "from", reason })?;
        let message_domain = self.domain.clone().unwrap_or_else(|| from.domain().to_owned());
        Ok(Letterhead {
            from_name,
            from,
            message_domain,
            door_domain: self.domain.clone(),
            drill: self.drill,
            tags,
        })
    }
}

impl RouteSettings for MailRoute {
    fn name(&self) -> &str {
        &self.name
    }

    fn problems(&self) -> Vec<RouteProblem> {
        let mut problems = Vec::new();
        let mut check = |field, wrong: Option<String>| {
            problems.extend(wrong.map(|reason| RouteProblem { field, reason }))
        };
        check("address", wrong_address(&self.address));
        match self.from.is_empty() {
            true => check("from", Some("is needed".to_owned())),
            false => check("from", parse_author(&self.from).err()),
        }
        check("sessions", outside(self.sessions, SESSIONS_MAX));
        check("window", outside(self.window, WINDOW_MAX));
        let rate = !self.rate.is_finite() || self.rate < 0.0;
        check(
            "rate",
            rate.then(|| format!("{} is not a rate: mails per second, 0 for unlimited", self.rate)),
        );
        check(
            "domain",
            self.domain.as_deref().and_then(|domain| wrong_domain(domain, DOOR_DOMAIN_OCTETS_MAX)),
        );
        check("hello", self.hello.as_deref().and_then(|name| wrong_domain(name, DOMAIN_OCTETS_MAX)));
        let alone = self.username.is_some() != self.password.is_some();
        check("username", alone.then(|| "username and password belong together".to_owned()));
        if self.tls == TlsMode::None {
            let idle = |given: bool| given.then(|| "has no effect with tls = \"none\"".to_owned());
            check("ca_file", idle(self.ca_file.is_some()));
            check("server_name", idle(self.server_name.is_some()));
        } else {
            check("ca_file", TlsClient::new(&self.tls_settings()).err().map(|error| error.to_string()));
        }
        problems
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn protocol(&self) -> Option<&'static str> {
        Some("smtp")
    }

    fn sessions(&self) -> Option<u32> {
        u32::try_from(self.sessions).ok()
    }

    fn slots(&self) -> u32 {
        (self.sessions * self.window) as u32
    }

    fn down_after(&self) -> Duration {
        DOWN_AFTER
    }

    fn step_to(&self, to: &MailRoute) -> ChangeScope {
        // Messages in hand were, or will be, composed by it.
        let letterhead = |route: &MailRoute| (route.from.clone(), route.domain.clone(), route.drill);
        // A session has the rest from its beginning.
        let bound = |route: &MailRoute| MailRoute { rate: 0.0, sessions: 0, ..route.clone() };
        if self == to {
            ChangeScope::None
        } else if letterhead(self) != letterhead(to) {
            ChangeScope::Reopen
        } else if bound(self) != bound(to) {
            ChangeScope::Rebind
        } else {
            ChangeScope::InPlace
        }
    }

    fn connect_to(&mut self, simulator: &str) {
        simulator.clone_into(&mut self.address);
    }
}

/// A relay that is gone for longer has what waits for it tried elsewhere. Relays hang up on single mails, and
/// greet slowly.
const DOWN_AFTER: Duration = Duration::from_secs(30);

/// `address` or `Name <address>`.
fn parse_author(from: &str) -> Result<(Option<String>, Path), String> {
    let (name, address) = match from.trim().strip_suffix('>').and_then(|rest| rest.rsplit_once('<')) {
        Some((name, address)) => (name.trim().trim_matches('"'), address),
        None => ("", from.trim()),
    };
    let path = Path::parse(address).map_err(|error| format!("{from:?} is not an author: {}", error.0))?;
    if !path.as_str().is_ascii() {
        return Err(format!("{from:?}: the author's address must be ASCII"));
    }
    Ok(((!name.is_empty()).then(|| name.to_owned()), path))
}

/// `host` of `host:port`, without the brackets of an IPv6 address.
pub(super) fn host_of(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn outside(value: usize, max: usize) -> Option<String> {
    (!(1..=max).contains(&value)).then(|| format!("{value} is not between 1 and {max}"))
}

fn wrong_address(address: &str) -> Option<String> {
    let port = address
        .rsplit_once(':')
        .filter(|(host, _)| !host.is_empty())
        .and_then(|(_, port)| port.parse::<u16>().ok());
    port.is_none_or(|port| port == 0).then(|| format!("{address:?} is not host:port"))
}

/// A domain's characters, or an address literal's (RFC 5321 §4.1.3).
fn wrong_domain(domain: &str, max: usize) -> Option<String> {
    let literal = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(domain);
    let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':');
    if domain.len() > max {
        return Some(format!("a domain of {} octets is over the limit of {max}", domain.len()));
    }
    (literal.is_empty() || !literal.chars().all(valid)).then(|| format!("{domain:?} is not a domain"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route() -> MailRoute {
        MailRoute {
            name: "relay".to_owned(),
            address: "relay.example:25".to_owned(),
            from: "City of X <alerts@city.example>".to_owned(),
            ..MailRoute::default()
        }
    }

    #[test]
    fn a_route_that_can_be_started_has_no_problems() {
        assert_eq!(route().problems(), []);
        let more = MailRoute {
            address: "[::1]:587".to_owned(),
            from: "alerts@city.example".to_owned(),
            tls: TlsMode::StartTls,
            server_name: Some("mx.example".to_owned()),
            username: Some("u".to_owned()),
            password: Some(Secret::from("p")),
            domain: Some("in.city.example".to_owned()),
            hello: Some("[192.0.2.1]".to_owned()),
            rate: 0.5,
            ..route()
        };
        assert_eq!(more.problems(), []);
        assert_eq!(more.options().credentials, Some(("u".to_owned(), "p".to_owned())));
        assert!(!format!("{more:?}").contains("\"p\""), "a password is never shown");
    }

    #[test]
    fn every_problem_names_its_key() {
        let fields = |change: &dyn Fn(&mut MailRoute)| {
            let mut route = route();
            change(&mut route);
            route.problems().into_iter().map(|problem| problem.field).collect::<Vec<_>>()
        };
        type Change<'a> = &'a dyn Fn(&mut MailRoute);
        let cases: [(&str, Change<'_>); 13] = [
            ("address", &|r| r.address = "relay.example".to_owned()),
            ("address", &|r| r.address = "relay.example:0".to_owned()),
            ("from", &|r| r.from = "nobody".to_owned()),
            ("from", &|r| r.from = "alerts@ö.example".to_owned()),
            ("from", &|r| r.from = "X <a@b.c>\r\nBcc: <x@y.z>, q".to_owned()),
            ("sessions", &|r| r.sessions = 0),
            ("window", &|r| r.window = WINDOW_MAX + 1),
            ("rate", &|r| r.rate = f64::NAN),
            ("domain", &|r| r.domain = Some("in city.example".to_owned())),
            ("hello", &|r| r.hello = Some("x\r\nMAIL".to_owned())),
            ("username", &|r| r.username = Some("u".to_owned())),
            ("ca_file", &|r| (r.tls, r.ca_file) = (TlsMode::Implicit, Some(PathBuf::from("/nowhere.pem")))),
            ("server_name", &|r| r.server_name = Some("mx".to_owned())),
        ];
        for (field, change) in cases {
            assert_eq!(fields(change), [field]);
        }
    }

    #[test]
    fn the_author_is_an_address_with_or_without_a_name() {
        for (from, name) in [
            ("alerts@city.example", None),
            ("<alerts@city.example>", None),
            ("City of X <alerts@city.example>", Some("City of X")),
            ("\"City, of X\" <alerts@city.example>", Some("City, of X")),
        ] {
            let (parsed, path) = parse_author(from).unwrap();
            assert_eq!((parsed.as_deref(), path.as_str()), (name, "alerts@city.example"), "{from}");
        }
    }
}
