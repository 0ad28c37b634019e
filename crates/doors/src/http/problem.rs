//! Problem documents of RFC 9457, with stable types.

use crate::http::request::query::etag;
use axum::http::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::{ApprovalRefusal, EngineError};
use serde_json::{Map, Value, json};
use store::StoreError;

/// Fields listed in one problem document; more are counted.
pub(crate) const FIELDS_MAX: usize = 100;
/// Prefix of a problem's type.
const TYPE_PREFIX: &str = "urn:campanile:problem:";
/// The media type of RFC 9457, section 3.
const PROBLEM_JSON: &str = "application/problem+json";

/// A kind of problem. Its slug is stable: clients compare it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProblemKind {
    MalformedBody,
    BadQuery,
    BadHeader,
    NoToken,
    BadToken,
    SignInFailed,
    SecondFactorNeeded,
    SessionEnded,
    WrongRole,
    WrongSpace,
    OutOfScope,
    ConfirmationNeeded,
    CrossSite,
    AnotherPerson,
    BadForm,
    UnknownPath,
    NotFound,
    WrongMethod,
    NotAcceptable,
    TooSlow,
    WrongState,
    VersionChanged,
    TooLarge,
    WrongMediaType,
    WrongEncoding,
    InvalidFields,
    KeyTaken,
    TooMany,
    Internal,
    Busy,
    DiskFull,
    QuotaReached,
}

impl ProblemKind {
    /// Status, slug of the type, title.
    fn row(self) -> (StatusCode, &'static str, &'static str) {
        use StatusCode as S;
        match self {
            ProblemKind::MalformedBody => (S::BAD_REQUEST, "malformed-body", "The body cannot be read"),
            ProblemKind::BadQuery => (S::BAD_REQUEST, "bad-query", "The query is wrong"),
            ProblemKind::BadHeader => (S::BAD_REQUEST, "bad-header", "A header is wrong"),
            ProblemKind::NoToken => (S::UNAUTHORIZED, "no-token", "A token is needed"),
            ProblemKind::BadToken => (S::UNAUTHORIZED, "bad-token", "The token is not valid"),
            ProblemKind::SignInFailed => (S::UNAUTHORIZED, "sign-in-failed", "Signing in failed"),
            ProblemKind::SecondFactorNeeded => {
                (S::UNAUTHORIZED, "second-factor-needed", "The second factor is still to be given")
            }
            ProblemKind::SessionEnded => (S::UNAUTHORIZED, "session-ended", "The session has ended"),
            ProblemKind::WrongSpace => (S::FORBIDDEN, "wrong-space", "This is of the other space"),
            ProblemKind::OutOfScope => (S::FORBIDDEN, "out-of-scope", "This is beyond the user's limits"),
            ProblemKind::ConfirmationNeeded => {
                (S::FORBIDDEN, "confirmation-needed", "The password is to be given again")
            }
            ProblemKind::CrossSite => {
                (S::FORBIDDEN, "cross-site-request", "The request is not this site's own")
            }
            ProblemKind::WrongRole => (S::FORBIDDEN, "wrong-role", "The token's role does not allow this"),
            ProblemKind::AnotherPerson => {
                (S::FORBIDDEN, "another-person", "Another person has to decide this")
            }
            ProblemKind::BadForm => (S::FORBIDDEN, "bad-form", "The form is too old or not ours"),
            ProblemKind::UnknownPath => (S::NOT_FOUND, "unknown-path", "There is no such path"),
            ProblemKind::NotFound => (S::NOT_FOUND, "not-found", "There is no such thing"),
            ProblemKind::WrongMethod => {
                (S::METHOD_NOT_ALLOWED, "wrong-method", "The method is not allowed here")
            }
            ProblemKind::NotAcceptable => {
                (S::NOT_ACCEPTABLE, "not-acceptable", "None of the accepted types can be made")
            }
            ProblemKind::TooSlow => (S::REQUEST_TIMEOUT, "too-slow", "The body came too slowly"),
            ProblemKind::WrongState => (S::CONFLICT, "wrong-state", "The state does not allow this"),
            ProblemKind::VersionChanged => {
                (S::PRECONDITION_FAILED, "version-changed", "It has changed since")
            }
            ProblemKind::TooLarge => (S::PAYLOAD_TOO_LARGE, "too-large", "The body is too large"),
            ProblemKind::WrongMediaType => {
                (S::UNSUPPORTED_MEDIA_TYPE, "wrong-media-type", "The body's type is not taken here")
            }
            ProblemKind::WrongEncoding => {
                (S::UNSUPPORTED_MEDIA_TYPE, "wrong-encoding", "The body's encoding is not taken")
            }
            ProblemKind::InvalidFields => {
                (S::UNPROCESSABLE_ENTITY, "invalid-fields", "Some fields are wrong")
            }
            ProblemKind::KeyTaken => (S::UNPROCESSABLE_ENTITY, "key-taken", "The Idempotency-Key is taken"),
            ProblemKind::TooMany => (S::TOO_MANY_REQUESTS, "too-many-requests", "Too many requests"),
            ProblemKind::Internal => (S::INTERNAL_SERVER_ERROR, "internal", "The server failed"),
            ProblemKind::Busy => (S::SERVICE_UNAVAILABLE, "busy", "The server is busy"),
            ProblemKind::DiskFull => (S::INSUFFICIENT_STORAGE, "disk-full", "The disk is full"),
            ProblemKind::QuotaReached => {
                (S::INSUFFICIENT_STORAGE, "quota-reached", "The account has no room left")
            }
        }
    }
}

