//! Authors of drafts, templates and schedules: tokens and signed-in users, by the id that stands in the audit
//! trail, and whether they may still send what they wrote.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::auth::signed_in::USER_PREFIX;
use crate::http::auth::user_session;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::Query;
use crate::http::role_matrix::{Reach, RequiredRole};
use crate::http::users::record::{self, StoredUser};
use records::{ApprovalPerson, Mode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Who wrote something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Author {
    /// A token's id, or `user:` and a user's.
    pub id: String,
    /// As people know them.
    pub name: String,
}

impl Author {
    pub(crate) fn of(caller: &Caller) -> Author {
        let name = caller.user.as_ref().map_or(&caller.token.name, |user| &user.full_name);
        Author { id: caller.token.id.clone(), name: name.clone() }
    }

    pub(crate) fn view(&self) -> Value {
        json!({"id": self.id, "name": self.name})
    }

    /// The author as one of the people who wrote an alert; nothing: a program did. Somebody who is gone still
    /// wrote what they wrote.
    pub(crate) async fn as_person(&self, app: &App, account: &str) -> HttpResult<Option<ApprovalPerson>> {
        let Some(id) = self.id.strip_prefix(USER_PREFIX) else { return Ok(None) };
        let found = record::find(&app.store, account, id).await?;
        let person = found.and_then(|user| user.record.profile.person).unwrap_or_else(|| id.to_owned());
        Ok(Some(ApprovalPerson { user: self.id.clone(), name: self.name.clone(), person: Some(person) }))
    }

    /// The author as the caller of what happens without them, in this space; nothing if they are gone, or may
    /// not send there any more.
    pub(crate) async fn as_caller(
        &self,
        app: &App,
        account: &str,
        space: Mode,
    ) -> HttpResult<Option<Caller>> {
        if let Some(user) = self.id.strip_prefix(USER_PREFIX) {
            return user_caller(app, account, user, space).await;
        }
        let tokens = app.store.tokens(Some(account)).await?;
        let token = tokens.into_iter().find(|token| token.id == self.id && token.revoked.is_none());
        let Some(token) = token else { return Ok(None) };
        let reach = RequiredRole::Submit.reach(&token);
        let caller = Caller { reach, ..Caller::new(Arc::new(token)) };
        Ok((reach > Reach::Nothing).then_some(caller))
    }
}

/// A user without a session, as a caller; nothing if they are gone, or may not send in this space.
async fn user_caller(app: &App, account: &str, id: &str, space: Mode) -> HttpResult<Option<Caller>> {
    let Some(user) = record::find(&app.store, account, id).await? else { return Ok(None) };
    Ok(sender(&user, space))
}

/// A user who may send in a space, as its caller.
fn sender(user: &StoredUser, space: Mode) -> Option<Caller> {
    if !user.record.is_active || !user.record.scope.spaces.contains(&space) {
        return None;
    }
    let caller = user_session::absent(user, space);
    let reach = caller.reach_with(RequiredRole::Submit);
    (reach > Reach::Nothing).then_some(Caller { reach, ..caller })
}

/// The space of what a caller writes: a user's is that of the request, a token's the wanted one.
pub(crate) fn space_of(caller: &Caller, wanted: Option<Mode>) -> HttpResult<Mode> {
    let Some(user) = &caller.user else { return Ok(wanted.unwrap_or(Mode::Live)) };
    match wanted {
        Some(other) if other != user.space => Err(other_space(other, user.space)),
        _ => Ok(user.space),
    }
}

/// The space that a query names, if it names one.
pub(crate) fn space_in(query: &Query) -> HttpResult<Option<Mode>> {
    let words = [("live", Mode::Live), ("drill", Mode::Drill)];
    query.one("space").map(|_| query.word("space", &words)).transpose()
}

/// Refuses a user whose request names the other space.
pub(crate) fn check_space(caller: &Caller, space: Mode) -> HttpResult<()> {
    match &caller.user {
        Some(user) if user.space != space => Err(other_space(space, user.space)),
        _ => Ok(()),
    }
}

fn other_space(space: Mode, of_request: Mode) -> HttpProblem {
    let name = crate::http::alerts::view::mode;
    let (space, of_request) = (name(space), name(of_request));
    let detail = format!("it is of the {space} space, but the request's X-Campanile-Space is {of_request}");
    HttpProblem::new(ProblemKind::WrongRole, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(roles: Value, scope: Value, is_active: bool) -> StoredUser {
        let record = json!({"name": "maria", "full_name": "Maria Ek", "mail": null, "person": null,
            "roles": roles, "scope": scope, "active": is_active, "created": 0, "revision": 1});
        let record = serde_json::from_value(record).unwrap();
        StoredUser { account: "default".to_owned(), id: "7".to_owned(), version: 1, record }
    }

    #[test]
    fn a_user_may_send_while_active_and_an_operator_in_a_space_of_theirs() {
        let both = json!({"groups": null, "areas": ["harbour"], "spaces": ["live", "drill"]});
        let drills = json!({"groups": null, "areas": null, "spaces": ["drill"]});
        for (roles, scope, is_active, may) in [
            (json!(["viewer", "operator"]), &both, true, true),
            (json!(["author"]), &both, true, false),
            (json!(["operator"]), &both, false, false),
            (json!(["operator"]), &drills, true, false),
        ] {
            let sends = sender(&user(roles.clone(), scope.clone(), is_active), Mode::Live).is_some();
            assert_eq!(sends, may, "{roles} {scope} {is_active}");
        }
    }

    #[test]
    fn a_users_space_is_that_of_the_request_and_a_tokens_the_wanted_one() {
        let scope = json!({"groups": null, "areas": ["harbour"], "spaces": ["live", "drill"]});
        let signed_in = sender(&user(json!(["operator"]), scope, true), Mode::Drill).unwrap();
        let author = Author { id: "user:7".into(), name: "Maria Ek".into() };
        assert_eq!(Author::of(&signed_in), author);
        assert_eq!(signed_in.user.as_ref().unwrap().scope.areas, Some(vec!["harbour".to_owned()]));
        let by_token = Caller { user: None, ..signed_in.clone() };
        for (caller, wanted, expected) in [
            (&signed_in, None, Ok(Mode::Drill)),
            (&signed_in, Some(Mode::Drill), Ok(Mode::Drill)),
            (&signed_in, Some(Mode::Live), Err(403)),
            (&by_token, None, Ok(Mode::Live)),
            (&by_token, Some(Mode::Drill), Ok(Mode::Drill)),
        ] {
            let space = space_of(caller, wanted).map_err(|problem| problem.status().as_u16());
            assert_eq!(space, expected, "{wanted:?}");
        }
        assert!(check_space(&signed_in, Mode::Live).is_err() && check_space(&by_token, Mode::Live).is_ok());
    }
}
