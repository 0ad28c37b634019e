//! A user added where the store is, without a server: for `campanile user create --data DIR`.

use super::body::UserBody;
use super::invitations::invite;
use super::{new_id, new_user, record, view};
use crate::http::problem::{HttpProblem, HttpResult};
use crate::http::request::json::tree_of;
use records::Timestamp;
use serde_json::Value;
use store::{Act, SharedStore};

/// Adds a user of an account, as `POST /api/v1/users` takes one, and makes a link by which they set their
/// password. Gives the user with the link, which is nowhere else.
///
/// # Errors
/// In words: the fields that are wrong, or what the store says.
pub async fn add_user(
    store: &SharedStore,
    (account, actor): (&str, &str),
    user: &Value,
    base: &str,
    now: Timestamp,
) -> Result<Value, String> {
    let said = |problem: HttpProblem| problem.detail().to_owned();
    added(store, (account, actor), user, base, now).await.map_err(said)
}

async fn added(
    store: &SharedStore,
    (account, actor): (&str, &str),
    user: &Value,
    base: &str,
    now: Timestamp,
) -> HttpResult<Value> {
    let body = UserBody::read(tree_of(user)?)?;
    let user = new_user(account, new_id()?, body, now);
    let act = Act {
        at: now,
        account: account.to_owned(),
        token: actor.to_owned(),
        verb: "user.create".to_owned(),
        object: user.id.clone(),
        detail: user.record.profile.name.clone(),
        ..Act::default()
    };
    store.note_act(act).await?;
    record::add(store, &user, now).await?;
    let invitation = invite((store, now), base, &user, false).await?;
    let mut shown = view::user(&user);
    shown["invitation"] = invitation;
    Ok(shown)
}
