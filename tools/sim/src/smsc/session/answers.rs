//! Answers: at once, after their latency, and otherwise than they should be.

use super::super::capture::Answered;
use super::super::faults::SWAP_PATIENCE;
use super::SmscSession;
use smpp::pdu::{Command, Header, encode_header};
use smpp::status::Status;
use std::cmp::Reverse;
use std::sync::Arc;

/// Turns a sequence number into one that was never asked with.
const STRAY_BIT: u32 = 0x4000_0000;

impl SmscSession {
    /// Answers with a status and no body.
    pub(super) fn say_status(&mut self, header: Header, status: Status) {
        let command = header.command.response();
        self.say(0, |out| encode_header(command, status, header.sequence, out));
    }

    /// Writes an answer now, or keeps it until its latency is over.
    pub(super) fn say(&mut self, after_us: u64, write: impl FnOnce(&mut Vec<u8>)) {
        if after_us == 0 && self.submit_handler.scene.is_plain {
            return write(&mut self.out);
        }
        let mut answer = Vec::new();
        write(&mut answer);
        if self.submit_handler.scene.is_plain {
            self.emit(after_us, answer)
        } else {
            self.say_oddly(after_us, answer)
        }
    }

    fn say_oddly(&mut self, after_us: u64, mut answer: Vec<u8>) {
        let scene = Arc::clone(&self.submit_handler.scene);
        let Some(header) = Header::parse(&answer).filter(|_| !scene.options.mute) else { return };
        let odd = &scene.options.answers;
        let is_about_messages = !matches!(
            header.command,
            Command::BIND_RECEIVER_RESP
                | Command::BIND_TRANSMITTER_RESP
                | Command::BIND_TRANSCEIVER_RESP
                | Command::UNBIND_RESP
                | Command::ENQUIRE_LINK_RESP
        );
        let mut draws = [odd.nacked, odd.twice, odd.stray, odd.swapped]
            .map(|share| is_about_messages && share > 0.0 && self.submit_handler.chance.hits(share));
        if draws[0] {
            answer.clear();
            encode_header(Command::GENERIC_NACK, Status::RSYSERR, header.sequence, &mut answer);
        }
        if scene.captures {
            self.answered = Answered::new(&answer, after_us);
        }
        let copy = draws[1].then(|| answer.clone());
        draws[3] &= self.held.is_none();
        if draws[3] {
            let until_us = self.shared.clock.now_us() + after_us + SWAP_PATIENCE.as_micros() as u64;
            self.held = Some((until_us, answer));
        } else {
            self.emit(after_us, answer);
            if let Some((_, held)) = self.held.take() {
                self.emit(after_us, held);
            }
        }
        if let Some(copy) = copy {
            let again_us = odd.twice_after.at(self.submit_handler.chance.unit()).as_micros() as u64;
            self.emit(after_us + again_us, copy);
        }
        if draws[2] {
            let mut stray = Vec::new();
            encode_header(header.command, Status::RSYSERR, header.sequence ^ STRAY_BIT, &mut stray);
            self.emit(after_us, stray);
        }
    }

    fn emit(&mut self, after_us: u64, answer: Vec<u8>) {
        if after_us == 0 {
            return self.out.extend_from_slice(&answer);
        }
        self.late_count += 1;
        let due_us = self.shared.clock.now_us() + after_us;
        self.late.push(Reverse((due_us, self.late_count, answer.into_boxed_slice())));
    }

    /// Moves answers whose latency is over to the output.
    pub(super) fn release(&mut self) {
        if self.late.is_empty() && self.held.is_none() {
            return;
        }
        let now_us = self.shared.clock.now_us();
        if self.submit_handler.scene.options.mute {
            self.late.clear();
            self.held = None;
        }
        while let Some(Reverse((due_us, ..))) = self.late.peek()
            && *due_us <= now_us
            && let Some(Reverse((_, _, answer))) = self.late.pop()
        {
            self.out.extend_from_slice(&answer);
        }
        if let Some((_, answer)) = self.held.take_if(|(until_us, _)| *until_us <= now_us) {
            self.out.extend_from_slice(&answer);
        }
    }
}
