//! One connection: reads all there is, answers all of it, writes once.
//!
//! The SMPP library's codec is used, its session machine is not: a carrier that misbehaves on purpose needs a
//! loop that may, and the machine under test should meet a peer that does not share its mistakes.

mod answers;
mod deliveries;
mod requests;

use super::Shared;
use super::capture::{Answered, CaptureRecord};
use super::card::Card;
use super::delivery_queue::{QueueAccount, QueuedDeliverSm};
use super::faults::{Disconnects, Parting};
use super::line::SmscLine;
use super::submit_handler::SubmitHandler;
use smpp::frame::{Split, split};
use smpp::limits::{PDU_OCTETS_MAX, SEQUENCE_MAX};
use smpp::pdu::{BindMode, Body, Command, Header, Outbind, Pdu, Version, decode, encode, encode_header};
use smpp::status::Status;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::io::Interest;
use tokio::sync::watch;

/// Read in one go.
const READ_OCTETS: usize = 256 * 1024;
/// With so much waiting to be written nothing is read.
const OUTPUT_OCTETS_MAX: usize = 4 * 1024 * 1024;
/// With so many answers waiting for their latency nothing is read.
const LATE_ANSWERS_MAX: usize = 200_000;
/// The answer to an unbind is awaited for so long.
const UNBIND_PATIENCE_US: u64 = 5_000_000;
/// So much of an answer is written where a PDU breaks off.
const HALF_PDU_OCTETS: usize = 10;

pub(super) struct SmscSession {
    shared: Arc<Shared>,
    card: Arc<Card>,
    submit_handler: SubmitHandler,
    bound: Option<Bound>,
    input: Vec<u8>,
    out: Vec<u8>,
    written: usize,
    /// PDUs that came.
    pdus: u64,
    /// Answers that wait for their latency, the earliest first.
    late: BinaryHeap<Reverse<LateAnswer>>,
    late_count: u64,
    /// An answer that changes places with the next one, and until when it waits for it.
    held: Option<(u64, Vec<u8>)>,
    /// What the request in hand was answered with, where that is captured.
    answered: Option<Answered>,
    outstanding: HashMap<u32, (QueuedDeliverSm, u64)>,
    next_sequence: u32,
    sweep_us: u64,
    /// When its life ends; 0: that is not drawn yet.
    end_us: u64,
    /// An unbind of ours is awaited until then.
    unbind_us: Option<u64>,
    /// The scenario ends the connection here.
    is_cut: bool,
    is_closing: bool,
    scratch: Vec<u8>,
}

/// When it is due, a number that keeps equals in order, the PDU.
type LateAnswer = (u64, u64, Box<[u8]>);

struct Bound {
    mode: BindMode,
    version: Version,
    account: Arc<QueueAccount>,
}

impl SmscSession {
    pub(super) fn new(shared: Arc<Shared>, card: Arc<Card>) -> Self {
        let submit_handler = SubmitHandler::new(Arc::clone(&shared), card.number);
        SmscSession {
            shared,
            card,
            submit_handler,
            bound: None,
            input: Vec::new(),
            out: Vec::new(),
            written: 0,
            pdus: 0,
            late: BinaryHeap::new(),
            late_count: 0,
            held: None,
            answered: None,
            outstanding: HashMap::new(),
            next_sequence: 1,
            sweep_us: 0,
            end_us: 0,
            unbind_us: None,
            is_cut: false,
            is_closing: false,
            scratch: Vec::new(),
        }
    }

    /// Asks the peer to bind (3.4 §2.2.1).
    pub(super) fn outbind(&mut self) {
        let options = &self.submit_handler.scene.options;
        let password = options.password.clone().unwrap_or_default();
        let system_id = options.system_id.clone();
        let outbind =
            Outbind { system_id: system_id.as_bytes(), password: password.as_bytes(), ..Outbind::default() };
        let sequence = self.sequence();
        put(&outbind, sequence, &mut self.out);
    }

    /// Serves the connection until either side ends it or `stop` changes.
    pub(super) async fn serve(mut self, mut line: SmscLine, mut stop: watch::Receiver<u64>) {
        self.shared.record_event("connected", self.card.number, &self.card.peer, "");
        if let Err(error) = self.run(&mut line, &mut stop).await {
            tracing::debug!(%error, "an ESME's connection broke");
        }
        self.leave();
    }

