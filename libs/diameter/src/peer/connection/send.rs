//! Sending half of a connection: capabilities, watchdog, disconnection; our caller's requests and answers.

use super::{Connection, ConnectionStage, Core, Leaving};
use crate::check::{Fault, Origin, answer_broken_frame};
use crate::dictionary::{application, avp, command};
use crate::header::{CommandFlags, Header};
use crate::message::Message;
use crate::peer::capabilities::{self, CerRefusal};
use crate::peer::event::{Cause, End, SendError};
use crate::peer::window::Pending;
use crate::result_code;
use crate::write::Writer;
use std::time::{Duration, Instant};

/// The lower halves of the identifiers of the machine's own requests: none is a slot of the window.
const CER_SLOT: u32 = 0xFFFD;
const DPR_SLOT: u32 = 0xFFFE;
const DWR_SLOT: u32 = 0xFFFF;

/// A request of our caller's, but for its octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Comes back with its answer, or with [`Unanswered`](crate::peer::Unanswered).
    pub token: u64,
    /// Its command code.
    pub command: u32,
    /// How long its answer is waited for.
    pub timeout: Duration,
    /// Its End-to-End Identifier, the same each time it is sent.
    pub end_to_end: u32,
}

impl Connection {
    /// Lets in the peer that [`Event::Asked`](crate::peer::Event::Asked): a successful CEA goes out, and the
    /// connection is open. Without such a peer nothing happens.
    pub fn accept(&mut self, now: Instant) {
        let core = &mut self.core;
        core.set_now(now);
        let ConnectionStage::Asked { cer, ref capabilities, .. } = core.stage else {
            return;
        };
        core.origin_state_id = capabilities.origin_state_id;
        core.send_cea(&cer, None);
        core.opened();
        core.settle();
    }

    /// Refuses the peer that [`Event::Asked`](crate::peer::Event::Asked): a CEA with `result_code` goes out,
    /// then the connection ends. `text` is for who runs the peer: what is wrong, and what to do.
    pub fn refuse(&mut self, result_code: u32, text: &'static str, now: Instant) {
        self.core.set_now(now);
        if let ConnectionStage::Asked { cer, .. } = self.core.stage {
            self.core.refuse(&cer, &CerRefusal::new(result_code, text));
        }
    }

    /// Disconnects: what is outstanding either way is finished, for at most
    /// [`ConnectionConfig::drain`](crate::peer::ConnectionConfig::drain), then a DPR goes out. A connection
    /// that is not open just ends.
    pub fn disconnect(&mut self, cause: Cause, now: Instant) {
        let core = &mut self.core;
        core.set_now(now);
        match core.stage {
            ConnectionStage::Open => {
                let deadline = core.now + core.config.drain;
                core.stage = ConnectionStage::Draining { leaving: Leaving::Us { cause }, deadline };
            }
            ConnectionStage::AwaitCer { .. }
            | ConnectionStage::Asked { .. }
            | ConnectionStage::AwaitCea { .. } => core.end(End::Aborted),
            ConnectionStage::Draining { .. }
            | ConnectionStage::AwaitDpa { .. }
            | ConnectionStage::AwaitClose { .. }
            | ConnectionStage::Ended => {}
        }
        core.settle();
    }

    /// Ends the connection at once, without a word: an election was lost, or there is no time.
    pub fn abort(&mut self, now: Instant) {
        self.core.set_now(now);
        self.core.end(End::Aborted);
    }

    /// Sends a request: `write` appends it whole, with the Hop-by-Hop Identifier that it is given. Returns
    /// that.
    ///
    /// # Errors
    /// Nothing was written and `write` was not called: see [`SendError`].
    pub fn request(
        &mut self,
        outgoing: Outgoing,
        now: Instant,
        write: impl FnOnce(&mut Vec<u8>, u32),
    ) -> Result<u32, SendError> {
        // R-Open | Send-Message | R-Snd-Message | R-Open
        // I-Open | Send-Message | I-Snd-Message | I-Open
        let core = &mut self.core;
        core.set_now(now);
        if !matches!(core.stage, ConnectionStage::Open) {
            return Err(SendError::NotOpen);
        }
        // What is handed back must not take new requests with it.
        if !core.watchdog.is_usable() || core.handing_back.is_some() {
            return Err(SendError::Suspended);
        }
        if core.output_octets() >= core.config.output_octets_max {
            return Err(SendError::OutputFull);
        }
        let hop_by_hop = core.window.next_identifier().ok_or(SendError::WindowFull)?;
        write(&mut core.out, hop_by_hop);
        let Outgoing { token, command, timeout, end_to_end } = outgoing;
        let (sent, batch) = (core.now, core.batch);
        let deadline = sent + timeout;
        core.window.insert(Pending { token, command, hop_by_hop, end_to_end, sent, deadline, batch });
        core.settle();
        Ok(hop_by_hop)
    }

