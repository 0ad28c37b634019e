//! Guard of SCIM: a token that may change people, of the account that it provisions.

use super::answer::ScimProblem;
use crate::http::app::App;
use crate::http::auth::{Caller, RequestOrigin, admit};
use crate::http::role_matrix::{Reach, RequiredRole};
use crate::http::routes;
use ::scim::ScimError;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;

/// The token of an identity provider.
pub(super) struct ScimCaller(pub Caller);

impl ScimCaller {
    pub(super) fn account(&self) -> &str {
        self.0.account()
    }

    /// It may make, change and switch off users who sign in.
    pub(super) fn changes_users(&self) -> bool {
        self.0.reach_with(RequiredRole::Users) > Reach::Nothing
    }
}

impl FromRequestParts<App> for ScimCaller {
    type Rejection = ScimProblem;
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<ScimCaller, ScimProblem> {
        let origin = RequestOrigin::of(&parts.extensions);
        let admitted = admit(app, &parts.headers, (&routes::SCIM, &origin)).await?;
        let caller = admitted.at(Some(origin.client));
        if caller.user.is_some() {
            let detail = "SCIM is for programs: send a token, not a session";
            return Err(ScimError::plain(403, detail).into());
        }
        Ok(ScimCaller(caller))
    }
}
