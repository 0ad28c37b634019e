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
    /// The same, or other media types.
    JsonOr(&'static str, &'static [&'static str]),
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
    /// A user has to have given the password or a factor again within ten minutes.
    pub is_dangerous: bool,
}

#[rustfmt::skip]
const fn make((method, path): (&'static str, &'static str), need: RequiredRole, about: &'static str, query: &'static [&'static str], takes: Takes, status: u16, gives: Gives) -> Operation {
    Operation { method, path, need, about, query, takes, status, gives, also: &[], refuses: &[], versions: Versions::Nothing, is_keyed: false, is_for_people: false, is_dangerous: false }
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

    const fn dangerous(self) -> Operation {
        Operation { is_dangerous: true, ..self }
    }

    /// Whether a browser's `EventSource` asks for it, which sends no headers of a page.
    pub(crate) fn is_event_stream(&self) -> bool {
        self.gives == EVENT_STREAM
    }

    /// Whether it concerns alerts, so that a session names its space. A test is one, to a single device.
    pub(crate) fn concerns_alerts(&self) -> bool {
        if self.method == "POST" && self.path.ends_with(":test") {
            return true;
        }
        let noun = self.path.strip_prefix("/api/v1/").and_then(|rest| rest.split(['/', ':']).next());
        noun.is_some_and(|noun| OF_ALERTS.contains(&noun))
    }
}

/// Server-sent events, which go on until the client has enough.
pub(crate) const EVENT_STREAM: Gives = Gives::Media(&["text/event-stream"]);
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
const XML: &[&str] = &["application/xml", "text/xml"];
const PAGE: &[&str] = &["cursor", "limit"];
/// Nouns whose operations concern alerts.
const OF_ALERTS: &[&str] = &[
    "alerts",
    "answers",
    "approvals",
    "audience",
    "cap",
    "drafts",
    "drills",
    "events",
    "help-cases",
    "messages",
    "reviews",
    "schedules",
    "templates",
    "tests",
];

/// What SCIM does: its media type and its errors are its own, so it is no row of the table.
pub(crate) static SCIM: Operation = make(
    ("POST", "/scim/v2"),
    RequiredRole::Directory,
    "people, groups and users of an identity provider",
    &[],
    Takes::Nothing,
    200,
    Gives::Nothing,
);

/// Every operation.
#[rustfmt::skip]
pub(crate) const ROWS: &[Operation] = &[
    make(("GET", "/plain"), RequiredRole::Nothing, "the list of alerts, as a page without scripts", &["cursor"], Takes::Nothing, 200, Gives::Media(HTML)).refuses(&[500, 503]),
    make(("POST", "/login"), RequiredRole::Nothing, "begin a browser's session", &[], Takes::Media(FORM), 303, Gives::Nothing).also(&[(401, Gives::Media(HTML)), (403, Gives::Media(HTML))]).refuses(&[500, 503]),
    make(("POST", "/logout"), RequiredRole::Nothing, "end a browser's session", &[], Takes::Media(FORM), 303, Gives::Nothing).refuses(&[403]),
    make(("GET", "/plain/alerts/{id}"), RequiredRole::Nothing, "an alert's live report, as a page that needs no scripts", &["state", "from"], Takes::Nothing, 200, Gives::Media(HTML)).also(&[(401, Gives::Media(HTML))]).refuses(&[500, 503]),
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
    make(("GET", "/api/v1/recipients"), RequiredRole::See, "list recipients; with q, group or health search them, with a total", &["filter", "q", "group", "health", "sort", "cursor", "limit"], Takes::Nothing, 200, Gives::Json("RecipientPage")),
    make(("GET", "/api/v1/recipients/{id}"), RequiredRole::See, "one recipient", &[], Takes::Nothing, 200, Gives::Json("Recipient")).versions(Versions::Shows),
    make(("PUT", "/api/v1/recipients/{id}"), RequiredRole::Directory, "add or replace a recipient", &[], Takes::Json("RecipientBody"), 200, Gives::Json("Recipient")).also(&[(201, Gives::Json("Recipient"))]).versions(Versions::ShowsAndChecks),
    make(("PATCH", "/api/v1/recipients/{id}"), RequiredRole::Directory, "change a recipient by a JSON merge patch", &[], Takes::Patch("RecipientBody"), 200, Gives::Json("Recipient")).versions(Versions::ShowsAndChecks),
    make(("DELETE", "/api/v1/recipients/{id}"), RequiredRole::Directory, "remove a recipient", &[], Takes::Nothing, 204, Gives::Nothing).versions(Versions::Checks),
    make(("POST", "/api/v1/recipients/{id}/devices/{n}:test"), RequiredRole::Directory, "send one test message to a person's n-th device, by the way that an alert would take", &[], Takes::Json("NewDeviceTest"), 202, Gives::Json("TestSent")),
    make(("POST", "/api/v1/recipients/{id}:erase"), RequiredRole::Directory, "forget a person everywhere; stops of their addresses are remembered by keyed hashes", &[], Takes::Nothing, 200, Gives::Json("Erased")),
    make(("POST", "/api/v1/recipients/{id}:page-link"), RequiredRole::Directory, "a link to the person's own page, for 30 days", &[], Takes::Nothing, 200, Gives::Json("PageLink")).refuses(&[409]),
    make(("GET", "/api/v1/recipients/{id}/export"), RequiredRole::Directory, "all that is known of a person", &[], Takes::Nothing, 200, Gives::Json("PersonExport")),
    make(("POST", "/api/v1/recipients:import"), RequiredRole::Directory, "import recipients of any number as a stream; with dry_run=true they wait as an import for a decision", &["on_problem", "dry_run", "mapping"], Takes::Media(PEOPLE_IN), 200, Gives::Json("Imported")).also(&[(202, Gives::Json("ImportJob"))]).refuses(&[422]).versions(Versions::Shows),
    make(("GET", "/api/v1/recipients:export"), RequiredRole::See, "all recipients as a stream", &[], Takes::Nothing, 200, Gives::Media(PEOPLE)),
    make(("GET", "/api/v1/imports"), RequiredRole::See, "list imports that were looked at first, newest first", PAGE, Takes::Nothing, 200, Gives::Page("ImportJob")),
    make(("GET", "/api/v1/imports/{id}"), RequiredRole::See, "one import: its state, what it would do, its first problems", &[], Takes::Nothing, 200, Gives::Json("ImportJob")).versions(Versions::Shows),
    make(("GET", "/api/v1/imports/{id}/problems.csv"), RequiredRole::See, "all problems of an import: row, column, value, reason", &[], Takes::Nothing, 200, Gives::Media(&["text/csv"])),
    make(("POST", "/api/v1/imports/{id}:commit"), RequiredRole::Directory, "make an import visible at one stroke", &["on_problem"], Takes::Nothing, 200, Gives::Json("ImportJob")).refuses(&[409]).versions(Versions::ShowsAndChecks),
    make(("POST", "/api/v1/imports/{id}:discard"), RequiredRole::Directory, "give up an import that waits", &[], Takes::Nothing, 200, Gives::Json("ImportJob")).refuses(&[409]).versions(Versions::ShowsAndChecks),
    make(("POST", "/api/v1/imports/{id}:undo"), RequiredRole::Directory, "take back an import that was committed within 24 hours", &[], Takes::Nothing, 200, Gives::Json("ImportJob")).refuses(&[409]).versions(Versions::ShowsAndChecks),
    make(("GET", "/api/v1/directories"), RequiredRole::See, "directories that people are imported from, as the config has them", &[], Takes::Nothing, 200, Gives::Page("Directory")),
    make(("POST", "/api/v1/directories/{id}:run"), RequiredRole::Directory, "import a directory's people; they wait for a decision unless dry_run=false", &["dry_run"], Takes::Nothing, 202, Gives::Json("ImportJob")).versions(Versions::Shows),
    make(("GET", "/api/v1/groups/{id}/people"), RequiredRole::See, "people of a group, each with what makes them a member", PAGE, Takes::Nothing, 200, Gives::Page("GroupPerson")),
    make(("POST", "/api/v1/groups:preview"), RequiredRole::See, "whom a rule fits: how many, and the first ten", &[], Takes::Json("RulePreview"), 200, Gives::Json("RulePreviewed")),
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
    make(("POST", "/api/v1/alerts"), RequiredRole::Submit, "submit an alert; with mode=sync wait until it is solved", &["mode"], Takes::JsonOr("AlertRequest", XML), 202, Gives::Json("Submitted")).also(&[(201, Gives::Json("Submitted"))]).keyed(),
    make(("GET", "/api/v1/alerts"), RequiredRole::SeeOwn, "list alerts, newest first; with a filter a page may have fewer, or none, before the last", &["state", "mode", "q", "from", "until", "origin", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("AlertSummary")),
    make(("POST", "/api/v1/alerts:forecast"), RequiredRole::Prepare, "forecast: audience, routes, duration, cost; nothing is sent", &[], Takes::JsonOr("AlertRequest", XML), 200, Gives::Json("Forecast")),
    make(("GET", "/api/v1/alerts/{id}"), RequiredRole::SeeOwn, "one alert", &[], Takes::Nothing, 200, Gives::Json("Alert")).versions(Versions::Shows),
    make(("GET", "/api/v1/alerts/{id}/forecast"), RequiredRole::SeeOwn, "its forecast as fixed before it was sent, what happened so far, and why they differ", &[], Takes::Nothing, 200, Gives::Json("AlertForecast")),
    make(("GET", "/api/v1/alerts/{id}/verdict"), RequiredRole::SeeOwn, "whether a part of its people were reached in time; what if a route were down; which limit to raise", &["target"], Takes::Nothing, 200, Gives::Json("AlertVerdict")),
    make(("POST", "/api/v1/drills:replay"), RequiredRole::Prepare, "replay a past alert over the people and limits of now, in simulated time; nothing is sent", &[], Takes::Json("ReplayRequest"), 200, Gives::Json("Replayed")).refuses(&[404]),
    make(("GET", "/api/v1/alerts/{id}/deliveries"), RequiredRole::SeeOwn, "its deliveries", &["state", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("Delivery")),
    make(("GET", "/api/v1/alerts/{id}/evidence"), RequiredRole::SeeOwn, "the signed head of the tree of its evidence, which is made when it has ended", &[], Takes::Nothing, 200, Gives::Json("Evidence")).refuses(&[409]),
    make(("GET", "/api/v1/alerts/{id}/evidence/export"), RequiredRole::SeeOwn, "its evidence as NDJSON: a header, then a line for each leaf, with its proof", &[], Takes::Nothing, 200, Gives::Media(&["application/x-ndjson"])).refuses(&[409]),
    make(("GET", "/api/v1/alerts/{id}/people"), RequiredRole::SeeOwn, "its people, each with state, reason, devices and answer; who is not known is listed by address", &["state", "reason", "answer", "channel", "route", "q", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("PersonOfAlert")),
    make(("GET", "/api/v1/alerts/{id}/answers"), RequiredRole::SeeOwn, "what its people answered, the last answer of each", &["choice", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("AlertAnswer")),
    make(("POST", "/api/v1/alerts/{id}/people/{recipient}:answer"), RequiredRole::Change, "record an answer for a person, such as from a list at the assembly point; it says by whom", &[], Takes::Json("RecordedAnswerRequest"), 204, Gives::Nothing).refuses(&[409]),
    make(("GET", "/api/v1/alerts/{id}/why/{recipient}"), RequiredRole::SeeOwn, "why a person got it, or did not: entries of the audience, constraints, devices", &[], Takes::Nothing, 200, Gives::Json("WhyPerson")),
    make(("GET", "/api/v1/alerts/{id}/timeline"), RequiredRole::SeeOwn, "what happened to it, newest first, in codes with arguments", &[], Takes::Nothing, 200, Gives::Json("Timeline")),
    make(("GET", "/api/v1/alerts/{id}/curve"), RequiredRole::SeeOwn, "how many people were reached, and answered, by when", &[], Takes::Nothing, 200, Gives::Json("AlertCurve")),
    make(("POST", "/api/v1/alerts/{id}/follow-ups"), RequiredRole::Submit, "send a follow-up to some of its people, or the all-clear to who got it", &[], Takes::Json("FollowUpRequest"), 202, Gives::Json("Submitted")).keyed(),
    make(("GET", "/api/v1/alerts/{id}/report"), RequiredRole::SeeOwn, "its report; as CSV its deliveries", &[], Takes::Nothing, 200, Gives::JsonOr("Report", &["text/csv", "application/xml"])),
    make(("GET", "/api/v1/alerts/{id}/events"), RequiredRole::SeeOwn, "server-sent events: progress, answer, done", &["answers", "space"], Takes::Nothing, 200, EVENT_STREAM),
    make(("GET", "/api/v1/events"), RequiredRole::See, "the one stream of a browser, as server-sent events: hello with the whole state, then alert, alerts, route, approval, notice", &["alerts", "space"], Takes::Nothing, 200, EVENT_STREAM).refuses(&[404]),
    make(("GET", "/api/v1/alerts/{id}/cap"), RequiredRole::SeeOwn, "the alert as CAP 1.2", &[], Takes::Nothing, 200, Gives::Media(&["application/cap+xml"])).refuses(&[409]),
    make(("POST", "/api/v1/alerts/{id}:cancel"), RequiredRole::Change, "stop for good", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")).also(&[(202, Gives::Json("AlertSummary"))]).refuses(&[409]),
    make(("POST", "/api/v1/alerts/{id}:pause"), RequiredRole::Change, "stop for now", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")).also(&[(202, Gives::Json("AlertSummary"))]).refuses(&[409]),
    make(("POST", "/api/v1/alerts/{id}:resume"), RequiredRole::Change, "resume after a pause", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")).refuses(&[409]),
    make(("GET", "/api/v1/approvals"), RequiredRole::See, "alerts that wait for approval, the oldest first", PAGE, Takes::Nothing, 200, Gives::Page("WaitingAlert")),
    make(("POST", "/api/v1/alerts/{id}:approve"), RequiredRole::Approve, "approve the version that If-Match names, as another person than who wrote it; with the last approval it is sent", &[], Takes::Json("ApproveRequest"), 200, Gives::Json("AlertSummary")).refuses(&[409]).versions(Versions::ShowsAndChecks),
    make(("POST", "/api/v1/alerts/{id}:return"), RequiredRole::Approve, "send it back: it is cancelled, and its draft opens again", &[], Takes::Json("ReasonRequest"), 200, Gives::Json("AlertSummary")).refuses(&[409]).versions(Versions::ShowsAndChecks),
    make(("POST", "/api/v1/alerts/{id}:reject"), RequiredRole::Approve, "refuse it: it is cancelled", &[], Takes::Json("ReasonRequest"), 200, Gives::Json("AlertSummary")).refuses(&[409]).versions(Versions::ShowsAndChecks),
    make(("POST", "/api/v1/alerts/{id}:send-alone"), RequiredRole::Change, "break the glass: send it without the approval it needs; all administrators are told, and another person has to review it", &[], Takes::Json("SendAloneRequest"), 200, Gives::Json("AlertSummary")).refuses(&[409]).versions(Versions::ShowsAndChecks),
    make(("POST", "/api/v1/alerts/{id}:review"), RequiredRole::Review, "another person's verdict on what was sent alone", &[], Takes::Json("ReviewRequest"), 200, Gives::Json("Review")).refuses(&[409]).versions(Versions::Checks),
    make(("GET", "/api/v1/reviews"), RequiredRole::See, "alerts that were sent alone and wait for a review", PAGE, Takes::Nothing, 200, Gives::Page("Review")),
    make(("POST", "/api/v1/alerts/{id}:retry-failed"), RequiredRole::Change, "retry failed deliveries", &[], Takes::Nothing, 200, Gives::Json("AlertSummary")).refuses(&[409]),
    make(("POST", "/api/v1/alerts/{id}:extend"), RequiredRole::Change, "let it end later; never earlier", &[], Takes::Json("ExtendRequest"), 200, Gives::Json("AlertSummary")).refuses(&[409]),
    make(("POST", "/api/v1/alerts/{id}/observers"), RequiredRole::Change, "register an observer", &[], Takes::Json("Callback"), 201, Gives::Json("Observer")).refuses(&[409]),
    make(("GET", "/api/v1/alerts/{id}/observers"), RequiredRole::See, "its observers", &[], Takes::Nothing, 200, Gives::Page("Observer")),
    make(("DELETE", "/api/v1/alerts/{id}/observers/{observer}"), RequiredRole::Change, "remove an observer", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("POST", "/api/v1/answers"), RequiredRole::Change, "record an answer given by other means", &[], Takes::Json("AnswerRequest"), 204, Gives::Nothing).refuses(&[404, 409]),
    make(("GET", "/api/v1/help-cases"), RequiredRole::See, "answers at which a person should look: who needs help, and in a drill also what is said in words; the live space shows those to drills too", &["state", "alert", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("HelpCase")),
    make(("POST", "/api/v1/help-cases/{id}:take"), RequiredRole::Change, "the caller looks after it", &[], Takes::Nothing, 200, Gives::Json("HelpCase")).refuses(&[409, 412]),
    make(("POST", "/api/v1/help-cases/{id}:note"), RequiredRole::Change, "note something about it", &[], Takes::Json("HelpNoteRequest"), 200, Gives::Json("HelpCase")).refuses(&[409, 412]),
    make(("POST", "/api/v1/help-cases/{id}:resolve"), RequiredRole::Change, "it is settled: reports no longer count it", &[], Takes::Json("HelpResolveRequest"), 200, Gives::Json("HelpCase")).refuses(&[409, 412]),
    make(("POST", "/api/v1/cap"), RequiredRole::Submit, "submit a CAP 1.0 to 1.2 message", &["audience", "mode"], Takes::Media(&["application/cap+xml", "application/xml", "text/xml"]), 202, Gives::Json("CapSubmitted")).also(&[(200, Gives::Json("CapSubmitted")), (201, Gives::Json("CapSubmitted"))]).refuses(&[422]).keyed(),
    make(("POST", "/api/v1/alerts:preview"), RequiredRole::Prepare, "preview: the texts of an alert as each channel, language and kind of device gets them; nothing is stored or sent", &["recipient"], Takes::Json("DraftBody"), 200, Gives::Json("AlertPreview")),
    make(("GET", "/api/v1/previews/{id}"), RequiredRole::Prepare, "the page of a mail that was previewed, for a frame; for some minutes, in the session that made it", &[], Takes::Nothing, 200, Gives::Media(HTML)),
    make(("POST", "/api/v1/audience:count"), RequiredRole::Prepare, "count the people of an alert's audience, by entry, device, language and reason", &[], Takes::Json("DraftBody"), 200, Gives::Json("AudienceCount")),
    make(("POST", "/api/v1/audience:people"), RequiredRole::See, "the people of an alert's audience: what names each, and what is used", &["entry", "reason", "cursor", "limit"], Takes::Json("DraftBody"), 200, Gives::Page("AudiencePerson")),
    make(("POST", "/api/v1/alerts:check"), RequiredRole::Draft, "check: what is wrong with an alert, and what is odd about it; nothing is refused, stored or sent", &[], Takes::Json("DraftBody"), 200, Gives::Json("AlertCheck")),
    make(("POST", "/api/v1/drafts"), RequiredRole::Draft, "create a draft", &[], Takes::Json("DraftBody"), 201, Gives::Json("AlertDraft")).versions(Versions::Shows),
    make(("GET", "/api/v1/drafts"), RequiredRole::Draft, "list drafts, the oldest first", &["state", "space", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("DraftSummary")),
    make(("GET", "/api/v1/drafts/{id}"), RequiredRole::Draft, "one draft", &[], Takes::Nothing, 200, Gives::Json("AlertDraft")).versions(Versions::Shows),
    make(("PUT", "/api/v1/drafts/{id}"), RequiredRole::Draft, "save a draft", &[], Takes::Json("DraftBody"), 200, Gives::Json("AlertDraft")).refuses(&[409]).versions(Versions::ShowsAndChecks),
    make(("PATCH", "/api/v1/drafts/{id}"), RequiredRole::Draft, "save a draft by a JSON merge patch", &[], Takes::Patch("DraftBody"), 200, Gives::Json("AlertDraft")).refuses(&[409]).versions(Versions::ShowsAndChecks),
    make(("DELETE", "/api/v1/drafts/{id}"), RequiredRole::Draft, "remove a draft and its versions", &[], Takes::Nothing, 204, Gives::Nothing).refuses(&[409]).versions(Versions::Checks),
    make(("POST", "/api/v1/drafts/{id}:submit"), RequiredRole::Submit, "make an alert of a draft, once", &[], Takes::Nothing, 202, Gives::Json("Submitted")).refuses(&[409, 422]).versions(Versions::Checks),
    make(("POST", "/api/v1/drafts/{id}:copy"), RequiredRole::Draft, "create another draft of the same, perhaps in the other space", &["space"], Takes::Nothing, 201, Gives::Json("AlertDraft")).versions(Versions::Shows),
    make(("GET", "/api/v1/drafts/{id}/versions"), RequiredRole::Draft, "its versions that are kept, the newest first", &[], Takes::Nothing, 200, Gives::Page("DraftVersionSummary")),
    make(("GET", "/api/v1/drafts/{id}/versions/{version}"), RequiredRole::Draft, "one of its versions", &[], Takes::Nothing, 200, Gives::Json("DraftVersion")),
    make(("POST", "/api/v1/templates"), RequiredRole::Compose, "add or replace a template", &[], Takes::Json("TemplateBody"), 200, Gives::Json("Template")).also(&[(201, Gives::Json("Template"))]).versions(Versions::ShowsAndChecks),
    make(("GET", "/api/v1/templates"), RequiredRole::See, "list templates", &["category", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("TemplateSummary")),
    make(("GET", "/api/v1/templates/{id}"), RequiredRole::See, "one template", &[], Takes::Nothing, 200, Gives::Json("Template")).versions(Versions::Shows),
    make(("PUT", "/api/v1/templates/{id}"), RequiredRole::Compose, "add or replace a template", &[], Takes::Json("TemplateBody"), 200, Gives::Json("Template")).also(&[(201, Gives::Json("Template"))]).versions(Versions::ShowsAndChecks),
    make(("DELETE", "/api/v1/templates/{id}"), RequiredRole::Compose, "remove a template", &[], Takes::Nothing, 204, Gives::Nothing).versions(Versions::Checks),
    make(("POST", "/api/v1/templates/{id}:draft"), RequiredRole::Draft, "create a draft of a template's alert or of its all-clear", &["part", "space"], Takes::Nothing, 201, Gives::Json("AlertDraft")).refuses(&[409]).versions(Versions::Shows),
    make(("POST", "/api/v1/areas"), RequiredRole::Compose, "add or replace a named area, or those of a GeoJSON FeatureCollection", &[], Takes::Json("NewAreas"), 200, Gives::OneOrMany("AreaFeature", "AreaVersion")).also(&[(201, Gives::Json("AreaFeature"))]).versions(Versions::ShowsAndChecks),
    make(("GET", "/api/v1/areas"), RequiredRole::See, "list named areas; as GeoJSON a FeatureCollection", PAGE, Takes::Nothing, 200, Gives::JsonOr("AreaList", &["application/geo+json"])),
    make(("GET", "/api/v1/areas/{id}"), RequiredRole::See, "one named area, as a GeoJSON Feature", &[], Takes::Nothing, 200, Gives::JsonOr("AreaFeature", &["application/geo+json"])).versions(Versions::Shows),
    make(("PUT", "/api/v1/areas/{id}"), RequiredRole::Compose, "add or replace a named area", &[], Takes::Json("AreaBody"), 200, Gives::Json("AreaFeature")).also(&[(201, Gives::Json("AreaFeature"))]).versions(Versions::ShowsAndChecks),
    make(("DELETE", "/api/v1/areas/{id}"), RequiredRole::Compose, "remove a named area", &[], Takes::Nothing, 204, Gives::Nothing).versions(Versions::Checks),
    make(("POST", "/api/v1/schedules"), RequiredRole::Schedule, "add or replace a schedule", &[], Takes::Json("ScheduleBody"), 200, Gives::Json("Schedule")).also(&[(201, Gives::Json("Schedule"))]).versions(Versions::ShowsAndChecks),
    make(("GET", "/api/v1/schedules"), RequiredRole::See, "list schedules", PAGE, Takes::Nothing, 200, Gives::Page("ScheduleSummary")),
    make(("GET", "/api/v1/schedules/{id}"), RequiredRole::See, "one schedule, with its next times and what became of its last ones", &[], Takes::Nothing, 200, Gives::Json("Schedule")).versions(Versions::Shows),
    make(("PUT", "/api/v1/schedules/{id}"), RequiredRole::Schedule, "add or replace a schedule", &[], Takes::Json("ScheduleBody"), 200, Gives::Json("Schedule")).also(&[(201, Gives::Json("Schedule"))]).versions(Versions::ShowsAndChecks),
    make(("PATCH", "/api/v1/schedules/{id}"), RequiredRole::Schedule, "change a schedule by a JSON merge patch", &[], Takes::Patch("SchedulePatch"), 200, Gives::Json("Schedule")).versions(Versions::ShowsAndChecks),
    make(("DELETE", "/api/v1/schedules/{id}"), RequiredRole::Schedule, "remove a schedule", &[], Takes::Nothing, 204, Gives::Nothing).versions(Versions::Checks),
    make(("POST", "/api/v1/schedules/{id}:run"), RequiredRole::Schedule, "send its alert now, in the caller's name", &[], Takes::Nothing, 202, Gives::Json("Submitted")).refuses(&[409]).keyed(),
    make(("POST", "/api/v1/schedules/{id}:skip"), RequiredRole::Schedule, "leave its next time out", &[], Takes::Nothing, 200, Gives::Json("Schedule")).refuses(&[409]).versions(Versions::ShowsAndChecks),
    make(("POST", "/api/v1/schedules/{id}:unskip"), RequiredRole::Schedule, "do not leave its next time out", &[], Takes::Nothing, 200, Gives::Json("Schedule")).refuses(&[409]).versions(Versions::ShowsAndChecks),
    make(("POST", "/api/v1/attachments"), RequiredRole::Prepare, "upload a file of any type; alerts name it by its id (the BLAKE3 hash of its content)", &[], Takes::Media(&["application/octet-stream", "*/*"]), 201, Gives::Json("Uploaded")),
    make(("GET", "/api/v1/attachments/{id}"), RequiredRole::SeeOwn, "the content of an attachment", &[], Takes::Nothing, 200, Gives::Media(&["application/octet-stream"])),
    make(("POST", "/api/v1/tokens"), RequiredRole::Tokens, "create a token; its secret is shown this once", &[], Takes::Json("TokenRequest"), 201, Gives::Json("NewToken")).refuses(&[404, 409]).dangerous(),
    make(("GET", "/api/v1/tokens"), RequiredRole::Tokens, "list tokens", &[], Takes::Nothing, 200, Gives::Page("Token")),
    make(("DELETE", "/api/v1/tokens/{id}"), RequiredRole::Tokens, "revoke a token", &[], Takes::Nothing, 204, Gives::Nothing).refuses(&[409]).dangerous(),
    make(("GET", "/api/v1/profiles"), RequiredRole::Tokens, "list client profiles of the account: what alerts of its tokens have where they say nothing", PAGE, Takes::Nothing, 200, Gives::Page("Profile")),
    make(("GET", "/api/v1/profiles/{id}"), RequiredRole::Tokens, "the profile of a token, by the token's id; of the whole account by account", &[], Takes::Nothing, 200, Gives::Json("Profile")).versions(Versions::Shows),
    make(("PUT", "/api/v1/profiles/{id}"), RequiredRole::Tokens, "add or replace a profile", &[], Takes::Json("ProfileBody"), 200, Gives::Json("Profile")).also(&[(201, Gives::Json("Profile"))]).refuses(&[409]).versions(Versions::ShowsAndChecks).dangerous(),
    make(("DELETE", "/api/v1/profiles/{id}"), RequiredRole::Tokens, "remove a profile", &[], Takes::Nothing, 204, Gives::Nothing).versions(Versions::Checks).dangerous(),
    make(("GET", "/api/v1/evidence-key"), RequiredRole::SeeOwn, "the public key that verifies evidence of alerts", &[], Takes::Nothing, 200, Gives::Json("EvidenceKey")),
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
    make(("PUT", "/api/v1/tariffs"), RequiredRole::ChangeSystem, "set tariffs in place of those of the config", &[], Takes::Json("NewTariffs"), 200, Gives::Json("Tariffs")).refuses(&[404, 409]).versions(Versions::ShowsAndChecks).dangerous(),
    make(("DELETE", "/api/v1/tariffs"), RequiredRole::ChangeSystem, "return to the tariffs of the config", &[], Takes::Nothing, 200, Gives::Json("Tariffs")).refuses(&[404, 409]).versions(Versions::ShowsAndChecks).dangerous(),
    make(("GET", "/api/v1/diameter-peers"), RequiredRole::SeeSystem, "connected Diameter peers, and the rules of the API that admit peers", &[], Takes::Nothing, 200, Gives::Json("DiameterPeers")).refuses(&[404]),
    make(("POST", "/api/v1/diameter-peers"), RequiredRole::ChangeSystem, "admit peers of this name, realm and address", &[], Takes::Json("NewPeerRule"), 201, Gives::Json("PeerRule")).refuses(&[404, 409]).dangerous(),
    make(("DELETE", "/api/v1/diameter-peers/{id}"), RequiredRole::ChangeSystem, "remove such a rule; connected peers stay connected", &[], Takes::Nothing, 204, Gives::Nothing).refuses(&[409]).dangerous(),
    make(("GET", "/api/v1/routes"), RequiredRole::SeeSystem, "how each route stands: state, sessions, rate, what waits, the latest error, what takes its place", PAGE, Takes::Nothing, 200, Gives::Page("CarrierRoute")),
    make(("GET", "/api/v1/routes/{id}"), RequiredRole::SeeSystem, "one route by its name, with its last errors and what to do about them", &[], Takes::Nothing, 200, Gives::Json("CarrierRoute")),
    make(("GET", "/api/v1/routes/{id}/history"), RequiredRole::SeeSystem, "what a route sent, what was refused and what waited in the last 15 minutes, a point each 10 seconds", &[], Takes::Nothing, 200, Gives::Json("RouteHistory")),
    make(("POST", "/api/v1/routes/{id}:hold"), RequiredRole::ChangeSystem, "stop the use of a route until it is released: what was given to it takes another way or waits", &[], Takes::Json("NewRouteHold"), 200, Gives::Json("RouteHold")).refuses(&[409]),
    make(("POST", "/api/v1/routes/{id}:release"), RequiredRole::ChangeSystem, "take the use of a route up again", &[], Takes::Nothing, 204, Gives::Nothing).refuses(&[409]),
    make(("POST", "/api/v1/routes/{id}:test"), RequiredRole::ChangeSystem, "send one test message by exactly this route", &[], Takes::Json("NewRouteTest"), 202, Gives::Json("TestSent")).refuses(&[409]),
    make(("GET", "/api/v1/tests/{id}"), RequiredRole::See, "how far a test message got", &[], Takes::Nothing, 200, Gives::Json("TestMessage")),
    make(("GET", "/api/v1/messages"), RequiredRole::See, "messages of platforms: one by its id, or those to or from a number, the newest first", &["id", "number", "client", "cursor", "limit"], Takes::Nothing, 200, Gives::Page("PlatformMessage")),
    make(("GET", "/api/v1/messages/{id}"), RequiredRole::See, "a message of a platform, step by step", &[], Takes::Nothing, 200, Gives::Json("PlatformMessageCourse")),
    make(("GET", "/api/v1/clients"), RequiredRole::SeeClients, "clients of the SMPP door with their sessions in this process, and platforms", PAGE, Takes::Nothing, 200, Gives::Page("MessageClient")),
    make(("GET", "/api/v1/clients/{id}"), RequiredRole::SeeClients, "one client, by its system_id, or a platform by its username", &[], Takes::Nothing, 200, Gives::Json("MessageClient")),
    make(("POST", "/api/v1/clients/{id}:unbind"), RequiredRole::ChangeSystem, "unbind a client's sessions in this process, in order; it may bind again", &[], Takes::Json("ReasonRequest"), 202, Gives::Json("UnboundClient")).refuses(&[409]).dangerous(),
    make(("GET", "/api/v1/topics"), RequiredRole::SeeSystem, "text topics of the topic door", PAGE, Takes::Nothing, 200, Gives::Page("TextTopic")),
    make(("GET", "/api/v1/topics/{id}/messages"), RequiredRole::SeeSystem, "messages of a text topic, from a number on", &["from", "limit"], Takes::Nothing, 200, Gives::Json("TopicMessages")),
    make(("GET", "/api/v1/edge-sites"), RequiredRole::SeeSystem, "edge sites, as the config has them", &[], Takes::Nothing, 200, Gives::Page("EdgeSite")),
    make(("GET", "/api/v1/server"), RequiredRole::SeeSystem, "how the server stands: version, processes, store, bus, disk, backlog", &[], Takes::Nothing, 200, Gives::Json("ServerState")),
    make(("GET", "/api/v1/setup"), RequiredRole::SeeSystem, "what of the first run is done", &[], Takes::Nothing, 200, Gives::Json("SetupState")),
    make(("PATCH", "/api/v1/setup"), RequiredRole::ChangeSystem, "name the organisation and its time zone, where the config does not", &[], Takes::Patch("SiteSettings"), 200, Gives::Json("SetupState")).refuses(&[409]),
    make(("GET", "/api/v1/config"), RequiredRole::ChangeSystem, "the config in sections with their lines, without secrets", &[], Takes::Nothing, 200, Gives::Json("ShownConfig")).refuses(&[404]),
    make(("POST", "/api/v1/config:check"), RequiredRole::ChangeSystem, "problems of a config's text; changes nothing", &[], Takes::Json("ConfigText"), 200, Gives::Json("CheckedConfig")).refuses(&[404]),
    make(("POST", "/api/v1/reload"), RequiredRole::ChangeSystem, "read the config again", &[], Takes::Nothing, 200, Gives::Json("Reloaded")).refuses(&[404, 422]),
    make(("GET", "/api/v1/readiness"), RequiredRole::SeeOwn, "whether everything is ready: the last drill, people without a device, money, routes that are down; what is not known is null", &[], Takes::Nothing, 200, Gives::Json("Readiness")),
    make(("GET", "/api/v1/map"), RequiredRole::See, "the map of the operators' own: its tiles and outlines", &[], Takes::Nothing, 200, Gives::Json("OwnMap")),
    make(("GET", "/api/v1/map/tiles/{z}/{x}/{y}"), RequiredRole::See, "a tile of the map, whose rows are counted from the north", &["v"], Takes::Nothing, 200, Gives::Media(&["image/png", "image/jpeg", "image/webp"])),
    make(("GET", "/api/v1/map/outlines"), RequiredRole::See, "outlines over the map, as GeoJSON", &["v"], Takes::Nothing, 200, Gives::Media(&["application/geo+json"])).refuses(&[404]),
    make(("GET", "/api/v1/demo"), RequiredRole::See, "what a demonstration lets people break", &[], Takes::Nothing, 200, Gives::Json("Demo")).refuses(&[404]),
    make(("POST", "/api/v1/demo/carriers/{id}"), RequiredRole::Change, "break a simulated carrier of a demonstration, or mend it", &[], Takes::Json("DemoBehaviour"), 200, Gives::Json("DemoCarrier")),
    make(("GET", "/api/v1/session"), RequiredRole::Nothing, "the session of this browser, and the value that its writes bring in X-Campanile-CSRF", &[], Takes::Nothing, 200, Gives::Json("Session")).refuses(&[401, 500, 503]),
    make(("POST", "/api/v1/session"), RequiredRole::Nothing, "sign in with a password or a passkey; a session begins", &[], Takes::Json("SignIn"), 200, Gives::Json("Session")).refuses(&[401, 403, 404, 429, 500, 503, 507]),
    make(("DELETE", "/api/v1/session"), RequiredRole::Nothing, "sign out; the session ends", &[], Takes::Nothing, 204, Gives::Nothing).refuses(&[403, 500, 503]),
    make(("GET", "/api/v1/session/options"), RequiredRole::Nothing, "the ways to sign in, with the options for a passkey", &[], Takes::Nothing, 200, Gives::Json("SignInOptions")).refuses(&[500]),
    make(("POST", "/api/v1/session:second"), RequiredRole::Nothing, "the second factor of a sign-in", &[], Takes::Json("SecondFactor"), 200, Gives::Json("Session")).refuses(&[401, 403, 409, 429, 500, 503, 507]),
    make(("POST", "/api/v1/session:confirm"), RequiredRole::SignedIn, "give the password or a factor again; holds ten minutes for users, tokens, policy and tariffs", &[], Takes::Json("Confirmation"), 200, Gives::Json("Session")),
    make(("POST", "/api/v1/invitations:accept"), RequiredRole::Nothing, "accept an invitation or a reset, and set the password; counts once", &[], Takes::Json("AcceptedInvitation"), 200, Gives::Json("InvitedUser")).refuses(&[403, 404, 429, 500, 503, 507]),
    make(("GET", "/api/v1/users"), RequiredRole::Users, "list users", PAGE, Takes::Nothing, 200, Gives::Page("User")),
    make(("POST", "/api/v1/users"), RequiredRole::Users, "create a user; an invitation follows by :invite", &[], Takes::Json("NewUser"), 201, Gives::Json("User")).refuses(&[409]).versions(Versions::Shows).dangerous(),
    make(("GET", "/api/v1/users/{id}"), RequiredRole::Users, "one user", &[], Takes::Nothing, 200, Gives::Json("User")).versions(Versions::Shows),
    make(("PATCH", "/api/v1/users/{id}"), RequiredRole::Users, "change a user; other rights end the user's sessions", &[], Takes::Patch("UserBody"), 200, Gives::Json("User")).refuses(&[409]).versions(Versions::ShowsAndChecks).dangerous(),
    make(("DELETE", "/api/v1/users/{id}"), RequiredRole::Users, "remove a user; the sessions end", &[], Takes::Nothing, 204, Gives::Nothing).refuses(&[409]).versions(Versions::Checks).dangerous(),
    make(("POST", "/api/v1/users/{id}:invite"), RequiredRole::Users, "a link by which the user sets a password; 24 hours, once", &[], Takes::Nothing, 200, Gives::Json("Invitation")).refuses(&[409]).dangerous(),
    make(("POST", "/api/v1/users/{id}:reset"), RequiredRole::Users, "a link for another password, perhaps without the second factors; 24 hours, once", &[], Takes::Json("ResetRequest"), 200, Gives::Json("Invitation")).refuses(&[409]).dangerous(),
    make(("GET", "/api/v1/users/{id}/sessions"), RequiredRole::Users, "a user's sessions", &[], Takes::Nothing, 200, Gives::Page("UserSession")),
    make(("DELETE", "/api/v1/users/{id}/sessions"), RequiredRole::Users, "end all of a user's sessions", &[], Takes::Nothing, 204, Gives::Nothing).dangerous(),
    make(("DELETE", "/api/v1/users/{id}/sessions/{session}"), RequiredRole::Users, "end a session of a user", &[], Takes::Nothing, 204, Gives::Nothing).dangerous(),
    make(("GET", "/api/v1/me"), RequiredRole::SignedIn, "the user who signed in", &[], Takes::Nothing, 200, Gives::Json("User")),
    make(("PUT", "/api/v1/me/password"), RequiredRole::SignedIn, "another password; all other sessions end", &[], Takes::Json("PasswordChange"), 200, Gives::Json("Session")),
    make(("POST", "/api/v1/me/totp"), RequiredRole::SignedIn, "a new secret for one-time codes; it counts once a code of it was given", &[], Takes::Nothing, 200, Gives::Json("TotpSecret")).dangerous(),
    make(("PUT", "/api/v1/me/totp"), RequiredRole::SignedIn, "switch one-time codes on by a code of the new secret; the recovery codes are shown this once", &[], Takes::Json("TotpCode"), 200, Gives::Json("RecoveryCodes")).refuses(&[409]).dangerous(),
    make(("DELETE", "/api/v1/me/totp"), RequiredRole::SignedIn, "switch one-time codes off", &[], Takes::Nothing, 200, Gives::Json("Session")).dangerous(),
    make(("POST", "/api/v1/me/recovery-codes"), RequiredRole::SignedIn, "ten new recovery codes in place of all before; shown this once", &[], Takes::Nothing, 200, Gives::Json("RecoveryCodes")).refuses(&[409]).dangerous(),
    make(("GET", "/api/v1/me/passkeys"), RequiredRole::SignedIn, "one's passkeys", &[], Takes::Nothing, 200, Gives::Page("Passkey")),
    make(("POST", "/api/v1/me/passkeys:options"), RequiredRole::SignedIn, "options for the browser's dialog that makes a passkey; five minutes", &[], Takes::Nothing, 200, Gives::Json("PasskeyOptions")).refuses(&[404]).dangerous(),
    make(("POST", "/api/v1/me/passkeys"), RequiredRole::SignedIn, "register a passkey", &[], Takes::Json("NewPasskey"), 201, Gives::Json("Passkey")).refuses(&[404, 409]).dangerous(),
    make(("DELETE", "/api/v1/me/passkeys/{id}"), RequiredRole::SignedIn, "remove a passkey", &[], Takes::Nothing, 200, Gives::Json("Session")).refuses(&[409]).dangerous(),
    make(("GET", "/api/v1/me/sessions"), RequiredRole::SignedIn, "one's sessions", &[], Takes::Nothing, 200, Gives::Page("UserSession")),
    make(("DELETE", "/api/v1/me/sessions"), RequiredRole::SignedIn, "end all of one's sessions but this one", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("DELETE", "/api/v1/me/sessions/{session}"), RequiredRole::SignedIn, "end one of one's sessions", &[], Takes::Nothing, 204, Gives::Nothing),
    make(("GET", "/auth/link/{secret}"), RequiredRole::Nothing, "sign in by a one-time link that this process made, in a browser of its own machine", &[], Takes::Nothing, 303, Gives::Nothing).for_people().refuses(&[404, 429, 500, 503, 507]),
    make(("GET", "/auth/oidc/start"), RequiredRole::Nothing, "sign in at the OpenID Connect provider: leads there", &[], Takes::Nothing, 303, Gives::Nothing).refuses(&[401, 404, 500, 503]),
    make(("GET", "/auth/oidc/callback"), RequiredRole::Nothing, "the way back from the provider; a session begins", &["code", "state", "iss", "error", "error_description", "session_state", "scope"], Takes::Nothing, 303, Gives::Nothing).refuses(&[401, 403, 404, 409, 429, 500, 503, 507]),
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
