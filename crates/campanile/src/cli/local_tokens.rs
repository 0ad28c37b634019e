//! `campanile token create --data DIR`: a token made where the data are, without a server.

use super::args::CreateToken;
use super::{Failure, Outcome};
use crate::config;
use crate::setup::{Setup, StoragePlace};
use records::{Account, Role, Token};
use std::path::Path;
use store::{Act, SharedStore, StoreError};

/// Characters of an account's or a token's name, as by the API.
const NAME_CHARS_MAX: usize = 200;
/// Who acts, in the audit trail: nobody with a token.
const ACTOR: &str = "command line";

/// Makes a token in the database of this data folder. Nobody else has the database open meanwhile: its lock
/// is taken. With a config of several processes, in their PostgreSQL, whether they run or not.
pub(super) async fn create(create: CreateToken, data: &Path) -> Outcome {
    let role: Role = create.role.parse().map_err(Failure::Usage)?;
    let account = create.account.as_deref().unwrap_or(Account::DEFAULT);
    let name = create.name.as_deref().unwrap_or_default();
    for (option, value) in [("--account", account), ("--name", name)] {
        let chars = value.chars().count();
        if chars > NAME_CHARS_MAX || option == "--account" && value.is_empty() {
            let bounds = format!("{option} has {chars} characters: 1 to {NAME_CHARS_MAX} are allowed");
            return Err(Failure::Usage(bounds));
        }
    }
    let config = config::load(create.config.as_deref(), data);
    let setup = config.map_err(|problems| problems.to_string())?.setup(data)?;
    let store = open(&setup).await?;
    let now = crate::server::wall_clock();
    let failed = |error: StoreError| Failure::Failed(error.to_string());
    let (token, secret) = doors::http::mint_token(role, account, name, now).map_err(failed)?;
    // As the first token of all: none is on record that nobody was told.
    let said = if create.format.is_json() { json(&token, &secret) } else { words(&token, &secret) };
    crate::first_token::print_line(&said).map_err(|error| {
        Failure::Failed(format!("the token cannot be printed, so it was not made: {error}"))
    })?;
    let act = Act {
        at: now,
        account: token.account.clone(),
        token: ACTOR.to_owned(),
        verb: "token.create".to_owned(),
        object: token.id.clone(),
        detail: role.name().to_owned(),
        ..Act::default()
    };
    store.note_act(act).await.map_err(failed)?;
    store.put_token(token).await.map_err(failed)?;
    store.close().await.map_err(failed)
}

/// The store of a data folder, or of the config's servers.
pub(super) async fn open(setup: &Setup) -> Result<SharedStore, Failure> {
    let database = match &setup.kept {
        StoragePlace::Here { database, .. } => database,
        StoragePlace::Shared(servers) => return Ok(crate::storage::shared_store(servers).await?),
    };
    crate::data_folder::keep_private();
    crate::data_folder::prepare(setup)?;
    crate::data_form::note_in_folder(&setup.data)?;
    let path = setup.data.join(database);
    store::sqlite::open(&path, &store::sqlite::SqliteOptions::default()).map_err(|error| {
        Failure::Failed(match error {
            StoreError::Conflict { why } if why.starts_with("another process") => format!(
                "{why}: a server runs on {}; leave out --data to do it through the server (--url, --token), or \
                 stop it first",
                setup.data.display()
            ),
            other => other.to_string(),
        })
    })
}

fn json(token: &Token, secret: &str) -> String {
    let view = serde_json::json!({
        "id": token.id, "role": token.role.name(), "account": token.account, "name": token.name, "token": secret,
    });
    format!("{view}\n")
}

fn words(token: &Token, secret: &str) -> String {
    super::tokens::shown(secret, &token.id, token.role.name(), &token.account)
}
