//! An SMS route: a carrier account, and how it wants to be spoken to.

use std::time::Duration;

use net::{TlsClient, TlsClientSettings};
use smpp::limits;
use smpp::pdu::{BindMode, Version};
use smpp::receipt::IdForm;
use smpp::session;
use smpp::text::national::Language;
use smpp::text::{Charset, Concat};

use crate::context::RouteProblem;
use crate::route_loop::{ChangeScope, RouteSettings};
use settings::Secret;

/// Sessions of a route at most.
pub const SESSIONS_MAX: u32 = 100;
/// The widest window of a session.
pub const WINDOW_MAX: u32 = session::WINDOW_MAX as u32;
/// Sessions x window at most.
pub const SLOTS_MAX: u32 = 100_000;
/// Longest time-out and interval.
const TIME_MAX: Duration = Duration::from_secs(3_600);
/// Longest validity, as far as `validity_period` can say.
const VALIDITY_S_MAX: u32 = 99 * 86_400;

/// One `[[route]]` of channel `sms`.
#[derive(Debug, Clone, PartialEq)]
pub struct SmsRoute {
    /// The route's name.
    pub name: String,
    /// `host:port` of the carrier's SMSC.
    pub address: String,
    /// Who we are to it.
    pub system_id: String,
    /// And the proof.
    pub password: Secret,
    /// Mostly empty.
    pub system_type: String,
    /// The highest version we speak.
    pub version: Version,
    /// How sessions are bound.
    pub bind: Binding,
    /// When they are.
    pub standing: SessionPolicy,
    /// On demand: a session with nothing to do for so long unbinds.
    pub idle: Duration,
    /// On demand: a session that receives is bound this often, for what waits there.
    pub poll_every: Duration,
    /// `host:port` where an SMSC may connect to us and ask us to bind (outbind, 3.4 §2.2.1). Sessions that
    /// only receive are not opened by us then.
    pub outbind: Option<String>,
    /// What such an SMSC proves itself with; empty: nothing is asked.
    pub outbind_password: Secret,
    /// Sessions at a time; of each kind with `transmitter+receiver`.
    pub sessions: u32,
    /// Submissions without an answer, a session.
    pub window: u32,
    /// Parts per second over all sessions; 0 is unlimited.
    pub rate: f64,
    /// The sender shown where the alert names none that can be shown.
    pub source: Source,
    /// How destinations are announced.
    pub dest: Numbering,
    /// `service_type`; mostly empty.
    pub service_type: String,
    /// What the carrier takes `data_coding` 0 to be.
    pub charset: Charset,
    /// Languages whose tables of GSM 7-bit a text may use that the default alphabet does not hold.
    pub languages: Vec<Language>,
    /// How long messages are cut.
    pub long: Concat,
    /// How the carrier's receipts write the ids of its answers.
    pub receipt_ids: IdForm,
    /// Longest the network tries, seconds: 0 says nothing to it, nothing says the alert's own end.
    pub validity_s: Option<u32>,
    /// `registered_delivery` of every message; nothing: a receipt where the alert wants one.
    pub registered_delivery: Option<u8>,
    /// From a request to its response.
    pub response_timeout: Duration,
    /// Silence after which the carrier is asked whether it is there.
    pub enquire_link: Duration,
    /// From connecting to being bound.
    pub connect_timeout: Duration,
    /// How long what is under way may take when the route stops.
    pub drain: Duration,
    /// Encrypted, if there.
    pub tls: Option<TlsClientSettings>,
}

/// How sessions are bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binding {
    /// One connection both ways.
    Transceiver,
    /// Two connections, one each way.
    TransmitterReceiver,
    /// Submits only: receipts and answers do not come, or by another route.
    Transmitter,
    /// Is delivered to only.
    Receiver,
}

/// When sessions are bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionPolicy {
    /// Always.
    Standing,
    /// While there is something to send, and from time to time for what waits for us.
    OnDemand,
}

/// A type of number and a numbering plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Numbering {
    /// `ton`.
    pub ton: u8,
    /// `npi`.
    pub npi: u8,
}

/// A sender.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Source {
    /// `ton`.
    pub ton: u8,
    /// `npi`.
    pub npi: u8,
    /// Digits or a name; empty: the carrier's own choice.
    pub addr: String,
}

