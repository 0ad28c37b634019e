//! `campanile profile`: what alerts of a client have where they say nothing.

use super::args::{FormatArgs, Limit, One, ServerArgs};
use super::client::{ApiClient, Work, segment};
use super::{Outcome, alert_args, print, table};
use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Map, Value, json};

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// List the profiles of the account
    #[command(after_help = "Examples:\n  campanile profile list\n  campanile profile list --format json")]
    List(ListProfiles),
    /// Show the profile of a token, or of the whole account
    #[command(after_help = "Examples:\n  campanile profile show account\n  campanile profile show TOKEN_ID")]
    Show(One),
    /// Replace the profile of a token, or of the whole account
    #[command(after_help = "Examples:
  campanile profile set account --sender CITY --expires-after 4h
  campanile profile set TOKEN_ID --audience group:it-on-call --priority urgent --channel sms,mail

What an alert says itself counts first, then its token's profile, then the account's. ID is the id of a token as
`campanile token list` shows it, or the word account.")]
    Set(Box<SetProfile>),
    /// Remove the profile of a token, or of the whole account
    #[command(after_help = "Examples:\n  campanile profile remove TOKEN_ID")]
    Remove(One),
}

#[derive(Debug, Args)]
pub(crate) struct ListProfiles {
    #[command(flatten)]
    pub limit: Limit,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SetProfile {
    /// The token's id, or account
    #[arg(value_name = "ID")]
    pub id: String,
    /// Whom an alert reaches that names nobody
    #[arg(long, value_name = "ENTRY")]
    pub audience: Vec<String>,
    /// Channels
    #[arg(long, value_name = "C", value_delimiter = ',')]
    pub channel: Vec<String>,
    /// all, first-reachable, or escalate:5m
    #[arg(long, value_name = "S")]
    pub strategy: Option<String>,
    /// How far a delivery must get to count
    #[arg(long, value_parser = ["accepted", "delivered", "answered"])]
    pub terminal: Option<String>,
    /// Priority
    #[arg(long, value_parser = ["emergency", "urgent", "routine"])]
    pub priority: Option<String>,
    /// Handling of messages whose outcome is unknown
    #[arg(long, value_parser = ["resend", "hold"])]
    pub on_unknown: Option<String>,
    /// Sender to show, where the route allows it
    #[arg(long, value_name = "NAME")]
    pub sender: Option<String>,
    /// Only recipients that take part in drills
    #[arg(long)]
    pub participants_only: bool,
    /// Time from an alert's start to its end, such as 4h
    #[arg(long, value_name = "TIME")]
    pub expires_after: Option<String>,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

impl SetProfile {
    fn defaults(&self) -> Result<Value, super::Failure> {
        let list = |entries: &[String]| (!entries.is_empty()).then(|| json!(entries));
        let text = |text: &Option<String>| text.clone().map(Value::from);
        let members = [
            ("audience", list(&self.audience)),
            ("channels", list(&self.channel)),
            ("strategy", self.strategy.as_deref().map(alert_args::strategy).transpose()?),
            ("terminal", text(&self.terminal)),
            ("priority", text(&self.priority)),
            ("on_unknown", text(&self.on_unknown)),
            ("sender", text(&self.sender)),
            ("participants_only", self.participants_only.then_some(true.into())),
            ("expires_after", text(&self.expires_after)),
        ];
        let given = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Ok(Value::Object(given.collect::<Map<String, Value>>()))
    }
}

/// What a command does.
pub(super) fn work(command: ProfileCommand) -> Work {
    match command {
        ProfileCommand::List(of) => Box::pin(list(of)),
        ProfileCommand::Show(one) => Box::pin(show(one)),
        ProfileCommand::Set(of) => Box::pin(set(of)),
        ProfileCommand::Remove(one) => Box::pin(remove(one)),
    }
}

fn path(id: &str) -> String {
    format!("/api/v1/profiles/{}", segment(id))
}

async fn list(list: ListProfiles) -> Outcome {
    let profiles = ApiClient::new(&list.server)?.list("/api/v1/profiles", None, list.limit.limit).await?;
    if list.format.is_json() {
        return profiles.iter().try_for_each(|profile| print(&format!("{profile}\n")));
    }
    let row = |profile: &Value| {
        let text = |key: &str| profile[key].as_str().unwrap_or("-").to_owned();
        [text("id"), text("changed"), words(&profile["defaults"])]
    };
    print(&table::columns(["id", "changed", "defaults"], profiles.iter().map(row)))
}

/// Members as one line.
fn words(defaults: &Value) -> String {
    let members = defaults.as_object().into_iter().flatten();
    members.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

async fn show(one: One) -> Outcome {
    let profile = ApiClient::new(&one.server)?.get(&path(&one.id)).await?;
    said(&profile, one.format.is_json())
}

fn said(profile: &Value, is_json: bool) -> Outcome {
    match is_json {
        true => print(&format!("{profile}\n")),
        false => print(&format!("{}\n", words(&profile["defaults"]))),
    }
}

async fn set(set: Box<SetProfile>) -> Outcome {
    let body = json!({"defaults": set.defaults()?});
    let client = ApiClient::new(&set.server)?;
    let profile = client.json(client.request(Method::PUT, &path(&set.id)).json(&body)).await?;
    said(&profile, set.format.is_json())
}

async fn remove(one: One) -> Outcome {
    let client = ApiClient::new(&one.server)?;
    client.send(client.request(Method::DELETE, &path(&one.id))).await?;
    if one.format.is_json() {
        return print(&format!("{}\n", json!({"id": one.id, "removed": true})));
    }
    print(&format!("the profile {} is removed\n", one.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Cli, CliCommand};
    use clap::Parser;

    #[test]
    fn options_become_the_defaults_of_the_profile() {
        let defaults = |line: &str| {
            let words = ["campanile", "profile", "set"].into_iter().chain(line.split('|'));
            let CliCommand::Profile(ProfileCommand::Set(set)) = Cli::try_parse_from(words).unwrap().command
            else {
                panic!("{line}")
            };
            set.defaults()
        };
        assert_eq!(
            defaults("account|--audience|group:it|--channel|sms,mail|--strategy|escalate:5m|--priority|urgent|--expires-after|4h").unwrap(),
            json!({"audience": ["group:it"], "channels": ["sms", "mail"], "strategy": {"escalate_after": "5m"},
                "priority": "urgent", "expires_after": "4h"})
        );
        assert_eq!(defaults("account").unwrap(), json!({}));
        assert!(defaults("account|--strategy|some").is_err());
    }
}
