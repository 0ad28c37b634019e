//! `campanile user`.

use super::client::{ApiClient, segment};
use super::user_args::{CreateUser, ListUsers, OneUser, ResetUser};
use super::{Failure, Outcome, local_tokens, print, table};
use crate::config;
use records::Account;
use reqwest::Method;
use serde_json::{Value, json};
use std::path::Path;

/// Users that are looked through for a name.
const USERS_MAX: u64 = 100_000;
/// Who acts, in the audit trail: nobody with a token.
const ACTOR: &str = "command line";

pub(super) async fn create(create: CreateUser) -> Outcome {
    let client = ApiClient::new(&create.server)?;
    let user = client.post("/api/v1/users", Some(&body(&create))).await?;
    let id = user["id"].as_str().unwrap_or_default();
    let path = format!("/api/v1/users/{}:invite", segment(id));
    let invitation = client.post(&path, None).await?;
    let mut shown = user.clone();
    shown["invitation"] = invitation;
    said(&shown, create.format.is_json())
}

/// Makes a user in the database of this data folder; see [`local_tokens`].
pub(super) async fn create_here(create: CreateUser, data: &Path) -> Outcome {
    let setup =
        config::load(create.config.as_deref(), data).map_err(|problems| problems.to_string())?.setup(data)?;
    let store = local_tokens::open(&setup).await?;
    let account = create.account.as_deref().unwrap_or(Account::DEFAULT);
    let http = setup.http.as_ref();
    let base = http.map_or_else(String::new, |http| {
        http.public_url.clone().unwrap_or_else(|| format!("http://{}", http.listen))
    });
    let base = base.trim_end_matches('/');
    let now = crate::server::wall_clock();
    let wanted = body(&create);
    let added = doors::http::add_user(&store, (account, ACTOR), &wanted, base, now);
    let user = added.await.map_err(Failure::Failed)?;
    said(&user, create.format.is_json())?;
    store.close().await.map_err(|error| Failure::Failed(error.to_string()))
}

fn body(create: &CreateUser) -> Value {
    let roles: Vec<&str> = create.role.iter().map(|role| role.name()).collect();
    let mut body = json!({"name": create.name, "roles": roles});
    let texts = [("full_name", &create.full_name), ("mail", &create.mail), ("person", &create.person)];
    for (key, value) in texts {
        if let Some(value) = value {
            body[key] = value.as_str().into();
        }
    }
    let lists = [("groups", &create.group), ("areas", &create.area), ("spaces", &create.space)];
    for (key, values) in lists.into_iter().filter(|(_, values)| !values.is_empty()) {
        body[key] = values.as_slice().into();
    }
    body
}

fn said(user: &Value, is_json: bool) -> Outcome {
    if is_json {
        return print(&format!("{user}\n"));
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (name, invitation) = (text(&user["name"]), &user["invitation"]);
    print(&format!(
        "link: {}\n\nThe user {name} sets a password by it until {}. It counts once, and is not shown again.\n",
        text(&invitation["link"]),
        text(&invitation["expires"])
    ))
}

pub(super) async fn list(list: ListUsers) -> Outcome {
    let users = ApiClient::new(&list.server)?.list("/api/v1/users", None, list.limit.limit).await?;
    if list.format.is_json() {
        return users.iter().try_for_each(|user| print(&format!("{user}\n")));
    }
    let row = |user: &Value| {
        let words = |key: &str| {
            let items = user[key].as_array().into_iter().flatten();
            items.filter_map(Value::as_str).collect::<Vec<_>>().join(",")
        };
        let text = |key: &str| user[key].as_str().unwrap_or("-").to_owned();
        [text("id"), text("name"), text("full_name"), words("roles"), words("spaces"), text("state")]
    };
    print(&table::columns(["id", "name", "full name", "roles", "spaces", "state"], users.iter().map(row)))
}

/// The user with this id or name.
async fn found(client: &ApiClient, user: &str) -> Result<Value, Failure> {
    let users = client.list("/api/v1/users", None, USERS_MAX).await?;
    let is_it = |one: &&Value| {
        let name = one["name"].as_str().unwrap_or_default().to_lowercase();
        one["id"] == user || name == user.to_lowercase()
    };
    let found = users.iter().find(is_it).cloned();
    found.ok_or_else(|| {
        Failure::Failed(format!("there is no user {user:?}; `campanile user list` lists them"))
    })
}

pub(super) async fn invite(one: OneUser) -> Outcome {
    linked(&one, "invite", None).await
}

pub(super) async fn reset(reset: ResetUser) -> Outcome {
    let body = json!({"second_factors": reset.second_factors});
    linked(&reset.one, "reset", Some(body)).await
}

async fn linked(one: &OneUser, verb: &str, body: Option<Value>) -> Outcome {
    let client = ApiClient::new(&one.server)?;
    let mut user = found(&client, &one.user).await?;
    let path = format!("/api/v1/users/{}:{verb}", segment(user["id"].as_str().unwrap_or_default()));
    user["invitation"] = client.post(&path, body.as_ref()).await?;
    said(&user, one.format.is_json())
}

/// Lets a user sign in, or not.
pub(super) async fn set_active(one: OneUser, is_active: bool) -> Outcome {
    let client = ApiClient::new(&one.server)?;
    let user = found(&client, &one.user).await?;
    let path = format!("/api/v1/users/{}", segment(user["id"].as_str().unwrap_or_default()));
    let request = client.request(Method::PATCH, &path).json(&json!({"active": is_active}));
    let user = client.json(request).await?;
    if one.format.is_json() {
        return print(&format!("{user}\n"));
    }
    let state = if is_active { "can sign in" } else { "cannot sign in; the sessions ended" };
    print(&format!("user {} {state}\n", user["name"].as_str().unwrap_or_default()))
}
