//! Reports on an alert, on its deliveries, and on its people.

use records::{AlertId, DeliveryState, Reason};
use serde::Serialize;
use std::collections::BTreeMap;

/// How far an alert has got. Each endpoint is in exactly one count; `endpoints` is their sum.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The alert.
    pub id: AlertId,
    /// Its state.
    pub state: &'static str,
    /// Live or drill.
    pub mode: &'static str,
    /// A simulated route carried some of it.
    pub simulated: bool,
    /// First words of it, for lists.
    pub headline: String,
    /// Why it is in its state, where there is something to say.
    pub note: String,
    /// By state.
    pub counts: Counts,
    /// By channel.
    pub channels: BTreeMap<String, Counts>,
    /// By route.
    pub routes: BTreeMap<String, RouteReport>,
    /// Excluded and failed, by reason in words.
    pub reasons: BTreeMap<String, u64>,
    /// Answers by choice (or `other`).
    pub answers: BTreeMap<String, u64>,
    /// People whose text has nothing in place of a placeholder, since they have no value and it has no
    /// default; by placeholder.
    pub missing_values: BTreeMap<String, u64>,
    /// Seconds from acceptance to the alert's terminal state for 50, 95, 99 % of the endpoints that are not
    /// excluded; absent until reached.
    pub times: Times,
    /// Endpoints a second reaching the carrier, over the last 5 s.
    pub rate_now: f64,
    /// Seconds until everything planned is with the carriers, from the routes' limits and what is before it;
    /// absent if unknown.
    pub eta: Option<f64>,
    /// Its people, and what is to be known of them.
    #[serde(flatten)]
    pub of_people: ReportOfPeople,
    /// From when until when it looks.
    #[serde(flatten)]
    pub moments: ReportMoments,
}

/// The moments of a report; RFC 3339.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReportMoments {
    /// When the alert was accepted.
    pub created: String,
    /// When the report was true.
    pub at: String,
    /// When it became final; RFC 3339.
    pub finished: Option<String>,
}

/// What a report has of people, beside that of devices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReportOfPeople {
    /// By state: each where the furthest of their devices is.
    pub people: PeopleCounts,
    /// Deliveries whose answer calls for help, and of which nobody has said that it is settled.
    pub needs_help: u64,
    /// Why deliveries are where they are, by code.
    pub reason_codes: Vec<ReasonCount>,
}

/// People by state. Each is in exactly one count; `total` is their sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PeopleCounts {
    /// The sum of the others.
    pub total: u64,
    /// Answered.
    pub answered: u64,
    /// A device has it.
    pub delivered: u64,
    /// A carrier has it.
    pub accepted: u64,
    /// Written.
    pub submitted: u64,
    /// Will be sent to.
    pub planned: u64,
    /// Wait.
    pub held: u64,
    /// Nobody knows.
    pub unknown: u64,
    /// Not reached.
    pub failed: u64,
    /// Left out.
    pub excluded: u64,
}

/// A reason and how many deliveries of one channel have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReasonCount {
    /// The stable code.
    pub code: Reason,
    /// What the words for it name.
    pub args: ReasonArguments,
    /// Deliveries.
    pub count: u64,
}

/// What the words for a reason name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReasonArguments {
    /// The channel of the device; none: a person without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<&'static str>,
    /// The route of the last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// When what holds it ends; RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Words of the carrier, or ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// A reason by its code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReasonView {
    /// The stable code.
    pub code: Reason,
    /// What the words for it name.
    pub args: ReasonArguments,
}

/// Endpoints by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// The sum of the others.
    pub endpoints: u64,
    /// Will be sent.
    pub planned: u64,
    /// Written.
    pub submitted: u64,
    /// Taken by the carrier.
    pub accepted: u64,
    /// Arrived.
    pub delivered: u64,
    /// Answered.
    pub answered: u64,
    /// Did not get through.
    pub failed: u64,
    /// Nobody knows.
    pub unknown: u64,
    /// Waits.
    pub held: u64,
    /// Left out.
    pub excluded: u64,
}

/// One route's share of an alert.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct RouteReport {
    /// By state.
    pub counts: Counts,
    /// Its limit, messages a second; 0 is unlimited.
    pub rate: f64,
    /// It can send.
    pub up: bool,
    /// Answered by the simulator.
    pub simulated: bool,
}

/// Seconds from acceptance.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Times {
    /// Half of the endpoints.
    pub p50: Option<f64>,
    /// 95 %.
    pub p95: Option<f64>,
    /// 99 %.
    pub p99: Option<f64>,
}

/// One delivery as people read it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeliveryView {
    /// Its number in the alert.
    pub endpoint: u32,
    /// How.
    pub channel: Option<&'static str>,
    /// Where.
    pub address: String,
    /// Who is behind the address.
    pub recipients: Vec<RecipientView>,
    /// How far it got.
    pub state: DeliveryState,
    /// Stable code of the reason.
    pub reason_code: Reason,
    /// In words, with the server's words.
    pub reason: String,
    /// The route of the last attempt.
    pub route: Option<String>,
    /// Attempts so far.
    pub attempts: u8,
    /// RFC 3339.
    pub submitted: Option<String>,
    /// RFC 3339.
    pub accepted: Option<String>,
    /// RFC 3339.
    pub delivered: Option<String>,
    /// What they said.
    pub answer: Option<AnswerView>,
}

/// A person of an alert, with their devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PersonOfAlert {
    /// Their id; nothing: an address of nobody who is known.
    pub recipient: Option<String>,
    /// Their name.
    pub name: String,
    /// That of the device that got furthest.
    pub state: DeliveryState,
    /// Why they are there.
    pub reason: Option<ReasonView>,
    /// Attempts so far, of all devices.
    pub tries: u32,
    /// Their devices, in order of the roster.
    pub devices: Vec<PersonDevice>,
    /// What they said last.
    pub answer: Option<AnswerView>,
}

/// A device of a person of an alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PersonDevice {
    /// Its number in the alert.
    pub endpoint: u32,
    /// How; nothing: the person has no device.
    pub channel: Option<&'static str>,
    /// Where.
    pub address: String,
    /// How far it got.
    pub state: DeliveryState,
    /// Why it is there.
    pub reason: Option<ReasonView>,
    /// The route of the last attempt.
    pub route: Option<String>,
    /// Attempts so far.
    pub tries: u8,
    /// RFC 3339.
    pub submitted: Option<String>,
    /// RFC 3339.
    pub accepted: Option<String>,
    /// RFC 3339.
    pub delivered: Option<String>,
}

/// A person behind an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecipientView {
    /// Their id.
    pub id: String,
    /// Their name.
    pub name: String,
}

/// An answer as people read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnswerView {
    /// The choice's key, if it was one.
    pub key: Option<String>,
    /// What they said.
    pub text: String,
    /// By which way.
    pub via: String,
    /// RFC 3339.
    pub at: String,
}
