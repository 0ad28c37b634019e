//! Answers and errors of SCIM, in its media type.

use crate::http::problem::HttpProblem;
use ::scim::{ScimError, ScimType};
use axum::http::header::{CONTENT_TYPE, ETAG, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use store::StoreError;

const SCIM_JSON: &str = "application/scim+json";
/// Seconds after which a client that was refused for now may come again.
const RETRY_S: &str = "2";

/// An answer.
pub(super) struct ScimAnswer {
    status: StatusCode,
    body: Option<Value>,
    headers: Vec<(HeaderName, String)>,
}

/// What handlers give.
pub(super) type ScimResult = Result<ScimAnswer, ScimProblem>;

impl ScimAnswer {
    pub(super) fn json(body: Value) -> ScimAnswer {
        ScimAnswer { status: StatusCode::OK, body: Some(body), headers: Vec::new() }
    }

    pub(super) fn empty(status: StatusCode) -> ScimAnswer {
        ScimAnswer { status, body: None, headers: Vec::new() }
    }

    /// A resource with its version; a new one also with its place.
    pub(super) fn resource(status: StatusCode, body: Value, etag: String, location: String) -> ScimAnswer {
        let headers = vec![(ETAG, etag), (LOCATION, location)];
        ScimAnswer { status, body: Some(body), headers }
    }
}

impl IntoResponse for ScimAnswer {
    fn into_response(self) -> Response {
        let mut response = match self.body {
            Some(body) => (self.status, [(CONTENT_TYPE, SCIM_JSON)], body.to_string()).into_response(),
            None => self.status.into_response(),
        };
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}

/// A request that is refused.
#[derive(Debug)]
pub(super) struct ScimProblem(pub ScimError);

impl ScimProblem {
    pub(super) fn answer(self) -> ScimAnswer {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED {
            tracing::error!(detail = self.0.detail, "a SCIM request failed on the server's side");
        }
        let mut headers = Vec::new();
        if status == StatusCode::UNAUTHORIZED {
            headers.push((WWW_AUTHENTICATE, "Bearer realm=\"campanile\"".to_owned()));
        }
        if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            headers.push((RETRY_AFTER, RETRY_S.to_owned()));
        }
        ScimAnswer { status, body: Some(self.0.to_json()), headers }
    }
}

impl From<ScimError> for ScimProblem {
    fn from(error: ScimError) -> ScimProblem {
        ScimProblem(error)
    }
}

impl From<HttpProblem> for ScimProblem {
    fn from(problem: HttpProblem) -> ScimProblem {
        match problem.status() {
            StatusCode::UNPROCESSABLE_ENTITY => {
                ScimError::new(ScimType::InvalidValue, problem.detail()).into()
            }
            status => ScimProblem(ScimError::plain(status.as_u16(), problem.detail())),
        }
    }
}

impl From<StoreError> for ScimProblem {
    fn from(error: StoreError) -> ScimProblem {
        HttpProblem::from(error).into()
    }
}
