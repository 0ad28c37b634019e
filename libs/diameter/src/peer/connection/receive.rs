//! Receiving half of a connection, by stage.

use super::{ConnectionStage, Core, Leaving};
use crate::check::{Fault, check_as};
use crate::dictionary::{avp, command};
use crate::frame::{FrameError, next_frame};
use crate::message::{Message, MessageError};
use crate::peer::capabilities;
use crate::peer::event::{Answers, Cause, End, Event, Incoming};
use crate::peer::identity::is_restart;
use crate::peer::watchdog::WatchdogState;
use crate::result_code;

impl Core {
    /// Adds from `rest` to `partial` what its message lacks. Whether that is whole now.
    pub(super) fn complete(&mut self, partial: &mut Vec<u8>, rest: &mut &[u8]) -> bool {
        // Two steps: the four octets that hold the length, then what it says.
        for _ in 0..2 {
            let whole = match next_frame(partial, self.config.message_octets_max) {
                Ok(Some(_)) => return true,
                Ok(None) if partial.len() < 4 => 4,
                Ok(None) => length(partial),
                Err(error) => {
                    self.lose_framing(error, partial);
                    return false;
                }
            };
            let (now, later) = rest.split_at(rest.len().min(whole - partial.len()));
            partial.extend_from_slice(now);
            *rest = later;
        }
        matches!(next_frame(partial, self.config.message_octets_max), Ok(Some(_)))
    }

    /// The stream cannot be cut into messages any more: says so if there is a header to answer to, and ends.
    pub(super) fn lose_framing(&mut self, error: FrameError, octets: &[u8]) {
        if matches!(self.stage, ConnectionStage::Open | ConnectionStage::Draining { .. }) {
            self.send_broken(octets, error.result_code());
        }
        self.end(End::Framing(error));
    }

    /// One whole message.
    #[inline]
    pub(super) fn receive(&mut self, frame: &[u8], take: &mut impl FnMut(Incoming<'_>, &mut Answers<'_>)) {
        let message = match Message::read(frame) {
            Ok(message) => message,
            Err(error) => return self.receive_unreadable(frame, error),
        };
        let is_own = matches!(
            message.header.command,
            command::CAPABILITIES_EXCHANGE | command::DEVICE_WATCHDOG | command::DISCONNECT_PEER
        );
        if is_own || !matches!(self.stage, ConnectionStage::Open | ConnectionStage::Draining { .. }) {
            return self.receive_apart(message, take);
        }
        self.receive_open(message, take);
    }

    // R-Open | R-Rcv-Message | Process | R-Open
    // I-Open | I-Rcv-Message | Process | I-Open
    #[inline]
    fn receive_open(&mut self, message: Message<'_>, take: &mut impl FnMut(Incoming<'_>, &mut Answers<'_>)) {
        if !self.is_heard && !self.heard() {
            self.counters.thrown_away += 1;
            return;
        }
        let header = message.header;
        if !header.flags.is_request() {
            let Some(pending) = self.window.take(header.hop_by_hop, header.command) else {
                self.counters.unknown_answers += 1;
                return;
            };
            let mut answers = Answers { out: &mut self.out, owed: &mut self.owed };
            return take(Incoming::Answer { message, pending }, &mut answers);
        }
        if header.flags.is_error() {
            let fault = Fault::new(result_code::INVALID_HDR_BITS);
            return self.send_error(&message, &fault, "a request cannot have the E bit");
        }
        // Reading goes on, so that a DWR is never left behind requests that wait for a disk.
        if self.owed >= self.config.owed_max {
            let fault = Fault::new(result_code::TOO_BUSY);
            return self.send_error(
                &message,
                &fault,
                "too many requests of this connection wait for their answers",
            );
        }
        self.owed += 1;
        self.counters.requests_in += 1;
        take(Incoming::Request(message), &mut Answers { out: &mut self.out, owed: &mut self.owed });
    }

    /// Any message is life in OKAY and SUSPECT. Whether it may be looked at: in REOPEN it may not.
    fn heard(&mut self) -> bool {
        let actions = self.watchdog.heard(self.now);
        self.watch(actions);
        self.is_heard = matches!(self.watchdog.status(), WatchdogState::Okay { .. });
        self.is_heard
    }

