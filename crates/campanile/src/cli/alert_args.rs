//! An alert by options, and the JSON that the API takes.

use super::Failure;
use clap::Args;
use serde_json::{Map, Value, json};
use settings::parse_duration;
use std::io::Read;
use std::path::PathBuf;
use std::time::SystemTime;

/// A body is at most so many octets, as the server takes them.
const BODY_OCTETS_MAX: u64 = 64 << 20;

/// The forms of an entry, with an address of every channel.
fn audience_help() -> String {
    let address = |channel: &&dyn channels::Channel| channels::entry(channel.number(), channel.example());
    let addresses: Vec<String> = channels::ALL.iter().map(address).collect();
    format!("Audience: all, group:G, group:G/CHANNEL, recipient:R, {}; repeat for more", addresses.join(", "))
}

fn channel_help() -> String {
    format!("Use these channels only: {}", channels::names().collect::<Vec<_>>().join(", "))
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AlertArgs {
    #[arg(long, value_name = "ENTRY", required_unless_present = "body", help = audience_help())]
    pub audience: Vec<String>,
    /// Entries to exclude from the audience; repeat for more
    #[arg(long, value_name = "ENTRY")]
    pub exclude: Vec<String>,
    /// Text of the alert; {{name}} and other attributes are filled in
    #[arg(long, value_name = "TEXT", required_unless_present = "body")]
    pub text: Option<String>,
    /// Subject, on channels that have one
    #[arg(long, value_name = "TEXT")]
    pub headline: Option<String>,
    #[arg(long, value_name = "LIST", value_delimiter = ',', help = channel_help())]
    pub channel: Vec<String>,
    /// Request an answer
    #[arg(long)]
    pub require_answer: bool,
    /// A possible answer, KEY=LABEL; repeat for more (requests an answer)
    #[arg(long, value_name = "KEY=LABEL")]
    pub choice: Vec<String>,
    /// all devices, first-reachable, or escalate:5m (after 5m without an answer the person's next device)
    #[arg(long, value_name = "HOW")]
    pub strategy: Option<String>,
    /// State that a delivery must reach to count
    #[arg(long, value_parser = ["accepted", "delivered", "answered"])]
    pub terminal: Option<String>,
    /// Earliest time to send (RFC 3339), or a duration from now, such as 30m
    #[arg(long, value_name = "WHEN")]
    pub not_before: Option<String>,
    /// Latest time to send (RFC 3339), or a duration from now, such as 4h
    #[arg(long, value_name = "WHEN")]
    pub expires: Option<String>,
    /// Priority
    #[arg(long, value_parser = ["emergency", "urgent", "routine"])]
    pub priority: Option<String>,
    /// Handling of messages whose outcome is unknown
    #[arg(long, value_parser = ["resend", "hold"])]
    pub on_unknown: Option<String>,
    /// Sender to show, where the route allows it
    #[arg(long, value_name = "NAME")]
    pub sender: Option<String>,
    /// A drill uses drill routes only and is marked as an exercise
    #[arg(long, value_parser = ["live", "drill"])]
    pub mode: Option<String>,
    /// Only recipients that take part in drills: needed in a drill by a route that is not simulated
    #[arg(long)]
    pub participants_only: bool,
    /// Key of a --choice by which people call for help
    #[arg(long, value_name = "KEY", value_delimiter = ',')]
    pub needs_help: Vec<String>,
    /// The earlier alert that this one goes on with, of the same mode
    #[arg(long, value_name = "ID")]
    pub follows: Option<String>,
    /// Show on the screen at once, without storing (SMS)
    #[arg(long)]
    pub flash: bool,
    /// URL for callbacks on the alert's progress
    #[arg(long, value_name = "URL")]
    pub callback: Option<String>,
    /// A file with the alert as JSON, as for the API (- is standard input); options override it
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,
}

impl AlertArgs {
    /// The body of the request.
    pub fn request(&self, now: SystemTime) -> Result<Value, Failure> {
        let mut body = match &self.body {
            Some(file) => read_body(file)?,
            None => Map::new(),
        };
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                body.insert(key.to_owned(), value);
            }
        };
        let list = |entries: &[String]| (!entries.is_empty()).then(|| json!(entries));
        let text = |text: &Option<String>| text.clone().map(Value::from);
        put("audience", list(&self.audience));
        put("exclude", list(&self.exclude));
        put("text", text(&self.text));
        put("headline", text(&self.headline));
        put("channels", list(&self.channel));
        put("require_answer", (self.require_answer || !self.choice.is_empty()).then_some(true.into()));
        put("choices", choices(&self.choice, &self.needs_help)?);
        put("strategy", self.strategy.as_deref().map(strategy).transpose()?);
        put("terminal", text(&self.terminal));
        put(
            "not_before",
            self.not_before.as_deref().map(|when| moment("--not-before", when, now)).transpose()?,
        );
        put("expires", self.expires.as_deref().map(|when| moment("--expires", when, now)).transpose()?);
        put("priority", text(&self.priority));
        put("on_unknown", text(&self.on_unknown));
        put("sender", text(&self.sender));
        put("mode", text(&self.mode));
        put("participants_only", self.participants_only.then_some(true.into()));
        put("follows", text(&self.follows));
        put("flash", self.flash.then_some(true.into()));
        put("callback", self.callback.as_ref().map(|url| json!({"url": url})));
        Ok(Value::Object(body))
    }
}

