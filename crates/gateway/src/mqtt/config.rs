//! Settings of an MQTT route: a broker, and the topics at it.

use crate::context::RouteProblem;
use crate::mail::TlsMode;
use crate::route_loop::{ChangeScope, RouteSettings};
use mqtt::check_topic_name;
use net::{TlsClient, TlsClientSettings};
use settings::Secret;
use std::path::PathBuf;
use std::time::Duration;

/// Stands for an endpoint's address in `topic`.
pub const ADDRESS_PLACE: &str = "{address}";
/// Messages without an acknowledgement at most.
pub const WINDOW_MAX: usize = 1_000;
/// Octets of `topic`, of `response_topic` and of `client_id` at most. With an address it is a key on the bus.
const WORD_OCTETS_MAX: usize = 256;
/// Bounds of the keep alive: 18 h are the standard's 65,535 s.
const KEEP_ALIVE_MIN: Duration = Duration::from_secs(5);
const KEEP_ALIVE_MAX: Duration = Duration::from_secs(18 * 3_600);
/// A broker that is gone for longer has what waits for it tried elsewhere.
const DOWN_AFTER: Duration = Duration::from_secs(30);

/// One `[[route]]` of channel `mqtt`.
#[derive(Debug, Clone, PartialEq)]
pub struct MqttRoute {
    /// The route's name.
    pub name: String,
    /// `host:port` of the broker.
    pub address: String,
    /// TLS from the first octet, or none.
    pub tls: TlsMode,
    /// PEM certificates trusted beside the world's roots.
    pub ca_file: Option<PathBuf>,
    /// The name in the broker's certificate, where it is not the address's host.
    pub server_name: Option<String>,
    /// User Name.
    pub username: Option<String>,
    /// Password.
    pub password: Option<Secret>,
    /// Client Identifier; nothing: one is made up.
    pub client_id: Option<String>,
    /// Topic of a message, with [`ADDRESS_PLACE`] in it.
    pub topic: String,
    /// The broker retains messages.
    pub retain: bool,
    /// Topic of answers; nothing: there are none.
    pub response_topic: Option<String>,
    /// Keep Alive.
    pub keep_alive: Duration,
    /// Messages without an acknowledgement at most.
    pub window: usize,
    /// Messages per second; 0 is unlimited.
    pub rate: f64,
    /// Its messages are marked as an exercise: the route's mode is drill.
    pub drill: bool,
}

impl Default for MqttRoute {
    fn default() -> Self {
        MqttRoute {
            name: String::new(),
            address: String::new(),
            tls: TlsMode::None,
            ca_file: None,
            server_name: None,
            username: None,
            password: None,
            client_id: None,
            topic: ADDRESS_PLACE.to_owned(),
            retain: false,
            response_topic: None,
            keep_alive: Duration::from_secs(60),
            window: 100,
            rate: 0.0,
            drill: false,
        }
    }
}

impl MqttRoute {
    /// The topic of a message to an address.
    pub(super) fn topic_of(&self, address: &str) -> String {
        self.topic.replacen(ADDRESS_PLACE, address, 1)
    }

    /// Whom it trusts.
    pub(super) fn tls_settings(&self) -> TlsClientSettings {
        TlsClientSettings { ca_file: self.ca_file.clone(), server_name: self.server_name.clone() }
    }

    fn tls_problem(&self) -> Option<RouteProblem> {
        let problem = |field, reason: String| Some(RouteProblem { field, reason });
        match self.tls {
            TlsMode::StartTls => problem("tls", "MQTT has no STARTTLS: use \"tls\" or \"none\"".to_owned()),
            TlsMode::Implicit => {
                TlsClient::new(&self.tls_settings()).err().and_then(|e| problem("ca_file", e.to_string()))
            }
            TlsMode::None => {
                let idle = [("ca_file", self.ca_file.is_some()), ("server_name", self.server_name.is_some())];
                let (field, _) = idle.into_iter().find(|(_, given)| *given)?;
                problem(field, "has no effect with tls = \"none\"".to_owned())
            }
        }
    }
}

impl RouteSettings for MqttRoute {
    fn name(&self) -> &str {
        &self.name
    }

