//! `campanile client`: SMPP clients and platforms, and the sessions that are bound.

use super::args::{FormatArgs, Limit, ServerArgs};
use super::client::{ApiClient, Work, segment};
use super::{Outcome, print, table};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

#[derive(Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// List SMPP clients with their sessions, rate and last refusal, and platforms of sendsms
    #[command(after_help = "Examples:\n  campanile client list\n  campanile client list --format json")]
    List(ListClients),
    /// Unbind a client's sessions, in order; it may bind again
    #[command(after_help = "Examples:\n  campanile client unbind bank --reason \"it floods\"

To keep it out remove it from the config and reload. Of several processes the one that answers unbinds its own
sessions.")]
    Unbind(UnbindClient),
}

#[derive(Debug, Args)]
pub(crate) struct ListClients {
    #[command(flatten)]
    pub limit: Limit,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UnbindClient {
    /// Its system_id
    #[arg(value_name = "SYSTEM_ID")]
    pub id: String,
    /// Why, for the audit trail
    #[arg(long, value_name = "WORDS")]
    pub reason: String,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// What a command does.
pub(super) fn work(command: ClientCommand) -> Work {
    match command {
        ClientCommand::List(of) => Box::pin(list(of)),
        ClientCommand::Unbind(of) => Box::pin(unbind(of)),
    }
}

async fn list(list: ListClients) -> Outcome {
    let clients = ApiClient::new(&list.server)?.list("/api/v1/clients", None, list.limit.limit).await?;
    if list.format.is_json() {
        return clients.iter().try_for_each(|client| print(&format!("{client}\n")));
    }
    let header = [
        "client",
        "kind",
        "account",
        "#sessions",
        "#rate",
        "#limit",
        "#submitted",
        "#waiting",
        "last refusal",
    ];
    print(&table::columns(header, clients.iter().map(row)))
}

fn row(client: &Value) -> [String; 9] {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    // Of a platform some are not known.
    let number = |value: &Value| if value.is_null() { "-".to_owned() } else { value.to_string() };
    let refusal = &client["last_refusal"];
    let refused = match refusal["at"].as_str() {
        Some(at) => format!("{at} {}: {}", text(&refusal["name"]), text(&refusal["words"])),
        None => "-".to_owned(),
    };
    [
        text(&client["system_id"]),
        text(&client["kind"]),
        text(&client["account"]),
        client["sessions"].as_array().map_or(0, Vec::len).to_string(),
        number(&client["rate"]["now"]),
        number(&client["rate"]["limit"]),
        number(&client["submitted"]),
        number(&client["events_waiting"]),
        refused,
    ]
}

async fn unbind(unbind: UnbindClient) -> Outcome {
    let path = format!("/api/v1/clients/{}:unbind", segment(&unbind.id));
    let body = json!({"reason": unbind.reason});
    let done = ApiClient::new(&unbind.server)?.post(&path, Some(&body)).await?;
    if unbind.format.is_json() {
        return print(&format!("{done}\n"));
    }
    print(&format!("{}: {} sessions are being unbound\n", unbind.id, done["sessions"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_a_row_and_what_is_not_known_of_it_is_a_dash() {
        let refusal = json!({"at": "2026-11-18T06:26:40Z", "name": "ESME_RTHROTTLED", "words": "throttling"});
        let bank = json!({"system_id": "bank", "kind": "smpp", "account": "a", "sessions": [{}, {}],
            "rate": {"now": 2.5, "limit": 50.0}, "submitted": 7, "events_waiting": 1, "last_refusal": refusal});
        let refused = "2026-11-18T06:26:40Z ESME_RTHROTTLED: throttling";
        assert_eq!(row(&bank), ["bank", "smpp", "a", "2", "2.5", "50.0", "7", "1", refused]);
        let water = json!({"system_id": "water", "kind": "http", "account": "a", "sessions": [],
            "rate": {"now": null, "limit": null}, "submitted": null, "events_waiting": null, "last_refusal": null});
        assert_eq!(row(&water), ["water", "http", "a", "0", "-", "-", "-", "-", "-"]);
    }
}