    /// Answers `count` requests of the peer: `write` appends their answers whole. There is always room for
    /// answers: what bounds them is [`Connection::wants_input`].
    ///
    /// # Errors
    /// The connection is over, or its DPA is sent: nobody would read the answer. `write` was not called.
    pub fn answer(
        &mut self,
        count: usize,
        now: Instant,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), SendError> {
        let core = &mut self.core;
        core.set_now(now);
        match core.stage {
            ConnectionStage::Open | ConnectionStage::Draining { .. } | ConnectionStage::AwaitDpa { .. } => {
                write(&mut core.out);
                core.owed = core.owed.saturating_sub(count);
                core.settle();
                Ok(())
            }
            _ => Err(SendError::NotOpen),
        }
    }
}

impl Core {
    /// Capabilities are exchanged.
    pub(super) fn opened(&mut self) {
        self.stage = ConnectionStage::Open;
        let actions = self.watchdog.connection_up(self.now);
        self.watch(actions);
    }

    pub(super) fn send_cer(&mut self) {
        let identifier = self.identifier(CER_SLOT);
        if let ConnectionStage::AwaitCea { hop_by_hop, .. } = &mut self.stage {
            *hop_by_hop = identifier;
        }
        let end_to_end = self.random.next_u32();
        let (base, flags) = (application::BASE, CommandFlags::REQUEST);
        let code = command::CAPABILITIES_EXCHANGE;
        let mut writer = Writer::request(&mut self.urgent, code, base, flags, identifier, end_to_end);
        capabilities::write(&mut writer, &self.config.identity, self.local, None);
        writer.finish();
        self.settle();
    }

    pub(super) fn send_cea(&mut self, cer: &Header, refusal: Option<&CerRefusal>) {
        let code = refusal.map_or(result_code::SUCCESS, |refusal| refusal.result_code);
        let mut writer = Writer::answer(&mut self.urgent, cer);
        if result_code::is_protocol(code) {
            writer.error();
        }
        writer.u32(avp::RESULT_CODE, code);
        capabilities::write(&mut writer, &self.config.identity, self.local, refusal);
        writer.finish();
    }

    pub(super) fn refuse(&mut self, cer: &Header, refusal: &CerRefusal) {
        self.send_cea(cer, Some(refusal));
        self.counters.refused_requests += 1;
        self.end(End::from(refusal));
    }

    pub(super) fn send_dwr(&mut self) {
        let identifier = self.identifier(DWR_SLOT);
        self.dwr = Some(identifier);
        let end_to_end = self.random.next_u32();
        let (base, flags) = (application::BASE, CommandFlags::REQUEST);
        let code = command::DEVICE_WATCHDOG;
        let mut writer = Writer::request(&mut self.urgent, code, base, flags, identifier, end_to_end);
        capabilities::write_origin(&mut writer, &self.config.identity);
        if let Some(origin_state_id) = self.config.identity.origin_state_id {
            writer.u32(avp::ORIGIN_STATE_ID, origin_state_id);
        }
        writer.finish();
    }

    pub(super) fn send_dwa(&mut self, dwr: &Header) {
        let mut writer = Writer::answer(&mut self.urgent, dwr);
        writer.u32(avp::RESULT_CODE, result_code::SUCCESS);
        capabilities::write_origin(&mut writer, &self.config.identity);
        if let Some(origin_state_id) = self.config.identity.origin_state_id {
            writer.u32(avp::ORIGIN_STATE_ID, origin_state_id);
        }
        writer.finish();
    }

    /// Snd-DPR, behind everything that was to be said.
    pub(super) fn send_dpr(&mut self, cause: Cause) {
        let hop_by_hop = self.identifier(DPR_SLOT);
        let end_to_end = self.random.next_u32();
        let (base, flags) = (application::BASE, CommandFlags::REQUEST);
        let code = command::DISCONNECT_PEER;
        let mut writer = Writer::request(&mut self.out, code, base, flags, hop_by_hop, end_to_end);
        capabilities::write_origin(&mut writer, &self.config.identity);
        writer.i32(avp::DISCONNECT_CAUSE, cause.0);
        writer.finish();
        self.stage = ConnectionStage::AwaitDpa { hop_by_hop, deadline: self.now + self.config.disconnect };
    }

    /// Snd-DPA, behind everything that was to be said.
    pub(super) fn send_dpa(&mut self, dpr: &Header) {
        let mut writer = Writer::answer(&mut self.out, dpr);
        writer.u32(avp::RESULT_CODE, result_code::SUCCESS);
        capabilities::write_origin(&mut writer, &self.config.identity);
        writer.finish();
    }

    /// Answers a request that is not handed out, by an error.
    pub(super) fn send_error(&mut self, request: &Message<'_>, fault: &Fault, text: &str) {
        self.counters.refused_requests += 1;
        let identity = &self.config.identity;
        let origin = Origin { host: &identity.origin_host, realm: &identity.origin_realm };
        fault.answer(request, &origin, Some(text), &mut self.out);
    }

    /// Answers what has a header but is no message.
    pub(super) fn send_broken(&mut self, octets: &[u8], code: u32) {
        self.counters.refused_requests += 1;
        let identity = &self.config.identity;
        let origin = Origin { host: &identity.origin_host, realm: &identity.origin_realm };
        answer_broken_frame(octets, code, &origin, &mut self.out);
    }

    fn identifier(&mut self, slot: u32) -> u32 {
        self.random.next_u32() & 0xFFFF_0000 | slot
    }
}
