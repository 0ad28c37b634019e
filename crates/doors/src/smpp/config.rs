//! `[smpp]` and `[[smpp.client]]`.

use engine::Problem;
use net::AllowedIp;
use net::{DoorLimits, TlsServerSettings};
use records::{Lane, Mode};
use smpp::limits::{self, Field};
use smpp::pdu::Version;
use smpp::session::WINDOW_MAX;
use smpp::text::Charset;
use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

/// Clients at most.
pub const CLIENTS_MAX: usize = 10_000;
/// Connections at a time, by default.
pub const CONNECTIONS_MAX: usize = 4_000;
/// Connections at a time of one address, by default.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 2_000;
/// Sessions of a client at a time, by default.
pub const CLIENT_CONNECTIONS: u32 = 20;
/// Requests of a session that wait for their answer, by default.
pub const CLIENT_WINDOW: usize = 500;
/// Validity of a message without a validity period, in seconds.
pub const VALIDITY_S: u32 = 48 * 3_600;
/// The longest validity and deferral of a message, in seconds; a longer one is cut to this.
pub const VALIDITY_S_MAX: u32 = 30 * 86_400;
/// Patterns of senders, numbers and networks of a client at most.
const LIST_MAX: usize = 1_000;
/// Longest time-out and interval.
const TIME_MAX: Duration = Duration::from_secs(3_600);

/// `[smpp]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmppConfig {
    /// `host:port` in the clear; port 0 takes a free one.
    pub listen: Option<String>,
    /// `host:port` by TLS.
    pub tls_listen: Option<String>,
    /// Its certificate and key.
    pub tls: Option<TlsServerSettings>,
    /// Our name in the answer to a bind.
    pub system_id: String,
    /// Connections at a time.
    pub limits: DoorLimits,
    /// From connection to bind.
    pub session_init: Duration,
    /// Silence after which an enquire_link is sent.
    pub enquire_link: Duration,
    /// Time without any message after which a session is unbound.
    pub inactivity: Option<Duration>,
    /// From our request to the client's answer.
    pub response: Duration,
    /// Time that a client may leave our octets unread.
    pub write_stall: Duration,
    /// Time for outstanding requests when a session ends.
    pub drain: Duration,
}

impl Default for SmppConfig {
    fn default() -> SmppConfig {
        SmppConfig {
            listen: Some("127.0.0.1:2775".to_owned()),
            tls_listen: None,
            tls: None,
            system_id: "campanile".to_owned(),
            limits: DoorLimits::new(CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX),
            session_init: Duration::from_secs(10),
            enquire_link: Duration::from_secs(30),
            inactivity: None,
            response: Duration::from_secs(30),
            write_stall: Duration::from_secs(30),
            drain: Duration::from_secs(5),
        }
    }
}

/// One `[[smpp.client]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct SmppClient {
    /// The name in the bind.
    pub system_id: String,
    /// The password.
    pub password: ClientPassword,
    /// Account of its messages.
    pub account: String,
    /// Live or drill.
    pub mode: Mode,
    /// Messages a second over all its sessions; 0 is unlimited.
    pub rate: f64,
    /// Requests of a session that wait for their answer, each way.
    pub window: usize,
    /// Sessions at a time.
    pub connections: u32,
    /// Networks that it may bind from; empty: any.
    pub allowed_ips: Vec<AllowedIp>,
    /// Its meaning of `data_coding` 0.
    pub charset: Charset,
    /// Our numbers whose inbound messages it gets. Used by the engine.
    pub numbers: Vec<String>,
    /// Senders it may show, a last `*` stands for anything; empty: any.
    pub senders: Vec<String>,
    /// Lanes of its messages.
    pub lanes: ClientLanes,
    /// The highest version of its sessions, whatever its bind requests.
    pub version: Version,
    /// Validity of messages without a validity period, in seconds.
    pub validity_s: u32,
    /// Form of long inbound messages.
    pub long: LongMessageForm,
}

/// Form of an inbound message that is longer than `short_message`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LongMessageForm {
    /// Whole, in `message_payload`; in parts to a client of 3.3.
    Payload,
    /// In parts with user data headers.
    Udh,
}

/// Lane of a client's messages, by their `priority_flag`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLanes {
    /// Of a message whose `priority_flag` is below both limits.
    pub usual: Lane,
    /// `priority_flag` from which on a message is urgent.
    pub urgent_from: Option<u8>,
    /// `priority_flag` from which on a message is an emergency. Without it none is.
    pub emergency_from: Option<u8>,
}

impl Default for ClientLanes {
    fn default() -> ClientLanes {
        ClientLanes { usual: Lane::Routine, urgent_from: Some(3), emergency_from: None }
    }
}

