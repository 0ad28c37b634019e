//! Sending half of a session: requests of ours, answers to the peer's.

#[cfg(doc)]
use super::Event;
use super::window::{WindowEntry, after};
use super::{Core, PendingBind, REFUSED_BINDS_MAX, Reason, SendError, Session, SessionState, may_send};
use crate::error::{EncodeError, ParameterProblem};
use crate::pdu::{
    self, AlertNotification, Bind, BindResp, Body, BroadcastSmResp, Command, DataSm, DataSmResp, DeliverSm,
    DeliverSmResp, Outbind, Pdu, SubmitMultiResp, SubmitSm, SubmitSmResp, Version, encode_header,
};
use crate::status::Status;
use crate::tlv::{Tag, TlvBuf, Tlvs};
use std::time::Instant;

impl Session {
    /// ESME: binds. The answer is [`Event::Bound`] or [`Event::BindRefused`]. Our own version goes into
    /// `interface_version`.
    ///
    /// # Errors
    /// Already bound or binding, not the ESME, or a field over its size.
    pub fn bind(&mut self, bind: &Bind<'_>, now: Instant) -> Result<u32, SendError> {
        self.core.set_now(now);
        self.core.bind(bind)
    }

    /// SMSC: accepts the bind of [`Event::Bind`]. Says which version is spoken.
    ///
    /// # Errors
    /// No bind waits, or `system_id` is over its size.
    pub fn accept_bind(&mut self, system_id: &[u8], now: Instant) -> Result<(), SendError> {
        self.core.set_now(now);
        self.core.accept_bind(system_id)
    }

    /// SMSC: refuses the bind of [`Event::Bind`]; the session stays open, for a few more attempts.
    ///
    /// # Errors
    /// No bind waits.
    pub fn refuse_bind(&mut self, status: Status, now: Instant) -> Result<(), SendError> {
        self.core.set_now(now);
        let bind = self.core.bind.take().ok_or(SendError::WrongState)?;
        encode_header(bind.mode.command().response(), status, bind.sequence, &mut self.core.out);
        self.core.wrote();
        self.core.bind_refused();
        Ok(())
    }

    /// SMSC: asks the ESME it has connected to, to bind.
    ///
    /// # Errors
    /// Not open, not the SMSC, or a field over its size.
    pub fn outbind(&mut self, outbind: &Outbind<'_>, now: Instant) -> Result<u32, SendError> {
        self.core.set_now(now);
        let sequence = self.core.send_unanswered(outbind)?;
        self.core.state = SessionState::Outbound;
        Ok(sequence)
    }

    /// ESME: submits a message. `token` comes back with its one [`Event::Response`] or [`Event::Unanswered`].
    ///
    /// # Errors
    /// Nothing was written: wrong state, window or output full, or a field over its size.
    pub fn submit(&mut self, submit: &SubmitSm<'_>, token: u64, now: Instant) -> Result<u32, SendError> {
        self.request(submit, token, now)
    }

    /// SMSC: delivers a message or receipt. `token` as with [`Session::submit`].
    ///
    /// # Errors
    /// As [`Session::submit`].
    pub fn deliver(&mut self, deliver: &DeliverSm<'_>, token: u64, now: Instant) -> Result<u32, SendError> {
        self.request(deliver, token, now)
    }

    /// Either: sends a data_sm. `token` as with [`Session::submit`].
    ///
    /// # Errors
    /// As [`Session::submit`].
    pub fn data(&mut self, data: &DataSm<'_>, token: u64, now: Instant) -> Result<u32, SendError> {
        self.request(data, token, now)
    }

    /// Sends any request that has a response and is not the session's own (bind, unbind, enquire_link):
    /// query_sm, cancel_sm, replace_sm, submit_multi, the broadcasts. `token` as with [`Session::submit`].
    ///
    /// # Errors
    /// As [`Session::submit`].
    pub fn request<'a, B: Body<'a>>(&mut self, body: &B, token: u64, now: Instant) -> Result<u32, SendError> {
        self.core.set_now(now);
        self.core.request(body, token)
    }

    /// SMSC: tells that a phone is reachable again. Has no response and takes no slot of the window.
    ///
    /// # Errors
    /// Wrong state, output full, or a field over its size.
    pub fn alert(&mut self, alert: &AlertNotification<'_>, now: Instant) -> Result<u32, SendError> {
        self.core.set_now(now);
        self.core.send_unanswered(alert)
    }

