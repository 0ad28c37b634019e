//! Handler of inbound mail: reads it, appends its outcomes, counts them.

use super::read::{MailReading, read};
use super::{Clock, InboundMail, SmtpDeps};
use bus::{BusError, Topic};
use records::{OUTCOMES, Outcome, Redacted, encode_outcomes};
use smtp::server::Disposition;
use std::sync::Arc;

/// Appends the outcomes of mails.
#[derive(Clone)]
pub(super) struct InboundMailHandler {
    outcomes: Arc<dyn Topic>,
    clock: Clock,
}

impl InboundMailHandler {
    pub(super) fn open(deps: &SmtpDeps) -> Result<InboundMailHandler, BusError> {
        Ok(InboundMailHandler { outcomes: deps.bus.topic(OUTCOMES)?, clock: Arc::clone(&deps.clock) })
    }

    /// Appends the outcomes of a mail; resolves when they are on disk, as `[bus] fsync` promises.
    pub(super) async fn handle(&self, mail: &InboundMail) -> Disposition {
        let mut outcomes = Vec::new();
        for reading in read(mail, (self.clock)()) {
            match reading {
                MailReading::Outcome(outcome) => {
                    count(kind(&outcome), "");
                    outcomes.push(outcome);
                }
                MailReading::ToPostmaster(subject) => {
                    count("postmaster", "");
                    tracing::warn!(from = mail.from, subject, "a mail to postmaster; it is not kept");
                }
                MailReading::Ignored(why) => {
                    count("ignored", why);
                    tracing::info!(from = %Redacted::Address(&mail.from), why, "a mail was ignored");
                }
            }
        }
        if outcomes.is_empty() {
            return Disposition::Accepted;
        }
        match self.outcomes.append(&[&encode_outcomes(&outcomes)]).await {
            Ok(_) => Disposition::Accepted,
            Err(error) => {
                tracing::error!(%error, "a mail's outcome cannot be stored: its sender will retry");
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