impl ClientLanes {
    /// The lane of a message with this flag.
    pub(super) fn lane(&self, priority_flag: u8) -> Lane {
        let from = |least: Option<u8>| least.is_some_and(|least| priority_flag >= least);
        if from(self.emergency_from) {
            Lane::Emergency
        } else if from(self.urgent_from) {
            self.usual.min(Lane::Urgent)
        } else {
            self.usual
        }
    }
}

impl Default for SmppClient {
    fn default() -> SmppClient {
        SmppClient {
            system_id: String::new(),
            password: ClientPassword::default(),
            account: String::new(),
            mode: Mode::Live,
            rate: 0.0,
            window: CLIENT_WINDOW,
            connections: CLIENT_CONNECTIONS,
            allowed_ips: Vec::new(),
            charset: Charset::Gsm7,
            numbers: Vec::new(),
            senders: Vec::new(),
            lanes: ClientLanes::default(),
            version: Version::V5_0,
            validity_s: VALIDITY_S,
            long: LongMessageForm::Payload,
        }
    }
}

/// A password; never shown.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ClientPassword(String);

impl ClientPassword {
    /// The password itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ClientPassword {
    fn from(word: &str) -> ClientPassword {
        ClientPassword(word.to_owned())
    }
}

impl From<String> for ClientPassword {
    fn from(word: String) -> ClientPassword {
        ClientPassword(word)
    }
}

impl fmt::Debug for ClientPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// `payload` or `udh`.
pub fn parse_long_message_form(text: &str) -> Result<LongMessageForm, String> {
    match text {
        "payload" => Ok(LongMessageForm::Payload),
        "udh" => Ok(LongMessageForm::Udh),
        other => Err(format!("{other:?} is not a form of long messages: payload, udh")),
    }
}

impl SmppConfig {
    /// All problems. Files of certificates are read.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut check = |field: &str, wrong: Option<String>| {
            problems.extend(wrong.map(|reason| Problem { field: format!("smpp.{field}"), reason }));
        };
        let deaf = self.listen.is_none() && self.tls_listen.is_none();
        check("listen", deaf.then(|| "listen or tls_listen is needed".to_owned()));
        let bare = self.tls_listen.is_some() && self.tls.is_none();
        check("tls_listen", bare.then(|| "tls_cert and tls_key are needed".to_owned()));
        let tls = self.tls.as_ref().and_then(|tls| net::TlsServer::new(tls).err());
        if let Some(error) = tls {
            check(error.field, Some(error.why));
        }
        check("system_id", wrong_text(&self.system_id, &limits::SYSTEM_ID));
        if let Some((field, why)) = self.limits.problem() {
            check(field, Some(why.to_owned()));
        }
        let times = [
            ("session_init", self.session_init),
            ("enquire_link", self.enquire_link),
            ("response", self.response),
            ("write_stall", self.write_stall),
            ("drain", self.drain),
        ];
        for (field, time) in times.into_iter().chain(self.inactivity.map(|time| ("inactivity", time))) {
            check(field, wrong_time(time));
        }
        problems
    }
}

impl SmppClient {
    fn problems(&self, place: usize) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut check = |field: &str, wrong: Option<String>| {
            problems.extend(
                wrong.map(|reason| Problem { field: format!("smpp.client[{place}].{field}"), reason }),
            );
        };
        check("system_id", wrong_text(&self.system_id, &limits::SYSTEM_ID));
        check("system_id", self.system_id.is_empty().then(|| "a client needs one".to_owned()));
        check("password", wrong_password(self.password.reveal()));
        check("account", self.account.is_empty().then(|| "a client needs one".to_owned()));
        let rate = !self.rate.is_finite() || self.rate < 0.0;
        check(
            "rate",
            rate.then(|| format!("{} is not a rate: messages per second, 0 for unlimited", self.rate)),
        );
        check("window", outside(self.window, WINDOW_MAX));
        check("connections", outside(self.connections as usize, CONNECTIONS_MAX));
        check("validity", outside(self.validity_s as usize, VALIDITY_S_MAX as usize));
        for (field, count) in [
            ("allowed_ips", self.allowed_ips.len()),
            ("numbers", self.numbers.len()),
            ("senders", self.senders.len()),
        ] {
            check(
                field,
                (count > LIST_MAX).then(|| format!("{count} entries are over the limit of {LIST_MAX}")),
            );
        }
        problems
    }
}

