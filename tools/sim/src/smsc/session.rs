//! One connection: reads all there is, answers all of it, writes once.
//!
//! The SMPP library's codec is used, its session machine is not: a carrier that misbehaves on purpose needs a loop that may,
//! and the machine under test should meet a peer that does not share its mistakes.

use super::Shared;
use super::desk::{Desk, Submission, Verdict};
use super::ids::{self, Place};
use super::post::{Account, Fate, Letter};
use smpp::frame::{Split, split};
use smpp::limits::{PDU_OCTETS_MAX, SEQUENCE_MAX};
use smpp::pdu::{
    Address, Bind, BindMode, BindResp, Body, Command, DataSm, DataSmResp, Destination, Header, Pdu, Refused,
    RefusedBuf, SubmitMulti, SubmitMultiResp, SubmitSm, SubmitSmResp, Version, decode, encode, encode_header,
    esm_class,
};
use smpp::status::Status;
use smpp::tlv::{Tag, TlvBuf, Tlvs};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Read in one go.
const READ_OCTETS: usize = 256 * 1024;
/// With so much waiting to be written nothing is read.
const OUTPUT_OCTETS_MAX: usize = 4 * 1024 * 1024;
/// With so many answers waiting for their latency nothing is read.
const LATE_ANSWERS_MAX: usize = 200_000;
/// A delivery that was refused for now is tried again after so long.
const RETRY_US: u64 = 1_000_000;
/// Unanswered deliveries are looked through this often.
const SWEEP_US: u64 = 1_000_000;

pub(super) struct Session {
    shared: Arc<Shared>,
    desk: Desk,
    bound: Option<Bound>,
    input: Vec<u8>,
    out: Vec<u8>,
    written: usize,
    /// Answers that wait for their latency, the earliest first.
    late: BinaryHeap<Reverse<LateAnswer>>,
    late_count: u64,
    outstanding: HashMap<u32, (Letter, u64)>,
    next_sequence: u32,
    sweep_us: u64,
    is_closing: bool,
    scratch: Vec<u8>,
}

/// When it is due, a number that keeps equals in order, the PDU.
type LateAnswer = (u64, u64, Box<[u8]>);

struct Bound {
    mode: BindMode,
    version: Version,
    account: Arc<Account>,
}

/// The connection is cut without another word.
struct Cut;

impl Session {
    pub(super) fn new(shared: Arc<Shared>, number: u64) -> Self {
        let desk = Desk::new(Arc::clone(&shared), number);
        Session {
            shared,
            desk,
            bound: None,
            input: Vec::new(),
            out: Vec::new(),
            written: 0,
            late: BinaryHeap::new(),
            late_count: 0,
            outstanding: HashMap::new(),
            next_sequence: 1,
            sweep_us: 0,
            is_closing: false,
            scratch: Vec::new(),
        }
    }

    /// Serves the connection until either side ends it or `stop` changes.
    pub(super) async fn serve(mut self, stream: TcpStream, mut stop: watch::Receiver<u64>) {
        let _ = stream.set_nodelay(true);
        if let Err(error) = self.run(&stream, &mut stop).await {
            tracing::debug!(%error, "an ESME's connection broke");
        }
        self.leave();
    }

