//! The world outside that most tests share: carriers and mailboxes of the simulator, people in them.

use serde_json::{Value, json};
use sim::town::{Habits, Town};
use sim::{mailbox, smsc};
use std::time::Duration;

/// Anything that takes seconds on an idle machine.
pub const SOON: Duration = Duration::from_secs(30);
/// Anything that takes tens of seconds on an idle machine.
pub const LATER: Duration = Duration::from_secs(120);

/// A carrier that takes everything, and whose receipts come at once.
pub async fn carrier() -> smsc::Smsc {
    carrier_that(|_| ()).await
}

/// A carrier with something special.
pub async fn carrier_that(change: impl FnOnce(&mut smsc::SmscOptions)) -> smsc::Smsc {
    let mut options = smsc::SmscOptions { keep: 100_000, ..smsc::SmscOptions::default() };
    change(&mut options);
    smsc::Smsc::start(options).await.unwrap()
}

/// A carrier whose people do something.
pub async fn carrier_with(people: Habits) -> smsc::Smsc {
    carrier_that(|options| options.people = Some(people)).await
}

/// A mail server that takes everything.
pub async fn mail_server() -> mailbox::Mailbox {
    mail_server_that(|_| ()).await
}

/// A mail server with something special.
pub async fn mail_server_that(change: impl FnOnce(&mut mailbox::MailboxOptions)) -> mailbox::Mailbox {
    let mut options = mailbox::MailboxOptions { keep: 10_000, ..mailbox::MailboxOptions::default() };
    change(&mut options);
    mailbox::Mailbox::start(options).await.unwrap()
}

/// Everybody answers with a word, soon.
pub fn everybody_answers(word: &str) -> Habits {
    let mut habits = Habits::answering(1);
    habits.choices = vec![word.to_owned()];
    habits.free_text = 0.0;
    habits.answer_after = "100ms".parse().unwrap();
    habits
}

/// Numbers that PTS keeps for fiction: 0 to 94.
pub fn number(place: u64) -> String {
    assert!(place < 95);
    format!("+{}", 46_701_740_605 + place)
}

/// A person with one phone.
pub fn phone_owner(id: &str, place: u64) -> Value {
    json!({"id": id, "name": id, "devices": [{"channel": "sms", "address": number(place)}]})
}

/// So many people with one phone each, as CSV.
pub fn phones_csv(people: u64) -> Vec<u8> {
    let mut csv = Vec::new();
    sim::town::write_csv(&phones(people), &mut csv).unwrap();
    csv
}

/// The same as a town.
pub fn phones(people: u64) -> Town {
    Town::plain(1, people, &[channels::SMS])
}

/// A count of a report.
#[track_caller]
pub fn count(report: &Value, state: &str) -> u64 {
    report["counts"][state].as_u64().unwrap_or_else(|| panic!("no count {state} in {report}"))
}

/// Every endpoint is in exactly one count.
#[track_caller]
pub fn assert_counts_add_up(report: &Value) {
    let counts = report["counts"].as_object().unwrap();
    let sum: u64 =
        counts.iter().filter(|(name, _)| *name != "endpoints").map(|(_, n)| n.as_u64().unwrap()).sum();
    assert_eq!(sum, count(report, "endpoints"), "{report}");
}