    /// Answers a request of the peer; a query that succeeds wants [`Session::respond_with`]. `message_id`
    /// goes into submit_sm, submit_multi, data_sm and broadcast_sm answers of status `ROK`; elsewhere it is
    /// ignored. An answer is taken whatever the state of the output: their number is bounded by the peer's
    /// window.
    ///
    /// # Errors
    /// No such request waits, it is a query, or the id is over 64 octets (8 hexadecimal digits to a peer of
    /// version 3.3).
    pub fn respond(
        &mut self,
        sequence: u32,
        status: Status,
        message_id: &[u8],
        now: Instant,
    ) -> Result<(), SendError> {
        self.core.set_now(now);
        self.core.respond(sequence, status, message_id)
    }

    /// Answers a request of the peer with a whole body: a query's, a submit_multi's with whom it refuses, one
    /// with TLVs. `body` is the response's struct or a [`Pdu`] of it.
    ///
    /// # Errors
    /// No such request waits, `body` is not its response, or a field is over its size (to a peer of version
    /// 3.3 a message id is at most 8 hexadecimal digits).
    pub fn respond_with<'a, B: Body<'a>>(
        &mut self,
        sequence: u32,
        status: Status,
        body: &B,
        now: Instant,
    ) -> Result<(), SendError> {
        self.core.set_now(now);
        let command = self.core.peers.command(sequence).ok_or(SendError::UnknownSequence)?;
        if body.command() != command.response() {
            return Err(SendError::WrongState);
        }
        self.core.write_response(sequence, status, body)
    }

    /// Ends the session in order: no new requests, what is in flight drains, then unbind. [`Event::Closed`]
    /// tells the end. An unbound session is closed at once.
    pub fn unbind(&mut self, now: Instant) {
        self.core.set_now(now);
        match self.core.state {
            SessionState::Bound(_) => self.core.begin_unbind(),
            SessionState::Open | SessionState::Outbound => self.core.close(Reason::Aborted),
            SessionState::Unbound | SessionState::Closed => {}
        }
    }

    /// Ends the session at once, without unbind.
    pub fn abort(&mut self, now: Instant) {
        self.core.set_now(now);
        self.core.close(Reason::Aborted);
    }
}

impl Core {
    fn bind(&mut self, bind: &Bind<'_>) -> Result<u32, SendError> {
        if self.bind.is_some() || !may_send(self.role, bind.mode.command(), self.state) {
            return Err(SendError::WrongState);
        }
        let bind = Bind { interface_version: self.config.version, ..*bind };
        let sequence = self.next_sequence;
        pdu::encode_for(&bind, Status::ROK, sequence, self.config.version, &mut self.out)?;
        self.next_sequence = after(sequence);
        self.bind = Some(PendingBind { mode: bind.mode, sequence, peer_version: self.config.version });
        self.timers.bind_sent(self.now);
        self.wrote();
        Ok(sequence)
    }

    fn accept_bind(&mut self, system_id: &[u8]) -> Result<(), SendError> {
        let bind = self.bind.ok_or(SendError::WrongState)?;
        let version = self.config.version.min(bind.peer_version).known();
        let mut tlvs = TlvBuf::new();
        tlvs.push_u8(Tag::SC_INTERFACE_VERSION, self.config.version.0);
        let response = BindResp { mode: bind.mode, system_id, tlvs: tlvs.as_tlvs() };
        pdu::encode_for(&response, Status::ROK, bind.sequence, version, &mut self.out)?;
        self.wrote();
        self.bind = None;
        self.bound(bind.mode, version);
        Ok(())
    }

    pub(super) fn bind_refused(&mut self) {
        self.refused_binds += 1;
        if self.refused_binds >= REFUSED_BINDS_MAX {
            self.close(Reason::TooManyBinds);
        }
    }

    fn request<'a, B: Body<'a>>(&mut self, body: &B, token: u64) -> Result<u32, SendError> {
        let command = body.command();
        if !matches!(self.state, SessionState::Bound(_))
            || is_own(command)
            || !may_send(self.role, command, self.state)
        {
            return Err(SendError::WrongState);
        }
        if self.window.free() == 0 {
            return Err(SendError::WindowFull);
        }
        if self.out.len() >= self.config.output_octets_max {
            return Err(SendError::OutputFull);
        }
        let sequence = self.window.free_sequence(self.next_sequence);
        pdu::encode_for(body, Status::ROK, sequence, self.version, &mut self.out)?;
        self.next_sequence = after(sequence);
        // Registered before any octet can leave: the fastest response finds its slot.
        self.window.insert(WindowEntry { token, sent: self.nanos, sequence, command, batch: self.batch });
        self.timers.active(self.now);
        self.wrote();
        Ok(sequence)
    }

