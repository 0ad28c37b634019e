//! Table of routes: the required role, the query, the body and the answers of each operation. The guard, the
//! check of methods and `/openapi.json` read the same rows; which token has which role is in
//! [`crate::http::role_matrix`].

pub(crate) use crate::http::role_matrix::RequiredRole;
use axum::http::Method;

/// The type of a request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    /// JSON of the schema with this name.
    Json(&'static str),
    /// One of the schema, or a list of them.
    OneOrMany(&'static str),
    /// A JSON merge patch (RFC 7396) of the schema.
    Patch(&'static str),
    /// Other media types.
    Media(&'static [&'static str]),
}

/// The type of an answer's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gives {
    Nothing,
    Json(&'static str),
    /// `{items, next}` of the schema.
    Page(&'static str),
    /// The schema as JSON, or the same in other media types.
    JsonOr(&'static str, &'static [&'static str]),
    /// The first schema for one in the body, `{items}` of the second for a list in it.
    OneOrMany(&'static str, &'static str),
    Media(&'static [&'static str]),
}

/// How far an operation goes by versions (RFC 9110, sections 8.8.3 and 13.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Versions {
    Nothing,
    /// Its answer has an ETag.
    Shows,
    /// It obeys If-Match.
    Checks,
    /// Both.
    ShowsAndChecks,
}

/// One operation. What most operations have follows from its first columns (`openapi/answers.rs` has the
/// rules); what is its own stands behind [`make`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub method: &'static str,
    pub path: &'static str,
    pub need: RequiredRole,
    pub about: &'static str,
    /// Query parameters; `openapi/parameters.json` has their types.
    pub query: &'static [&'static str],
    pub takes: Takes,
    pub status: u16,
    pub gives: Gives,
    /// Answers beside the usual one that are no problem documents.
    pub also: &'static [(u16, Gives)],
    /// Statuses of problem documents beside those that follow from the other columns.
    pub refuses: &'static [u16],
    pub versions: Versions,
    /// It obeys Idempotency-Key.
    pub is_keyed: bool,
    /// Its answers, problems included, are pages or lines for people.
    pub is_for_people: bool,
}

