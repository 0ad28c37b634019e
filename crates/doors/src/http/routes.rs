//! The table of routes: who may, what it is, what it takes and gives. The router, the guard and
//! `/openapi.json` read the same rows.

use axum::http::Method;
use records::Role;

/// What a caller must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Anybody.
    Nothing,
    /// Whoever may look.
    See,
    /// Whoever may look, and who submitted it.
    SeeOwn,
    /// Whoever may submit alerts.
    Submit,
    /// Whoever may change things.
    Change,
    /// Whoever may do everything.
    Admin,
}

impl Need {
    pub(crate) fn allows(self, role: Role) -> bool {
        match self {
            Need::Nothing => true,
            Need::See => matches!(role, Role::Admin | Role::Operator | Role::Viewer),
            Need::SeeOwn => true,
            Need::Submit => matches!(role, Role::Admin | Role::Operator | Role::Submit),
            Need::Change => matches!(role, Role::Admin | Role::Operator),
            Need::Admin => role == Role::Admin,
        }
    }

    /// The roles, for people.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Need::Nothing => "no token",
            Need::See => "viewer, operator or admin",
            Need::SeeOwn => "any role",
            Need::Submit => "submit, operator or admin",
            Need::Change => "operator or admin",
            Need::Admin => "admin",
        }
    }
}

/// What a request's body is.
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

/// What a good answer's body is.
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
    pub need: Need,
    pub about: &'static str,
    /// Query parameters.
    pub query: &'static [&'static str],
    pub takes: Takes,
    pub status: u16,
    pub gives: Gives,
}

