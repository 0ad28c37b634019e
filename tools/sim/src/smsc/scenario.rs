//! Scenario files: read, refused with the nearest known word, changed by phases, and explained by one that
//! has every key.

use super::SmscOptions;
use std::path::Path;

/// A scenario file with every key, its default and what it does.
const MANUAL: &str = include_str!("scenario.toml");
/// What a running SMSC cannot change.
const FIXED: [&str; 8] =
    ["listen", "control", "tls", "capture", "outbind", "phases", "phases_again", "count"];
/// A word with more differences than this, or than a third of its letters, was not meant.
const DIFFERENCES_MAX: usize = 3;

impl SmscOptions {
    /// A scenario file that has every key with its default and what it does: the manual.
    pub fn manual() -> &'static str {
        MANUAL
    }

    /// Reads a scenario.
    ///
    /// # Errors
    /// What is wrong with it, in words, with line and column where there are some, and the nearest known word
    /// for an unknown one.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let options: SmscOptions = toml::from_str(text).map_err(|error| explained(&error, text))?;
        super::phases::Timetable::new(options.clone())?;
        Ok(options)
    }

    /// Reads a scenario file.
    ///
    /// # Errors
    /// As [`SmscOptions::from_toml`], with the file's name; or it cannot be read.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
        text.and_then(|text| SmscOptions::from_toml(&text))
            .map_err(|why| format!("{}: {why}", path.display()))
    }

    /// These options with some keys changed; of tables only the keys that are named.
    pub(super) fn changed(&self, changes: &toml::Table) -> Result<Self, String> {
        if let Some(key) = changes.keys().find(|key| FIXED.contains(&key.as_str())) {
            return Err(format!("{key}: cannot change while it runs"));
        }
        let plain = SmscOptions { phases: Vec::new(), ..self.clone() };
        let mut table = toml::Table::try_from(&plain).map_err(|error| error.to_string())?;
        merge(&mut table, changes);
        table.try_into().map_err(|error: toml::de::Error| explained(&error, ""))
    }
}

fn merge(table: &mut toml::Table, changes: &toml::Table) {
    for (key, value) in changes {
        match (table.get_mut(key), value) {
            (Some(toml::Value::Table(inner)), toml::Value::Table(changes)) => merge(inner, changes),
            _ => {
                table.insert(key.clone(), value.clone());
            }
        }
    }
}

/// One line: where, what, and the nearest known word.
fn explained(error: &toml::de::Error, text: &str) -> String {
    let message = error.message().replace('\n', " ");
    let place = error.span().filter(|span| !text.is_empty() && span.start <= text.len()).map(|span| {
        let before = &text.as_bytes()[..span.start];
        let line = before.iter().filter(|&&octet| octet == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|&&octet| octet != b'\n').count() + 1;
        format!("line {line}, column {column}: ")
    });
    let place = place.unwrap_or_default();
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if !message.starts_with("unknown ") || quoted.is_empty() {
        return format!("{place}{message}");
    }
    let (word, known) = (quoted[0], &quoted[1..]);
    match nearest(word, known) {
        Some(known) => format!("{place}{word} is unknown; did you mean {known}?"),
        None => format!("{place}{word} is unknown; known are {}", known.join(", ")),
    }
}

fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let limit = DIFFERENCES_MAX.min(word.chars().count().div_ceil(3));
    // Insertions, deletions, replacements and swaps of neighbours.
    let lower = word.to_lowercase();
    let distances = known.iter().map(|known| (strsim::osa_distance(&lower, known), *known));
    distances.filter(|(distance, _)| *distance <= limit).min_by_key(|(distance, _)| *distance).map(|(_, k)| k)
}

#[cfg(test)]
mod tests {
    use super::super::{IdForm, Throttle};
    use super::*;

    #[test]
    fn a_scenario_reads_from_toml() {
        let text = r#"
            listen = "127.0.0.1:2776"
            latency = "1ms..20ms"
            rate = 5.0
            throttle = "queue_full"
            errors = [{status = "RSYSERR", share = 0.01}, {status = "0x400", share = 0.02}]
            ids = "hex_then_decimal"
            [receipts]
            delay = "500ms..3s"
            twice = 0.1
            [people]
            seed = 7
            sms = {refused = 0.0, answering = 1.0, lost = 0.0, unheard = 0.0, stopping = 0.0}
        "#;
        let options = SmscOptions::from_toml(text).unwrap();
        assert_eq!((options.throttle, options.ids), (Throttle::QueueFull, IdForm::HexThenDecimal));
        assert_eq!(options.receipts.delay.to_string(), "500ms..3s");
        assert_eq!(options.people.map(|people| people.sms.answering), Some(1.0));
    }

