//! First event of a stream: the whole state as its reader may see it, made of what is on the board, and of
//! what is the reader's own.

use super::board::{EventBoard, EventKey, framed};
use super::{WantedAlerts, view};
use crate::http::app::App;
use crate::http::approvals;
use crate::http::auth::Caller;
use crate::http::problem::HttpResult;
use crate::http::request::time_text::rfc3339;
use bytes::Bytes;
use records::{AlertId, Mode};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Alerts under way that are shown; of more the newest, and the number of the others.
const ALERTS_MAX: usize = 200;

/// The event, and the reader's place on the board behind it.
pub(super) async fn hello(
    app: &App,
    caller: &Caller,
    (space, wanted): (Option<Mode>, &WantedAlerts),
    board: &EventBoard,
) -> HttpResult<(Bytes, u64)> {
    let approvals = approvals::waiting_for(app, caller).await?;
    // What comes from here on comes as an event.
    let (standing, place) = board.standing();
    let mut own = BTreeMap::new();
    for id in wanted.named().filter(|id| !standing.contains_key(&EventKey::Alert(**id))) {
        let report = app.engine.report(caller.account(), *id).await?;
        own.insert(*id, view::alert(&report).to_string());
    }
    let mut members = vec![
        ("time", json!(rfc3339(app.now())).to_string()),
        ("version", json!(env!("CARGO_PKG_VERSION")).to_string()),
        ("space", view::space(space).to_string()),
        ("account", json!(caller.account()).to_string()),
        ("who", who(caller).to_string()),
        ("approvals", Value::from(approvals).to_string()),
    ];
    members.extend(state(&standing, wanted, &own));
    let json: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    let (frame, _) = framed("hello", &format!("{{{}}}", json.join(",")));
    Ok((frame, place))
}

fn who(caller: &Caller) -> Value {
    match &caller.user {
        Some(user) => {
            let roles: Vec<&str> = user.roles.iter().map(|role| role.name()).collect();
            json!({"user": user.id, "name": user.name, "full_name": user.full_name, "roles": roles})
        }
        None => {
            let token = &caller.token;
            json!({"token": token.id, "name": token.name, "role": token.role.name()})
        }
    }
}

/// What is on the board, each list as JSON.
fn state(
    standing: &BTreeMap<EventKey, Bytes>,
    wanted: &WantedAlerts,
    own: &BTreeMap<AlertId, String>,
) -> [(&'static str, String); 5] {
    let text = |data: &Bytes| String::from_utf8_lossy(data).into_owned();
    // Ids sort by time.
    let newest = || standing.iter().rev();
    let states = newest().filter(|(key, _)| matches!(key, EventKey::AlertState(_)));
    let running: Vec<String> = states.map(|(_, data)| text(data)).collect();
    let more = running.len().saturating_sub(ALERTS_MAX);
    let alerts = newest().filter(|(key, _)| matches!(key, EventKey::Alert(_)) && wanted.has(key));
    let alerts = alerts.take(ALERTS_MAX).map(|(_, data)| text(data)).chain(own.values().cloned());
    let of = |wanted: fn(&EventKey) -> bool| {
        let all = standing.iter().filter(|(key, _)| wanted(key));
        list(all.map(|(_, data)| text(data)))
    };
    [
        ("running", list(running.into_iter().take(ALERTS_MAX))),
        ("more_running", more.to_string()),
        ("alerts", list(alerts)),
        ("routes", of(|key| matches!(key, EventKey::Route(_)))),
        ("notices", of(|key| matches!(key, EventKey::Notice(_)))),
    ]
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Map;

    #[test]
    fn the_state_has_the_newest_alerts_and_counts_the_others() {
        let id = |n: usize| AlertId(uuid::Uuid::from_u128(n as u128));
        let board = EventBoard::new();
        for n in 0..ALERTS_MAX + 50 {
            board.post(EventKey::AlertState(id(n)), &json!({"n": n}), false);
            board.post(EventKey::Alert(id(n)), &json!({"n": n, "counts": {}}), false);
        }
        board.post(EventKey::Alert(id(3)), &json!({"n": 3, "state": "done"}), true);
        board.post(EventKey::Route("carrier".into()), &json!({"name": "carrier"}), false);
        let (standing, place) = board.standing();
        assert_eq!(place, 2 * (ALERTS_MAX as u64 + 50) + 2);
        let own = BTreeMap::from([(id(3), json!({"n": 3, "state": "done"}).to_string())]);
        for (wanted, alerts, first) in [
            (WantedAlerts::Running, ALERTS_MAX + 1, ALERTS_MAX + 49),
            (WantedAlerts::These(vec![id(3), id(7)]), 2, 7),
        ] {
            let members = state(&standing, &wanted, &own).map(|(name, json)| {
                let value: Value = serde_json::from_str(&json).unwrap();
                (name.to_owned(), value)
            });
            let state = Value::Object(Map::from_iter(members));
            assert_eq!(state["running"].as_array().unwrap().len(), ALERTS_MAX, "{wanted:?}");
            assert_eq!(
                (&state["more_running"], &state["running"][0]["n"]),
                (&json!(50), &json!(ALERTS_MAX + 49))
            );
            assert_eq!(state["alerts"].as_array().unwrap().len(), alerts, "{wanted:?}");
            assert_eq!(state["alerts"][0]["n"], json!(first));
            assert_eq!((&state["routes"][0]["name"], &state["notices"]), (&json!("carrier"), &json!([])));
        }
    }
}