#[rustfmt::skip]
const fn make((method, path): (&'static str, &'static str), need: Need, about: &'static str, query: &'static [&'static str], takes: Takes, status: u16, gives: Gives) -> Operation {
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
    make(("GET", "/"), Need::Nothing, "a page for people", &["cursor"], Takes::Nothing, 200, Gives::Media(HTML)),
    make(("POST", "/login"), Need::Nothing, "begin a browser's session", &[], Takes::Media(FORM), 303, Gives::Nothing),
    make(("POST", "/logout"), Need::Nothing, "end a browser's session", &[], Takes::Media(FORM), 303, Gives::Nothing),
    make(("GET", "/alerts/{id}"), Need::Nothing, "an alert's live report, for people", &["state", "from"], Takes::Nothing, 200, Gives::Media(HTML)),
    make(("GET", "/a/{token}"), Need::Nothing, "the page behind the link in a message; records nothing", &[], Takes::Nothing, 200, Gives::Media(HTML)),
    make(("POST", "/a/{token}"), Need::Nothing, "record the answer given on the page", &[], Takes::Media(FORM), 200, Gives::Media(HTML)),
    make(("GET", "/healthz"), Need::Nothing, "the process runs", &[], Takes::Nothing, 200, Gives::Json("Health")),
    make(("GET", "/readyz"), Need::Nothing, "the server takes alerts", &[], Takes::Nothing, 200, Gives::Json("Ready")),
    make(("GET", "/metrics"), Need::Nothing, "metrics of Prometheus", &[], Takes::Nothing, 200, Gives::Media(&["text/plain"])),
    make(("GET", "/openapi.json"), Need::Nothing, "this description", &[], Takes::Nothing, 200, Gives::Media(&["application/json"])),
    make(("GET", "/cap/feed.atom"), Need::Nothing, "what came in as CAP, public and actual, as an Atom feed", &[], Takes::Nothing, 200, Gives::Media(&["application/atom+xml"])),
    make(("GET", "/cap/{id}"), Need::Nothing, "a message of the feed", &[], Takes::Nothing, 200, Gives::Media(&["application/cap+xml"])),
    make(("GET", "/cgi-bin/sendsms"), Need::Nothing, "hand in a short message, as to Kannel's smsbox; errors are lines of words", HANDED_IN, Takes::Nothing, 202, Gives::Media(HTML)),
    make(("POST", "/cgi-bin/sendsms"), Need::Nothing, "the same as a form, with X-Kannel headers, or as Kannel's XML", &[], Takes::Media(&["application/x-www-form-urlencoded", "text/plain", "application/octet-stream", "text/xml"]), 202, Gives::Media(HTML)),
    make(("POST", "/api/v1/recipients"), Need::Change, "add or replace one recipient or many", &[], Takes::OneOrMany("Recipient"), 200, Gives::JsonOr("Recipient", &[])),
    make(("GET", "/api/v1/recipients"), Need::See, "list recipients", &["filter", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("Recipient")),
    make(("GET", "/api/v1/recipients/{id}"), Need::See, "one recipient", &[], Takes::Nothing, 200, Gives::Json("Recipient")),
    make(("PUT", "/api/v1/recipients/{id}"), Need::Change, "add or replace a recipient", &[], Takes::Json("Recipient"), 200, Gives::Json("Recipient")),
    make(("PATCH", "/api/v1/recipients/{id}"), Need::Change, "change a recipient by a JSON merge patch", &[], Takes::Json("Recipient"), 200, Gives::Json("Recipient")),
    make(("DELETE", "/api/v1/recipients/{id}"), Need::Change, "remove a recipient", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("POST", "/api/v1/recipients:import"), Need::Change, "import recipients of any number as a stream", &["on_problem"], Takes::Media(PEOPLE), 200, Gives::Json("Imported")),
    make(("GET", "/api/v1/recipients:export"), Need::See, "all recipients as a stream", &[], Takes::Nothing, 200, Gives::Media(PEOPLE)),
    make(("POST", "/api/v1/groups"), Need::Change, "add or replace a group", &[], Takes::Json("Group"), 200, Gives::Json("Group")),
    make(("GET", "/api/v1/groups"), Need::See, "list groups", PAGE, Takes::Nothing, 200, Gives::Page("Group")),
    make(("GET", "/api/v1/groups/{id}"), Need::See, "one group", &[], Takes::Nothing, 200, Gives::Json("Group")),
    make(("PUT", "/api/v1/groups/{id}"), Need::Change, "add or replace a group", &[], Takes::Json("Group"), 200, Gives::Json("Group")),
    make(("DELETE", "/api/v1/groups/{id}"), Need::Change, "remove a group", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("POST", "/api/v1/alerts"), Need::Submit, "submit an alert; with mode=sync wait until it is solved", &["mode"], Takes::Json("AlertRequest"), 202, Gives::Json("Submitted")),
    make(("GET", "/api/v1/alerts"), Need::SeeOwn, "list alerts, newest first", PAGE, Takes::Nothing, 200, Gives::Page("AlertSummary")),
    make(("POST", "/api/v1/alerts:forecast"), Need::Submit, "forecast: audience, routes, duration, cost; sends nothing", &[], Takes::Json("AlertRequest"), 200, Gives::Json("Forecast")),
    make(("GET", "/api/v1/alerts/{id}"), Need::SeeOwn, "one alert", &[], Takes::Nothing, 200, Gives::Json("Alert")),
    make(("GET", "/api/v1/alerts/{id}/deliveries"), Need::SeeOwn, "its deliveries", &["state", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("Delivery")),
    make(("GET", "/api/v1/alerts/{id}/report"), Need::SeeOwn, "its report; as CSV its deliveries", &[], Takes::Nothing, 200, Gives::JsonOr("Report", &["text/csv", "application/xml"])),
    make(("GET", "/api/v1/alerts/{id}/events"), Need::SeeOwn, "server-sent events: progress, answer, done", &[], Takes::Nothing, 200, Gives::Media(&["text/event-stream"])),
    make(("GET", "/api/v1/alerts/{id}/cap"), Need::SeeOwn, "the alert as CAP 1.2", &[], Takes::Nothing, 200, Gives::Media(&["application/cap+xml"])),
    make(("POST", "/api/v1/alerts/{id}:cancel"), Need::Change, "stop for good", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")),
    make(("POST", "/api/v1/alerts/{id}:pause"), Need::Change, "stop for now", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")),
    make(("POST", "/api/v1/alerts/{id}:resume"), Need::Change, "go on", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")),
    make(("POST", "/api/v1/alerts/{id}:approve"), Need::Change, "a second person says yes", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")),
    make(("POST", "/api/v1/alerts/{id}:retry-failed"), Need::Change, "try what failed again", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")),
    make(("POST", "/api/v1/alerts/{id}/observers"), Need::Change, "register an observer", &[], Takes::Json("Callback"), 201, Gives::Json("Observer")),
    make(("GET", "/api/v1/alerts/{id}/observers"), Need::See, "its observers", &[], Takes::Nothing, 200, Gives::Page("Observer")),
    make(("DELETE", "/api/v1/alerts/{id}/observers/{observer}"), Need::Change, "remove an observer", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("POST", "/api/v1/answers"), Need::Change, "an answer given by other means", &[], Takes::Json("AnswerRequest"), 204, Gives::Nothing),
    make(("POST", "/api/v1/cap"), Need::Submit, "submit a CAP 1.0 to 1.2 message", &["audience", "mode"], Takes::Media(&["application/cap+xml", "application/xml", "text/xml"]), 202, Gives::Json("CapSubmitted")),
    make(("POST", "/api/v1/attachments"), Need::Submit, "hand in a file of any type, for alerts to name by its id (BLAKE3 of what is in it)", &[], Takes::Media(&["*/*"]), 201, Gives::Json("Uploaded")),
    make(("GET", "/api/v1/attachments/{id}"), Need::See, "such a file", &[], Takes::Nothing, 200, Gives::Media(&["application/octet-stream"])),
    make(("POST", "/api/v1/tokens"), Need::Admin, "create a token; its secret is shown this once", &[], Takes::Json("TokenRequest"), 201, Gives::Json("NewToken")),
    make(("GET", "/api/v1/tokens"), Need::Admin, "list tokens", &[], Takes::Nothing, 200, Gives::Page("Token")),
    make(("DELETE", "/api/v1/tokens/{id}"), Need::Admin, "revoke a token", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("GET", "/api/v1/audit"), Need::Admin, "who did what, newest first", &["limit"], Takes::Nothing, 200, Gives::Page("Act")),
    make(("POST", "/api/v1/accounts"), Need::Admin, "open an account", &[], Takes::Json("NewAccount"), 201, Gives::Json("Account")),
    make(("GET", "/api/v1/accounts"), Need::See, "list accounts", PAGE, Takes::Nothing, 200, Gives::Page("Account")),
    make(("GET", "/api/v1/accounts/{id}"), Need::See, "an account's money", &[], Takes::Nothing, 200, Gives::Json("Account")),
    make(("GET", "/api/v1/accounts/{id}/records"), Need::See, "an account's charging records, the oldest first", &["from", "until", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("ChargingRecord")),
    make(("POST", "/api/v1/accounts/{id}:topup"), Need::Admin, "pay into an account", &[], Takes::Json("TopUp"), 200, Gives::Json("Account")),
    make(("POST", "/api/v1/accounts/{id}:block"), Need::Admin, "refuse an account everything but what is due", &[], Takes::Nothing, 200, Gives::Json("Account")),
    make(("POST", "/api/v1/accounts/{id}:unblock"), Need::Admin, "let a blocked account go on", &[], Takes::Nothing, 200, Gives::Json("Account")),
    make(("PATCH", "/api/v1/accounts/{id}"), Need::Admin, "block an account or let it go on, change its limit", &[], Takes::Json("AccountChange"), 200, Gives::Json("Account")),
    make(("GET", "/api/v1/credit-sessions"), Need::See, "an account's live sessions of credit control", &["account", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("CreditSession")),
    make(("DELETE", "/api/v1/credit-sessions/{id}"), Need::Admin, "have a session ended by its client (ASR); released at once where that is not connected", &[], Takes::Nothing, 202, Gives::Json("EndedSession")),
    make(("GET", "/api/v1/tariffs"), Need::See, "the tariffs that hold", &[], Takes::Nothing, 200, Gives::Json("Tariffs")),
    make(("PUT", "/api/v1/tariffs"), Need::Admin, "have these tariffs hold in the place of the config's", &[], Takes::Json("NewTariffs"), 200, Gives::Json("Tariffs")),
    make(("DELETE", "/api/v1/tariffs"), Need::Admin, "have the config's tariffs hold again", &[], Takes::Nothing, 200, Gives::Json("Tariffs")),
    make(("GET", "/api/v1/diameter-peers"), Need::See, "connected Diameter peers, and the rules of the API that let some in", &[], Takes::Nothing, 200, Gives::Json("DiameterPeers")),
    make(("POST", "/api/v1/diameter-peers"), Need::Admin, "let in peers of this name, realm and place", &[], Takes::Json("NewPeerRule"), 201, Gives::Json("PeerRule")),
    make(("DELETE", "/api/v1/diameter-peers/{id}"), Need::Admin, "remove such a rule; who is connected stays", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("POST", "/api/v1/reload"), Need::Admin, "read the config again", &[], Takes::Nothing, 200, Gives::Json("Reloaded")),
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