    async fn run(&mut self, line: &mut SmscLine, stop: &mut watch::Receiver<u64>) -> io::Result<()> {
        loop {
            if !self.keep_time(line) {
                return Ok(());
            }
            self.release();
            self.deliver();
            self.flush(line)?;
            let waits_to_write = self.written < self.out.len() || line.wants_write();
            if self.is_closing && !waits_to_write {
                return Ok(());
            }
            let reads = self.reads();
            let interest = match (reads, waits_to_write) {
                (true, true) => Interest::READABLE | Interest::WRITABLE,
                (false, true) => Interest::WRITABLE,
                (_, false) => Interest::READABLE,
            };
            let due = self.due().map(|at| self.shared.clock.instant(at));
            let account =
                self.bound.as_ref().filter(|bound| bound.mode.receives()).map(|b| Arc::clone(&b.account));
            let has_room = self.outstanding.len() < self.submit_handler.scene.options.deliver_window
                && !self.submit_handler.scene.options.mute;
            tokio::select! {
                biased;
                _ = stop.changed() => return Ok(()),
                () = self.card.wake.notified() => {
                    self.submit_handler.refresh();
                    if let Some(how) = self.card.order() && !self.part(how, line) {
                        return Ok(());
                    }
                }
                ready = line.ready(interest), if reads || waits_to_write => {
                    if ready?.is_readable() && reads && !self.read(line)? {
                        return Ok(());
                    }
                }
                () = news(account.as_deref()), if account.is_some() && has_room => {}
                () = until(due), if due.is_some() => {}
            }
        }
    }

    fn reads(&self) -> bool {
        !self.is_closing
            && self.out.len() - self.written < OUTPUT_OCTETS_MAX
            && self.late.len() < LATE_ANSWERS_MAX
            && !self.submit_handler.scene.options.deaf
    }

    /// The next moment at which there is something to do.
    fn due(&self) -> Option<u64> {
        let answer = self.late.peek().map(|Reverse((at, ..))| *at);
        let held = self.held.as_ref().map(|(at, _)| *at);
        let sweep = (!self.outstanding.is_empty()).then_some(self.sweep_us);
        let end = (self.end_us > 0 && self.end_us < u64::MAX).then_some(self.end_us);
        answer.into_iter().chain(held).chain(sweep).chain(end).chain(self.unbind_us).min()
    }

    /// Whether the connection's life goes on.
    fn keep_time(&mut self, line: &SmscLine) -> bool {
        let Some(after) = self.submit_handler.scene.options.disconnects.after else {
            return self.unbind_us.is_none_or(|at| at > self.shared.clock.now_us());
        };
        let now_us = self.shared.clock.now_us();
        if self.end_us == 0 {
            self.end_us = now_us + after.at(self.submit_handler.chance.unit()).as_micros() as u64;
        }
        if self.end_us <= now_us {
            self.end_us = u64::MAX;
            let how = self.submit_handler.scene.options.disconnects.how;
            return self.part(how, line);
        }
        self.unbind_us.is_none_or(|at| at > now_us)
    }

    /// Ends the connection. Returns whether it goes on until its last octets are written, or its unbind is
    /// answered.
    fn part(&mut self, how: Parting, line: &SmscLine) -> bool {
        match how {
            Parting::Cut => false,
            Parting::Reset => {
                line.reset_at_end();
                false
            }
            Parting::HalfPdu => {
                let end = self.out.len() + HALF_PDU_OCTETS;
                encode_header(Command::SUBMIT_SM_RESP, Status::ROK, 1, &mut self.out);
                self.out.truncate(end);
                self.is_closing = true;
                true
            }
            Parting::Unbind => {
                let sequence = self.sequence();
                encode_header(Command::UNBIND, Status::ROK, sequence, &mut self.out);
                self.unbind_us = Some(self.shared.clock.now_us() + UNBIND_PATIENCE_US);
                true
            }
        }
    }

    /// The next number for a request of ours.
    fn sequence(&mut self) -> u32 {
        let sequence = self.next_sequence;
        self.next_sequence = if sequence >= SEQUENCE_MAX { 1 } else { sequence + 1 };
        sequence
    }