/// A problem on its way to the client.
#[derive(Debug, Clone)]
pub(crate) struct HttpProblem {
    kind: ProblemKind,
    detail: String,
    fields: Fields,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Members of its own kind (RFC 9457, section 3.2); they stand before ours of the same name.
    members: Option<Box<Map<String, Value>>>,
}

/// Results of handlers.
pub(crate) type HttpResult<T> = Result<T, HttpProblem>;

impl HttpProblem {
    pub(crate) fn new(kind: ProblemKind, detail: impl Into<String>) -> HttpProblem {
        HttpProblem {
            kind,
            detail: detail.into(),
            fields: Fields::default(),
            headers: Vec::new(),
            members: None,
        }
    }

    /// One wrong field.
    pub(crate) fn field(
        kind: ProblemKind,
        field: impl Into<String>,
        reason: impl Into<String>,
    ) -> HttpProblem {
        let mut fields = Fields::default();
        fields.push(field, reason);
        HttpProblem::fields(kind, fields)
    }

    /// Wrong fields; the detail is made from the first.
    pub(crate) fn fields(kind: ProblemKind, fields: Fields) -> HttpProblem {
        let detail = fields.detail();
        HttpProblem { kind, detail, fields, headers: Vec::new(), members: None }
    }

    /// Refused for now: `limit` of these are under way.
    pub(crate) fn busy(what: &str, limit: usize) -> HttpProblem {
        HttpProblem::new(ProblemKind::Busy, format!("{what}: at most {limit} at once")).retry_after(5)
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> HttpProblem {
        self.headers.push((name, value));
        self
    }

    /// Adds the members of an object.
    pub(crate) fn with_members(mut self, members: Value) -> HttpProblem {
        if let Value::Object(members) = members {
            self.members = Some(Box::new(members));
        }
        self
    }

    /// The same of fields under other names.
    pub(crate) fn with_paths(mut self, path: impl Fn(&str) -> String) -> HttpProblem {
        if !self.fields.is_empty() {
            self.fields.listed.iter_mut().for_each(|problem| problem.field = path(&problem.field));
            self.detail = self.fields.detail();
        }
        self
    }

    /// Tells the client when to come again; whole seconds, rounded up.
    pub(crate) fn retry_after(self, seconds: u64) -> HttpProblem {
        self.with_header(RETRY_AFTER, HeaderValue::from(seconds.max(1)))
    }

    fn document(&self, status: StatusCode, slug: &str, title: &str) -> Value {
        let mut document = json!({
            "type": format!("{TYPE_PREFIX}{slug}"),
            "title": title,
            "status": status.as_u16(),
            "detail": self.detail,
        });
        if !self.fields.is_empty() {
            document["problems"] = json!(self.fields.listed);
        }
        if self.fields.more > 0 {
            document["more_problems"] = self.fields.more.into();
        }
        for (name, value) in self.members.iter().flat_map(|members| members.iter()) {
            document[name.as_str()] = value.clone();
        }
        document
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.kind.row().0
    }

    /// The stable end of its type.
    pub(crate) fn slug(&self) -> &'static str {
        self.kind.row().1
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }
}