impl Default for SmsRoute {
    fn default() -> SmsRoute {
        SmsRoute {
            name: String::new(),
            address: String::new(),
            system_id: String::new(),
            password: Secret::default(),
            system_type: String::new(),
            version: Version::V3_4,
            bind: Binding::Transceiver,
            standing: SessionPolicy::Standing,
            idle: Duration::from_secs(5),
            poll_every: Duration::from_secs(60),
            outbind: None,
            outbind_password: Secret::default(),
            sessions: 1,
            window: 50,
            rate: 0.0,
            source: Source { ton: 0, npi: 0, addr: String::new() },
            dest: Numbering { ton: 1, npi: 1 },
            service_type: String::new(),
            charset: Charset::Gsm7,
            languages: Vec::new(),
            long: Concat::Udh8,
            receipt_ids: IdForm::Auto,
            validity_s: None,
            registered_delivery: None,
            response_timeout: Duration::from_secs(30),
            enquire_link: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            drain: Duration::from_secs(5),
            tls: None,
        }
    }
}

impl SmsRoute {
    /// The sessions that we open, one entry each.
    pub(super) fn modes(&self) -> Vec<BindMode> {
        let kinds: &[BindMode] = match (self.bind, &self.outbind) {
            (Binding::Transceiver, _) => &[BindMode::Transceiver],
            (Binding::TransmitterReceiver, None) => &[BindMode::Transmitter, BindMode::Receiver],
            (Binding::Transmitter, _) | (Binding::TransmitterReceiver, Some(_)) => &[BindMode::Transmitter],
            (Binding::Receiver, None) => &[BindMode::Receiver],
            (Binding::Receiver, Some(_)) => &[],
        };
        (0..self.sessions).flat_map(|_| kinds.iter().copied()).collect()
    }

    /// As what a session is bound that an SMSC asked for: as receiver (3.4 §4.1.7); since 5.0 also both ways
    /// (5.0 §2.4).
    pub(super) fn outbind_mode(&self) -> BindMode {
        match (self.bind, self.version) {
            (Binding::Transceiver, Version::V5_0) => BindMode::Transceiver,
            _ => BindMode::Receiver,
        }
    }

    /// It connects when there is work.
    pub(super) fn is_on_demand(&self) -> bool {
        self.standing == SessionPolicy::OnDemand
    }

    /// Limits and timers of a session.
    pub(super) fn session(&self) -> session::Config {
        session::Config {
            version: self.version,
            // What we were told to speak is what the carrier reads, also if its answer to the bind does not
            // say so.
            assumed_version: Some(self.version),
            window: self.window as usize,
            peer_window: PEER_WINDOW,
            session_init: self.connect_timeout,
            response: self.response_timeout,
            enquire_link: Some(self.enquire_link),
            drain: self.drain,
            late_keep: LATE_KEEP,
            ..session::Config::default()
        }
    }
}

impl RouteSettings for SmsRoute {
    fn name(&self) -> &str {
        &self.name
    }

    fn problems(&self) -> Vec<RouteProblem> {
        let mut problems = Vec::new();
        let mut check = |field, wrong: Option<String>| {
            problems.extend(wrong.map(|reason| RouteProblem { field, reason }));
        };
        check("name", self.name.is_empty().then(|| "a route needs one".to_owned()));
        check("address", wrong_address(&self.address));
        check("system_id", wrong_text(&self.system_id, &limits::SYSTEM_ID));
        check("password", wrong_text(self.password.reveal(), &limits::PASSWORD).map(|why| hide(&why)));
        check("system_type", wrong_text(&self.system_type, &limits::SYSTEM_TYPE));
        check("service_type", wrong_text(&self.service_type, &limits::SERVICE_TYPE));
        check("source", wrong_text(&self.source.addr, &limits::SOURCE_ADDR));
        check("outbind", self.outbind.as_deref().and_then(wrong_address));
        let password = wrong_text(self.outbind_password.reveal(), &limits::PASSWORD);
        check("outbind_password", password.map(|why| hide(&why)));
        check("idle", wrong_time(self.idle));
        check("poll_every", wrong_time(self.poll_every));
        check("sessions", outside(self.sessions, SESSIONS_MAX));
        check("window", outside(self.window, WINDOW_MAX));
        let slots = u64::from(self.sessions) * u64::from(self.window);
        let over = slots > u64::from(SLOTS_MAX);
        check("window", over.then(|| format!("sessions x window is {slots}, over the limit of {SLOTS_MAX}")));
        let rate = !self.rate.is_finite() || self.rate < 0.0;
        check(
            "rate",
            rate.then(|| format!("{} is not a rate: parts per second, 0 for unlimited", self.rate)),
        );
        check("validity", self.validity_s.and_then(wrong_validity));
        check("response_timeout", wrong_time(self.response_timeout));
        check("enquire_link", wrong_time(self.enquire_link));
        check("connect_timeout", wrong_time(self.connect_timeout));
        check("drain", wrong_time(self.drain));
        let languages = !self.languages.is_empty() && self.charset != Charset::Gsm7;
        check("languages", languages.then(|| "tables of languages need charset gsm7".to_owned()));
        let payload = self.long == Concat::Payload && !self.version.has_tlvs();
        let sar = self.long == Concat::Sar && !self.version.has_tlvs();
        let way = if sar { "sar" } else { "payload" };
        check("long", (payload || sar).then(|| format!("{way} needs version 3.4 or 5.0")));
        let tls = self.tls.as_ref().and_then(|tls| TlsClient::new(tls).err());
        check("tls", tls.map(|error| error.to_string()));
        problems
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn protocol(&self) -> Option<&'static str> {
        Some("smpp")
    }