    #[test]
    fn what_cannot_be_is_refused_by_field() {
        for (text, words) in [
            ("silence = 1.5", "silence: a share of 1.5 is not between 0 and 1"),
            ("rate = -1.0", "rate: -1 is not a number of messages per second"),
            (
                "latency = \"soon\"",
                "line 1, column 11: delay \"soon\" is not a number with us, ms, s, m or h",
            ),
            ("deliver_window = 0", "deliver_window: 0 is not between 1 and 10000"),
            (
                "errors = [{status = \"ROK\", share = 0.1}]",
                "errors: \"ROK\" is no command_status that refuses",
            ),
            ("errors = [{status = \"RNOSUCH\", share = 0.1}]", "errors: \"RNOSUCH\" is no command_status"),
            (
                "errors = [{status = \"8\", share = 0.7}, {status = \"9\", share = 0.7}]",
                "errors: shares are from 0 to 1 and add up",
            ),
            ("\nlatencyy = \"1s\"", "line 2, column 1: latencyy is unknown; did you mean latency?"),
            ("[receipts]\ntwise = 0.1", "line 2, column 1: twise is unknown; did you mean twice?"),
            ("[receipts]\nform = \"txet\"", "line 2, column 8: txet is unknown; did you mean text?"),
            (
                "[disconnects]\nhow = \"politely\"",
                "politely is unknown; known are cut, reset, half_pdu, unbind",
            ),
            ("people = {sms = {refused = 2.0}}", "habits.sms"),
            ("system_id = \"sixteen characters\"", "system_id: more than 15 octets"),
            ("[[replies]]\nregex = \"(\"", "replies.regex: "),
            ("[inbound]\nto = []", "inbound.to: is empty"),
            ("[[phases]]\nname = \"x\"\nrat = 5", "phases \"x\": rat is unknown; did you mean rate?"),
            ("[[phases]]\nlisten = \"x\"", "phases \"phase 1\": listen: cannot change while it runs"),
            (
                "[[phases]]\nfrom = \"9s\"\n[[phases]]\nfrom = \"8s\"",
                "begins before the phase in front of it",
            ),
            ("phases_again = \"5s\"\n[[phases]]\nfrom = \"9s\"", "phases_again: is not after the last phase"),
        ] {
            let error = SmscOptions::from_toml(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    /// Every key of a table, with those of the tables inside.
    fn keys(table: &toml::Table, under: &str, found: &mut Vec<String>) {
        for (key, value) in table {
            let name = format!("{under}{key}");
            let inner = match value {
                toml::Value::Table(inner) => Some(inner),
                // Statuses and states are explained where they are mentioned.
                toml::Value::Array(list) if !key.ends_with("errors") && key != "states" => {
                    list.first().and_then(toml::Value::as_table)
                }
                _ => None,
            };
            if let Some(inner) = inner.filter(|_| name != "lists") {
                keys(inner, &format!("{name}."), found);
            }
            found.push(name);
        }
    }

    #[test]
    fn the_manual_is_a_scenario_that_has_every_key_and_changes_nothing_it_does_not_say() {
        let manual = SmscOptions::from_toml(SmscOptions::manual()).unwrap();
        // What the manual shows as examples, in comments, as they would be written.
        let shown: String = SmscOptions::manual()
            .lines()
            .map(|line| line.strip_prefix("#: ").unwrap_or(line))
            .flat_map(|line| [line, "\n"])
            .collect();
        let shown = SmscOptions::from_toml(&shown).unwrap();
        let (mut in_manual, mut in_options) = (Vec::new(), Vec::new());
        keys(&toml::Table::try_from(&shown).unwrap(), "", &mut in_manual);
        keys(&toml::Table::try_from(SmscOptions { ..full() }).unwrap(), "", &mut in_options);
        for key in &in_options {
            assert!(in_manual.contains(key), "{key} is not in the manual");
        }
        let expected = SmscOptions {
            listen: "127.0.0.1:2776".to_owned(),
            control: Some("127.0.0.1:8081".to_owned()),
            ..SmscOptions::default()
        };
        assert_eq!(manual, expected);
    }

    /// Options in which nothing is left out.
    fn full() -> SmscOptions {
        use super::super::*;
        let errors = vec![ErrorShare { status: "RSYSERR".to_owned(), share: 0.1 }];
        let states = vec![StateShare { state: ReceiptStage::Expired, share: 0.1, error: 1 }];
        let text = || Some("x".to_owned());
        let receipts =
            Receipts { template: text(), account: text(), states: states.clone(), ..Receipts::default() };
        let delay = crate::chance::Delay::NONE;
        let prefix = Prefix {
            prefix: "46".to_owned(),
            errors: Some(errors.clone()),
            latency: Some(delay),
            silence: Some(0.0),
            states: Some(states),
            receipt_delay: Some(delay),
        };
        let reply = PhoneReply {
            keyword: text(),
            regex: text(),
            prefix: text(),
            sender: text(),
            ..PhoneReply::default()
        };
        SmscOptions {
            control: text(),
            password: text(),
            errors: errors.clone(),
            bind_errors: errors,
            disconnects: Disconnects { after: Some(delay), ..Disconnects::default() },
            receipts,
            people: Some(crate::town::Habits::default()),
            prefixes: vec![prefix],
            replies: vec![reply],
            inbound: Traffic { account: text(), ..Traffic::default() },
            accounts: vec![Login { password: text(), ..Login::default() }],
            outbind: vec!["x".to_owned()],
            tls: Some(TlsListener {
                cert: Some("x".into()),
                key: Some("x".into()),
                ..TlsListener::default()
            }),
            capture: Some("x".into()),
            phases: vec![Phase::default()],
            phases_again: Some(delay),
            ..SmscOptions::default()
        }
    }
}
