//! Where submissions are judged: refused, accepted, left without an answer; and where their receipts and replies are
//! written.

use super::ids::{self, Place};
use super::joined;
use super::ledger::{Batch, Message, key};
use super::letter::{self, Subject};
use super::post::{Account, Letter};
use super::{ReceiptOn, Scene, Shared, Throttle, alphabet};
use crate::chance::Chance;
use crate::town::{Conduct, Refusal};
use smpp::pdu::{Address, Version, registered_delivery};
use smpp::status::Status;
use smpp::tlv::Tlvs;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// An early receipt has so much of a lead over its answer.
const EARLY_LEAD_US: u64 = 50_000;
/// `addr_ton` of a name: nobody can write back to it.
const ALPHANUMERIC: u8 = 5;

/// One message to one number, from whichever PDU.
#[derive(Clone, Copy)]
pub(super) struct Submission<'a> {
    pub(super) from: Address<'a>,
    pub(super) to: Address<'a>,
    pub(super) has_udh: bool,
    pub(super) registered_delivery: u8,
    pub(super) data_coding: u8,
    pub(super) octets: &'a [u8],
    pub(super) tlvs: Tlvs<'a>,
    /// Its id, where several share one.
    pub(super) id: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Accepted {
        id: u64,
        /// Its answer waits for so long.
        after_us: u64,
    },
    Refused {
        status: Status,
        after_us: u64,
    },
    Silent,
    /// The connection breaks here.
    Cut,
}

/// What a session judges with; what it found is in the batch until [`Desk::close`].
pub(super) struct Desk {
    shared: Arc<Shared>,
    pub(super) scene: Arc<Scene>,
    chance: Chance,
    batch: Batch,
    letters: Vec<(u64, Letter)>,
    made: [u64; 2],
}

impl Desk {
    pub(super) fn new(shared: Arc<Shared>, session: u64) -> Self {
        let scene = shared.scene();
        let chance = Chance::new(scene.options.seed, session);
        Desk { shared, scene, chance, batch: Batch::default(), letters: Vec::new(), made: [0; 2] }
    }

    /// Begins a batch: all that one read brought came at this moment.
    pub(super) fn open(&mut self, now_us: u64) {
        self.batch.now_us = now_us;
        self.scene = self.shared.scene();
    }

    /// Ends a batch: it is counted and captured when this returns, and may be answered.
    pub(super) fn close(&mut self) {
        self.shared.ledger.enter(&mut self.batch, self.scene.options.keep, self.scene.limit.is_some());
        let [receipts, replies] = std::mem::take(&mut self.made);
        self.shared.post.count_made(receipts, replies);
        self.shared.post.mail(&mut self.letters);
    }

    pub(super) fn judge(
        &mut self,
        account: &Arc<Account>,
        version: Version,
        submission: &Submission<'_>,
    ) -> Verdict {
        self.batch.submits += 1;
        if self.is_cut() {
            self.batch.cut += 1;
            return Verdict::Cut;
        }
        let conduct = self.conduct(submission);
        if let Some(status) = self.refusal(&conduct) {
            self.batch.refused.push(status);
            return Verdict::Refused { status, after_us: self.latency_us() };
        }
        let options = &self.scene.options;
        let is_silent = options.silence > 0.0 && self.chance.hits(options.silence);
        if is_silent {
            self.batch.silent += 1;
            if !self.chance.hits(options.silence_accepts) {
                return Verdict::Silent;
            }
        }
        if self.scene.limit.is_some_and(|limit| !self.shared.ledger.admit(self.batch.now_us, limit)) {
            let status = match options.throttle {
                Throttle::Throttled => Status::RTHROTTLED,
                Throttle::QueueFull => Status::RMSGQFUL,
            };
            self.batch.refused.push(status);
            return Verdict::Refused { status, after_us: self.latency_us() };
        }
        let (id, lead_us) = self.accept(account, version, submission, &conduct);
        if is_silent {
            Verdict::Silent
        } else {
            Verdict::Accepted { id, after_us: self.latency_us() + lead_us }
        }
    }