/// All problems of a list of clients.
pub(super) fn client_problems(clients: &[SmppClient]) -> Vec<Problem> {
    let mut problems = Vec::new();
    if clients.len() > CLIENTS_MAX {
        let reason = format!("{} clients are over the limit of {CLIENTS_MAX}", clients.len());
        problems.push(Problem { field: "smpp.client".to_owned(), reason });
    }
    let mut names = HashSet::new();
    for (place, client) in clients.iter().enumerate() {
        problems.extend(client.problems(place));
        if !names.insert(client.system_id.as_str()) {
            let reason = format!("{:?} is another client's already", client.system_id);
            problems.push(Problem { field: format!("smpp.client[{place}].system_id"), reason });
        }
    }
    problems
}

fn wrong_text(text: &str, field: &Field) -> Option<String> {
    let limit = field.octets_max - 1;
    if text.len() > limit {
        return Some(format!("{text:?} has {} octets, over the limit of {limit}", text.len()));
    }
    text.bytes().any(|octet| octet == 0 || !octet.is_ascii()).then(|| format!("{text:?} is not plain ASCII"))
}

/// The same without the password in the text.
fn wrong_password(word: &str) -> Option<String> {
    let limit = limits::PASSWORD.octets_max - 1;
    match word {
        "" => Some("a client needs one".to_owned()),
        _ if word.len() > limit => Some(format!("it has {} octets, over the limit of {limit}", word.len())),
        _ => word
            .bytes()
            .any(|octet| octet == 0 || !octet.is_ascii())
            .then(|| "it is not plain ASCII".to_owned()),
    }
}

fn outside(value: usize, limit: usize) -> Option<String> {
    (!(1..=limit).contains(&value)).then(|| format!("{value} is outside 1 to {limit}"))
}

fn wrong_time(time: Duration) -> Option<String> {
    let wrong = time.is_zero() || time > TIME_MAX;
    wrong.then(|| format!("{} s is outside 1 ms to {} s", time.as_secs_f64(), TIME_MAX.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> SmppClient {
        SmppClient {
            system_id: "platform".into(),
            password: "secret".into(),
            account: "a".into(),
            ..SmppClient::default()
        }
    }

    #[test]
    fn each_wrong_key_of_a_client_is_named() {
        assert_eq!(client_problems(&[good()]), vec![]);
        let cases = [
            ("system_id", SmppClient { system_id: String::new(), ..good() }),
            ("system_id", SmppClient { system_id: "sixteen-octets-x".into(), ..good() }),
            ("password", SmppClient { password: "".into(), ..good() }),
            ("password", SmppClient { password: "hunter2".repeat(10).into(), ..good() }),
            ("account", SmppClient { account: String::new(), ..good() }),
            ("rate", SmppClient { rate: f64::NAN, ..good() }),
            ("rate", SmppClient { rate: -1.0, ..good() }),
            ("window", SmppClient { window: 0, ..good() }),
            ("window", SmppClient { window: 10_001, ..good() }),
            ("connections", SmppClient { connections: 0, ..good() }),
            ("validity", SmppClient { validity_s: u32::MAX, ..good() }),
            ("senders", SmppClient { senders: vec!["a".into(); 1_001], ..good() }),
        ];
        for (field, client) in cases {
            let problems = client_problems(std::slice::from_ref(&client));
            let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
            assert_eq!(fields, [format!("smpp.client[0].{field}")], "{problems:?}");
            assert!(!format!("{problems:?} {client:?}").contains("hunter2"), "{problems:?} {client:?}");
        }
        let twice = client_problems(&[good(), good()]);
        assert_eq!(twice.len(), 1, "{twice:?}");
    }

    #[test]
    fn each_wrong_key_of_the_door_is_named() {
        assert_eq!(SmppConfig::default().problems(), vec![]);
        let files = TlsServerSettings { cert_file: "/nowhere".into(), key_file: "/nowhere".into() };
        let cases = [
            ("listen", SmppConfig { listen: None, ..SmppConfig::default() }),
            ("tls_listen", SmppConfig { tls_listen: Some("127.0.0.1:0".into()), ..SmppConfig::default() }),
            ("tls_cert", SmppConfig { tls: Some(files), ..SmppConfig::default() }),
            ("system_id", SmppConfig { system_id: "glöckner".into(), ..SmppConfig::default() }),
            ("connections_max", SmppConfig { limits: DoorLimits::new(0, 1), ..SmppConfig::default() }),
            (
                "connections_per_address_max",
                SmppConfig { limits: DoorLimits::new(1, 0), ..SmppConfig::default() },
            ),
            ("session_init", SmppConfig { session_init: Duration::ZERO, ..SmppConfig::default() }),
            ("inactivity", SmppConfig { inactivity: Some(Duration::ZERO), ..SmppConfig::default() }),
        ];
        for (field, config) in cases {
            let problems = config.problems();
            let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
            assert_eq!(fields, [format!("smpp.{field}")], "{problems:?}");
        }
    }
}