fn read_body(file: &PathBuf) -> Result<Map<String, Value>, Failure> {
    let fails = |why: String| Failure::Failed(format!("{}: {why}", file.display()));
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().lock().take(BODY_OCTETS_MAX + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(BODY_OCTETS_MAX + 1).read_to_string(&mut text))
    };
    let octets = read.map_err(|error| fails(error.to_string()))?;
    if octets as u64 > BODY_OCTETS_MAX {
        return Err(fails(format!("is over the limit of {BODY_OCTETS_MAX} octets")));
    }
    match serde_json::from_str(&text) {
        Ok(Value::Object(body)) => Ok(body),
        Ok(_) => Err(fails("is not a JSON object".to_owned())),
        Err(error) => Err(fails(error.to_string())),
    }
}

fn choices(given: &[String], needs_help: &[String]) -> Result<Option<Value>, Failure> {
    let choice = |choice: &String| match choice.split_once('=') {
        Some((key, label)) if !key.trim().is_empty() && !label.trim().is_empty() => {
            Ok(json!({"key": key.trim(), "label": label.trim()}))
        }
        _ => Err(Failure::Usage(format!("--choice {choice:?} is not KEY=LABEL, such as \"1=I am safe\""))),
    };
    let mut choices: Vec<Value> = given.iter().map(choice).collect::<Result<_, _>>()?;
    for key in needs_help {
        let named = choices.iter_mut().find(|choice| choice["key"] == key.trim());
        let unknown = || Failure::Usage(format!("--needs-help {key:?} is the key of no --choice"));
        named.ok_or_else(unknown)?["needs_help"] = true.into();
    }
    Ok((!choices.is_empty()).then_some(Value::Array(choices)))
}

/// A strategy as the API has it.
pub(super) fn strategy(text: &str) -> Result<Value, Failure> {
    match (text, text.strip_prefix("escalate:")) {
        ("all" | "first-reachable", _) => Ok(text.into()),
        (_, Some(after)) => {
            parse_duration(after).map_err(|why| Failure::Usage(format!("--strategy: {why}")))?;
            Ok(json!({"escalate_after": after}))
        }
        _ => Err(Failure::Usage(format!("--strategy {text:?} is none of all, first-reachable, escalate:5m"))),
    }
}

/// A time, or a duration from now.
fn moment(option: &str, text: &str, now: SystemTime) -> Result<Value, Failure> {
    if let Ok(after) = parse_duration(text) {
        let now = jiff::Timestamp::try_from(now).map_err(|error| Failure::Failed(error.to_string()))?;
        let at = now.checked_add(after).map_err(|error| Failure::Usage(format!("{option}: {error}")))?;
        return Ok(format!("{at:.0}").into());
    }
    let parsed: Result<jiff::Timestamp, _> = text.parse();
    match parsed {
        Ok(_) => Ok(text.into()),
        Err(_) => Err(Failure::Usage(format!(
            "{option} {text:?} is neither a time such as 2026-12-01T18:00:00Z nor a duration such as 4h"
        ))),
    }
}
