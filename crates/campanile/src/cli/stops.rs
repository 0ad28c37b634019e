//! `campanile stops`.

use super::args::{FormatArgs, One, ServerArgs};
use super::client::{ApiClient, Work, segment};
use super::{Outcome, print, table};
use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Value, json};

#[derive(Debug, Subcommand)]
pub(crate) enum StopsCommand {
    /// List words of people that are perhaps a STOP, until somebody decides
    #[command(after_help = "Examples:\n  campanile stops list\n  campanile stops list --format json")]
    List(ListStops),
    /// Decide that it is a STOP: nothing more is sent to this address
    #[command(after_help = "Examples:\n  campanile stops confirm 17")]
    Confirm(One),
    /// Decide that it is none
    #[command(after_help = "Examples:\n  campanile stops dismiss 17")]
    Dismiss(One),
}

#[derive(Debug, Args)]
pub(crate) struct ListStops {
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Columns of the list, by their names in the API.
const COLUMNS: [&str; 6] = ["id", "at", "channel", "address", "sender", "text"];

/// What a command does.
pub(super) fn work(command: StopsCommand) -> Work {
    match command {
        StopsCommand::List(of) => Box::pin(list(of)),
        StopsCommand::Confirm(one) => Box::pin(decide(one, true)),
        StopsCommand::Dismiss(one) => Box::pin(decide(one, false)),
    }
}

async fn list(list: ListStops) -> Outcome {
    let client = ApiClient::new(&list.server)?;
    let mut items: Vec<Value> = Vec::new();
    let mut next = None::<String>;
    loop {
        let from = next.map(|cursor| format!("?cursor={cursor}")).unwrap_or_default();
        let mut page = client.get(&format!("/api/v1/stops{from}")).await?;
        items.extend(page["items"].as_array_mut().map(std::mem::take).unwrap_or_default());
        next = page["next"].as_str().map(str::to_owned);
        if next.is_none() {
            break;
        }
    }
    if list.format.is_json() {
        return items.iter().try_for_each(|stop| print(&format!("{stop}\n")));
    }
    if items.is_empty() {
        return print("no words wait for a decision\n");
    }
    let row = |stop: &Value| COLUMNS.map(|key| stop[key].as_str().unwrap_or("-").to_owned());
    print(&table::columns(COLUMNS, items.iter().map(row)))
}

async fn decide(one: One, is_stop: bool) -> Outcome {
    let client = ApiClient::new(&one.server)?;
    let verb = if is_stop { "confirm" } else { "dismiss" };
    let path = format!("/api/v1/stops/{}:{verb}", segment(&one.id));
    client.send(client.request(Method::POST, &path)).await?;
    if one.format.is_json() {
        return print(&format!("{}\n", json!({"id": one.id, "stop": is_stop})));
    }
    print(&match is_stop {
        true => {
            format!("{} is a STOP: nothing more is sent to this address until its owner says START\n", one.id)
        }
        false => format!("{} is no STOP\n", one.id),
    })
}