    fn flush(&mut self, line: &mut SmscLine) -> io::Result<()> {
        while self.written < self.out.len() {
            match line.try_write(&self.out[self.written..]) {
                Ok(octets) => self.written += octets,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        self.written = 0;
        line.flush()
    }

    /// Returns whether the connection goes on.
    fn read(&mut self, line: &mut SmscLine) -> io::Result<bool> {
        self.input.reserve(READ_OCTETS);
        match line.try_read_buf(&mut self.input) {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        }
        let mut input = std::mem::take(&mut self.input);
        self.submit_handler.open(self.shared.clock.now_us());
        let mut consumed = 0;
        let goes_on = loop {
            consumed += self.handle_all(&input[consumed..]);
            if !std::mem::take(&mut self.is_cut) {
                break true;
            }
            if !self.part(self.submit_handler.scene.options.disconnects.how, line) {
                break false;
            }
        };
        // Counted and captured before any answer can leave.
        self.submit_handler.close();
        self.card.pdus.store(self.pdus, Ordering::Relaxed);
        input.drain(..consumed);
        self.input = input;
        Ok(goes_on)
    }

    /// Returns how many octets whole PDUs took.
    fn handle_all(&mut self, input: &[u8]) -> usize {
        let Disconnects { after_pdus: last, how, .. } = self.submit_handler.scene.options.disconnects;
        let mut at = 0;
        while !self.is_closing && !self.is_cut {
            match split(&input[at..], PDU_OCTETS_MAX) {
                Ok(Split::Need(_)) => break,
                Ok(Split::Pdu(pdu)) => {
                    at += pdu.len();
                    self.pdus += 1;
                    self.is_cut = self.pdus == last;
                    // Who unbinds owes no answer.
                    if !self.is_cut || how == Parting::Unbind {
                        self.handle(pdu);
                    }
                }
                Err(error) => {
                    encode_header(Command::GENERIC_NACK, error.status, 0, &mut self.out);
                    self.is_closing = true;
                }
            }
        }
        at
    }

    fn handle(&mut self, pdu: &[u8]) {
        if !self.submit_handler.scene.captures {
            return self.answer_to(pdu);
        }
        self.answered = None;
        let system_id = self.bound.as_ref().map(|bound| bound.account.system_id.clone()).unwrap_or_default();
        let now_us = self.shared.clock.now_us();
        let record =
            CaptureRecord::event("pdu", now_us, self.card.number, &self.card.peer, &system_id).with_pdu(pdu);
        self.answer_to(pdu);
        self.submit_handler.record(CaptureRecord { answer: self.answered.take(), ..record });
    }

    fn answer_to(&mut self, pdu: &[u8]) {
        match decode(pdu) {
            Ok((header, pdu)) => self.handle_pdu(header, pdu),
            Err((Some(header), error)) => {
                let is_known = header.command.name().is_some();
                if !header.command.is_response() {
                    let command = if is_known { header.command.response() } else { Command::GENERIC_NACK };
                    self.say(0, |out| encode_header(command, error.status, header.sequence, out));
                }
            }
            Err((None, _)) => {}
        }
    }

    fn handle_pdu(&mut self, header: Header, pdu: Pdu<'_>) {
        match pdu {
            Pdu::SubmitSm(submit) => self.submit(header, &submit),
            Pdu::DataSm(data) => self.data(header, &data),
            Pdu::SubmitMulti(multi) => self.multi(header, &multi),
            Pdu::DeliverSmResp(_) | Pdu::DataSmResp(_) => self.delivered(header),
            Pdu::Bind(bind) => self.bind(header, &bind),
            Pdu::EnquireLink(_) => self.say_status(header, Status::ROK),
            Pdu::Unbind(_) => {
                self.say_status(header, Status::ROK);
                self.is_closing = true;
            }
            Pdu::UnbindResp(_) => self.is_closing |= self.unbind_us.is_some(),
            Pdu::QuerySm(query) => self.query(header, &query),
            Pdu::CancelSm(cancel) => self.cancel(header, &cancel),
            Pdu::ReplaceSm(replace) => self.replace(header, &replace),
            Pdu::BroadcastSm(broadcast) => self.broadcast(header, &broadcast),
            Pdu::QueryBroadcastSm(query) => self.query_broadcast(header, &query),
            Pdu::CancelBroadcastSm(cancel) => self.cancel_broadcast(header, &cancel),
            _ if header.command.is_response() => {
                // A nack of a delivery, or an answer to what was never asked.
                if header.command == Command::GENERIC_NACK {
                    self.delivered(header);
                }
            }
            _ => {
                let nack = Command::GENERIC_NACK;
                self.say(0, |out| encode_header(nack, Status::RINVCMDID, header.sequence, out));
            }
        }
    }
}

/// What the simulator writes itself is within the limits; what it repeats of a peer was within them when it
/// came.
fn put<'a>(body: &impl Body<'a>, sequence: u32, out: &mut Vec<u8>) {
    if let Err(error) = encode(body, Status::ROK, sequence, out) {
        tracing::error!(%error, "cannot write an answer");
        encode_header(body.command(), Status::RSYSERR, sequence, out);
    }
}

async fn news(account: Option<&QueueAccount>) {
    match account {
        Some(account) => account.news.notified().await,
        None => std::future::pending().await,
    }
}

async fn until(due: Option<tokio::time::Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
