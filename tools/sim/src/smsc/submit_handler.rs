//! Submit handler judges submissions: refused, accepted, left without an answer; and writes their receipts
//! and replies.

use super::book::{OwnAddress, Slot, TextBeginning};
use super::capture::CaptureRecord;
use super::deliver_sm::{self, Subject};
use super::delivery_queue::{QueueAccount, QueuedDeliverSm};
use super::ids::{self, IdPlace};
use super::joined;
use super::ledger::{LedgerBatch, StoredMessage, key};
use super::receipts::{OnBind, ReceiptOn, ReceiptStage, Receipts};
use super::scene::Scene;
use super::{Shared, Throttle, alphabet};
use crate::chance::Chance;
use crate::town::{CarrierRefusal, Conduct};
use smpp::pdu::{Address, Version, registered_delivery};
use smpp::status::Status;
use smpp::tlv::Tlvs;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The longest form of an id, a UUID's.
const ID_OCTETS: usize = 36;
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

/// What a session judges with; what it found is in the batch until [`SubmitHandler::close`].
pub(super) struct SubmitHandler {
    shared: Arc<Shared>,
    pub(super) scene: Arc<Scene>,
    pub(super) chance: Chance,
    session: u64,
    batch: LedgerBatch,
    letters: Vec<(u64, QueuedDeliverSm)>,
    made: [u64; 2],
}

/// What becomes of an accepted message.
struct Course {
    id: u64,
    state: ReceiptStage,
    error: u8,
    /// Its answer waits so long for an early receipt.
    lead_us: u64,
    /// When it comes to its state.
    done_us: u64,
}

impl SubmitHandler {
    pub(super) fn new(shared: Arc<Shared>, session: u64) -> Self {
        let scene = shared.scene();
        let chance = Chance::new(scene.options.seed, session);
        SubmitHandler {
            shared,
            scene,
            chance,
            session,
            batch: LedgerBatch::default(),
            letters: Vec::new(),
            made: [0; 2],
        }
    }

    /// Whose turn it is may have changed.
    pub(super) fn refresh(&mut self) {
        self.scene = self.shared.scene();
    }

    pub(super) fn record(&mut self, record: CaptureRecord) {
        self.batch.records.push(record);
    }

    /// Begins a batch: all that one read brought came at this moment.
    pub(super) fn open(&mut self, now_us: u64) {
        self.batch.now_us = now_us;
        self.scene = self.shared.scene();
    }

    /// Ends a batch: it is counted and captured when this returns, and may be answered.
    pub(super) fn close(&mut self) {
        self.shared.ledger.enter(&mut self.batch, &self.scene.options, self.scene.limit.is_some());
        let [receipts, replies] = std::mem::take(&mut self.made);
        self.shared.post.count_made(receipts, replies);
        self.shared.post.mail(&mut self.letters);
    }

    pub(super) fn judge(
        &mut self,
        account: &Arc<QueueAccount>,
        version: Version,
        submission: &Submission<'_>,
    ) -> Verdict {
        self.batch.submits += 1;
        if self.is_cut() {
            self.batch.cut += 1;
            return Verdict::Cut;
        }
        let conduct = self.conduct(submission);
        let prefix = self.scene.prefix(submission.to.addr);
        if let Some(status) = self.refusal(&conduct, prefix) {
            return self.refuse(status, prefix);
        }
        let silence = self.scene.silence(prefix);
        let is_silent = silence > 0.0 && self.chance.hits(silence);
        if is_silent {
            self.batch.silent += 1;
            if !self.chance.hits(self.scene.options.silence_accepts) {
                return Verdict::Silent;
            }
        }
        if !self.has_room(account) {
            let status = match self.scene.options.throttle {
                Throttle::Throttled => Status::RTHROTTLED,
                Throttle::QueueFull => Status::RMSGQFUL,
            };
            return self.refuse(status, prefix);
        }
        let (id, lead_us) = self.accept(account, version, submission, &conduct, prefix);
        if is_silent {
            Verdict::Silent
        } else {
            Verdict::Accepted { id, after_us: self.latency_us(prefix) + lead_us }
        }
    }

    fn refuse(&mut self, status: Status, prefix: Option<usize>) -> Verdict {
        self.batch.refused.push(status);
        Verdict::Refused { status, after_us: self.latency_us(prefix) }
    }