    fn is_cut(&mut self) -> bool {
        let options = &self.scene.options;
        let every = options.disconnect_every;
        let is_turn =
            every > 0 && (self.shared.submits.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(every);
        is_turn || options.disconnect > 0.0 && self.chance.hits(options.disconnect)
    }

    fn conduct(&self, submission: &Submission<'_>) -> Conduct {
        match &self.scene.options.people {
            Some(people) => people.phone(&String::from_utf8_lossy(submission.to.addr)),
            None => Conduct::Silent,
        }
    }

    fn refusal(&mut self, conduct: &Conduct) -> Option<Status> {
        if let Conduct::Refuses(Refusal::Status(status)) = conduct {
            return Some(Status(*status));
        }
        if self.scene.refusals.is_empty() {
            return None;
        }
        let unit = self.chance.unit();
        let mut below = 0.0;
        let hit = self.scene.refusals.iter().find(|(_, share)| {
            below += share;
            unit < below
        });
        hit.map(|(status, _)| *status)
    }

    fn latency_us(&mut self) -> u64 {
        let options = &self.scene.options;
        let is_slow = options.slow > 0.0 && self.chance.hits(options.slow);
        let latency = if is_slow { options.slow_latency } else { options.latency };
        if latency.is_none() { 0 } else { latency.at(self.chance.unit()).as_micros() as u64 }
    }

    /// Gives it an id, counts it, plans what comes back. Returns the id and how long its answer must wait for an early
    /// receipt.
    fn accept(
        &mut self,
        account: &Arc<Account>,
        version: Version,
        submission: &Submission<'_>,
        conduct: &Conduct,
    ) -> (u64, u64) {
        let id = submission.id.unwrap_or_else(|| self.shared.ids.next());
        self.batch.accepted += 1;
        let (part, octets) = joined::split(submission.octets, submission.has_udh, submission.tlvs);
        let whole = match part {
            None => Some(Cow::Borrowed(octets)),
            Some(part) => {
                let (from, to) = (submission.from.addr, submission.to.addr);
                self.shared.unfinished().take(from, to, part, octets).map(Cow::Owned)
            }
        };
        let (lead_us, arrived_us) = self.plan_receipt(account, version, submission, conduct, id, octets);
        if let Some(whole) = whole {
            self.batch.messages += 1;
            let parts = part.map_or(1, |part| part.total);
            self.note(account, version, submission, id, &whole, parts);
            self.plan_reply(account, submission, conduct, arrived_us);
        }
        (id, lead_us)
    }

    fn note(
        &mut self,
        account: &Account,
        version: Version,
        submission: &Submission<'_>,
        id: u64,
        whole: &[u8],
        parts: u8,
    ) {
        let options = &self.scene.options;
        if !self.scene.notes {
            return;
        }
        let to = String::from_utf8_lossy(submission.to.addr);
        let text = alphabet::read(submission.data_coding, whole);
        self.batch.keys.extend(key(options.count, &to, &text));
        if options.keep == 0 && options.capture.is_none() {
            return;
        }
        let mut written = Vec::new();
        ids::write(options.ids, id, Place::Response, !version.has_tlvs(), &mut written);
        self.batch.kept.push(Message {
            at_us: self.batch.now_us,
            id: String::from_utf8_lossy(&written).into_owned(),
            system_id: account.system_id.clone(),
            from: number(submission.from),
            to: number(submission.to),
            text: text.into_owned(),
            data_coding: submission.data_coding,
            parts,
        });
    }

    /// Returns how long the answer must wait, and when the message arrives at the phone.
    fn plan_receipt(
        &mut self,
        account: &Arc<Account>,
        version: Version,
        submission: &Submission<'_>,
        conduct: &Conduct,
        id: u64,
        octets: &[u8],
    ) -> (u64, u64) {
        let now_us = self.batch.now_us;
        let receipts = &self.scene.options.receipts;
        let is_delivered = *conduct != Conduct::Lost;
        let is_wanted = match receipts.on {
            ReceiptOn::Never => false,
            ReceiptOn::Always => true,
            ReceiptOn::Requested => {
                match submission.registered_delivery & registered_delivery::RECEIPT_MASK {
                    registered_delivery::FINAL => true,
                    registered_delivery::FAILURE => !is_delivered,
                    registered_delivery::SUCCESS => is_delivered,
                    _ => false,
                }
            }
        };
        let is_early = is_wanted && receipts.early > 0.0 && self.chance.hits(receipts.early);
        let is_late = receipts.late > 0.0 && self.chance.hits(receipts.late);
        let delay = if is_late { receipts.late_delay } else { receipts.delay };
        let done_us =
            if is_early { now_us } else { now_us + delay.at(self.chance.unit()).as_micros() as u64 };
        let lead_us = if is_early { EARLY_LEAD_US } else { 0 };
        if !is_wanted || *conduct == Conduct::Unheard {
            return (0, done_us);
        }
        let subject = Subject {
            id,
            form: self.scene.options.ids,
            is_v33: !version.has_tlvs(),
            from: submission.from,
            to: submission.to,
            text: &alphabet::read(submission.data_coding, octets),
            submitted_us: now_us,
            done_us,
            is_delivered,
        };
        if let Some(pdu) = letter::receipt(&subject, receipts.form) {
            if receipts.twice > 0.0 && self.chance.hits(receipts.twice) {
                self.put(account, done_us, pdu.clone(), 0);
            }
            self.put(account, done_us, pdu, 0);
        }
        (lead_us, done_us)
    }

    fn plan_reply(
        &mut self,
        account: &Arc<Account>,
        submission: &Submission<'_>,
        conduct: &Conduct,
        arrived_us: u64,
    ) {
        let (text, after) = match conduct {
            Conduct::Answers { text, after } => (text.as_str(), after),
            Conduct::Stops { after } => ("STOP", after),
            _ => return,
        };
        if submission.from.ton == ALPHANUMERIC || submission.from.addr.is_empty() {
            return;
        }
        if let Some(pdu) = letter::reply(submission.to, submission.from, text) {
            self.put(account, arrived_us + after.as_micros() as u64, pdu, 1);
        }
    }

    fn put(&mut self, account: &Arc<Account>, at_us: u64, pdu: Box<[u8]>, kind: usize) {
        self.made[kind] += 1;
        self.letters.push((at_us, Letter { account: Arc::clone(account), pdu, is_again: false }));
    }
}

/// With `+` where it is international.
fn number(address: Address<'_>) -> String {
    let digits = String::from_utf8_lossy(address.addr);
    if address.ton == 1 && !digits.starts_with('+') { format!("+{digits}") } else { digits.into_owned() }
}