    async fn run(&mut self, stream: &TcpStream, stop: &mut watch::Receiver<u64>) -> io::Result<()> {
        loop {
            self.release();
            self.deliver();
            self.flush(stream)?;
            let waits_to_write = self.written < self.out.len();
            if self.is_closing && !waits_to_write {
                return Ok(());
            }
            let interest = match (self.reads(), waits_to_write) {
                (true, true) => Interest::READABLE | Interest::WRITABLE,
                (false, true) => Interest::WRITABLE,
                (_, false) => Interest::READABLE,
            };
            let reads = self.reads();
            let due = self.due().map(|at| self.shared.clock.instant(at));
            let account =
                self.bound.as_ref().filter(|bound| bound.mode.receives()).map(|b| Arc::clone(&b.account));
            let has_room = self.outstanding.len() < self.desk.scene.options.deliver_window;
            tokio::select! {
                biased;
                _ = stop.changed() => return Ok(()),
                ready = stream.ready(interest), if reads || waits_to_write => {
                    if ready?.is_readable() && reads && !self.read(stream)? {
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
    }

    /// The next moment at which there is something to do.
    fn due(&self) -> Option<u64> {
        let answer = self.late.peek().map(|Reverse((at, ..))| *at);
        let sweep = (!self.outstanding.is_empty()).then_some(self.sweep_us);
        answer.into_iter().chain(sweep).min()
    }

    fn flush(&mut self, stream: &TcpStream) -> io::Result<()> {
        while self.written < self.out.len() {
            match stream.try_write(&self.out[self.written..]) {
                Ok(octets) => self.written += octets,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        self.written = 0;
        Ok(())
    }

    /// Returns whether the connection goes on.
    fn read(&mut self, stream: &TcpStream) -> io::Result<bool> {
        self.input.reserve(READ_OCTETS);
        match stream.try_read_buf(&mut self.input) {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        }
        let input = std::mem::take(&mut self.input);
        self.desk.open(self.shared.clock.now_us());
        let result = self.handle_all(&input);
        // Counted and captured before any answer can leave.
        self.desk.close();
        let Ok(consumed) = result else {
            return Ok(false);
        };
        self.input = input;
        self.input.drain(..consumed);
        Ok(true)
    }

    /// Returns how many octets whole PDUs took.
    fn handle_all(&mut self, input: &[u8]) -> Result<usize, Cut> {
        let mut at = 0;
        while !self.is_closing {
            match split(&input[at..], PDU_OCTETS_MAX) {
                Ok(Split::Need(_)) => break,
                Ok(Split::Pdu(pdu)) => {
                    at += pdu.len();
                    self.handle(pdu)?;
                }
                Err(error) => {
                    encode_header(Command::GENERIC_NACK, error.status, 0, &mut self.out);
                    self.is_closing = true;
                }
            }
        }
        Ok(at)
    }

    fn handle(&mut self, pdu: &[u8]) -> Result<(), Cut> {
        match decode(pdu) {
            Ok((header, pdu)) => self.handle_pdu(header, pdu),
            Err((Some(header), error)) => {
                let is_known = header.command.name().is_some();
                if !header.command.is_response() {
                    let command = if is_known { header.command.response() } else { Command::GENERIC_NACK };
                    encode_header(command, error.status, header.sequence, &mut self.out);
                }
                Ok(())
            }
            Err((None, _)) => Ok(()),
        }
    }

    fn handle_pdu(&mut self, header: Header, pdu: Pdu<'_>) -> Result<(), Cut> {
        match pdu {
            Pdu::SubmitSm(submit) => self.submit(header, &submit),
            Pdu::DataSm(data) => self.data(header, &data),
            Pdu::SubmitMulti(multi) => self.multi(header, &multi),
            Pdu::DeliverSmResp(_) => {
                self.delivered(header);
                Ok(())
            }
            Pdu::Bind(bind) => {
                self.bind(header, &bind);
                Ok(())
            }
            Pdu::EnquireLink(_) => {
                encode_header(Command::ENQUIRE_LINK_RESP, Status::ROK, header.sequence, &mut self.out);
                Ok(())
            }
            Pdu::Unbind(_) => {
                encode_header(Command::UNBIND_RESP, Status::ROK, header.sequence, &mut self.out);
                self.is_closing = true;
                Ok(())
            }
            _ if header.command.is_response() => Ok(()),
            _ => {
                encode_header(Command::GENERIC_NACK, Status::RINVCMDID, header.sequence, &mut self.out);
                Ok(())
            }
        }
    }

    fn bind(&mut self, header: Header, bind: &Bind<'_>) {
        let options = &self.desk.scene.options;
        let bound = &self.shared.sessions;
        let status = if self.bound.is_some() {
            Status::RALYBND
        } else if options.password.as_ref().is_some_and(|password| password.as_bytes() != bind.password) {
            Status::RINVPASWD
        } else if options.binds_max > 0 && bound.load(Ordering::Relaxed) >= u64::from(options.binds_max) {
            Status::RBINDFAIL
        } else {
            Status::ROK
        };
        self.shared.ledger.count_bind(status.is_ok());
        if !status.is_ok() {
            return encode_header(header.command.response(), status, header.sequence, &mut self.out);
        }
        let version = bind.interface_version.known();
        let mut tlvs = TlvBuf::new();
        if version.has_tlvs() {
            tlvs.push_u8(Tag::SC_INTERFACE_VERSION, version.0);
        }
        let system_id = options.system_id.as_bytes();
        let response = BindResp { mode: bind.mode, system_id, tlvs: tlvs.as_tlvs() };
        put(&response, header.sequence, &mut self.out);
        bound.fetch_add(1, Ordering::Relaxed);
        let account = self.shared.post.account(bind.system_id);
        self.bound = Some(Bound { mode: bind.mode, version, account });
    }

    /// Who may submit; answers if this session may not.
    fn transmitter(&mut self, header: Header) -> Option<(Arc<Account>, Version)> {
        match &self.bound {
            Some(bound) if bound.mode.transmits() => Some((Arc::clone(&bound.account), bound.version)),
            _ => {
                encode_header(header.command.response(), Status::RINVBNDSTS, header.sequence, &mut self.out);
                None
            }
        }
    }

    fn submit(&mut self, header: Header, submit: &SubmitSm<'_>) -> Result<(), Cut> {
        let Some((account, version)) = self.transmitter(header) else { return Ok(()) };
        if let Err(error) = submit.check() {
            encode_header(Command::SUBMIT_SM_RESP, error.status, header.sequence, &mut self.out);
            return Ok(());
        }
        let submission = Submission {
            from: submit.source,
            to: submit.destination,
            has_udh: submit.has_udh(),
            registered_delivery: submit.registered_delivery,
            data_coding: submit.data_coding,
            octets: submit.message(),
            tlvs: submit.tlvs,
            id: None,
        };
        let verdict = self.desk.judge(&account, version, &submission);
        self.answer(header, version, verdict)
    }

    fn data(&mut self, header: Header, data: &DataSm<'_>) -> Result<(), Cut> {
        let Some((account, version)) = self.transmitter(header) else { return Ok(()) };
        if let Err(error) = data.check() {
            encode_header(Command::DATA_SM_RESP, error.status, header.sequence, &mut self.out);
            return Ok(());
        }
        let submission = Submission {
            from: data.source,
            to: data.destination,
            has_udh: data.has_udh(),
            registered_delivery: data.registered_delivery,
            data_coding: data.data_coding,
            octets: data.message(),
            tlvs: data.tlvs,
            id: None,
        };
        let verdict = self.desk.judge(&account, version, &submission);
        self.answer(header, version, verdict)
    }

    fn multi(&mut self, header: Header, multi: &SubmitMulti<'_>) -> Result<(), Cut> {
        let Some((account, version)) = self.transmitter(header) else { return Ok(()) };
        if let Err(error) = multi.check() {
            encode_header(Command::SUBMIT_MULTI_RESP, error.status, header.sequence, &mut self.out);
            return Ok(());
        }
        // One id for all of them.
        let id = self.shared.ids.next();
        let mut refused = RefusedBuf::new();
        let (mut longest_us, mut is_silent) = (0, false);
        for destination in multi.destinations.iter() {
            let Destination::Sme(to) = destination else {
                let status = Status::RCNTSUBDL;
                let _ = refused.push(Refused { destination: Address::default(), status });
                continue;
            };
            let submission = Submission {
                from: multi.source,
                to,
                has_udh: multi.esm_class & esm_class::UDHI != 0,
                registered_delivery: multi.registered_delivery,
                data_coding: multi.data_coding,
                octets: multi.message(),
                tlvs: multi.tlvs,
                id: Some(id),
            };
            match self.desk.judge(&account, version, &submission) {
                Verdict::Accepted { after_us, .. } => longest_us = longest_us.max(after_us),
                Verdict::Refused { status, after_us } => {
                    longest_us = longest_us.max(after_us);
                    let _ = refused.push(Refused { destination: to, status });
                }
                Verdict::Silent => is_silent = true,
                Verdict::Cut => return Err(Cut),
            }
        }
        if !is_silent {
            let mut message_id = Vec::new();
            self.write_id(id, version, &mut message_id);
            let response =
                SubmitMultiResp { message_id: &message_id, refused: refused.as_list(), tlvs: Tlvs::NONE };
            self.say(longest_us, |out| put(&response, header.sequence, out));
        }
        Ok(())
    }

    fn answer(&mut self, header: Header, version: Version, verdict: Verdict) -> Result<(), Cut> {
        match verdict {
            Verdict::Accepted { id, after_us } => {
                let mut id_text = std::mem::take(&mut self.scratch);
                id_text.clear();
                self.write_id(id, version, &mut id_text);
                let (message_id, tlvs) = (&id_text[..], Tlvs::NONE);
                self.say(after_us, |out| match header.command {
                    Command::DATA_SM => put(&DataSmResp { message_id, tlvs }, header.sequence, out),
                    _ => put(&SubmitSmResp { message_id, tlvs }, header.sequence, out),
                });
                self.scratch = id_text;
            }
            Verdict::Refused { status, after_us } => {
                self.say(after_us, |out| {
                    encode_header(header.command.response(), status, header.sequence, out)
                });
            }
            Verdict::Silent => {}
            Verdict::Cut => return Err(Cut),
        }
        Ok(())
    }

    fn write_id(&self, id: u64, version: Version, out: &mut Vec<u8>) {
        ids::write(self.desk.scene.options.ids, id, Place::Response, !version.has_tlvs(), out);
    }

    /// Writes an answer now, or keeps it until its latency is over.
    fn say(&mut self, after_us: u64, write: impl FnOnce(&mut Vec<u8>)) {
        if after_us == 0 {
            return write(&mut self.out);
        }
        let mut answer = Vec::new();
        write(&mut answer);
        self.late_count += 1;
        let due_us = self.shared.clock.now_us() + after_us;
        self.late.push(Reverse((due_us, self.late_count, answer.into_boxed_slice())));
    }

    /// Moves answers whose latency is over to the output.
    fn release(&mut self) {
        if self.late.is_empty() {
            return;
        }
        let now_us = self.shared.clock.now_us();
        while let Some(Reverse((due_us, ..))) = self.late.peek()
            && *due_us <= now_us
            && let Some(Reverse((_, _, answer))) = self.late.pop()
        {
            self.out.extend_from_slice(&answer);
        }
    }

    /// Takes letters of the account as far as the window goes.
    fn deliver(&mut self) {
        let Some(bound) = self.bound.as_ref().filter(|bound| bound.mode.receives()) else { return };
        let now_us = self.shared.clock.now_us();
        let account = Arc::clone(&bound.account);
        if !self.outstanding.is_empty() && self.sweep_us <= now_us {
            self.sweep(&account, now_us);
        }
        let room = self.desk.scene.options.deliver_window.saturating_sub(self.outstanding.len());
        if room == 0 || self.is_closing {
            return;
        }
        let mut letters = Vec::new();
        account.take(room, &mut letters);
        if !letters.is_empty() && self.outstanding.is_empty() {
            self.sweep_us = now_us + SWEEP_US;
        }
        for letter in letters {
            let sequence = self.next_sequence;
            self.next_sequence = if sequence >= SEQUENCE_MAX { 1 } else { sequence + 1 };
            letter.write(sequence, &mut self.out);
            self.shared.post.count_sent(letter.is_again);
            self.outstanding.insert(sequence, (letter, now_us));
        }
    }

    /// What was not answered in time goes back to the account.
    fn sweep(&mut self, account: &Account, now_us: u64) {
        self.sweep_us = now_us + SWEEP_US;
        let patience_us = self.desk.scene.options.deliver_timeout.longest().as_micros() as u64;
        let mut overdue: Vec<u32> = self
            .outstanding
            .iter()
            .filter(|(_, (_, at))| at + patience_us <= now_us)
            .map(|(s, _)| *s)
            .collect();
        overdue.sort_unstable();
        let outstanding = &mut self.outstanding;
        let letters: Vec<Letter> =
            overdue.iter().filter_map(|s| outstanding.remove(s)).map(|(l, _)| l).collect();
        account.put_back(letters.into_iter());
    }

    fn delivered(&mut self, header: Header) {
        let Some((letter, _)) = self.outstanding.remove(&header.sequence) else { return };
        match header.status {
            Status::ROK => self.shared.post.count_fate(Fate::Confirmed),
            Status::RX_T_APPN | Status::RSYSERR | Status::RMSGQFUL | Status::RTHROTTLED => {
                let at_us = self.shared.clock.now_us() + RETRY_US;
                self.shared.post.mail(&mut vec![(at_us, Letter { is_again: true, ..letter })]);
            }
            _ => self.shared.post.count_fate(Fate::Refused),
        }
    }

    /// What was not answered goes to the next session of the account.
    fn leave(self) {
        let Some(bound) = self.bound else { return };
        self.shared.sessions.fetch_sub(1, Ordering::Relaxed);
        let mut letters: Vec<(u32, Letter)> =
            self.outstanding.into_iter().map(|(s, (l, _))| (s, l)).collect();
        letters.sort_unstable_by_key(|(sequence, _)| *sequence);
        bound.account.put_back(letters.into_iter().map(|(_, letter)| letter));
    }
}

/// What the simulator writes itself is within the limits; what it repeats of a peer was within them when it came.
fn put<'a>(body: &impl Body<'a>, sequence: u32, out: &mut Vec<u8>) {
    if let Err(error) = encode(body, Status::ROK, sequence, out) {
        tracing::error!(%error, "cannot write an answer");
        encode_header(body.command(), Status::RSYSERR, sequence, out);
    }
}

async fn news(account: Option<&Account>) {
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
