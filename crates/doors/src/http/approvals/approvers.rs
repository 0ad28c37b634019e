//! Approvers and administrators of an account, read from the documents of its users. Their shape is the
//! users' own; this is the only place that reads it for approvals.

use crate::http::app::App;
use crate::http::auth::signed_in::{USER_PREFIX, UserScope};
use crate::http::problem::HttpResult;
use crate::http::scope;
use records::{Alert, ApprovalPerson, Mode, UserRole};
use serde::Deserialize;
use store::{Document, DocumentKind, SharedStore, StoreError};

/// Users of an account that are looked at.
const USERS_MAX: usize = 10_000;
/// Users read in one go.
const USERS_AT_ONCE: usize = 500;

/// A user, as far as approvals go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Approver {
    pub id: String,
    pub full_name: String,
    /// A recipient's id, by whose devices they are told.
    pub person: String,
    pub roles: Vec<UserRole>,
    pub scope: UserScope,
    pub language: Option<String>,
}

/// The users of an account who are active.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Approvers(pub Vec<Approver>);

/// The members of a user's document that are read here.
#[derive(Deserialize)]
struct StoredUser {
    #[serde(default)]
    full_name: String,
    #[serde(default)]
    person: Option<String>,
    #[serde(default)]
    roles: Vec<UserRole>,
    #[serde(default)]
    scope: StoredScope,
    #[serde(default = "yes")]
    active: bool,
    #[serde(default)]
    language: Option<String>,
}

#[derive(Default, Deserialize)]
struct StoredScope {
    #[serde(default)]
    groups: Option<Vec<String>>,
    #[serde(default)]
    areas: Option<Vec<String>>,
    #[serde(default)]
    spaces: Vec<Mode>,
}

fn yes() -> bool {
    true
}

impl Approvers {
    /// Those of an account.
    pub(crate) async fn of(store: &SharedStore, account: &str) -> Result<Approvers, StoreError> {
        let (mut all, mut after) = (Vec::new(), String::new());
        while all.len() < USERS_MAX {
            let page = store.documents_after(account, DocumentKind::User, &after, USERS_AT_ONCE).await?;
            let Some(last) = page.last() else { break };
            after.clone_from(&last.id);
            all.extend(page.iter().filter_map(Approver::read));
        }
        Ok(Approvers(all))
    }

    /// Those who may approve this alert, who are limited to a part first: it is theirs before others'.
    pub(crate) async fn for_alert(&self, app: &App, alert: &Alert) -> HttpResult<Vec<&Approver>> {
        let mut found: Vec<&Approver> = Vec::new();
        for one in self.0.iter().filter(|one| one.roles.contains(&UserRole::Approver)) {
            let is_own = alert.approval.as_ref().is_some_and(|approval| approval.is_by(&one.as_person()));
            if !is_own && scope::reaches(app, &one.scope, alert).await? {
                found.push(one);
            }
        }
        found.sort_by_key(|one| (one.scope.groups.is_none(), one.id.clone()));
        found.dedup_by(|one, other| one.person == other.person);
        Ok(found)
    }

    /// Administrators.
    pub(crate) fn administrators(&self) -> impl Iterator<Item = &Approver> {
        self.0.iter().filter(|one| one.roles.contains(&UserRole::Administrator))
    }
}

impl Approver {
    /// One who is active; a document that cannot be read is nobody.
    fn read(document: &Document) -> Option<Approver> {
        let stored: StoredUser = match serde_json::from_str(&document.body) {
            Ok(stored) => stored,
            Err(error) => {
                tracing::error!(user = document.id, %error, "a user's document cannot be read: they are not told of approvals");
                return None;
            }
        };
        stored.active.then(|| Approver {
            id: document.id.clone(),
            full_name: stored.full_name,
            person: stored.person.unwrap_or_else(|| document.id.clone()),
            roles: stored.roles,
            scope: UserScope {
                groups: stored.scope.groups,
                areas: stored.scope.areas,
                spaces: stored.scope.spaces,
            },
            language: stored.language,
        })
    }

    /// As an alert's record has them.
    fn as_person(&self) -> ApprovalPerson {
        ApprovalPerson {
            user: format!("{USER_PREFIX}{}", self.id),
            name: self.full_name.clone(),
            person: Some(self.person.clone()),
        }
    }
}
