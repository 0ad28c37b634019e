//! Handler of inbound mail: reads it, appends its outcomes, counts them.

use super::read::{MailFacts, MailReading, needs_addresses, read};
use super::tag::InboundRecipient;
use super::{AddressOf, Clock, InboundMail, SmtpDeps};
use bus::{BusError, Topic};
use records::{OUTCOMES, Outcome, Redacted, encode_outcomes};
use smtp::server::Disposition;
use std::sync::Arc;

/// Appends the outcomes of mails.
#[derive(Clone)]
pub(super) struct InboundMailHandler {
    outcomes: Arc<dyn Topic>,
    clock: Clock,
    address_of: AddressOf,
}

impl InboundMailHandler {
    pub(super) fn open(deps: &SmtpDeps) -> Result<InboundMailHandler, BusError> {
        Ok(InboundMailHandler {
            outcomes: deps.bus.topic(OUTCOMES)?,
            clock: Arc::clone(&deps.clock),
            address_of: Arc::clone(&deps.address_of),
        })
    }

    /// Appends the outcomes of a mail; resolves when they are on disk, as `[bus] fsync` promises.
    /// `authserv_id` is of the relay that hands it over, where that is one of ours.
    pub(super) async fn handle(&self, mail: &InboundMail, authserv_id: Option<&str>) -> Disposition {
        let mut outcomes = Vec::new();
        let addresses = if needs_addresses(mail) { self.addresses(mail).await } else { Vec::new() };
        let facts = MailFacts { addresses: &addresses, authserv_id, at: (self.clock)() };
        for reading in read(mail, facts) {
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

impl InboundMailHandler {
    /// Where the mails of the deliveries went; looked up off the runtime's threads.
    async fn addresses(&self, mail: &InboundMail) -> Vec<Option<String>> {
        let of = |recipient: &InboundRecipient| match recipient {
            InboundRecipient::Tagged(tagged) => Some((tagged.alert, tagged.endpoint)),
            InboundRecipient::Untagged(_) | InboundRecipient::Postmaster => None,
        };
        let deliveries: Vec<_> = mail.recipients.iter().map(of).collect();
        let address_of = Arc::clone(&self.address_of);
        let look = move || {
            let address = |of: Option<_>| of.and_then(|(alert, endpoint)| address_of(alert, endpoint));
            deliveries.into_iter().map(address).collect()
        };
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }
}

fn kind(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Inbound(_) => "answer",
        Outcome::Unproven(_) => "unproven",
        _ => "report",
    }
}

fn count(kind: &'static str, why: &'static str) {
    metrics::counter!("campanile_smtp_mails_total", "kind" => kind, "why" => why).increment(1);
}