    fn sessions(&self) -> Option<u32> {
        Some(self.sessions)
    }

    fn slots(&self) -> u32 {
        self.sessions.saturating_mul(self.window)
    }

    /// A route that only receives never has anything to connect for.
    fn rests(&self) -> bool {
        self.is_on_demand() && self.bind != Binding::Receiver
    }

    fn down_after(&self) -> Duration {
        DOWN_AFTER
    }

    fn step_to(&self, to: &SmsRoute) -> ChangeScope {
        // What the octets of messages under way were made by.
        let encoder = |route: &SmsRoute| (route.charset, route.languages.clone(), route.long, route.standing);
        // What a session has from its beginning.
        let bound = |route: &SmsRoute| SmsRoute {
            name: String::new(),
            sessions: 0,
            window: 0,
            rate: 0.0,
            idle: Duration::ZERO,
            poll_every: Duration::ZERO,
            source: SmsRoute::default().source,
            dest: SmsRoute::default().dest,
            service_type: String::new(),
            receipt_ids: IdForm::Auto,
            validity_s: None,
            registered_delivery: None,
            drain: Duration::ZERO,
            ..route.clone()
        };
        if self == to {
            ChangeScope::None
        } else if encoder(self) != encoder(to) {
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

/// A route that is down for longer gives back what it has: another one takes it within a second. Long enough
/// for one that was cut off by chance to be back.
const DOWN_AFTER: Duration = Duration::from_millis(700);
/// Receipts and messages of the carrier that we have not answered, a session; it is throttled over that.
const PEER_WINDOW: usize = 2_000;
/// An answer that comes this much too late is still an outcome.
const LATE_KEEP: Duration = Duration::from_secs(600);

fn wrong_address(address: &str) -> Option<String> {
    let port =
        address.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port.parse::<u16>());
    match port {
        Some(Ok(1..)) => None,
        _ => Some(format!("{address:?} is not host:port")),
    }
}

fn wrong_text(text: &str, field: &limits::Field) -> Option<String> {
    let limit = field.octets_max - 1;
    if text.len() > limit {
        return Some(format!("{text:?} has {} octets, over the limit of {limit}", text.len()));
    }
    text.bytes().any(|octet| !(b' '..=b'~').contains(&octet)).then(|| format!("{text:?} is not plain ASCII"))
}

/// The same without the word itself, which may be a password.
fn hide(why: &str) -> String {
    match why.rsplit_once('"') {
        Some((_, rest)) => {
            format!("it{}", rest.strip_prefix(" has").map_or(rest.to_owned(), |n| format!(" has{n}")))
        }
        None => why.to_owned(),
    }
}

fn outside(value: u32, limit: u32) -> Option<String> {
    (!(1..=limit).contains(&value)).then(|| format!("{value} is outside 1 to {limit}"))
}

fn wrong_time(time: Duration) -> Option<String> {
    let wrong = time.is_zero() || time > TIME_MAX;
    wrong.then(|| format!("{} s is outside 1 ms to {} s", time.as_secs_f64(), TIME_MAX.as_secs()))
}

fn wrong_validity(seconds: u32) -> Option<String> {
    (seconds > VALIDITY_S_MAX).then(|| format!("{seconds} s is over the limit of {VALIDITY_S_MAX} s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> SmsRoute {
        SmsRoute {
            name: "carrier".to_owned(),
            address: "smsc.example:2775".to_owned(),
            ..SmsRoute::default()
        }
    }

    #[test]
    fn each_wrong_key_is_named() {
        assert_eq!(good().problems(), vec![]);
        let cases: Vec<(&str, SmsRoute)> = vec![
            ("name", SmsRoute { name: String::new(), ..good() }),
            ("address", SmsRoute { address: "smsc.example".to_owned(), ..good() }),
            ("address", SmsRoute { address: ":2775".to_owned(), ..good() }),
            ("address", SmsRoute { address: "smsc:0".to_owned(), ..good() }),
            ("system_id", SmsRoute { system_id: "sixteen-octets-x".to_owned(), ..good() }),
            ("password", SmsRoute { password: "p".repeat(65).as_str().into(), ..good() }),
            ("system_type", SmsRoute { system_type: "ü".to_owned(), ..good() }),
            ("outbind", SmsRoute { outbind: Some("nowhere".to_owned()), ..good() }),
            ("outbind_password", SmsRoute { outbind_password: "p".repeat(65).as_str().into(), ..good() }),
            ("idle", SmsRoute { standing: SessionPolicy::OnDemand, idle: Duration::ZERO, ..good() }),
            ("poll_every", SmsRoute { poll_every: Duration::from_secs(3_601), ..good() }),
            ("sessions", SmsRoute { sessions: 0, ..good() }),
            ("window", SmsRoute { window: 10_001, ..good() }),
            ("window", SmsRoute { sessions: 100, window: 1_001, ..good() }),
            ("rate", SmsRoute { rate: f64::NAN, ..good() }),
            ("rate", SmsRoute { rate: -1.0, ..good() }),
            ("validity", SmsRoute { validity_s: Some(u32::MAX), ..good() }),
            ("response_timeout", SmsRoute { response_timeout: Duration::ZERO, ..good() }),
            (
                "languages",
                SmsRoute { charset: Charset::Latin1, languages: vec![Language::Turkish], ..good() },
            ),
            ("long", SmsRoute { version: Version::V3_3, long: Concat::Payload, ..good() }),
            ("long", SmsRoute { version: Version::V3_3, long: Concat::Sar, ..good() }),
            (
                "tls",
                SmsRoute {
                    tls: Some(TlsClientSettings { ca_file: Some("/nowhere".into()), server_name: None }),
                    ..good()
                },
            ),
        ];
        for (field, route) in cases {
            let problems = route.problems();
            assert_eq!(
                problems.iter().map(|problem| problem.field).collect::<Vec<_>>(),
                vec![field],
                "{problems:?}"
            );
        }
    }

    #[test]
    fn only_what_a_session_has_from_its_beginning_costs_it() {
        let cases = [
            (ChangeScope::None, good()),
            (ChangeScope::InPlace, SmsRoute { rate: 5.0, ..good() }),
            (ChangeScope::InPlace, SmsRoute { window: 7, sessions: 3, ..good() }),
            (
                ChangeScope::InPlace,
                SmsRoute { service_type: "WAP".to_owned(), validity_s: Some(60), ..good() },
            ),
            (ChangeScope::InPlace, SmsRoute { idle: Duration::from_secs(1), ..good() }),
            (ChangeScope::Rebind, SmsRoute { address: "other.example:2775".to_owned(), ..good() }),
            (ChangeScope::Rebind, SmsRoute { password: "other".into(), rate: 5.0, ..good() }),
            (ChangeScope::Rebind, SmsRoute { bind: Binding::Transmitter, ..good() }),
            (ChangeScope::Rebind, SmsRoute { version: Version::V5_0, ..good() }),
            (ChangeScope::Rebind, SmsRoute { outbind: Some("0.0.0.0:2775".to_owned()), ..good() }),
            (ChangeScope::Rebind, SmsRoute { enquire_link: Duration::from_secs(9), ..good() }),
            (ChangeScope::Reopen, SmsRoute { charset: Charset::Latin1, ..good() }),
            (ChangeScope::Reopen, SmsRoute { languages: vec![Language::Turkish], ..good() }),
            (ChangeScope::Reopen, SmsRoute { long: Concat::Sar, ..good() }),
            (ChangeScope::Reopen, SmsRoute { standing: SessionPolicy::OnDemand, ..good() }),
        ];
        for (step, to) in cases {
            assert_eq!(good().step_to(&to), step, "{to:?}");
            assert_eq!(to.step_to(&good()), step, "and back: {to:?}");
        }
    }

    #[test]
    fn a_password_is_not_repeated_in_its_problem() {
        for word in [&*"hunter2-".repeat(9), "pass\u{fc}word"] {
            let problems = SmsRoute { password: word.into(), ..good() }.problems();
            let shown = format!("{problems:?} {:?}", SmsRoute { password: word.into(), ..good() });
            assert_eq!(problems.len(), 1);
            assert!(!shown.contains(word) && !shown.contains("word"[..2].repeat(2).as_str()), "{shown}");
        }
    }

    #[test]
    fn sessions_are_bound_as_configured() {
        use BindMode::{Receiver, Transceiver, Transmitter};
        let cases = [
            (Binding::Transceiver, vec![Transceiver, Transceiver]),
            (Binding::TransmitterReceiver, vec![Transmitter, Receiver, Transmitter, Receiver]),
            (Binding::Transmitter, vec![Transmitter, Transmitter]),
            (Binding::Receiver, vec![Receiver, Receiver]),
        ];
        for (bind, modes) in cases {
            assert_eq!(SmsRoute { bind, sessions: 2, ..good() }.modes(), modes);
        }
    }
}