    /// What is the machine's own affair, or comes at another time than while the connection is open.
    #[cold]
    fn receive_apart(&mut self, message: Message<'_>, take: &mut impl FnMut(Incoming<'_>, &mut Answers<'_>)) {
        let header = message.header;
        let (code, is_request) = (header.command, header.flags.is_request());
        match (&self.stage, code, is_request) {
            (ConnectionStage::AwaitCer { .. }, command::CAPABILITIES_EXCHANGE, true) => {
                self.receive_cer(message)
            }
            (ConnectionStage::AwaitCea { hop_by_hop, .. }, command::CAPABILITIES_EXCHANGE, false)
                if *hop_by_hop == header.hop_by_hop =>
            {
                self.receive_cea(message);
            }
            // Section 5.6.1: close the connection if any message other than a CER arrives.
            // Wait-I-CEA | I-Rcv-Non-CEA | Error | Closed
            (
                ConnectionStage::AwaitCer { .. }
                | ConnectionStage::Asked { .. }
                | ConnectionStage::AwaitCea { .. },
                _,
                _,
            ) => {
                self.end(End::NotCapabilities);
            }
            (ConnectionStage::Ended, _, _) | (ConnectionStage::AwaitClose { .. }, _, _) => {
                self.counters.thrown_away += 1
            }
            (_, command::DEVICE_WATCHDOG, true) => self.receive_dwr(message),
            (_, command::DEVICE_WATCHDOG, false) => self.receive_dwa(message),
            (_, command::DISCONNECT_PEER, true) => self.receive_dpr(message),
            // Closing | I-Rcv-DPA | I-Disc | Closed
            // Closing | R-Rcv-DPA | R-Disc | Closed
            (ConnectionStage::AwaitDpa { hop_by_hop, .. }, command::DISCONNECT_PEER, false)
                if *hop_by_hop == header.hop_by_hop =>
            {
                self.end(End::Disconnected);
            }
            (_, command::CAPABILITIES_EXCHANGE, true) => {
                self.heard();
                let text = "capabilities were exchanged on this connection already";
                self.send_error(&message, &Fault::new(result_code::UNABLE_TO_COMPLY), text);
            }
            (_, command::CAPABILITIES_EXCHANGE | command::DISCONNECT_PEER, false) => {
                self.heard();
                self.counters.unknown_answers += 1;
            }
            // Our DPR is out: what crossed it on the way goes elsewhere; answers still find who waits.
            (ConnectionStage::AwaitDpa { .. }, _, true) => {
                let text = "this node disconnects: send elsewhere";
                self.send_error(&message, &Fault::new(result_code::UNABLE_TO_DELIVER), text);
            }
            (
                ConnectionStage::AwaitDpa { .. } | ConnectionStage::Open | ConnectionStage::Draining { .. },
                _,
                _,
            ) => {
                self.receive_open(message, take);
            }
        }
    }

    fn receive_cer(&mut self, message: Message<'_>) {
        match capabilities::judge(&message, (&self.config.identity, self.config.strictness), self.is_secured)
        {
            Ok(capabilities) => {
                let capabilities = Box::new(capabilities);
                self.events.push_back(Event::Asked(capabilities.clone()));
                let deadline = self.now + self.config.capabilities;
                self.stage = ConnectionStage::Asked { cer: message.header, capabilities, deadline };
            }
            Err(refusal) => self.refuse(&message.header, &refusal),
        }
    }

    // Wait-I-CEA | I-Rcv-CEA | Process-CEA | I-Open
    fn receive_cea(&mut self, message: Message<'_>) {
        let code = message.find(avp::RESULT_CODE).and_then(|avp| avp.u32().ok());
        let Some(code) = code else {
            return self.end(End::BadCapabilities);
        };
        if !result_code::is_success(code) {
            return self.end(End::RefusedByPeer { result_code: code });
        }
        let capabilities = match capabilities::read(&message, &self.config.identity, self.is_secured) {
            Ok(capabilities) => capabilities,
            Err(fault) if fault.result_code == result_code::NO_COMMON_APPLICATION => {
                return self.end(End::NoCommonApplication);
            }
            Err(_) => return self.end(End::BadCapabilities),
        };
        if let ConnectionStage::AwaitCea { expected_host: Some(expected), .. } = &self.stage
            && !expected.eq_ignore_ascii_case(&capabilities.origin_host)
        {
            return self.end(End::WrongPeer);
        }
        self.origin_state_id = capabilities.origin_state_id;
        self.events.push_back(Event::Opened(Box::new(capabilities)));
        self.opened();
    }