impl IntoResponse for HttpProblem {
    fn into_response(self) -> Response {
        let (status, slug, title) = self.kind.row();
        if status.is_server_error() {
            tracing::error!(kind = slug, detail = %self.detail, "a request failed on the server's side");
        }
        let body = self.document(status, slug, title).to_string();
        let mut response = (status, [(CONTENT_TYPE, PROBLEM_JSON)], body).into_response();
        if status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"campanile\""));
        }
        if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(BUSY_RETRY_S));
        }
        for (name, value) in self.headers {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// Wrong fields, as many as are worth listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    listed: Vec<engine::Problem>,
    more: u64,
}

impl Fields {
    pub(crate) fn push(&mut self, field: impl Into<String>, reason: impl Into<String>) {
        if self.listed.len() < FIELDS_MAX {
            self.listed.push(engine::Problem { field: field.into(), reason: reason.into() });
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    pub(crate) fn listed(&self) -> &[engine::Problem] {
        &self.listed
    }

    fn detail(&self) -> String {
        match (self.listed.first(), self.listed.len() as u64 + self.more) {
            (None, _) => String::new(),
            (Some(first), 1) => format!("{}: {}", first.field, first.reason),
            (Some(first), count) => format!("{}: {} (and {} more)", first.field, first.reason, count - 1),
        }
    }
}

impl From<Vec<engine::Problem>> for Fields {
    fn from(problems: Vec<engine::Problem>) -> Fields {
        let mut fields = Fields::default();
        for problem in problems {
            fields.push(problem.field, problem.reason);
        }
        fields
    }
}

impl From<StoreError> for HttpProblem {
    fn from(error: StoreError) -> HttpProblem {
        let kind = match &error {
            StoreError::DiskFull => ProblemKind::DiskFull,
            StoreError::Conflict { .. } => ProblemKind::WrongState,
            StoreError::Closed
            | StoreError::Fenced { .. }
            | StoreError::Unreachable { .. }
            | StoreError::NotNoted { .. } => ProblemKind::Busy,
            StoreError::Database { .. } | StoreError::Damaged { .. } => ProblemKind::Internal,
        };
        HttpProblem::new(kind, error.to_string())
    }
}

/// Seconds after which a client refused for being one too many may come again.
const BUSY_RETRY_S: u64 = 2;

impl From<EngineError> for HttpProblem {
    fn from(error: EngineError) -> HttpProblem {
        let detail = error.to_string();
        match error {
            EngineError::Unprocessable(problems) => {
                HttpProblem::fields(ProblemKind::InvalidFields, problems.into())
            }
            EngineError::KeyTaken => HttpProblem::field(ProblemKind::KeyTaken, "Idempotency-Key", detail),
            EngineError::NotFound => HttpProblem::new(ProblemKind::NotFound, detail),
            EngineError::WrongState { .. } => HttpProblem::new(ProblemKind::WrongState, detail),
            EngineError::Approval(refusal) => refused(&refusal),
            EngineError::DiskFull => HttpProblem::new(ProblemKind::DiskFull, detail),
            EngineError::Busy(_) => HttpProblem::new(ProblemKind::Busy, detail).retry_after(BUSY_RETRY_S),
            EngineError::Internal(_) => HttpProblem::new(ProblemKind::Internal, detail),
        }
    }
}

/// Why a decision about an alert that waits does not count, with what a program needs to go on.
fn refused(refusal: &ApprovalRefusal) -> HttpProblem {
    let detail = refusal.to_string();
    let changed = |version: u32, members: Value| {
        let (name, value) = etag(u64::from(version));
        HttpProblem::new(ProblemKind::VersionChanged, &detail).with_header(name, value).with_members(members)
    };
    match *refusal {
        ApprovalRefusal::NotAPerson => HttpProblem::new(ProblemKind::WrongRole, detail),
        ApprovalRefusal::OwnAlert | ApprovalRefusal::ApprovedAlready => {
            HttpProblem::new(ProblemKind::AnotherPerson, detail)
        }
        ApprovalRefusal::VersionChanged { version } => changed(version, json!({"version": version})),
        ApprovalRefusal::AudienceGrew { version, people, .. } => {
            changed(version, json!({"version": version, "people": people}))
        }
        ApprovalRefusal::TypePeople { people } => {
            HttpProblem::field(ProblemKind::InvalidFields, "people", detail)
                .with_members(json!({"people": people}))
        }
        ApprovalRefusal::Expired => HttpProblem::new(ProblemKind::WrongState, detail),
    }
}

#[cfg(test)]
impl HttpProblem {
    /// Field and reason of each, for tests.
    pub(crate) fn listed(&self) -> Vec<(String, String)> {
        self.fields.listed.iter().map(|p| (p.field.clone(), p.reason.clone())).collect()
    }
}