    /// Sends a PDU that has no response.
    fn send_unanswered<'a, B: Body<'a>>(&mut self, body: &B) -> Result<u32, SendError> {
        if !may_send(self.role, body.command(), self.state) {
            return Err(SendError::WrongState);
        }
        if self.out.len() >= self.config.output_octets_max {
            return Err(SendError::OutputFull);
        }
        let sequence = self.next_sequence;
        pdu::encode_for(body, Status::ROK, sequence, self.version, &mut self.out)?;
        self.next_sequence = after(sequence);
        self.wrote();
        Ok(sequence)
    }

    fn respond(&mut self, sequence: u32, status: Status, message_id: &[u8]) -> Result<(), SendError> {
        let command = self.peers.command(sequence).ok_or(SendError::UnknownSequence)?;
        if !status.is_ok() {
            self.write_bare(command, status, sequence);
            self.responded(sequence);
            return Ok(());
        }
        let tlvs = Tlvs::NONE;
        match command {
            Command::SUBMIT_SM => self.write_response(sequence, status, &SubmitSmResp { message_id, tlvs }),
            Command::DELIVER_SM => self.write_response(sequence, status, &DeliverSmResp::default()),
            Command::DATA_SM => self.write_response(sequence, status, &DataSmResp { message_id, tlvs }),
            Command::SUBMIT_MULTI => self.write_response(
                sequence,
                status,
                &SubmitMultiResp { message_id, ..SubmitMultiResp::default() },
            ),
            Command::BROADCAST_SM => {
                self.write_response(sequence, status, &BroadcastSmResp { message_id, tlvs })
            }
            Command::QUERY_SM | Command::QUERY_BROADCAST_SM => {
                let problem = ParameterProblem::Missing;
                Err(SendError::Encode(EncodeError { field: "message_state", problem }))
            }
            _ => {
                self.write_bare(command, status, sequence);
                self.responded(sequence);
                Ok(())
            }
        }
    }

    /// Writes a response that says nothing but its status: no body (3.4 §4.4.2 and others), unless it says
    /// how busy we are.
    pub(super) fn write_bare(&mut self, command: Command, status: Status, sequence: u32) {
        let body = self.congestion_said().and_then(|_| Pdu::empty(command.response()));
        let start = self.out.len();
        let written = body.is_some_and(|body| {
            pdu::encode_for(&body, status, sequence, self.version, &mut self.out).is_ok()
        });
        if written {
            self.say_congestion(start);
        } else {
            encode_header(command.response(), status, sequence, &mut self.out);
        }
    }

    fn congestion_said(&self) -> Option<u8> {
        self.congestion.filter(|_| self.version >= Version::V5_0)
    }

    /// Appends `congestion_state` to the response that begins at `start` of the output.
    fn say_congestion(&mut self, start: usize) {
        let Some(percent) = self.congestion_said() else {
            return;
        };
        let mut tlvs = TlvBuf::new();
        tlvs.push_u8(Tag::CONGESTION_STATE, percent);
        pdu::append_tlvs(tlvs.as_tlvs(), start, &mut self.out);
    }

    fn write_response<'a, B: Body<'a>>(
        &mut self,
        sequence: u32,
        status: Status,
        body: &B,
    ) -> Result<(), SendError> {
        let start = self.out.len();
        pdu::encode_for(body, status, sequence, self.version, &mut self.out)?;
        self.say_congestion(start);
        self.responded(sequence);
        Ok(())
    }

    fn responded(&mut self, sequence: u32) {
        self.peers.remove(sequence);
        self.wrote();
        self.drain_further();
    }
}

/// Commands that only the machine itself sends, or that have their own method.
fn is_own(command: Command) -> bool {
    command.is_response()
        || matches!(
            command,
            Command::ENQUIRE_LINK | Command::UNBIND | Command::OUTBIND | Command::ALERT_NOTIFICATION
        )
}
