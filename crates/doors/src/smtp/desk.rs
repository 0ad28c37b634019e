//! What comes of a mail: read, written down, counted.

use super::read::{Reading, read};
use super::{Clock, Mail, SmtpDeps};
use bus::{BusError, Topic};
use records::{OUTCOMES, Outcome, encode_outcomes};
use smtp::server::Disposition;
use std::sync::Arc;

/// Writes outcomes down.
#[derive(Clone)]
pub(super) struct Desk {
    outcomes: Arc<dyn Topic>,
    clock: Clock,
}

impl Desk {
    pub(super) fn open(deps: &SmtpDeps) -> Result<Desk, BusError> {
        Ok(Desk { outcomes: deps.bus.topic(OUTCOMES)?, clock: Arc::clone(&deps.clock) })
    }

    /// Takes a mail; answers when what it says is on disk.
    pub(super) async fn take(&self, mail: &Mail) -> Disposition {
        let mut outcomes = Vec::new();
        for reading in read(mail, (self.clock)()) {
            match reading {
                Reading::Outcome(outcome) => {
                    count(kind(&outcome), "");
                    outcomes.push(outcome);
                }
                Reading::Ignored(why) => {
                    count("ignored", why);
                    tracing::info!(from = mail.from, why, "a mail was ignored");
                }
            }
        }
        if outcomes.is_empty() {
            return Disposition::Accepted;
        }
        match self.outcomes.append(&[&encode_outcomes(&outcomes)]).await {
            Ok(_) => Disposition::Accepted,
            Err(error) => {
                tracing::error!(%error, "a mail's outcome cannot be written down: its sender will try again");
                match error {
                    BusError::DiskFull { .. } => Disposition::NoStorage,
                    _ => Disposition::LocalError,
                }
            }
        }
    }
}

fn kind(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Inbound(_) => "answer",
        _ => "report",
    }
}

fn count(kind: &'static str, why: &'static str) {
    metrics::counter!("campanile_smtp_mails_total", "kind" => kind, "why" => why).increment(1);
}
