//! Names of operations, for generated clients: a verb and the nouns of the path, unless the table below says
//! otherwise.

use crate::http::routes::{Gives, Operation, Takes};

/// Names that the path does not tell.
const OWN: &[(&str, &str, &str)] = &[
    ("GET", "/plain", "front_page"),
    ("POST", "/login", "login"),
    ("POST", "/logout", "logout"),
    ("GET", "/plain/alerts/{id}", "alert_page"),
    ("GET", "/a/{token}", "answer_page"),
    ("POST", "/a/{token}", "submit_answer_page"),
    ("GET", "/p/{token}", "person_page"),
    ("POST", "/p/{token}", "change_person_page"),
    ("POST", "/w/{token}", "take_callback"),
    ("GET", "/healthz", "get_health"),
    ("GET", "/readyz", "get_readiness"),
    ("GET", "/api/v1/readiness", "get_alerting_readiness"),
    ("GET", "/openapi.json", "get_openapi"),
    ("GET", "/cap/feed.atom", "get_cap_feed"),
    ("GET", "/cap/{id}", "get_cap_message"),
    ("GET", "/cgi-bin/sendsms", "sendsms"),
    ("POST", "/cgi-bin/sendsms", "post_sendsms"),
    ("GET", "/api/v1/recipients", "list_recipients"),
    ("POST", "/api/v1/recipients", "put_recipients"),
    ("POST", "/api/v1/recipients/{id}:page-link", "make_person_page_link"),
    ("POST", "/api/v1/groups", "create_group"),
    ("POST", "/api/v1/session", "sign_in"),
    ("DELETE", "/api/v1/session", "sign_out"),
    ("GET", "/api/v1/session/options", "get_sign_in_options"),
    ("POST", "/api/v1/session:second", "give_second_factor"),
    ("POST", "/api/v1/invitations:accept", "accept_invitation"),
    ("POST", "/api/v1/me/totp", "offer_totp"),
    ("PUT", "/api/v1/me/totp", "switch_on_totp"),
    ("DELETE", "/api/v1/me/totp", "switch_off_totp"),
    ("POST", "/api/v1/me/recovery-codes", "renew_recovery_codes"),
    ("POST", "/api/v1/me/passkeys:options", "get_passkey_options"),
    ("GET", "/auth/oidc/start", "start_oidc"),
    ("GET", "/auth/oidc/callback", "finish_oidc"),
    ("POST", "/api/v1/alerts", "submit_alert"),
    ("POST", "/api/v1/alerts:forecast", "forecast_alert"),
    ("POST", "/api/v1/alerts:check", "check_alert"),
    ("POST", "/api/v1/drills:replay", "replay_alert"),
    ("POST", "/api/v1/alerts:preview", "preview_alert"),
    ("POST", "/api/v1/audience:people", "list_audience_people"),
    ("GET", "/api/v1/alerts/{id}/events", "follow_alert"),
    ("GET", "/api/v1/events", "follow_events"),
    ("POST", "/api/v1/cap", "submit_cap"),
    ("POST", "/api/v1/reload", "reload_config"),
    ("GET", "/api/v1/audit", "list_audit"),
];

/// A unique name such as `list_alert_deliveries` or `cancel_alert`.
pub(super) fn operation_id(row: &Operation) -> String {
    let own = OWN.iter().find(|(method, path, _)| (*method, *path) == (row.method, row.path));
    if let Some((_, _, name)) = own {
        return (*name).to_owned();
    }
    let (path, verb) = match row.path.rsplit_once(':') {
        Some((path, verb)) => (path, verb),
        None => (row.path, usual_verb(row)),
    };
    let segments: Vec<&str> =
        path.trim_start_matches("/api/v1").split('/').filter(|s| !s.is_empty()).collect();
    let makes_one = row.method == "POST" && !path.ends_with('}') && !row.path.contains(':');
    let mut name = verb.replace('-', "_");
    for (at, segment) in segments.iter().enumerate().filter(|(_, segment)| !segment.starts_with('{')) {
        let is_one = match segments.get(at + 1) {
            Some(next) => next.starts_with('{'),
            None => makes_one,
        };
        let noun = segment.replace(['-', '.'], "_");
        name = format!("{name}_{}", if is_one { noun.trim_end_matches('s') } else { &noun });
    }
    name
}

fn usual_verb(row: &Operation) -> &'static str {
    match (row.method, row.gives) {
        ("GET", Gives::Page(_)) => "list",
        ("GET", _) => "get",
        ("PUT", _) => "put",
        ("PATCH", _) => "change",
        ("DELETE", _) => "delete",
        _ if row.takes == Takes::Nothing => "do",
        _ => "create",
    }
}

/// The noun that an operation belongs to.
pub(super) fn tag(row: &Operation) -> &'static str {
    let noun = row.path.strip_prefix("/api/v1/").map(|rest| rest.split(['/', ':']).next().unwrap_or(rest));
    match noun {
        Some(noun) => noun,
        None if row.path.starts_with("/cap/") => "cap",
        None if row.path.starts_with("/w/") => "callbacks",
        None if row.path.starts_with("/auth/") => "session",
        None if row.path.starts_with("/cgi-bin/") => "platforms",
        None if matches!(row.path, "/healthz" | "/readyz" | "/metrics" | "/openapi.json") => "operation",
        None => "pages",
    }
}
