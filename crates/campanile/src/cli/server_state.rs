//! `campanile server`: how a running server stands.

use super::args::{FormatArgs, ServerArgs};
use super::client::{ApiClient, Work};
use super::print;
use clap::{Args, Subcommand};
use serde_json::Value;
use std::fmt::Write as _;

#[derive(Debug, Subcommand)]
pub(crate) enum ServerCommand {
    /// Show how a running server stands: version, processes, store, bus, disk, backlog, routes
    #[command(after_help = "Examples:\n  campanile server show\n  campanile server show --format json")]
    Show(ShowServer),
}

#[derive(Debug, Args)]
pub(crate) struct ShowServer {
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// What a command does.
pub(super) fn work(command: ServerCommand) -> Work {
    let ServerCommand::Show(show) = command;
    Box::pin(async move {
        let state = ApiClient::new(&show.server)?.get("/api/v1/server").await?;
        match show.format.is_json() {
            true => print(&format!("{state}\n")),
            false => print(&shown(&state)),
        }
    })
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "not known".to_owned(),
        other => other.to_string(),
    }
}

fn backlog(backlog: &Value) -> String {
    let [outcomes, messages, notices] = ["outcomes", "intake", "notices"].map(|name| text(&backlog[name]));
    format!("{outcomes} outcomes, {messages} messages, {notices} notices")
}

/// A line for each part.
fn shown(state: &Value) -> String {
    let list = |value: &Value| {
        let words = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        words.collect::<Vec<_>>().join(", ")
    };
    let part = |part: &Value| match part["trouble"]["why"].as_str() {
        Some(why) => format!("{}, out of reach: {why}", text(&part["kind"])),
        None => text(&part["kind"]),
    };
    let leader = match (&state["leader"]["is_here"], state["leader"]["address"].as_str()) {
        (Value::Bool(true), _) => "this process".to_owned(),
        (_, Some(address)) => address.to_owned(),
        _ => "nobody just now".to_owned(),
    };
    let routes = &state["routes"];
    let demo = if routes["is_demo"] == true { ", a demo: all live routes are simulated" } else { "" };
    let lines = [
        ("version", text(&state["version"])),
        ("organisation", state["organisation"].as_str().unwrap_or("-").to_owned()),
        ("started", text(&state["started"])),
        ("leader", leader),
        ("store", part(&state["store"])),
        ("bus", part(&state["bus"])),
        ("disk", format!("{} octets free", text(&state["disk"]["free"]))),
        ("backlog", backlog(&state["backlog"])),
        ("alerts", format!("{} in memory", text(&state["alerts"]["in_memory"]))),
        ("routes", format!("{} live, {} drill{demo}", text(&routes["live"]), text(&routes["drill"]))),
        ("channels", list(&state["channels"])),
        ("doors", list(&state["doors"])),
    ];
    let mut out = String::new();
    for (name, value) in lines {
        let _ = writeln!(out, "{name:<13} {value}");
    }
    for node in state["nodes"].as_array().into_iter().flatten() {
        let this = if node["is_this"] == true { ", this one" } else { "" };
        let _ = writeln!(out, "{:<13} {}, {} routes{this}", "process", text(&node["name"]), node["routes"]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_follower_does_not_know_is_said() {
        let state = json!({"version": "0.2.0", "organisation": null, "started": "2026-11-18T06:26:40Z",
            "leader": {"is_here": false, "address": "10.0.0.2:8080"}, "store": {"kind": "postgresql", "trouble": null},
            "bus": {"kind": "nats", "trouble": {"why": "refused"}}, "disk": {"free": 7},
            "backlog": {"outcomes": null, "intake": null, "notices": 0}, "alerts": null,
            "routes": {"live": 1, "drill": 2, "is_demo": true}, "channels": ["sms"], "doors": ["http", "smpp"],
            "nodes": [{"name": "a-1", "is_this": true, "routes": 2}]});
        let shown = shown(&state);
        for line in [
            "leader        10.0.0.2:8080",
            "bus           nats, out of reach: refused",
            "backlog       not known outcomes, not known messages, 0 notices",
            "routes        1 live, 2 drill, a demo: all live routes are simulated",
            "doors         http, smpp",
            "process       a-1, 2 routes, this one",
        ] {
            assert!(shown.lines().any(|shown| shown == line), "{line:?} is not in {shown}");
        }
    }
}
