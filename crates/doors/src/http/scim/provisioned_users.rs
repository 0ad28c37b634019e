//! Users who sign in, as an identity provider provisions them: made, changed, switched off.
//!
//! They are written as the users' API writes them, and under its rules: an account keeps an administrator who
//! can sign in, and other rights end all that is open. Credentials and limits stay as they are.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::auth::signed_in::UserScope;
use crate::http::auth::user_session;
use crate::http::problem::HttpResult;
use crate::http::request::json::tree_of;
use crate::http::users::body::UserBody;
use crate::http::users::record::{self, StoredUser, UserProfile, UserRecord};
use crate::http::users::{check_count, has_other_rights, keeps_administrator, new_id, new_user, rights};
use records::{Mode, UserRole};

/// A user as a provider has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProvisionedUser {
    /// The name that the provider gave before; the same where it did not change.
    pub before: String,
    /// What they sign in with.
    pub name: String,
    pub full_name: String,
    pub mail: Option<String>,
    /// The recipient that they are.
    pub person: String,
    pub roles: Vec<UserRole>,
}

impl ProvisionedUser {
    /// What an administrator would write, checked as that is; in the drill space until an administrator adds
    /// the live one.
    fn body(&self) -> HttpResult<UserBody> {
        let body = UserBody {
            profile: UserProfile {
                name: self.name.clone(),
                full_name: self.full_name.clone(),
                mail: self.mail.clone(),
                person: Some(self.person.clone()),
            },
            roles: UserRole::ALL.into_iter().filter(|role| self.roles.contains(role)).collect(),
            scope: UserScope { groups: None, areas: None, spaces: vec![Mode::Drill] },
            is_active: true,
        };
        UserBody::read(tree_of(&body.to_json())?)
    }
}

/// Whether somebody signs in with this name.
pub(super) async fn is_there(app: &App, account: &str, name: &str) -> HttpResult<bool> {
    Ok(record::find_by_name(&app.store, account, name).await?.is_some())
}

/// Makes a user, or changes the one of this name.
///
/// # Errors
/// It would leave the account without an administrator, or another user has the name.
pub(super) async fn put(app: &App, caller: &Caller, user: ProvisionedUser) -> HttpResult<()> {
    let account = caller.account();
    let _held = app.hold(account, "users").await;
    let body = user.body()?;
    match record::find_by_name(&app.store, account, &user.before).await? {
        Some(known) => change(app, caller, known, &|record| give(record, &body)).await,
        None => add(app, caller, body).await,
    }
}

async fn add(app: &App, caller: &Caller, body: UserBody) -> HttpResult<()> {
    check_count(app, caller.account()).await?;
    let mut user = new_user(caller.account(), new_id()?, body, app.now());
    user.record.credentials.is_of_provider = true;
    let act = app.act(caller, "user.create", &user.id, &rights(&user.record));
    app.noted(act, record::add(&app.store, &user, app.now())).await
}

/// What a provider says; limits are an administrator's.
fn give(record: &mut UserRecord, body: &UserBody) {
    record.profile = body.profile.clone();
    record.roles.clone_from(&body.roles);
    record.is_active = true;
}

/// Switches one off: no session and no stream of theirs is open when this resolves.
///
/// # Errors
/// They are the account's last administrator who can sign in.
pub(super) async fn end(app: &App, caller: &Caller, name: &str) -> HttpResult<()> {
    let account = caller.account();
    let _held = app.hold(account, "users").await;
    let Some(known) = record::find_by_name(&app.store, account, name).await? else { return Ok(()) };
    let id = known.id.clone();
    if known.record.is_active {
        change(app, caller, known, &|record| record.is_active = false).await?;
    }
    // One who was off may have what another process opened at the same moment.
    user_session::end_all(app, (account, &id), None).await?;
    Ok(())
}

async fn change(
    app: &App,
    caller: &Caller,
    known: StoredUser,
    edit: &(dyn Fn(&mut UserRecord) + Sync),
) -> HttpResult<()> {
    let mut after = known.record.clone();
    edit(&mut after);
    keeps_administrator(app, &known, after.is_administrator()).await?;
    let whose = (known.account.as_str(), known.id.as_str());
    let changing = record::change(app, whose, |user| {
        edit(&mut user.record);
        user.record.revision += 1;
        Ok(())
    });
    let act = app.act(caller, "user.change", &known.id, &rights(&after));
    let (user, ()) = app.noted(act, changing).await?;
    if has_other_rights(&known.record, &user.record) {
        user_session::end_all(app, whose, None).await?;
    }
    Ok(())
}