    /// Asks the account's rate, then the whole's, and takes the room.
    fn has_room(&mut self, account: &QueueAccount) -> bool {
        let options = &self.scene.options;
        if options.throttled > 0.0 && self.chance.hits(options.throttled) {
            return false;
        }
        let now_us = self.batch.now_us;
        let login =
            options.accounts.iter().find(|login| login.rate > 0.0 && login.system_id == account.system_id);
        let limit = login.map(|login| (login.rate * (1.0 + options.rate_tolerance)).ceil() as u64);
        limit.is_none_or(|limit| account.admit(now_us, limit))
            && self.scene.limit.is_none_or(|limit| self.shared.ledger.admit(now_us, limit))
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

    fn refusal(&mut self, conduct: &Conduct, prefix: Option<usize>) -> Option<Status> {
        if let Conduct::Refuses(CarrierRefusal::Status(status)) = conduct {
            return Some(Status(*status));
        }
        self.scene.refusal(prefix, &mut self.chance)
    }

    fn latency_us(&mut self, prefix: Option<usize>) -> u64 {
        let options = &self.scene.options;
        let is_slow = options.slow > 0.0 && self.chance.hits(options.slow);
        let latency = if is_slow { options.slow_latency } else { self.scene.latency(prefix) };
        if latency.is_none() { 0 } else { latency.at(self.chance.unit()).as_micros() as u64 }
    }

    /// Gives it an id, counts it, plans what comes back. Returns the id and how long its answer must wait for
    /// an early receipt.
    fn accept(
        &mut self,
        account: &Arc<QueueAccount>,
        version: Version,
        submission: &Submission<'_>,
        conduct: &Conduct,
        prefix: Option<usize>,
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
        let course = self.course(submission, conduct, prefix, id);
        self.plan_receipt(account, version, submission, conduct, &course, octets);
        if self.scene.options.keep > 0 {
            self.book(account, version, submission, &course, octets);
        }
        if let Some(whole) = whole {
            self.batch.messages += 1;
            let parts = part.map_or(1, |part| part.total);
            self.note(account, version, submission, id, &whole, parts);
            self.plan_reply(account, submission, conduct, course.done_us);
            if self.scene.replies() && course.state == ReceiptStage::Delivered {
                self.plan_answer(account, submission, &whole, course.done_us);
            }
        }
        (id, course.lead_us)
    }

    /// So that it can be queried.
    fn book(
        &mut self,
        account: &QueueAccount,
        version: Version,
        submission: &Submission<'_>,
        course: &Course,
        octets: &[u8],
    ) {
        self.batch.slots.push(Slot {
            id: course.id,
            account: account.place,
            from: OwnAddress::new(submission.from),
            to: OwnAddress::new(submission.to),
            submitted_us: self.batch.now_us,
            done_us: course.done_us,
            state: course.state,
            error: course.error,
            registered_delivery: submission.registered_delivery,
            is_v33: !version.has_tlvs(),
            words: TextBeginning::new(submission.data_coding, octets),
        });
    }

    fn note(
        &mut self,
        account: &QueueAccount,
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
        if options.keep == 0 {
            return;
        }
        let mut written = Vec::with_capacity(ID_OCTETS);
        ids::write(options.ids, id, IdPlace::Response, !version.has_tlvs(), &mut written);
        self.batch.kept.push(StoredMessage {
            at_us: self.batch.now_us,
            id: String::from_utf8(written).unwrap_or_default(),
            system_id: account.system_id.clone(),
            from: number(submission.from),
            to: number(submission.to),
            text: text.into_owned(),
            data_coding: submission.data_coding,
            parts,
        });
    }

    /// Draws what becomes of a message, and when.
    fn course(
        &mut self,
        submission: &Submission<'_>,
        conduct: &Conduct,
        prefix: Option<usize>,
        id: u64,
    ) -> Course {
        let now_us = self.batch.now_us;
        let scene = &self.scene;
        let receipts = &scene.options.receipts;
        let (state, error) = match conduct {
            Conduct::Lost => (ReceiptStage::Undeliverable, 1),
            _ => scene.state(prefix, &mut self.chance),
        };
        let is_wanted = is_wanted(receipts.on, submission.registered_delivery, state);
        let is_early = is_wanted && receipts.early > 0.0 && self.chance.hits(receipts.early);
        let is_late = receipts.late > 0.0 && self.chance.hits(receipts.late);
        let delay = if is_late { receipts.late_delay } else { scene.receipt_delay(prefix) };
        let done_us =
            if is_early { now_us } else { now_us + delay.at(self.chance.unit()).as_micros() as u64 };
        let lead_us = if is_early && *conduct != Conduct::Unheard { EARLY_LEAD_US } else { 0 };
        Course { id, state, error, lead_us, done_us }
    }

    fn plan_receipt(
        &mut self,
        account: &Arc<QueueAccount>,
        version: Version,
        submission: &Submission<'_>,
        conduct: &Conduct,
        course: &Course,
        octets: &[u8],
    ) {
        let registered = submission.registered_delivery;
        let Receipts { on, lost, .. } = self.scene.options.receipts;
        if !is_wanted(on, registered, course.state)
            || *conduct == Conduct::Unheard
            || lost > 0.0 && self.chance.hits(lost)
        {
            return;
        }
        let scene = Arc::clone(&self.scene);
        let receipts = &scene.options.receipts;
        let mut subject = Subject {
            id: course.id,
            form: scene.options.ids,
            is_v33: !version.has_tlvs(),
            from: submission.from,
            to: submission.to,
            text: &alphabet::read(submission.data_coding, octets),
            submitted_us: self.batch.now_us,
            done_us: course.done_us,
            state: course.state,
            error: course.error,
        };
        let account = match &receipts.account {
            Some(name) => &self.shared.post.account(name.as_bytes()),
            None => account,
        };
        if let Some(pdu) = deliver_sm::receipt(&subject, receipts) {
            if receipts.twice > 0.0 && self.chance.hits(receipts.twice) {
                let again_us = receipts.twice_after.at(self.chance.unit()).as_micros() as u64;
                self.put_receipt(account, course.done_us + again_us, pdu.clone(), course.id, receipts.bind);
            }
            self.put_receipt(account, course.done_us, pdu, course.id, receipts.bind);
        }
        let wants_more = registered & registered_delivery::INTERMEDIATE != 0 && course.state.is_final();
        if wants_more && self.chance.hits(receipts.intermediate) {
            (subject.state, subject.error, subject.done_us) =
                (ReceiptStage::Enroute, 0, subject.submitted_us);
            if let Some(pdu) = deliver_sm::receipt(&subject, receipts) {
                self.put_receipt(account, self.batch.now_us, pdu, course.id, receipts.bind);
            }
        }
    }

    fn plan_reply(
        &mut self,
        account: &Arc<QueueAccount>,
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
        let long = self.scene.options.inbound.long;
        let at_us = arrived_us + after.as_micros() as u64;
        for pdu in deliver_sm::message(submission.to, submission.from, text, long, at_us as u16) {
            self.put(account, at_us, pdu);
        }
    }

    /// What the scenario's rules let a phone answer.
    fn plan_answer(
        &mut self,
        account: &Arc<QueueAccount>,
        submission: &Submission<'_>,
        whole: &[u8],
        arrived_us: u64,
    ) {
        if submission.from.ton == ALPHANUMERIC || submission.from.addr.is_empty() {
            return;
        }
        let text = alphabet::read(submission.data_coding, whole);
        let (from, to) = (submission.from.addr, submission.to.addr);
        let (from, to) = (String::from_utf8_lossy(from), String::from_utf8_lossy(to));
        let Some((answer, after_us)) = self.scene.reply(&from, &to, &text, &mut self.chance) else { return };
        let (long, at_us) = (self.scene.options.inbound.long, arrived_us + after_us);
        for pdu in deliver_sm::message(submission.to, submission.from, &answer, long, at_us as u16) {
            self.put(account, at_us, pdu);
        }
    }

    fn put(&mut self, account: &Arc<QueueAccount>, at_us: u64, pdu: Box<[u8]>) {
        self.made[1] += 1;
        self.letters.push((at_us, account.letter(pdu)));
    }

    fn put_receipt(
        &mut self,
        account: &Arc<QueueAccount>,
        at_us: u64,
        pdu: Box<[u8]>,
        id: u64,
        bind: OnBind,
    ) {
        self.made[0] += 1;
        self.letters
            .push((at_us, QueuedDeliverSm { about: id, bind: (bind, self.session), ..account.letter(pdu) }));
    }
}

/// Whether a receipt of this state is asked for (3.4 §5.2.17).
fn is_wanted(on: ReceiptOn, registered: u8, state: ReceiptStage) -> bool {
    let is_delivered = state == ReceiptStage::Delivered;
    match on {
        ReceiptOn::Never => false,
        ReceiptOn::Always => true,
        ReceiptOn::Requested => match registered & registered_delivery::RECEIPT_MASK {
            registered_delivery::FINAL => true,
            registered_delivery::FAILURE => !is_delivered,
            registered_delivery::SUCCESS => is_delivered,
            _ => false,
        },
    }
}

/// With `+` where it is international.
fn number(address: Address<'_>) -> String {
    let digits = String::from_utf8_lossy(address.addr);
    if address.ton != 1 || digits.starts_with('+') {
        return digits.into_owned();
    }
    let mut number = String::with_capacity(digits.len() + 1);
    number.push('+');
    number.push_str(&digits);
    number
}
