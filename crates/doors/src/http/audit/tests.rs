//! Tests of the audit trail as clients see it: what is listed, to whom, and that nothing is done without a
//! note.

use crate::http::routes::ROWS;
use crate::http::tests::*;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::collections::BTreeMap;

/// An operation with what it is sent. `{name}` stands for a seeded object.
struct Case {
    row: (&'static str, &'static str),
    path: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
    /// The entry's verb.
    verb: &'static str,
    /// How it is answered once it can be noted; a state that does not allow it is an answer too.
    status: u16,
}

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];
const CSV: &[(&str, &str)] = &[("content-type", "text/csv")];
const CAP: &[(&str, &str)] = &[("content-type", "application/cap+xml")];
const ANN: &str = r#"{"id": "cy", "name": "Cy", "devices": [{"channel": "sms", "address": "+46701000003"}]}"#;
const ALERT: &str = r#"{"text": "Fire", "audience": ["group:staff"], "channels": ["sms"]}"#;
const WARNING: &str = "<alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\"><identifier>i</identifier><sender>s@x.se</sender>\
    <sent>2026-11-18T06:00:00-00:00</sent><status>Actual</status><msgType>Alert</msgType><scope>Public</scope><info>\
    <category>Fire</category><event>Fire</event><urgency>Immediate</urgency><severity>Severe</severity>\
    <certainty>Observed</certainty><expires>2026-11-18T08:00:00-00:00</expires>\
    <headline>Fire in hall 2</headline><description>Leave the hall.</description></info></alert>";

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { row: ("POST", "/api/v1/recipients"), path: "/api/v1/recipients", headers: JSON, body: ANN, verb: "recipient.put", status: 201 },
    Case { row: ("POST", "/api/v1/recipients"), path: "/api/v1/recipients", headers: JSON, body: r#"[{"id": "dee", "name": "Dee"}]"#, verb: "recipients.put", status: 200 },
    Case { row: ("PUT", "/api/v1/recipients/{id}"), path: "/api/v1/recipients/ann", headers: JSON, body: r#"{"name": "Anna", "groups": ["staff"]}"#, verb: "recipient.put", status: 200 },
    Case { row: ("PATCH", "/api/v1/recipients/{id}"), path: "/api/v1/recipients/ann", headers: JSON, body: r#"{"name": "Annika"}"#, verb: "recipient.put", status: 200 },
    Case { row: ("DELETE", "/api/v1/recipients/{id}"), path: "/api/v1/recipients/ann", headers: &[], body: "", verb: "recipient.delete", status: 204 },
    Case { row: ("POST", "/api/v1/recipients/{id}:erase"), path: "/api/v1/recipients/ann:erase", headers: &[], body: "", verb: "recipient.erase", status: 200 },
    Case { row: ("POST", "/api/v1/recipients/{id}:page-link"), path: "/api/v1/recipients/bo:page-link", headers: &[], body: "", verb: "recipient.page-link", status: 200 },
    Case { row: ("GET", "/api/v1/recipients/{id}/export"), path: "/api/v1/recipients/ann/export", headers: &[], body: "", verb: "recipient.export", status: 200 },
    Case { row: ("POST", "/api/v1/recipients:import"), path: "/api/v1/recipients:import", headers: CSV, body: "id,name\ned,Ed\n", verb: "recipients.import", status: 200 },
    Case { row: ("POST", "/api/v1/recipients:import"), path: "/api/v1/recipients:import?dry_run=true", headers: CSV, body: "id,name\nfay,Fay\n", verb: "import.begin", status: 202 },
    Case { row: ("POST", "/api/v1/imports/{id}:commit"), path: "/api/v1/imports/{import}:commit", headers: &[], body: "", verb: "import.commit", status: 200 },
    Case { row: ("POST", "/api/v1/imports/{id}:undo"), path: "/api/v1/imports/{import}:undo", headers: &[], body: "", verb: "import.undo", status: 200 },
    Case { row: ("POST", "/api/v1/imports/{id}:discard"), path: "/api/v1/imports/{other_import}:discard", headers: &[], body: "", verb: "import.discard", status: 200 },
    Case { row: ("POST", "/api/v1/directories/{id}:run"), path: "/api/v1/directories/hr:run", headers: &[], body: "", verb: "directory.run", status: 202 },
    Case { row: ("GET", "/api/v1/recipients:export"), path: "/api/v1/recipients:export", headers: &[], body: "", verb: "recipients.export", status: 200 },
    Case { row: ("POST", "/api/v1/stops/{id}:confirm"), path: "/api/v1/stops/{stop}:confirm", headers: &[], body: "", verb: "stop.confirm", status: 204 },
    Case { row: ("POST", "/api/v1/stops/{id}:dismiss"), path: "/api/v1/stops/{noise}:dismiss", headers: &[], body: "", verb: "stop.dismiss", status: 204 },
    Case { row: ("POST", "/api/v1/group-requests/{id}:approve"), path: "/api/v1/group-requests/{wish}:approve", headers: &[], body: "", verb: "group.approve", status: 204 },
    Case { row: ("POST", "/api/v1/group-requests/{id}:reject"), path: "/api/v1/group-requests/{dream}:reject", headers: &[], body: "", verb: "group.reject", status: 204 },
    Case { row: ("POST", "/api/v1/groups"), path: "/api/v1/groups", headers: JSON, body: r#"{"id": "night", "members": ["bo"]}"#, verb: "group.put", status: 201 },
    Case { row: ("PUT", "/api/v1/groups/{id}"), path: "/api/v1/groups/day", headers: JSON, body: r#"{"members": ["bo"]}"#, verb: "group.put", status: 200 },
    Case { row: ("DELETE", "/api/v1/groups/{id}"), path: "/api/v1/groups/day", headers: &[], body: "", verb: "group.delete", status: 204 },
    Case { row: ("POST", "/api/v1/alerts"), path: "/api/v1/alerts", headers: JSON, body: ALERT, verb: "alert.submit", status: 202 },
    Case { row: ("GET", "/api/v1/alerts/{id}/deliveries"), path: "/api/v1/alerts/{alert}/deliveries", headers: &[], body: "", verb: "deliveries.read", status: 200 },
    Case { row: ("GET", "/api/v1/alerts/{id}/report"), path: "/api/v1/alerts/{alert}/report", headers: &[("accept", "text/csv")], body: "", verb: "report.export", status: 200 },
    Case { row: ("GET", "/api/v1/alerts/{id}/evidence/export"), path: "/api/v1/alerts/{alert}/evidence/export", headers: &[], body: "", verb: "evidence.export", status: 409 },
    Case { row: ("POST", "/api/v1/audience:people"), path: "/api/v1/audience:people", headers: JSON, body: r#"{"audience": ["all"]}"#, verb: "audience.read", status: 200 },
    Case { row: ("POST", "/api/v1/alerts/{id}/people/{recipient}:answer"), path: "/api/v1/alerts/{alert}/people/bo:answer", headers: JSON, body: r#"{"choice": "1", "note": "north gate"}"#, verb: "answer.record", status: 204 },
    Case { row: ("POST", "/api/v1/alerts/{id}/follow-ups"), path: "/api/v1/alerts/{alert}/follow-ups", headers: JSON, body: r#"{"to": "not_answered", "alert": {"text": "Please answer"}}"#, verb: "alert.submit", status: 202 },
    Case { row: ("POST", "/api/v1/alerts/{id}:extend"), path: "/api/v1/alerts/{alert}:extend", headers: JSON, body: r#"{"expires": "2026-12-01T06:00:00Z"}"#, verb: "alert.extend", status: 200 },
    Case { row: ("POST", "/api/v1/alerts/{id}/observers"), path: "/api/v1/alerts/{alert}/observers", headers: JSON, body: r#"{"url": "https://x.se/hook"}"#, verb: "observer.add", status: 201 },
    Case { row: ("DELETE", "/api/v1/alerts/{id}/observers/{observer}"), path: "/api/v1/alerts/{alert}/observers/{observer}", headers: &[], body: "", verb: "observer.remove", status: 204 },
    Case { row: ("POST", "/api/v1/answers"), path: "/api/v1/answers", headers: JSON, body: r#"{"alert": "{alert}", "recipient": "bo", "text": "1"}"#, verb: "answer", status: 204 },
    Case { row: ("POST", "/api/v1/alerts/{id}:pause"), path: "/api/v1/alerts/{alert}:pause", headers: &[], body: "", verb: "alert.pause", status: 200 },
    Case { row: ("POST", "/api/v1/alerts/{id}:resume"), path: "/api/v1/alerts/{alert}:resume", headers: &[], body: "", verb: "alert.resume", status: 200 },
    Case { row: ("POST", "/api/v1/alerts/{id}:send-alone"), path: "/api/v1/alerts/{alert}:send-alone", headers: JSON, body: r#"{"reason": "nobody answers"}"#, verb: "alert.send-alone", status: 403 },
    Case { row: ("POST", "/api/v1/alerts/{id}:retry-failed"), path: "/api/v1/alerts/{alert}:retry-failed", headers: &[], body: "", verb: "alert.retry-failed", status: 200 },
    Case { row: ("POST", "/api/v1/alerts/{id}:cancel"), path: "/api/v1/alerts/{alert}:cancel", headers: &[], body: "", verb: "alert.cancel", status: 200 },
    Case { row: ("POST", "/api/v1/cap"), path: "/api/v1/cap?audience=group:staff", headers: CAP, body: WARNING, verb: "alert.submit", status: 202 },
    Case { row: ("POST", "/api/v1/drafts"), path: "/api/v1/drafts", headers: JSON, body: r#"{"text": "Fire"}"#, verb: "draft.create", status: 201 },
    Case { row: ("POST", "/api/v1/drafts/{id}:copy"), path: "/api/v1/drafts/{draft}:copy", headers: &[], body: "", verb: "draft.create", status: 201 },
    Case { row: ("POST", "/api/v1/drafts/{id}:submit"), path: "/api/v1/drafts/{draft}:submit", headers: &[], body: "", verb: "draft.submit", status: 202 },
    Case { row: ("DELETE", "/api/v1/drafts/{id}"), path: "/api/v1/drafts/{draft}", headers: &[], body: "", verb: "draft.delete", status: 204 },
    Case { row: ("POST", "/api/v1/templates"), path: "/api/v1/templates", headers: JSON, body: r#"{"id": "flood", "name": "Flood"}"#, verb: "template.put", status: 201 },
    Case { row: ("PUT", "/api/v1/templates/{id}"), path: "/api/v1/templates/fire", headers: JSON, body: r#"{"name": "Fire", "request": {"text": "Fire"}}"#, verb: "template.put", status: 200 },
    Case { row: ("POST", "/api/v1/templates/{id}:draft"), path: "/api/v1/templates/fire:draft", headers: &[], body: "", verb: "draft.create", status: 201 },
    Case { row: ("DELETE", "/api/v1/templates/{id}"), path: "/api/v1/templates/fire", headers: &[], body: "", verb: "template.delete", status: 204 },
    Case { row: ("PUT", "/api/v1/profiles/{id}"), path: "/api/v1/profiles/account", headers: JSON, body: r#"{"defaults": {"priority": "routine"}}"#, verb: "profile.put", status: 200 },
    Case { row: ("DELETE", "/api/v1/profiles/{id}"), path: "/api/v1/profiles/account", headers: &[], body: "", verb: "profile.delete", status: 204 },
    Case { row: ("POST", "/api/v1/areas"), path: "/api/v1/areas", headers: JSON, body: r#"{"type": "Feature", "id": "quay", "geometry": {"type": "Point", "coordinates": [18, 59]}, "properties": {"radius": 5}}"#, verb: "area.put", status: 201 },
    Case { row: ("PUT", "/api/v1/areas/{id}"), path: "/api/v1/areas/town", headers: JSON, body: r#"{"type": "Feature", "geometry": {"type": "Point", "coordinates": [18, 59]}, "properties": {"radius": 7}}"#, verb: "area.put", status: 200 },
    Case { row: ("DELETE", "/api/v1/areas/{id}"), path: "/api/v1/areas/town", headers: &[], body: "", verb: "area.delete", status: 204 },
    Case { row: ("POST", "/api/v1/schedules"), path: "/api/v1/schedules", headers: JSON, body: r#"{"id": "weekly", "name": "Weekly", "start": "2026-12-07T12:00:00", "time_zone": "Europe/Stockholm", "rule": "RRULE:FREQ=WEEKLY", "request": {"text": "Test", "audience": ["recipient:bo"], "channels": ["sms"]}}"#, verb: "schedule.put", status: 201 },
    Case { row: ("PUT", "/api/v1/schedules/{id}"), path: "/api/v1/schedules/daily", headers: JSON, body: r#"{"name": "Daily", "start": "2026-12-07T12:00:00", "time_zone": "Europe/Stockholm", "rule": "RRULE:FREQ=DAILY", "request": {"text": "Test", "audience": ["recipient:bo"], "channels": ["sms"]}}"#, verb: "schedule.put", status: 200 },
    Case { row: ("PATCH", "/api/v1/schedules/{id}"), path: "/api/v1/schedules/daily", headers: JSON, body: r#"{"grace": "2h"}"#, verb: "schedule.put", status: 200 },
    Case { row: ("POST", "/api/v1/schedules/{id}:skip"), path: "/api/v1/schedules/daily:skip", headers: &[], body: "", verb: "schedule.skip", status: 200 },
    Case { row: ("POST", "/api/v1/schedules/{id}:unskip"), path: "/api/v1/schedules/daily:unskip", headers: &[], body: "", verb: "schedule.unskip", status: 200 },
    Case { row: ("POST", "/api/v1/schedules/{id}:run"), path: "/api/v1/schedules/daily:run", headers: &[], body: "", verb: "schedule.run", status: 202 },
    Case { row: ("DELETE", "/api/v1/schedules/{id}"), path: "/api/v1/schedules/daily", headers: &[], body: "", verb: "schedule.delete", status: 204 },
    Case { row: ("POST", "/api/v1/attachments"), path: "/api/v1/attachments", headers: &[], body: "some octets", verb: "attachment.upload", status: 201 },
    Case { row: ("POST", "/api/v1/tokens"), path: "/api/v1/tokens", headers: JSON, body: r#"{"role": "viewer"}"#, verb: "token.create", status: 201 },
    Case { row: ("DELETE", "/api/v1/tokens/{id}"), path: "/api/v1/tokens/{token}", headers: &[], body: "", verb: "token.revoke", status: 204 },
    Case { row: ("GET", "/api/v1/callback-secret"), path: "/api/v1/callback-secret", headers: &[], body: "", verb: "callback-secret.read", status: 200 },
    Case { row: ("GET", "/api/v1/audit"), path: "/api/v1/audit", headers: &[], body: "", verb: "audit.read", status: 200 },
    Case { row: ("POST", "/api/v1/accounts"), path: "/api/v1/accounts", headers: JSON, body: r#"{"id": "new", "balance": 5}"#, verb: "account.create", status: 201 },
    Case { row: ("POST", "/api/v1/accounts/{id}:topup"), path: "/api/v1/accounts/old:topup", headers: JSON, body: r#"{"amount": 5}"#, verb: "account.topup", status: 200 },
    Case { row: ("POST", "/api/v1/accounts/{id}:block"), path: "/api/v1/accounts/old:block", headers: &[], body: "", verb: "account.block", status: 200 },
    Case { row: ("POST", "/api/v1/accounts/{id}:unblock"), path: "/api/v1/accounts/old:unblock", headers: &[], body: "", verb: "account.unblock", status: 200 },
    Case { row: ("PATCH", "/api/v1/accounts/{id}"), path: "/api/v1/accounts/old", headers: JSON, body: r#"{"limit": 7}"#, verb: "account.limit", status: 200 },
    Case { row: ("PATCH", "/api/v1/accounts/{id}"), path: "/api/v1/accounts/old", headers: JSON, body: r#"{"state": "blocked"}"#, verb: "account.block", status: 200 },
    Case { row: ("DELETE", "/api/v1/credit-sessions/{id}"), path: "/api/v1/credit-sessions/0-00000000000000000000000000000001", headers: &[], body: "", verb: "credit-session.end", status: 404 },
    Case { row: ("PUT", "/api/v1/tariffs"), path: "/api/v1/tariffs", headers: JSON, body: r#"{"items": []}"#, verb: "tariffs.put", status: 200 },
    Case { row: ("DELETE", "/api/v1/tariffs"), path: "/api/v1/tariffs", headers: &[], body: "", verb: "tariffs.delete", status: 200 },
    Case { row: ("POST", "/api/v1/diameter-peers"), path: "/api/v1/diameter-peers", headers: JSON, body: r#"{"origin_host": "a.example", "realm": "example"}"#, verb: "diameter-peer.add", status: 201 },
    Case { row: ("DELETE", "/api/v1/diameter-peers/{id}"), path: "/api/v1/diameter-peers/{peer}", headers: &[], body: "", verb: "diameter-peer.remove", status: 204 },
    Case { row: ("POST", "/api/v1/users"), path: "/api/v1/users", headers: JSON, body: r#"{"name": "new", "roles": ["viewer"]}"#, verb: "user.create", status: 201 },
    Case { row: ("PATCH", "/api/v1/users/{id}"), path: "/api/v1/users/{user}", headers: JSON, body: r#"{"full_name": "Eva Lind"}"#, verb: "user.change", status: 200 },
    Case { row: ("POST", "/api/v1/users/{id}:invite"), path: "/api/v1/users/{user}:invite", headers: &[], body: "", verb: "user.invite", status: 200 },
    Case { row: ("POST", "/api/v1/users/{id}:reset"), path: "/api/v1/users/{user}:reset", headers: JSON, body: "{}", verb: "user.reset", status: 200 },
    Case { row: ("DELETE", "/api/v1/users/{id}/sessions"), path: "/api/v1/users/{user}/sessions", headers: &[], body: "", verb: "user.sessions.end", status: 204 },
    Case { row: ("DELETE", "/api/v1/users/{id}"), path: "/api/v1/users/{user}", headers: &[], body: "", verb: "user.remove", status: 204 },
    Case { row: ("POST", "/api/v1/routes/{id}:hold"), path: "/api/v1/routes/carrier:hold", headers: JSON, body: r#"{"reason": "it loses messages"}"#, verb: "route.hold", status: 200 },
    Case { row: ("POST", "/api/v1/routes/{id}:release"), path: "/api/v1/routes/carrier:release", headers: &[], body: "", verb: "route.release", status: 204 },
    Case { row: ("POST", "/api/v1/routes/{id}:test"), path: "/api/v1/routes/carrier:test", headers: JSON, body: r#"{"to": "+46701000009"}"#, verb: "route.test", status: 202 },
    Case { row: ("POST", "/api/v1/recipients/{id}/devices/{n}:test"), path: "/api/v1/recipients/bo/devices/1:test", headers: JSON, body: "{}", verb: "device.test", status: 202 },
    Case { row: ("POST", "/api/v1/clients/{id}:unbind"), path: "/api/v1/clients/bank:unbind", headers: JSON, body: r#"{"reason": "it floods"}"#, verb: "client.unbind", status: 202 },
    Case { row: ("PATCH", "/api/v1/setup"), path: "/api/v1/setup", headers: JSON, body: r#"{"time_zone": "Europe/Stockholm"}"#, verb: "setup.change", status: 200 },
    Case { row: ("POST", "/api/v1/demo/carriers/{id}"), path: "/api/v1/demo/carriers/carrier-a", headers: JSON, body: r#"{"behaviour": "down"}"#, verb: "demo.carrier", status: 200 },
    Case { row: ("POST", "/api/v1/reload"), path: "/api/v1/reload", headers: &[], body: "", verb: "config.reload", status: 200 },
];

/// What needs somebody who signed in: no token does it.
const OF_USERS: &str = "tests of its own in users/tests: a session is needed";

/// Operations without an entry that are no plain reads, and why.
const WITHOUT: &[(&str, &str, &str)] = &[
    ("POST", "/login", "a test of its own"),
    ("POST", "/logout", "nobody is kept logged in, whatever happens to the trail"),
    ("POST", "/a/{token}", "a person's answer, which is on record itself; nobody with a token acts"),
    ("POST", "/p/{token}", "tests of its own: answers are pages"),
    (
        "POST",
        "/w/{token}",
        "a device's report or a carrier's, which is on record itself; nobody with a token acts",
    ),
    ("GET", "/cgi-bin/sendsms", "a platform's message, which is on record itself"),
    ("POST", "/cgi-bin/sendsms", "a platform's message, which is on record itself"),
    ("POST", "/api/v1/alerts:forecast", "nothing is stored or sent"),
    ("POST", "/api/v1/drills:replay", "nothing is stored or sent"),
    ("POST", "/api/v1/session", OF_USERS),
    ("DELETE", "/api/v1/session", "nobody is kept signed in, whatever happens to the trail"),
    ("POST", "/api/v1/session:second", OF_USERS),
    ("POST", "/api/v1/session:confirm", OF_USERS),
    ("POST", "/api/v1/invitations:accept", OF_USERS),
    ("DELETE", "/api/v1/users/{id}/sessions/{session}", OF_USERS),
    ("PUT", "/api/v1/me/password", OF_USERS),
    ("POST", "/api/v1/me/totp", OF_USERS),
    ("PUT", "/api/v1/me/totp", OF_USERS),
    ("DELETE", "/api/v1/me/totp", OF_USERS),
    ("POST", "/api/v1/me/recovery-codes", OF_USERS),
    ("POST", "/api/v1/me/passkeys:options", "nothing is stored"),
    ("POST", "/api/v1/me/passkeys", OF_USERS),
    ("DELETE", "/api/v1/me/passkeys/{id}", OF_USERS),
    ("DELETE", "/api/v1/me/sessions", OF_USERS),
    ("DELETE", "/api/v1/me/sessions/{session}", OF_USERS),
    ("POST", "/api/v1/alerts/{id}:approve", "no token may: the tests of approvals have its entry"),
    ("POST", "/api/v1/alerts/{id}:return", "no token may: the tests of approvals have its entry"),
    ("POST", "/api/v1/alerts/{id}:reject", "no token may: the tests of approvals have its entry"),
    ("POST", "/api/v1/alerts/{id}:review", "no token may: the tests of approvals have its entry"),
    ("POST", "/api/v1/alerts:check", "nothing is stored or sent"),
    ("POST", "/api/v1/alerts:preview", "nothing is stored or sent"),
    ("POST", "/api/v1/audience:count", "numbers alone, and nothing is stored"),
    ("POST", "/api/v1/config:check", "nothing is changed"),
    ("PUT", "/api/v1/drafts/{id}", "saved every second; its versions say who wrote what"),
    ("PATCH", "/api/v1/drafts/{id}", "saved every second; its versions say who wrote what"),
    ("POST", "/api/v1/groups:preview", "nothing is stored"),
    ("POST", "/api/v1/help-cases/{id}:take", "there is no case here: the tests of help cases have its entry"),
    ("POST", "/api/v1/help-cases/{id}:note", "there is no case here: the tests of help cases have its entry"),
    (
        "POST",
        "/api/v1/help-cases/{id}:resolve",
        "there is no case here: the tests of help cases have its entry",
    ),
];

#[test]
fn every_operation_that_changes_something_is_tried_here_or_says_why_not() {
    for row in ROWS.iter().filter(|row| row.method != "GET") {
        let is_tried = CASES.iter().any(|case| case.row == (row.method, row.path));
        let is_without = WITHOUT.iter().any(|(method, path, _)| (*method, *path) == (row.method, row.path));
        assert!(
            is_tried != is_without,
            "{} {}: note it before it is done, and add it to CASES; or say in WITHOUT why it has no note",
            row.method,
            row.path
        );
    }
    for (method, path) in CASES.iter().map(|case| case.row).chain(WITHOUT.iter().map(|one| (one.0, one.1))) {
        assert!(ROWS.iter().any(|row| (row.method, row.path) == (method, path)), "{method} {path} is no row");
    }
}

/// A server with an object for each case, and its database opened a second time.
struct Seeded {
    server: TestServer,
    file: Connection,
    names: BTreeMap<&'static str, String>,
}

impl Seeded {
    async fn open() -> Seeded {
        let server = TestServer::whole().await;
        server.people().await;
        let mut alert: Value = serde_json::from_str(ALERT).unwrap();
        alert["choices"] = json!([{"key": "1", "label": "Safe"}]);
        let alert = server.submit(alert).await;
        let hook = json!({"url": "https://x.se/hook"});
        let made = |path: String, body: Value| {
            let server = &server;
            async move {
                let (status, made) = server.post(&path, body).await;
                assert!(status.is_success(), "{path}: {status} {made}");
                made["id"].as_str().unwrap_or_default().to_owned()
            }
        };
        let observer = made(format!("/api/v1/alerts/{alert}/observers"), hook).await;
        let token = made("/api/v1/tokens".into(), json!({"role": "operator"})).await;
        made("/api/v1/groups".into(), json!({"id": "day"})).await;
        made("/api/v1/groups".into(), json!({"id": "dusk"})).await;
        made("/api/v1/accounts".into(), json!({"id": "old", "balance": 100})).await;
        let user = made("/api/v1/users".into(), json!({"name": "eva", "roles": ["viewer"]})).await;
        let peer = json!({"origin_host": "b.example", "realm": "example"});
        let peer = made("/api/v1/diameter-peers".into(), peer).await;
        let stop = server.perhaps_stop("default", "+46701000091").await;
        let noise = server.perhaps_stop("default", "+46701000092").await;
        let wish = server.join_request("default", "day", "bo").await;
        let dream = server.join_request("default", "dusk", "bo").await;
        let request = json!({"text": "Fire", "audience": ["recipient:bo"], "channels": ["sms"]});
        let draft = made("/api/v1/drafts".into(), request.clone()).await;
        made("/api/v1/templates".into(), json!({"id": "fire", "name": "Fire"})).await;
        let profile = server.call(Method::PUT, "/api/v1/profiles/account");
        let (status, put) = said(profile.json(&json!({"defaults": {"priority": "urgent"}}))).await;
        assert_eq!(status, 201, "{put}");
        let town = json!({"type": "Feature", "id": "town", "geometry": {"type": "Point", "coordinates": [18, 59]},
            "properties": {"radius": 5}});
        made("/api/v1/areas".into(), town).await;
        let daily = json!({"id": "daily", "name": "Daily", "start": "2026-12-07T12:00:00", "time_zone": "UTC",
            "rule": "RRULE:FREQ=DAILY", "request": request});
        made("/api/v1/schedules".into(), daily).await;
        let import = server.import_job(&server.admin, "id,name\ngus,Gus\n").await;
        let other_import = server.import_job(&server.admin, "id,name\nhal,Hal\n").await;
        server.with_directory("hr");
        let file = Connection::open(server.dir.path().join("campanile.db")).unwrap();
        let names = BTreeMap::from([
            ("{alert}", alert),
            ("{observer}", observer),
            ("{token}", token),
            ("{peer}", peer),
            ("{user}", user),
            ("{stop}", stop),
            ("{noise}", noise),
            ("{wish}", wish),
            ("{dream}", dream),
            ("{draft}", draft),
            ("{import}", import),
            ("{other_import}", other_import),
        ]);
        Seeded { server, file, names }
    }

    fn filled(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    async fn send(&self, case: &Case) -> (StatusCode, Value) {
        let method = Method::from_bytes(case.row.0.as_bytes()).unwrap();
        let mut request = self.server.call(method, &self.filled(case.path));
        for (name, value) in case.headers {
            request = request.header(*name, *value);
        }
        if !case.body.is_empty() {
            request = request.body(self.filled(case.body));
        }
        said(request).await
    }

    /// What operations change: rows, files, accounts.
    async fn state(&self) -> Vec<String> {
        let mut state = Vec::new();
        for query in [
            "SELECT * FROM recipients",
            "SELECT * FROM memberships",
            "SELECT * FROM groups",
            "SELECT * FROM opt_outs",
            "SELECT * FROM perhaps_stops",
            "SELECT * FROM tokens",
            "SELECT * FROM documents",
            "SELECT * FROM observers",
            "SELECT id, state, note FROM alerts",
            "SELECT * FROM cap_messages",
            "SELECT * FROM idempotency_keys",
            "SELECT * FROM documents",
        ] {
            state.extend(rows(&self.file, query));
        }
        let media = std::fs::read_dir(self.server.dir.path().join("media"));
        let names = media.into_iter().flatten().map(|entry| entry.unwrap().file_name());
        state.extend(names.map(|name| format!("{name:?}")));
        for path in ["/api/v1/accounts", "/api/v1/accounts/old", "/api/v1/tariffs", "/api/v1/diameter-peers"]
        {
            state.push(self.server.get(path).await.1.to_string());
        }
        state.push(self.server.get(&self.filled("/api/v1/alerts/{alert}")).await.1["state"].to_string());
        state
    }

    fn newest_verbs(&self) -> Vec<String> {
        rows(&self.file, "SELECT verb FROM audit_links ORDER BY seq DESC LIMIT 3")
    }
}

fn rows(file: &Connection, query: &str) -> Vec<String> {
    let mut select = file.prepare(query).unwrap();
    let columns = select.column_count();
    let row = |row: &rusqlite::Row<'_>| {
        let cell = |column| match row.get_ref(column).unwrap() {
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            other => format!("{other:?}"),
        };
        Ok((0..columns).map(cell).collect::<Vec<_>>().join("|"))
    };
    let found = select.query_map([], row).unwrap();
    found.collect::<Result<_, _>>().unwrap()
}

const REFUSE: &str =
    "CREATE TRIGGER refused BEFORE INSERT ON audit_links BEGIN SELECT RAISE(ABORT, 'no more'); END";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_noted_is_not_done_and_what_is_done_is_noted() {
    let seeded = Seeded::open().await;
    seeded.file.execute_batch(REFUSE).unwrap();
    let before = seeded.state().await;
    for case in CASES {
        let (status, problem) = seeded.send(case).await;
        let name = format!("{} {}", case.row.0, case.path);
        assert!([503, 507].contains(&status.as_u16()), "{name}: {status} {problem}");
        assert!(problem["detail"].as_str().unwrap().contains("audit trail"), "{name}: {problem}");
        assert_eq!(seeded.state().await, before, "{name} changed something");
    }
    seeded.file.execute_batch("DROP TRIGGER refused").unwrap();
    for case in CASES {
        let (status, said) = seeded.send(case).await;
        let name = format!("{} {}", case.row.0, case.path);
        assert_eq!(status.as_u16(), case.status, "{name}: {said}");
        let verbs = seeded.newest_verbs();
        assert!(verbs.iter().any(|verb| verb == case.verb), "{name} is not noted: {verbs:?}");
    }
    let (_, verdict) = seeded.server.get("/api/v1/audit:verify").await;
    assert_eq!((&verdict["ok"], &verdict["problem_count"]), (&json!(true), &json!(0)), "{verdict}");
    seeded.server.close().await;
}

#[tokio::test]
async fn an_entry_has_the_tokens_name_and_the_clients_address() {
    let trusted = net::Balancers::new(vec!["127.0.0.0/8".parse().unwrap()]);
    let plain = HttpConfig::plain(([127, 0, 0, 1], 0).into(), None);
    let server = TestServer::at(HttpConfig { trusted_proxies: trusted, ..plain }, None, None).await;
    let put = server.call(Method::POST, "/api/v1/groups").header("x-forwarded-for", "203.0.113.9");
    assert_eq!(said(put.json(&json!({"id": "g"}))).await.0, 201);
    let (_, trail) = server.get("/api/v1/audit?verb=group.put").await;
    let entry = &trail["items"][0];
    assert_eq!((&entry["from"], &entry["token_name"]), (&json!("203.0.113.9"), &json!("first admin token")));
    assert_eq!((&entry["account"], &entry["erased"]), (&json!("default"), &json!([])));
    server.close().await;
}

#[tokio::test]
async fn the_trail_is_read_page_by_page_in_both_orders_and_by_time_and_verb() {
    let server = TestServer::open().await;
    for n in 0..7 {
        server.clock.store(NOW.plus_s(n).0, Ordering::Relaxed);
        assert!(server.post("/api/v1/groups", json!({"id": format!("g{n}")})).await.0.is_success());
    }
    let objects = |page: &Value| -> Vec<String> {
        page["items"].as_array().unwrap().iter().map(|act| act["object"].as_str().unwrap().into()).collect()
    };
    for (order, expected) in [
        ("newest", ["g6", "g5", "g4", "g3", "g2", "g1", "g0"]),
        ("oldest", ["g0", "g1", "g2", "g3", "g4", "g5", "g6"]),
    ] {
        let (mut found, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let path = format!("/api/v1/audit?verb=group.put&order={order}&limit=3&cursor={cursor}");
            let (status, page) = server.get(&path).await;
            assert_eq!(status, 200, "{page}");
            found.extend(objects(&page));
            pages += 1;
            match page["next"].as_str() {
                Some(next) => cursor = next.to_owned(),
                None => break,
            }
        }
        assert_eq!((pages, &found[..]), (3, &expected.map(String::from)[..]), "{order}");
    }
    let times = "from=2026-11-18T06:26:42Z&until=2026-11-18T06:26:44Z";
    let (_, page) = server.get(&format!("/api/v1/audit?verb=group.put&{times}")).await;
    assert_eq!(objects(&page), ["g3", "g2"]);
    assert_eq!(objects(&server.get("/api/v1/audit?object=g4").await.1), ["g4"]);
    assert_eq!(objects(&server.get("/api/v1/audit?who=nobody").await.1), [""; 0]);
    for wrong in ["from=yesterday", "order=any", "cursor=?", "limit=0", "verbs=x"] {
        assert_eq!(server.get(&format!("/api/v1/audit?{wrong}")).await.0, 400, "{wrong}");
    }
    let (_, page) = server.get("/api/v1/audit?verb=audit.read").await;
    assert_eq!(page["items"].as_array().unwrap().len(), 1, "reading on is one entry: {page}");
    server.close().await;
}

#[tokio::test]
async fn an_accounts_admin_sees_its_accounts_entries_and_the_systems_admin_all() {
    let server = TestServer::open().await;
    let body = json!({"role": "admin", "account": "city"});
    let (_, made) = server.post("/api/v1/tokens", body).await;
    let city = made["token"].as_str().unwrap().to_owned();
    let by_city = |method, path: &str| server.anon(method, path).bearer_auth(&city);
    assert_eq!(said(by_city(Method::POST, "/api/v1/groups").json(&json!({"id": "g"}))).await.0, 201);
    let accounts = |page: &Value| -> Vec<String> {
        page["items"].as_array().unwrap().iter().map(|act| act["account"].as_str().unwrap().into()).collect()
    };
    let (_, own) = said(by_city(Method::GET, "/api/v1/audit")).await;
    assert_eq!(accounts(&own), ["city"], "{own}");
    let (_, own) = said(by_city(Method::GET, "/api/v1/audit?account=city&verb=group.put")).await;
    assert_eq!(accounts(&own), ["city"]);
    assert_eq!(said(by_city(Method::GET, "/api/v1/audit?account=default")).await.0, 403);
    assert_eq!(said(by_city(Method::GET, "/api/v1/audit:verify")).await.0, 403);
    let (_, all) = server.get("/api/v1/audit").await;
    assert!(accounts(&all).contains(&"city".into()) && accounts(&all).contains(&"default".into()), "{all}");
    let (_, city) = server.get("/api/v1/audit?account=city&verb=group.put").await;
    assert_eq!(accounts(&city), ["city"]);
    server.close().await;
}

#[tokio::test]
async fn wrong_tokens_are_counted_by_address_and_not_noted_one_by_one() {
    let server = TestServer::open().await;
    let head = server.store.audit_head().await.unwrap();
    for _ in 0..50 {
        let request =
            server.anon(Method::GET, "/api/v1/alerts").bearer_auth(format!("cmp_{}", "A".repeat(43)));
        assert_eq!(said(request).await.0, 401);
    }
    assert_eq!(said(server.anon(Method::GET, "/api/v1/alerts")).await.0, 401, "no token is no wrong one");
    assert_eq!(server.store.audit_head().await.unwrap(), head);
    let acts = server.guessing.failures().take().acts(NOW);
    assert_eq!(acts.len(), 1, "{acts:?}");
    assert_eq!((acts[0].from.as_str(), acts[0].count), ("127.0.0.1", Some(50)));
    server.close().await;
}

#[tokio::test]
async fn a_head_of_before_is_looked_for_and_a_cut_trail_is_found() {
    let server = TestServer::open().await;
    server.people().await;
    let (_, verdict) = server.get("/api/v1/audit:verify").await;
    let head = verdict["head"].as_str().unwrap().to_owned();
    assert!(server.post("/api/v1/groups", json!({"id": "g"})).await.0.is_success());
    let again = format!("/api/v1/audit:verify?head={head}");
    let (_, verdict) = server.get(&again).await;
    assert_eq!((&verdict["ok"], &verdict["anchor_found"]), (&json!(true), &json!(true)), "{verdict}");
    let file = Connection::open(server.dir.path().join("campanile.db")).unwrap();
    file.execute_batch(
        "DELETE FROM audit_links WHERE seq > 1; DELETE FROM audit_fields WHERE link > 1;
         UPDATE audit_head SET (seq, hash) = (SELECT seq, hash FROM audit_links)",
    )
    .unwrap();
    assert_eq!(server.get("/api/v1/audit:verify").await.1["ok"], true);
    assert_eq!(server.get(&again).await.1["ok"], false);
    assert_eq!(server.get("/api/v1/audit:verify?head=7").await.0, 400);
    server.close().await;
}
