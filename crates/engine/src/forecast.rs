//! Forecasts as doors show them: of a request, kept with an alert, and beside what happened.

use crate::api::Problem;
use crate::plan::{PlanVerdict, ReachTarget, RouteFact};
use records::{AlertId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What would happen.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Forecast {
    /// Endpoints by channel.
    pub endpoints: u64,
    /// People behind them.
    pub recipients: u64,
    /// How many of them read which language, as their records say; those without one are in none.
    pub languages: BTreeMap<String, u64>,
    /// By channel.
    pub channels: BTreeMap<String, u64>,
    /// Left out, by reason in words.
    pub excluded: BTreeMap<String, u64>,
    /// People whose text would have nothing in place of a placeholder, by placeholder.
    pub missing_values: BTreeMap<String, u64>,
    /// By route: endpoints, units, seconds, cost in minor units.
    pub routes: BTreeMap<String, RouteForecast>,
    /// Seconds until the last is with its carrier, as far as limits tell.
    pub seconds: f64,
    /// Minor units.
    pub cost: i64,
    /// What is odd.
    pub problems: Vec<Problem>,
    /// By kind: what its devices get.
    pub devices: Vec<DeviceForecast>,
    /// When its people are handed over, and what that rests on.
    #[serde(flatten)]
    pub course: CourseForecast,
    /// Alerts of a short time ago that told many of the same people nearly the same.
    #[serde(skip)]
    pub similar: Vec<SimilarAlert>,
}

/// An alert of a short time ago that told many of the same people nearly the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimilarAlert {
    /// The earlier alert.
    pub id: AlertId,
    /// When it was accepted.
    pub created: Timestamp,
    /// How many of a hundred people of this audience it went to.
    pub percent: u8,
}

/// Devices that get the same text.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct DeviceForecast {
    /// How they are reached.
    pub channel: String,
    /// The language of the text, or of the mark of a drill; nothing: the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// What they can show, where that is less than the channel carries: as in a recipient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<serde_json::Value>,
    /// How many they are.
    pub devices: u64,
    /// A line above the text, where the channel has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// The beginning of the text, with nothing in place of placeholders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Letters of the whole text.
    pub letters: u64,
    /// Parts of one message, on the first route that takes it; 0: it is not sent.
    pub parts: u64,
    /// Why nothing is sent to them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// One route's share of a forecast.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RouteForecast {
    /// Endpoints.
    pub endpoints: u64,
    /// Units of its rate.
    pub units: u64,
    /// Devices: the endpoints by the name that people know.
    pub devices: u64,
    /// Parts of messages: the units by the name that people know.
    pub parts: u64,
    /// Seconds until its last one is handed over, with what waits already.
    pub seconds: f64,
    /// Minor units.
    pub cost: i64,
    /// Units a second with which it was reckoned; 0 is unlimited.
    pub limit: f64,
}

/// When the people of an alert are handed over.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CourseForecast {
    /// People who are sent to, by one device at least.
    pub people: u64,
    /// Who is not, by the code of the reason.
    pub left_out: BTreeMap<String, LeftOut>,
    /// Parts of messages, of all routes.
    pub parts: u64,
    /// Seconds from the start until half of the people are handed over.
    pub p50: Option<f64>,
    /// The same of 95 of 100.
    pub p95: Option<f64>,
    /// The same of 99 of 100.
    pub p99: Option<f64>,
    /// Seconds, and people handed over by then: 60 points at most.
    pub curve: Vec<(f64, u64)>,
    /// What it takes for granted.
    pub assumptions: Vec<Coded>,
    /// How many people are going to have it.
    pub reach: Reach,
}

/// Who is left out for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LeftOut {
    /// People without any other device.
    pub people: u64,
    /// Devices.
    pub devices: u64,
}

/// People who are going to have an alert: at least and at most, where that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reach {
    /// At least.
    pub low: u64,
    /// At most.
    pub high: u64,
}

/// A stable code with its arguments, which the reader words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coded {
    /// Such as `route_down`.
    pub code: Cow<'static, str>,
    /// By the code.
    pub args: Value,
}

impl Coded {
    /// Of a code.
    pub fn new(code: &'static str, args: Value) -> Coded {
        Coded { code: Cow::Borrowed(code), args }
    }
}

/// A forecast that was fixed before an alert was sent, as it is kept with it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct KeptForecast {
    /// When it was made: RFC 3339.
    pub at: String,
    /// Devices.
    pub endpoints: u64,
    /// Seconds until the last is handed over.
    pub seconds: f64,
    /// Minor units.
    pub cost: i64,
    /// By route.
    pub routes: BTreeMap<String, RouteForecast>,
    /// When its people are handed over, and what that rests on.
    #[serde(flatten)]
    pub course: CourseForecast,
}

impl KeptForecast {
    /// A forecast as it is kept.
    pub(crate) fn of(forecast: Forecast, at: String) -> KeptForecast {
        let Forecast { endpoints, seconds, cost, routes, course, .. } = forecast;
        KeptForecast { at, endpoints, seconds, cost, routes, course }
    }
}

/// What happened of an alert so far, in the terms of its forecast. Seconds count from when it could be sent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ForecastFact {
    /// People handed over.
    pub people: u64,
    /// People whose network or who themselves confirmed it.
    pub confirmed: u64,
    /// When half of the people of the forecast were handed over; nothing: they are not.
    pub p50: Option<f64>,
    /// The same of 95 of 100.
    pub p95: Option<f64>,
    /// The same of 99 of 100.
    pub p99: Option<f64>,
    /// When the last one so far was.
    pub seconds: f64,
    /// Seconds, and people handed over by then.
    pub curve: Vec<(f64, u64)>,
    /// By route.
    pub routes: BTreeMap<String, RouteFact>,
}

/// Forecast and fact of an alert.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForecastAndFact {
    /// As it was fixed before the alert was sent; nothing: it is not resolved yet, or older than forecasts.
    pub forecast: Option<KeptForecast>,
    /// When it could be sent: RFC 3339.
    pub start: String,
    /// What happened so far.
    pub fact: ForecastFact,
    /// Why they differ.
    pub causes: Vec<Coded>,
}

/// Whether and when a part of the people are reached.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Reached {
    /// The target is met.
    pub met: bool,
    /// Seconds until that part is reached; nothing: it is not.
    pub seconds: Option<f64>,
    /// People reached within the target's time.
    pub people: u64,
}

/// How far an alert came towards a target.
#[derive(Debug, Clone, PartialEq)]
pub struct AlertReach {
    /// What counts as reached: `handed_over` or `confirmed`.
    pub counts: &'static str,
    /// People who were sent to.
    pub people: u64,
    /// The target is met; nothing: that is still open.
    pub met: Option<bool>,
    /// Seconds from when it could be sent until the target's part of the people was reached; nothing: it was
    /// not.
    pub seconds: Option<f64>,
}

/// Verdict on an alert.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlertVerdict {
    /// What was asked.
    pub target: ReachTarget,
    /// What counts as reached: `handed_over` or `confirmed`.
    pub counts: &'static str,
    /// People who were sent to.
    pub people: u64,
    /// It is met; nothing: that is still open.
    pub met: Option<bool>,
    /// When that part of the people was reached: RFC 3339.
    pub at: Option<String>,
    /// The same in seconds from when it could be sent.
    pub seconds: Option<f64>,
    /// The same alert by the routes and limits of now: what if each were down, and which limit to raise.
    pub plan: PlanVerdict,
}
