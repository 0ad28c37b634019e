//! `campanile message`: a platform's message, step by step.

use super::args::One;
use super::client::{ApiClient, Work, segment};
use super::{Outcome, print, table};
use clap::Subcommand;
use serde_json::Value;

#[derive(Debug, Subcommand)]
pub(crate) enum MessageCommand {
    /// Show a platform's message: where it was taken, its route, what became of it, what its client was told
    #[command(after_help = "Examples:
  campanile message show 00000000000004d2
  campanile message show 00000000000004d2 --format json

ID is as the platform got it: 16 hexadecimal digits, or 8.")]
    Show(One),
}

/// What a command does.
pub(super) fn work(command: MessageCommand) -> Work {
    let MessageCommand::Show(one) = command;
    Box::pin(show(one))
}

async fn show(one: One) -> Outcome {
    let path = format!("/api/v1/messages/{}", segment(&one.id));
    let message = ApiClient::new(&one.server)?.get(&path).await?;
    if one.format.is_json() {
        return print(&format!("{message}\n"));
    }
    print(&shown(&message))
}

fn shown(message: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let client = text(&message["client"]["name"]);
    let head = format!(
        "{} from {client}, {} to {}: {}\n",
        text(&message["id"]),
        text(&message["from"]),
        text(&message["to"]),
        text(&message["state"])
    );
    let steps = message["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    let row = |step: &Value| ["at", "step", "words", "carrier_id"].map(|key| text(&step[key]));
    head + &table::columns(["at", "step", "", "carrier's id"], steps.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_message_is_a_line_and_a_line_for_each_step() {
        let step =
            json!({"step": "taken", "at": "2026-11-18T06:26:40Z", "words": "Taken", "carrier_id": null});
        let message = json!({"id": "7", "client": {"name": "bank"}, "from": "71700", "to": "+46701",
            "state": "delivered", "steps": [step]});
        let expected = "7 from bank, 71700 to +46701: delivered\n\
            at                    step          carrier's id\n\
            2026-11-18T06:26:40Z  taken  Taken  -\n";
        assert_eq!(shown(&message), expected);
    }
}
