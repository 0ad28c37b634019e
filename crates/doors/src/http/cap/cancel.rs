//! A Cancel: what it refers to stops, and whoever got that or may have got it is told that it is over.

use super::ending::{end_all, message, with_replaced};
use super::incoming::{self, Oddity, PartIntent};
use crate::http::alerts::body::{EXPIRES_S_DEFAULT, EXPIRES_S_MAX};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::HttpResult;
use cap::Info;
use records::{Alert, Priority, Timestamp};

/// Infos of the cancelled messages of which a Cancel without words makes some.
const INFOS_MAX: usize = 40;

/// What a Cancel did.
pub(super) struct Cancelled {
    /// The alerts that were stopped, or were over.
    pub ended: Vec<Alert>,
    /// The all-clear; nothing if nobody can have got them.
    pub all_clear: Option<PartIntent>,
}

/// Carries out a Cancel, and makes the all-clear that is to be submitted.
pub(super) async fn cancel(
    app: &App,
    caller: &Caller,
    alert: &cap::Alert,
    oddities: &mut Vec<Oddity>,
) -> HttpResult<Cancelled> {
    let (mode, _) = incoming::mode(alert.status, oddities)?;
    let references = incoming::ends(alert, oddities)?;
    let ended = end_all(app, caller, alert, &references, oddities).await?;
    let mut got = Vec::new();
    for one in with_replaced(app, caller, &ended).await? {
        let counts = app.engine.report(caller.account(), one.id).await?.counts;
        // What is planned still is with a gateway: the rest has just been stopped.
        // Who got a real alert is not told of its end by a drill, nor the reverse.
        if one.request.mode != mode {
            continue;
        }
        if counts.planned
            + counts.submitted
            + counts.accepted
            + counts.delivered
            + counts.answered
            + counts.unknown
            > 0
        {
            got.push(one);
        }
    }
    if got.is_empty() {
        if !ended.is_empty() {
            let message = "nobody can have got what is cancelled: nobody is told";
            oddities.push(Oddity::new("alert", "unused", message));
        }
        return Ok(Cancelled { ended, all_clear: None });
    }
    let mut all_clear = all_clear(alert, &got, app.now(), oddities);
    all_clear.request.mode = mode;
    Ok(Cancelled { ended, all_clear: Some(all_clear) })
}

/// Of the lane of what it cancels: who was woken is not left to sleep beside the road.
fn all_clear(alert: &cap::Alert, got: &[Alert], now: Timestamp, oddities: &mut Vec<Oddity>) -> PartIntent {
    let said = if alert.infos.is_empty() { without_words(alert, got) } else { alert.clone() };
    let mut places = incoming::current(&said, now, &mut Vec::new());
    // Issuers let a Cancel end at once; what it says is said.
    if places.is_empty() {
        places = (0..said.infos.len()).collect();
    }
    let texts = incoming::texts(&said, &places, oddities);
    let priorities = got.iter().map(|one| one.request.priority);
    let priority = priorities.min_by_key(|one| incoming::rank(*one)).unwrap_or(Priority::Routine);
    let ends = places.iter().filter_map(|&place| said.infos[place].expires);
    let end = ends.map(|end| Timestamp(end.utc_micros())).max().filter(|end| *end > now);
    let expires = end.unwrap_or(now.plus_s(EXPIRES_S_DEFAULT)).min(now.plus_s(EXPIRES_S_MAX));
    let mut request = incoming::blank(texts, priority, expires);
    request.audience =
        incoming::entries(got.iter().map(|one| format!("alert:{}/received", one.id)).collect());
    // A feed repeats a Cancel for longer than it holds.
    let until = now.plus_s(EXPIRES_S_MAX);
    PartIntent { key: "all clear".to_owned(), request, infos: places, until }
}

/// A Cancel without an info says which alert it was that holds no more.
fn without_words(alert: &cap::Alert, got: &[Alert]) -> cap::Alert {
    let mut infos: Vec<Info> = Vec::new();
    for info in got.iter().filter_map(message).flat_map(|message| message.infos) {
        let info = Info {
            response_types: Vec::new(),
            description: None,
            instruction: None,
            parameters: Vec::new(),
            resources: Vec::new(),
            expires: None,
            ..info
        };
        if infos.len() < INFOS_MAX && !infos.contains(&info) {
            infos.push(info);
        }
    }
    cap::Alert { infos, ..alert.clone() }
}
