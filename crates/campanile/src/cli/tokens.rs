//! `campanile token`.

use super::args::{CreateToken, ListTokens, One};
use super::client::{ApiClient, segment};
use super::{Outcome, print, table};
use reqwest::Method;
use serde_json::{Value, json};

pub(super) async fn create(create: CreateToken) -> Outcome {
    let client = ApiClient::new(&create.server)?;
    let mut body = json!({"role": create.role});
    for (key, value) in [("account", create.account), ("name", create.name)] {
        if let Some(value) = value {
            body[key] = value.into();
        }
    }
    let token = client.post("/api/v1/tokens", Some(&body)).await?;
    if create.format.is_json() {
        return print(&format!("{token}\n"));
    }
    let text = |key: &str| token[key].as_str().unwrap_or_default().to_owned();
    print(&shown(&text("token"), &text("id"), &text("role"), &text("account")))
}

/// A new token in words.
pub(super) fn shown(secret: &str, id: &str, role: &str, account: &str) -> String {
    format!(
        "token: {secret}\n\nIts id is {id}, its role {role}, its account {account}. The token is not shown again.\n"
    )
}

pub(super) async fn list(list: ListTokens) -> Outcome {
    let tokens = ApiClient::new(&list.server)?.get("/api/v1/tokens").await?;
    let items = tokens["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    if list.format.is_json() {
        return items.iter().try_for_each(|token| print(&format!("{token}\n")));
    }
    let row = |token: &Value| {
        ["id", "role", "account", "name", "created", "revoked"]
            .map(|key| token[key].as_str().unwrap_or("-").to_owned())
    };
    print(&table::columns(["id", "role", "account", "name", "created", "revoked"], items.iter().map(row)))
}

pub(super) async fn revoke(one: One) -> Outcome {
    let client = ApiClient::new(&one.server)?;
    let path = format!("/api/v1/tokens/{}", segment(&one.id));
    client.send(client.request(Method::DELETE, &path)).await?;
    if one.format.is_json() {
        return print(&format!("{}\n", json!({"id": one.id, "revoked": true})));
    }
    print(&format!("token {} is withdrawn\n", one.id))
}
