//! Table of routes: the required role, the query, the body and the answer of each operation. The guard and
//! `/openapi.json` read the same rows.

use axum::http::Method;
use records::Role;

/// The role that an operation requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequiredRole {
    /// Anybody.
    Nothing,
    /// A role that may read.
    See,
    /// Any role; a submitter only for its own alerts.
    SeeOwn,
    /// A role that may submit alerts.
    Submit,
    /// A role that may change things.
    Change,
    /// The admin's role.
    Admin,
}

impl RequiredRole {
    pub(crate) fn allows(self, role: Role) -> bool {
        match self {
            RequiredRole::Nothing => true,
            RequiredRole::See => matches!(role, Role::Admin | Role::Operator | Role::Viewer),
            RequiredRole::SeeOwn => true,
            RequiredRole::Submit => matches!(role, Role::Admin | Role::Operator | Role::Submit),
            RequiredRole::Change => matches!(role, Role::Admin | Role::Operator),
            RequiredRole::Admin => role == Role::Admin,
        }
    }

    /// The roles, for people.
    pub(crate) fn words(self) -> &'static str {
        match self {
            RequiredRole::Nothing => "no token",
            RequiredRole::See => "viewer, operator or admin",
            RequiredRole::SeeOwn => "any role",
            RequiredRole::Submit => "submit, operator or admin",
            RequiredRole::Change => "operator or admin",
            RequiredRole::Admin => "admin",
        }
    }
}

/// The type of a request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    /// JSON of the schema with this name.
    Json(&'static str),
    /// One of the schema, or a list of them.
    OneOrMany(&'static str),
    /// Other media types.
    Media(&'static [&'static str]),
}

/// The type of a successful answer's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gives {
    Nothing,
    Json(&'static str),
    /// `{items, next}` of the schema.
    Page(&'static str),
    /// The schema as JSON, or the same in other media types.
    JsonOr(&'static str, &'static [&'static str]),
    Media(&'static [&'static str]),
}

/// One operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub method: &'static str,
    pub path: &'static str,
    pub need: RequiredRole,
    pub about: &'static str,
    /// Query parameters.
    pub query: &'static [&'static str],
    pub takes: Takes,
    pub status: u16,
    pub gives: Gives,
}