    /// Whether a DWR or DPR does not keep to its grammar: it is answered so, and is life all the same.
    fn refuses(&mut self, message: &Message<'_>) -> bool {
        match check_as(message, self.config.strictness) {
            Err(fault) if !capabilities::is_about_bits(&fault) => {
                self.heard();
                self.send_error(message, &fault, "this does not keep to its grammar");
                true
            }
            _ => false,
        }
    }

    // R-Open | R-Rcv-DWR | Process-DWR, R-Snd-DWA | R-Open
    // I-Open | I-Rcv-DWR | Process-DWR, I-Snd-DWA | I-Open
    fn receive_dwr(&mut self, message: Message<'_>) {
        if self.refuses(&message) {
            return;
        }
        self.heard();
        self.send_dwa(&message.header);
        self.see_origin_state_id(message);
    }

    // R-Open | R-Rcv-DWA | Process-DWA | R-Open
    // I-Open | I-Rcv-DWA | Process-DWA | I-Open
    fn receive_dwa(&mut self, message: Message<'_>) {
        if self.dwr != Some(message.header.hop_by_hop) {
            self.counters.unknown_answers += 1;
            self.heard();
            return;
        }
        self.dwr = None;
        let actions = self.watchdog.heard_dwa(self.now);
        self.watch(actions);
        self.see_origin_state_id(message);
    }

    // R-Open | R-Rcv-DPR | R-Snd-DPA | Closing
    // I-Open | I-Rcv-DPR | I-Snd-DPA | Closing
    fn receive_dpr(&mut self, message: Message<'_>) {
        if self.refuses(&message) {
            return;
        }
        self.heard();
        let cause = message.find(avp::DISCONNECT_CAUSE).and_then(|avp| avp.i32().ok());
        // Who gives no cause may be connected to again.
        let cause = cause.map_or(Cause::REBOOTING, Cause);
        let dpr = message.header;
        match self.stage {
            ConnectionStage::Draining { leaving: Leaving::Peer { .. }, .. } => self.counters.thrown_away += 1,
            // Both want to: each answers the other, and whose DPA comes first closes.
            ConnectionStage::AwaitDpa { .. } => self.send_dpa(&dpr),
            _ => {
                self.events.push_back(Event::Leaving(cause));
                let deadline = self.now + self.config.drain;
                self.stage = ConnectionStage::Draining { leaving: Leaving::Peer { dpr, cause }, deadline };
            }
        }
    }

    /// Section 8.16: a greater Origin-State-Id says that the peer lost its sessions; 0 says nothing.
    fn see_origin_state_id(&mut self, message: Message<'_>) {
        let Some(origin_state_id) = message.find(avp::ORIGIN_STATE_ID).and_then(|avp| avp.u32().ok()) else {
            return;
        };
        if is_restart(&mut self.origin_state_id, origin_state_id) {
            self.events.push_back(Event::Restarted { origin_state_id });
        }
    }

    /// Framing is sound, the message is not: another version. It is answered, and the connection goes on.
    #[cold]
    fn receive_unreadable(&mut self, frame: &[u8], error: MessageError) {
        match self.stage {
            ConnectionStage::Open | ConnectionStage::Draining { .. } => {
                self.heard();
                self.send_broken(frame, error.result_code());
            }
            // Nothing of another version's CER can be relied on but that it is one.
            ConnectionStage::AwaitCer { .. } => {
                let result_code = error.result_code();
                self.send_broken(frame, result_code);
                self.end(End::RefusedByUs { result_code });
            }
            ConnectionStage::Asked { .. } | ConnectionStage::AwaitCea { .. } => {
                self.end(End::NotCapabilities)
            }
            _ => self.counters.thrown_away += 1,
        }
    }
}

/// The length that the first four octets say.
fn length(octets: &[u8]) -> usize {
    match octets.first_chunk::<4>() {
        Some(&[_, a, b, c]) => u32::from_be_bytes([0, a, b, c]) as usize,
        None => 0,
    }
}