#[rustfmt::skip]
const fn make((method, path): (&'static str, &'static str), need: RequiredRole, about: &'static str, query: &'static [&'static str], takes: Takes, status: u16, gives: Gives) -> Operation {
    Operation { method, path, need, about, query, takes, status, gives, also: &[], refuses: &[], versions: Versions::Nothing, is_keyed: false, is_for_people: false }
}

impl Operation {
    const fn also(self, also: &'static [(u16, Gives)]) -> Operation {
        Operation { also, ..self }
    }

    const fn refuses(self, refuses: &'static [u16]) -> Operation {
        Operation { refuses, ..self }
    }

    const fn versions(self, versions: Versions) -> Operation {
        Operation { versions, ..self }
    }

    const fn keyed(self) -> Operation {
        Operation { is_keyed: true, ..self }
    }

    const fn for_people(self) -> Operation {
        Operation { is_for_people: true, ..self }
    }
}

const HTML: &[&str] = &["text/html"];
const FORM: &[&str] = &["application/x-www-form-urlencoded"];
const CALLBACK: &[&str] = &["application/json", "application/x-www-form-urlencoded"];
const PEOPLE: &[&str] = &["text/csv", "application/x-ndjson"];
const PEOPLE_IN: &[&str] = &["text/csv", "application/x-ndjson", "application/jsonl", "application/ndjson"];
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
    make(("GET", "/"), RequiredRole::Nothing, "a page for people", &["cursor"], Takes::Nothing, 200, Gives::Media(HTML)).refuses(&[500, 503]),
    make(("POST", "/login"), RequiredRole::Nothing, "begin a browser's session", &[], Takes::Media(FORM), 303, Gives::Nothing).also(&[(401, Gives::Media(HTML)), (403, Gives::Media(HTML))]).refuses(&[500, 503]),
    make(("POST", "/logout"), RequiredRole::Nothing, "end a browser's session", &[], Takes::Media(FORM), 303, Gives::Nothing).refuses(&[403]),
    make(("GET", "/alerts/{id}"), RequiredRole::Nothing, "an alert's live report, for people", &["state", "from"], Takes::Nothing, 200, Gives::Media(HTML)).also(&[(401, Gives::Media(HTML))]).refuses(&[500, 503]),
    make(("GET", "/a/{token}"), RequiredRole::Nothing, "the page behind the link in a message; records nothing", &[], Takes::Nothing, 200, Gives::Media(HTML)).for_people().refuses(&[404, 500, 503]),
    make(("POST", "/a/{token}"), RequiredRole::Nothing, "record the answer given on the page", &[], Takes::Media(FORM), 200, Gives::Media(HTML)).for_people().refuses(&[404, 408, 409, 410, 413, 415, 422, 500, 503, 507]),
    make(("GET", "/p/{token}"), RequiredRole::Nothing, "a person's own page, to which a signed link leads; records nothing", &["done", "step"], Takes::Nothing, 200, Gives::Media(HTML)).for_people().refuses(&[404, 500, 503]),
    make(("POST", "/p/{token}"), RequiredRole::Nothing, "do what a form of the page asks for: then see the page again, or get what is known of the person", &[], Takes::Media(FORM), 303, Gives::Nothing).also(&[(200, Gives::JsonOr("PersonExport", HTML))]).for_people().refuses(&[403, 404, 408, 409, 413, 415, 422, 429, 500, 503, 507]),
    make(("POST", "/w/{token}"), RequiredRole::Nothing, "take what a device reports of its delivery (state, answer, text), or what the carrier of an HTTP route posts, at the signed URL that it was given", &[], Takes::Media(CALLBACK), 204, Gives::Nothing).refuses(&[404, 409, 422, 500, 503, 507]),
    make(("GET", "/healthz"), RequiredRole::Nothing, "the process runs", &[], Takes::Nothing, 200, Gives::Json("Health")),
    make(("GET", "/readyz"), RequiredRole::Nothing, "the server takes alerts", &[], Takes::Nothing, 200, Gives::Json("Ready")).also(&[(503, Gives::Json("Ready"))]),
    make(("GET", "/metrics"), RequiredRole::Nothing, "metrics of Prometheus", &[], Takes::Nothing, 200, Gives::Media(&["text/plain"])).refuses(&[404]),
    make(("GET", "/openapi.json"), RequiredRole::Nothing, "this description", &[], Takes::Nothing, 200, Gives::Json("OpenApi")),
    make(("GET", "/cap/feed.atom"), RequiredRole::Nothing, "received CAP messages, public and actual, as an Atom feed", &[], Takes::Nothing, 200, Gives::Media(&["application/atom+xml"])).refuses(&[500, 503]),
    make(("GET", "/cap/{id}"), RequiredRole::Nothing, "a message of the feed", &[], Takes::Nothing, 200, Gives::Media(&["application/cap+xml"])).refuses(&[409, 500, 503]),
    make(("GET", "/cgi-bin/sendsms"), RequiredRole::Nothing, "submit a short message, as to Kannel's smsbox; errors are lines of text", HANDED_IN, Takes::Nothing, 202, Gives::Media(HTML)).for_people().refuses(&[403, 503]),
    make(("POST", "/cgi-bin/sendsms"), RequiredRole::Nothing, "the same as a form, with X-Kannel headers, or as Kannel's XML", &[], Takes::Media(&["application/x-www-form-urlencoded", "text/plain", "application/octet-stream", "text/xml"]), 202, Gives::Media(HTML)).for_people().refuses(&[403, 413, 415, 503]),
    make(("POST", "/api/v1/recipients"), RequiredRole::Directory, "add or replace one recipient or many", &[], Takes::OneOrMany("NewRecipient"), 200, Gives::OneOrMany("Recipient", "RecipientVersion")).also(&[(201, Gives::Json("Recipient"))]).versions(Versions::ShowsAndChecks),
    make(("GET", "/api/v1/recipients"), RequiredRole::See, "list recipients", &["filter", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("Recipient")),
    make(("GET", "/api/v1/recipients/{id}"), RequiredRole::See, "one recipient", &[], Takes::Nothing, 200, Gives::Json("Recipient")).versions(Versions::Shows),
    make(("PUT", "/api/v1/recipients/{id}"), RequiredRole::Directory, "add or replace a recipient", &[], Takes::Json("RecipientBody"), 200, Gives::Json("Recipient")).also(&[(201, Gives::Json("Recipient"))]).versions(Versions::ShowsAndChecks),
    make(("PATCH", "/api/v1/recipients/{id}"), RequiredRole::Directory, "change a recipient by a JSON merge patch", &[], Takes::Patch("RecipientBody"), 200, Gives::Json("Recipient")).versions(Versions::ShowsAndChecks),
    make(("DELETE", "/api/v1/recipients/{id}"), RequiredRole::Directory, "remove a recipient", &[], Takes::Nothing, 204, Gives::Nothing).versions(Versions::Checks),
    make(("POST", "/api/v1/recipients/{id}:erase"), RequiredRole::Directory, "forget a person everywhere; stops of their addresses are remembered by keyed hashes", &[], Takes::Nothing, 200, Gives::Json("Erased")),
    make(("POST", "/api/v1/recipients/{id}:page-link"), RequiredRole::Directory, "a link to the person's own page, for 30 days", &[], Takes::Nothing, 200, Gives::Json("PageLink")).refuses(&[409]),
    make(("GET", "/api/v1/recipients/{id}/export"), RequiredRole::Directory, "all that is known of a person", &[], Takes::Nothing, 200, Gives::Json("PersonExport")),
    make(("POST", "/api/v1/recipients:import"), RequiredRole::Directory, "import recipients of any number as a stream", &["on_problem"], Takes::Media(PEOPLE_IN), 200, Gives::Json("Imported")).refuses(&[422]),
    make(("GET", "/api/v1/recipients:export"), RequiredRole::See, "all recipients as a stream", &[], Takes::Nothing, 200, Gives::Media(PEOPLE)),
    make(("GET", "/api/v1/stops"), RequiredRole::See, "words of people that are perhaps a STOP, until a person decides", PAGE, Takes::Nothing, 200, Gives::Page("PerhapsStop")),
    make(("POST", "/api/v1/stops/{id}:confirm"), RequiredRole::Directory, "they were a STOP: the address is opted out", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("POST", "/api/v1/stops/{id}:dismiss"), RequiredRole::Directory, "they were none", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("GET", "/api/v1/group-requests"), RequiredRole::See, "requests of people to join a group, until an operator decides", PAGE, Takes::Nothing, 200, Gives::Page("JoinRequest")),
    make(("POST", "/api/v1/group-requests/{id}:approve"), RequiredRole::Directory, "they are in the group from now on, and are told", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("POST", "/api/v1/group-requests/{id}:reject"), RequiredRole::Directory, "they are not, and are told", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("POST", "/api/v1/groups"), RequiredRole::Directory, "add or replace a group", &[], Takes::Json("NewGroup"), 200, Gives::Json("Group")).also(&[(201, Gives::Json("Group"))]).versions(Versions::ShowsAndChecks),
    make(("GET", "/api/v1/groups"), RequiredRole::See, "list groups", PAGE, Takes::Nothing, 200, Gives::Page("Group")),
    make(("GET", "/api/v1/groups/{id}"), RequiredRole::See, "one group", &[], Takes::Nothing, 200, Gives::Json("Group")).versions(Versions::Shows),
    make(("PUT", "/api/v1/groups/{id}"), RequiredRole::Directory, "add or replace a group", &[], Takes::Json("GroupBody"), 200, Gives::Json("Group")).also(&[(201, Gives::Json("Group"))]).versions(Versions::ShowsAndChecks),
    make(("DELETE", "/api/v1/groups/{id}"), RequiredRole::Directory, "remove a group", &[], Takes::Nothing, 204, Gives::Nothing).versions(Versions::Checks),
    make(("POST", "/api/v1/alerts"), RequiredRole::Submit, "submit an alert; with mode=sync wait until it is solved", &["mode"], Takes::Json("AlertRequest"), 202, Gives::Json("Submitted")).also(&[(201, Gives::Json("Submitted"))]).keyed(),
    make(("GET", "/api/v1/alerts"), RequiredRole::SeeOwn, "list alerts, newest first", PAGE, Takes::Nothing, 200, Gives::Page("AlertSummary")),
    make(("POST", "/api/v1/alerts:forecast"), RequiredRole::Submit, "forecast: audience, routes, duration, cost; nothing is sent", &[], Takes::Json("AlertRequest"), 200, Gives::Json("Forecast")),
    make(("GET", "/api/v1/alerts/{id}"), RequiredRole::SeeOwn, "one alert", &[], Takes::Nothing, 200, Gives::Json("Alert")),
    make(("GET", "/api/v1/alerts/{id}/deliveries"), RequiredRole::SeeOwn, "its deliveries", &["state", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("Delivery")),
    make(("GET", "/api/v1/alerts/{id}/report"), RequiredRole::SeeOwn, "its report; as CSV its deliveries", &[], Takes::Nothing, 200, Gives::JsonOr("Report", &["text/csv", "application/xml"])),
    make(("GET", "/api/v1/alerts/{id}/events"), RequiredRole::SeeOwn, "server-sent events: progress, answer, done", &[], Takes::Nothing, 200, Gives::Media(&["text/event-stream"])),
    make(("GET", "/api/v1/alerts/{id}/cap"), RequiredRole::SeeOwn, "the alert as CAP 1.2", &[], Takes::Nothing, 200, Gives::Media(&["application/cap+xml"])).refuses(&[409]),
    make(("POST", "/api/v1/alerts/{id}:cancel"), RequiredRole::Change, "stop for good", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")).refuses(&[409]),
    make(("POST", "/api/v1/alerts/{id}:pause"), RequiredRole::Change, "stop for now", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")).refuses(&[409]),
    make(("POST", "/api/v1/alerts/{id}:resume"), RequiredRole::Change, "resume after a pause", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")).refuses(&[409]),
    make(("POST", "/api/v1/alerts/{id}:approve"), RequiredRole::Change, "approve as a second person", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")).refuses(&[409]),
    make(("POST", "/api/v1/alerts/{id}:retry-failed"), RequiredRole::Change, "retry failed deliveries", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")).refuses(&[409]),
    make(("POST", "/api/v1/alerts/{id}/observers"), RequiredRole::Change, "register an observer", &[], Takes::Json("Callback"), 201, Gives::Json("Observer")).refuses(&[409]),
    make(("GET", "/api/v1/alerts/{id}/observers"), RequiredRole::See, "its observers", &[], Takes::Nothing, 200, Gives::Page("Observer")),
    make(("DELETE", "/api/v1/alerts/{id}/observers/{observer}"), RequiredRole::Change, "remove an observer", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("POST", "/api/v1/answers"), RequiredRole::Change, "record an answer given by other means", &[], Takes::Json("AnswerRequest"), 204, Gives::Nothing).refuses(&[404, 409]),
    make(("POST", "/api/v1/cap"), RequiredRole::Submit, "submit a CAP 1.0 to 1.2 message", &["audience", "mode"], Takes::Media(&["application/cap+xml", "application/xml", "text/xml"]), 202, Gives::Json("CapSubmitted")).also(&[(200, Gives::Json("CapSubmitted")), (201, Gives::Json("CapSubmitted"))]).refuses(&[422]).keyed(),
    make(("POST", "/api/v1/attachments"), RequiredRole::Submit, "upload a file of any type; alerts name it by its id (the BLAKE3 hash of its content)", &[], Takes::Media(&["application/octet-stream", "*/*"]), 201, Gives::Json("Uploaded")),
    make(("GET", "/api/v1/attachments/{id}"), RequiredRole::SeeOwn, "the content of an attachment", &[], Takes::Nothing, 200, Gives::Media(&["application/octet-stream"])),
    make(("POST", "/api/v1/tokens"), RequiredRole::Tokens, "create a token; its secret is shown this once", &[], Takes::Json("TokenRequest"), 201, Gives::Json("NewToken")).refuses(&[404, 409]),
    make(("GET", "/api/v1/tokens"), RequiredRole::Tokens, "list tokens", &[], Takes::Nothing, 200, Gives::Page("Token")),
    make(("DELETE", "/api/v1/tokens/{id}"), RequiredRole::Tokens, "revoke a token", &[], Takes::Nothing, 204, Gives::Nothing).refuses(&[409]),
    make(("GET", "/api/v1/callback-secret"), RequiredRole::CallbackSecret, "the secret that signs the account's callbacks after Standard Webhooks", &[], Takes::Nothing, 200, Gives::Json("CallbackSecret")).refuses(&[404]),
    make(("GET", "/api/v1/audit"), RequiredRole::SeeAudit, "the audit trail, newest first; an account's admin sees its account's entries", crate::http::audit::SEARCH, Takes::Nothing, 200, Gives::Page("Act")),
    make(("GET", "/api/v1/audit:verify"), RequiredRole::VerifyAudit, "verify the chain of the audit trail, to its last link", &["head"], Takes::Nothing, 200, Gives::Json("AuditVerdict")),
    make(("POST", "/api/v1/accounts"), RequiredRole::ChangeMoney, "open an account", &[], Takes::Json("NewAccount"), 201, Gives::Json("Account")).refuses(&[404, 409]),
    make(("GET", "/api/v1/accounts"), RequiredRole::SeeMoney, "list accounts", PAGE, Takes::Nothing, 200, Gives::Page("Account")).refuses(&[404]),
    make(("GET", "/api/v1/accounts/{id}"), RequiredRole::SeeMoney, "an account's money", &[], Takes::Nothing, 200, Gives::Json("Account")).versions(Versions::Shows),
    make(("GET", "/api/v1/accounts/{id}/records"), RequiredRole::SeeMoney, "an account's charging records, the oldest first", &["from", "until", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("ChargingRecord")),
    make(("POST", "/api/v1/accounts/{id}:topup"), RequiredRole::ChangeMoney, "pay into an account", &[], Takes::Json("TopUp"), 200, Gives::Json("Account")).refuses(&[409]),
    make(("POST", "/api/v1/accounts/{id}:block"), RequiredRole::ChangeMoney, "block an account: it pays only amounts that are due", &[], Takes::Nothing, 200, Gives::Json("Account")).refuses(&[409]),
    make(("POST", "/api/v1/accounts/{id}:unblock"), RequiredRole::ChangeMoney, "unblock an account", &[], Takes::Nothing, 200, Gives::Json("Account")).refuses(&[409]),
    make(("PATCH", "/api/v1/accounts/{id}"), RequiredRole::ChangeMoney, "block or unblock an account, change its limit", &[], Takes::Patch("AccountChange"), 200, Gives::Json("Account")).refuses(&[409]).versions(Versions::ShowsAndChecks),
    make(("GET", "/api/v1/credit-sessions"), RequiredRole::SeeMoney, "an account's live sessions of credit control", &["account", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("CreditSession")).refuses(&[404]),
    make(("DELETE", "/api/v1/credit-sessions/{id}"), RequiredRole::ChangeMoney, "request the client to end a session (ASR); without a connected client it is released at once", &[], Takes::Nothing, 202, Gives::Json("EndedSession")).refuses(&[409]),
    make(("GET", "/api/v1/tariffs"), RequiredRole::SeePrices, "the tariffs in force", &[], Takes::Nothing, 200, Gives::Json("Tariffs")).refuses(&[404]).versions(Versions::Shows),
    make(("PUT", "/api/v1/tariffs"), RequiredRole::ChangeSystem, "set tariffs in place of those of the config", &[], Takes::Json("NewTariffs"), 200, Gives::Json("Tariffs")).refuses(&[404, 409]).versions(Versions::ShowsAndChecks),
    make(("DELETE", "/api/v1/tariffs"), RequiredRole::ChangeSystem, "return to the tariffs of the config", &[], Takes::Nothing, 200, Gives::Json("Tariffs")).refuses(&[404, 409]).versions(Versions::ShowsAndChecks),
    make(("GET", "/api/v1/diameter-peers"), RequiredRole::SeeSystem, "connected Diameter peers, and the rules of the API that admit peers", &[], Takes::Nothing, 200, Gives::Json("DiameterPeers")).refuses(&[404]),
    make(("POST", "/api/v1/diameter-peers"), RequiredRole::ChangeSystem, "admit peers of this name, realm and address", &[], Takes::Json("NewPeerRule"), 201, Gives::Json("PeerRule")).refuses(&[404, 409]),
    make(("DELETE", "/api/v1/diameter-peers/{id}"), RequiredRole::ChangeSystem, "remove such a rule; connected peers stay connected", &[], Takes::Nothing, 204, Gives::Nothing).refuses(&[409]),
    make(("POST", "/api/v1/reload"), RequiredRole::ChangeSystem, "read the config again", &[], Takes::Nothing, 200, Gives::Json("Reloaded")).refuses(&[404, 422]),
];

/// The row of an operation. HEAD is GET without its body.
pub(crate) fn row(method: &Method, path: &str) -> Option<&'static Operation> {
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    ROWS.iter().find(|row| row.method == method && row.path == path)
}

/// The table's path for a request: the router's, with the verb that is appended to an id. A POST's verb may
/// be unknown; with another method it is one of the table's, or a part of the id.
pub(crate) fn template(method: &Method, matched: &str, path: &str) -> String {
    let last = path.rsplit('/').next().unwrap_or_default();
    if let Some((id, verb)) = last.rsplit_once(':')
        && verbs(matched).next().is_some()
        && (method == Method::POST || (!ID_KINDS.contains(&id) && verbs(matched).any(|known| known == verb)))
    {
        return format!("{matched}:{verb}");
    }
    matched.to_owned()
}

/// Words before the colon of an account's id that make the rest of it a name, not a verb.
const ID_KINDS: [&str; 5] = ["e164", "imsi", "sip", "nai", "private"];

/// The verbs that the table has behind a path of the router.
pub(crate) fn verbs<'m>(matched: &'m str) -> impl Iterator<Item = &'static str> + use<'m> {
    let of = move |row: &'static Operation| row.path.strip_prefix(matched)?.strip_prefix(':');
    ROWS.iter().filter_map(of)
}

/// The methods of a path of the table, as Allow lists them: HEAD goes where GET goes.
pub(crate) fn methods(template: &str) -> Vec<&'static str> {
    let mut methods: Vec<&'static str> =
        ROWS.iter().filter(|row| row.path == template).map(|row| row.method).collect();
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    methods.sort_unstable();
    methods
}