#[rustfmt::skip]
const fn make((method, path): (&'static str, &'static str), need: RequiredRole, about: &'static str, query: &'static [&'static str], takes: Takes, status: u16, gives: Gives) -> Operation {
    Operation { method, path, need, about, query, takes, status, gives }
}

const HTML: &[&str] = &["text/html"];
const FORM: &[&str] = &["application/x-www-form-urlencoded"];
const PEOPLE: &[&str] = &["text/csv", "application/x-ndjson"];
const HANDED_IN: &[&str] = &[
    "username",
    "password",
    "to",
    "text",
    "from",
    "coding",
    "charset",
    "udh",
    "mclass",
    "mwi",
    "pid",
    "rpi",
    "alt-dcs",
    "validity",
    "deferred",
    "priority",
    "smsc",
    "dlr-mask",
    "dlr-url",
    "account",
    "binfo",
    "meta-data",
];
const PAGE: &[&str] = &["cursor", "limit"];

/// Every operation.
#[rustfmt::skip]
pub(crate) const ROWS: &[Operation] = &[
    make(("GET", "/"), RequiredRole::Nothing, "a page for people", &["cursor"], Takes::Nothing, 200, Gives::Media(HTML)),
    make(("POST", "/login"), RequiredRole::Nothing, "begin a browser's session", &[], Takes::Media(FORM), 303, Gives::Nothing),
    make(("POST", "/logout"), RequiredRole::Nothing, "end a browser's session", &[], Takes::Media(FORM), 303, Gives::Nothing),
    make(("GET", "/alerts/{id}"), RequiredRole::Nothing, "an alert's live report, for people", &["state", "from"], Takes::Nothing, 200, Gives::Media(HTML)),
    make(("GET", "/a/{token}"), RequiredRole::Nothing, "the page behind the link in a message; records nothing", &[], Takes::Nothing, 200, Gives::Media(HTML)),
    make(("POST", "/a/{token}"), RequiredRole::Nothing, "record the answer given on the page", &[], Takes::Media(FORM), 200, Gives::Media(HTML)),
    make(("GET", "/healthz"), RequiredRole::Nothing, "the process runs", &[], Takes::Nothing, 200, Gives::Json("Health")),
    make(("GET", "/readyz"), RequiredRole::Nothing, "the server takes alerts", &[], Takes::Nothing, 200, Gives::Json("Ready")),
    make(("GET", "/metrics"), RequiredRole::Nothing, "metrics of Prometheus", &[], Takes::Nothing, 200, Gives::Media(&["text/plain"])),
    make(("GET", "/openapi.json"), RequiredRole::Nothing, "this description", &[], Takes::Nothing, 200, Gives::Media(&["application/json"])),
    make(("GET", "/cap/feed.atom"), RequiredRole::Nothing, "received CAP messages, public and actual, as an Atom feed", &[], Takes::Nothing, 200, Gives::Media(&["application/atom+xml"])),
    make(("GET", "/cap/{id}"), RequiredRole::Nothing, "a message of the feed", &[], Takes::Nothing, 200, Gives::Media(&["application/cap+xml"])),
    make(("GET", "/cgi-bin/sendsms"), RequiredRole::Nothing, "submit a short message, as to Kannel's smsbox; errors are lines of text", HANDED_IN, Takes::Nothing, 202, Gives::Media(HTML)),
    make(("POST", "/cgi-bin/sendsms"), RequiredRole::Nothing, "the same as a form, with X-Kannel headers, or as Kannel's XML", &[], Takes::Media(&["application/x-www-form-urlencoded", "text/plain", "application/octet-stream", "text/xml"]), 202, Gives::Media(HTML)),
    make(("POST", "/api/v1/recipients"), RequiredRole::Change, "add or replace one recipient or many", &[], Takes::OneOrMany("Recipient"), 200, Gives::JsonOr("Recipient", &[])),
    make(("GET", "/api/v1/recipients"), RequiredRole::See, "list recipients", &["filter", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("Recipient")),
    make(("GET", "/api/v1/recipients/{id}"), RequiredRole::See, "one recipient", &[], Takes::Nothing, 200, Gives::Json("Recipient")),
    make(("PUT", "/api/v1/recipients/{id}"), RequiredRole::Change, "add or replace a recipient", &[], Takes::Json("Recipient"), 200, Gives::Json("Recipient")),
    make(("PATCH", "/api/v1/recipients/{id}"), RequiredRole::Change, "change a recipient by a JSON merge patch", &[], Takes::Json("Recipient"), 200, Gives::Json("Recipient")),
    make(("DELETE", "/api/v1/recipients/{id}"), RequiredRole::Change, "remove a recipient", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("POST", "/api/v1/recipients:import"), RequiredRole::Change, "import recipients of any number as a stream", &["on_problem"], Takes::Media(PEOPLE), 200, Gives::Json("Imported")),
    make(("GET", "/api/v1/recipients:export"), RequiredRole::See, "all recipients as a stream", &[], Takes::Nothing, 200, Gives::Media(PEOPLE)),
    make(("POST", "/api/v1/groups"), RequiredRole::Change, "add or replace a group", &[], Takes::Json("Group"), 200, Gives::Json("Group")),
    make(("GET", "/api/v1/groups"), RequiredRole::See, "list groups", PAGE, Takes::Nothing, 200, Gives::Page("Group")),
    make(("GET", "/api/v1/groups/{id}"), RequiredRole::See, "one group", &[], Takes::Nothing, 200, Gives::Json("Group")),
    make(("PUT", "/api/v1/groups/{id}"), RequiredRole::Change, "add or replace a group", &[], Takes::Json("Group"), 200, Gives::Json("Group")),
    make(("DELETE", "/api/v1/groups/{id}"), RequiredRole::Change, "remove a group", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("POST", "/api/v1/alerts"), RequiredRole::Submit, "submit an alert; with mode=sync wait until it is solved", &["mode"], Takes::Json("AlertRequest"), 202, Gives::Json("Submitted")),
    make(("GET", "/api/v1/alerts"), RequiredRole::SeeOwn, "list alerts, newest first", PAGE, Takes::Nothing, 200, Gives::Page("AlertSummary")),
    make(("POST", "/api/v1/alerts:forecast"), RequiredRole::Submit, "forecast: audience, routes, duration, cost; nothing is sent", &[], Takes::Json("AlertRequest"), 200, Gives::Json("Forecast")),
    make(("GET", "/api/v1/alerts/{id}"), RequiredRole::SeeOwn, "one alert", &[], Takes::Nothing, 200, Gives::Json("Alert")),
    make(("GET", "/api/v1/alerts/{id}/deliveries"), RequiredRole::SeeOwn, "its deliveries", &["state", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("Delivery")),
    make(("GET", "/api/v1/alerts/{id}/report"), RequiredRole::SeeOwn, "its report; as CSV its deliveries", &[], Takes::Nothing, 200, Gives::JsonOr("Report", &["text/csv", "application/xml"])),
    make(("GET", "/api/v1/alerts/{id}/events"), RequiredRole::SeeOwn, "server-sent events: progress, answer, done", &[], Takes::Nothing, 200, Gives::Media(&["text/event-stream"])),
    make(("GET", "/api/v1/alerts/{id}/cap"), RequiredRole::SeeOwn, "the alert as CAP 1.2", &[], Takes::Nothing, 200, Gives::Media(&["application/cap+xml"])),
    make(("POST", "/api/v1/alerts/{id}:cancel"), RequiredRole::Change, "stop for good", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")),
    make(("POST", "/api/v1/alerts/{id}:pause"), RequiredRole::Change, "stop for now", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")),
    make(("POST", "/api/v1/alerts/{id}:resume"), RequiredRole::Change, "resume after a pause", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")),
    make(("POST", "/api/v1/alerts/{id}:approve"), RequiredRole::Change, "approve as a second person", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")),
    make(("POST", "/api/v1/alerts/{id}:retry-failed"), RequiredRole::Change, "retry failed deliveries", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")),
    make(("POST", "/api/v1/alerts/{id}/observers"), RequiredRole::Change, "register an observer", &[], Takes::Json("Callback"), 201, Gives::Json("Observer")),
    make(("GET", "/api/v1/alerts/{id}/observers"), RequiredRole::See, "its observers", &[], Takes::Nothing, 200, Gives::Page("Observer")),
    make(("DELETE", "/api/v1/alerts/{id}/observers/{observer}"), RequiredRole::Change, "remove an observer", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("POST", "/api/v1/answers"), RequiredRole::Change, "record an answer given by other means", &[], Takes::Json("AnswerRequest"), 204, Gives::Nothing),
    make(("POST", "/api/v1/cap"), RequiredRole::Submit, "submit a CAP 1.0 to 1.2 message", &["audience", "mode"], Takes::Media(&["application/cap+xml", "application/xml", "text/xml"]), 202, Gives::Json("CapSubmitted")),
    make(("POST", "/api/v1/attachments"), RequiredRole::Submit, "upload a file of any type; alerts name it by its id (the BLAKE3 hash of its content)", &[], Takes::Media(&["*/*"]), 201, Gives::Json("Uploaded")),
    make(("GET", "/api/v1/attachments/{id}"), RequiredRole::See, "the content of an attachment", &[], Takes::Nothing, 200, Gives::Media(&["application/octet-stream"])),
    make(("POST", "/api/v1/tokens"), RequiredRole::Admin, "create a token; its secret is shown this once", &[], Takes::Json("TokenRequest"), 201, Gives::Json("NewToken")),
    make(("GET", "/api/v1/tokens"), RequiredRole::Admin, "list tokens", &[], Takes::Nothing, 200, Gives::Page("Token")),
    make(("DELETE", "/api/v1/tokens/{id}"), RequiredRole::Admin, "revoke a token", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("GET", "/api/v1/audit"), RequiredRole::Admin, "the audit trail, newest first", &["limit"], Takes::Nothing, 200, Gives::Page("Act")),
    make(("POST", "/api/v1/accounts"), RequiredRole::Admin, "open an account", &[], Takes::Json("NewAccount"), 201, Gives::Json("Account")),
    make(("GET", "/api/v1/accounts"), RequiredRole::See, "list accounts", PAGE, Takes::Nothing, 200, Gives::Page("Account")),
    make(("GET", "/api/v1/accounts/{id}"), RequiredRole::See, "an account's money", &[], Takes::Nothing, 200, Gives::Json("Account")),
    make(("GET", "/api/v1/accounts/{id}/records"), RequiredRole::See, "an account's charging records, the oldest first", &["from", "until", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("ChargingRecord")),
    make(("POST", "/api/v1/accounts/{id}:topup"), RequiredRole::Admin, "pay into an account", &[], Takes::Json("TopUp"), 200, Gives::Json("Account")),
    make(("POST", "/api/v1/accounts/{id}:block"), RequiredRole::Admin, "block an account: it pays only amounts that are due", &[], Takes::Nothing, 200, Gives::Json("Account")),
    make(("POST", "/api/v1/accounts/{id}:unblock"), RequiredRole::Admin, "unblock an account", &[], Takes::Nothing, 200, Gives::Json("Account")),
    make(("PATCH", "/api/v1/accounts/{id}"), RequiredRole::Admin, "block or unblock an account, change its limit", &[], Takes::Json("AccountChange"), 200, Gives::Json("Account")),
    make(("GET", "/api/v1/credit-sessions"), RequiredRole::See, "an account's live sessions of credit control", &["account", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("CreditSession")),
    make(("DELETE", "/api/v1/credit-sessions/{id}"), RequiredRole::Admin, "request the client to end a session (ASR); without a connected client it is released at once", &[], Takes::Nothing, 202, Gives::Json("EndedSession")),
    make(("GET", "/api/v1/tariffs"), RequiredRole::See, "the tariffs in force", &[], Takes::Nothing, 200, Gives::Json("Tariffs")),
    make(("PUT", "/api/v1/tariffs"), RequiredRole::Admin, "set tariffs in place of those of the config", &[], Takes::Json("NewTariffs"), 200, Gives::Json("Tariffs")),
    make(("DELETE", "/api/v1/tariffs"), RequiredRole::Admin, "return to the tariffs of the config", &[], Takes::Nothing, 200, Gives::Json("Tariffs")),
    make(("GET", "/api/v1/diameter-peers"), RequiredRole::See, "connected Diameter peers, and the rules of the API that admit peers", &[], Takes::Nothing, 200, Gives::Json("DiameterPeers")),
    make(("POST", "/api/v1/diameter-peers"), RequiredRole::Admin, "admit peers of this name, realm and address", &[], Takes::Json("NewPeerRule"), 201, Gives::Json("PeerRule")),
    make(("DELETE", "/api/v1/diameter-peers/{id}"), RequiredRole::Admin, "remove such a rule; connected peers stay connected", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("POST", "/api/v1/reload"), RequiredRole::Admin, "read the config again", &[], Takes::Nothing, 200, Gives::Json("Reloaded")),
];

/// The row of an operation. HEAD is GET without its body.
pub(crate) fn row(method: &Method, path: &str) -> Option<&'static Operation> {
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    ROWS.iter().find(|row| row.method == method && row.path == path)
}

/// The table's path for a request: the router's, with the verb that a POST appends to an id.
pub(crate) fn template(method: &Method, matched: &str, path: &str) -> String {
    let verb = path.rsplit('/').next().and_then(|last| last.rsplit_once(':')).map(|(_, verb)| verb);
    match verb {
        Some(verb) if method == Method::POST && matched.ends_with('}') => format!("{matched}:{verb}"),
        _ => matched.to_owned(),
    }
}