    fn problems(&self) -> Vec<RouteProblem> {
        let mut problems: Vec<RouteProblem> = self.tls_problem().into_iter().collect();
        let mut check = |field, wrong: Option<String>| {
            problems.extend(wrong.map(|reason| RouteProblem { field, reason }));
        };
        check("address", wrong_address(&self.address));
        check("topic", wrong_template(&self.topic));
        check("response_topic", self.response_topic.as_deref().and_then(wrong_topic));
        check("client_id", self.client_id.as_deref().and_then(wrong_word));
        check("username", self.username.as_deref().and_then(wrong_word));
        let alone = self.password.is_some() && self.username.is_none();
        check("password", alone.then(|| "needs a username beside it".to_owned()));
        let window = self.window;
        let outside = !(1..=WINDOW_MAX).contains(&window);
        check("window", outside.then(|| format!("{window} is not between 1 and {WINDOW_MAX}")));
        let outside = !(KEEP_ALIVE_MIN..=KEEP_ALIVE_MAX).contains(&self.keep_alive);
        check("keep_alive", outside.then(|| "is not between 5s and 18h".to_owned()));
        let rate = self.rate;
        let wrong = !rate.is_finite() || rate < 0.0;
        check("rate", wrong.then(|| format!("{rate} is not a rate: messages per second, 0 for unlimited")));
        problems
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn slots(&self) -> u32 {
        self.window as u32
    }

    fn down_after(&self) -> Duration {
        DOWN_AFTER
    }

    fn step_to(&self, to: &MqttRoute) -> ChangeScope {
        // The connection has the rest from its beginning.
        let bound = |route: &MqttRoute| MqttRoute { rate: 0.0, window: 0, ..route.clone() };
        if self == to {
            ChangeScope::None
        } else if self.drill != to.drill {
            ChangeScope::Reopen
        } else if bound(self) != bound(to) {
            ChangeScope::Rebind
        } else {
            ChangeScope::InPlace
        }
    }

    /// A simulator has neither TLS nor passwords.
    fn connect_to(&mut self, simulator: &str) {
        simulator.clone_into(&mut self.address);
        (self.tls, self.ca_file, self.server_name) = (TlsMode::None, None, None);
        (self.username, self.password) = (None, None);
    }
}

fn wrong_address(address: &str) -> Option<String> {
    let port = address
        .rsplit_once(':')
        .filter(|(host, _)| !host.is_empty())
        .and_then(|(_, port)| port.parse::<u16>().ok());
    port.is_none_or(|port| port == 0).then(|| format!("{address:?} is not host:port"))
}

fn wrong_template(topic: &str) -> Option<String> {
    if topic.matches(ADDRESS_PLACE).count() != 1 {
        return Some(format!("{topic:?} has not {ADDRESS_PLACE} in it once"));
    }
    wrong_topic(&topic.replacen(ADDRESS_PLACE, "x", 1))
}

fn wrong_topic(topic: &str) -> Option<String> {
    if topic.starts_with('$') {
        return Some(format!("{topic:?}: topics that begin with $ are the broker's own"));
    }
    check_topic_name(topic).err().map(|why| format!("{topic:?}: {why}")).or_else(|| wrong_word(topic))
}

fn wrong_word(word: &str) -> Option<String> {
    let octets = word.len();
    if octets == 0 {
        return Some("is empty".to_owned());
    }
    if octets > WORD_OCTETS_MAX {
        return Some(format!("{octets} octets are over the limit of {WORD_OCTETS_MAX}"));
    }
    word.chars().any(char::is_control).then(|| format!("{word:?} has a control character"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route() -> MqttRoute {
        MqttRoute {
            name: "sirens".to_owned(),
            address: "broker.example:1883".to_owned(),
            ..MqttRoute::default()
        }
    }

    #[test]
    fn a_route_that_can_be_started_has_no_problems() {
        assert_eq!(route().problems(), []);
        let more = MqttRoute {
            address: "[::1]:8883".to_owned(),
            tls: TlsMode::Implicit,
            server_name: Some("broker.example".to_owned()),
            username: Some("u".to_owned()),
            password: Some(Secret::from("p")),
            client_id: Some("campanile-1".to_owned()),
            topic: "city/{address}/alert".to_owned(),
            response_topic: Some("city/answers".to_owned()),
            ..route()
        };
        assert_eq!(more.problems(), []);
        assert_eq!(more.topic_of("site/7"), "city/site/7/alert");
        assert!(!format!("{more:?}").contains("\"p\""), "a password is never shown");
    }

    #[test]
    fn every_problem_names_its_key() {
        type Change<'a> = &'a dyn Fn(&mut MqttRoute);
        let cases: [(&str, Change<'_>); 18] = [
            ("address", &|r| r.address = "broker.example".to_owned()),
            ("address", &|r| r.address = "broker.example:0".to_owned()),
            ("topic", &|r| r.topic = "alerts".to_owned()),
            ("topic", &|r| r.topic = "{address}/{address}".to_owned()),
            ("topic", &|r| r.topic = "+/{address}".to_owned()),
            ("topic", &|r| r.topic = "$SYS/{address}".to_owned()),
            ("response_topic", &|r| r.response_topic = Some("a/#".to_owned())),
            ("response_topic", &|r| r.response_topic = Some("x".repeat(WORD_OCTETS_MAX + 1))),
            ("client_id", &|r| r.client_id = Some(String::new())),
            ("client_id", &|r| r.client_id = Some("a\nb".to_owned())),
            ("username", &|r| r.username = Some(String::new())),
            ("password", &|r| r.password = Some(Secret::from("p"))),
            ("tls", &|r| r.tls = TlsMode::StartTls),
            ("ca_file", &|r| (r.tls, r.ca_file) = (TlsMode::Implicit, Some(PathBuf::from("/nowhere.pem")))),
            ("server_name", &|r| r.server_name = Some("mx".to_owned())),
            ("window", &|r| r.window = WINDOW_MAX + 1),
            ("keep_alive", &|r| r.keep_alive = Duration::from_secs(1)),
            ("rate", &|r| r.rate = f64::NAN),
        ];
        for (field, change) in cases {
            let mut route = route();
            change(&mut route);
            let fields: Vec<_> = route.problems().into_iter().map(|problem| problem.field).collect();
            assert_eq!(fields, [field]);
        }
    }

    #[test]
    fn a_change_of_the_window_needs_no_new_connection_and_one_of_the_topic_does() {
        let from = route();
        assert_eq!(from.step_to(&from.clone()), ChangeScope::None);
        assert_eq!(from.step_to(&MqttRoute { window: 7, rate: 2.0, ..route() }), ChangeScope::InPlace);
        assert_eq!(from.step_to(&MqttRoute { retain: true, ..route() }), ChangeScope::Rebind);
        assert_eq!(from.step_to(&MqttRoute { drill: true, ..route() }), ChangeScope::Reopen);
    }
}
