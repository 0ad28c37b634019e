//! Receiving half of a session, by PDU.

use super::window::WindowEntry;
use super::{
    Core, Event, PendingBind, Reason, Refused, Response, Role, SessionState, Unbinding, may_send, state,
};
use crate::error::{DecodeError, ParameterProblem};
use crate::limits::{DESTINATIONS_MAX, HEADER_OCTETS, SHORT_MESSAGE_OCTETS_MAX};
use crate::pdu::{
    AlertNotification, Bind, BindMode, BindResp, Body, Command, DataSm, DeliverSm, EnquireLink, Header,
    Outbind, Pdu, SubmitSm, SubmitSmResp, Unbind, Version, encode_header,
};
use crate::status::Status;
use crate::tlv::Tlvs;
use std::time::Duration;

impl Core {
    /// Acts on one whole PDU; the event, if it makes one, points into it.
    pub(super) fn receive<'b>(&mut self, pdu: &'b [u8]) -> Option<Event<'b>> {
        let header = Header::parse(pdu)?;
        let body = pdu.get(HEADER_OCTETS..)?;
        self.counters.pdus_in += 1;
        self.timers.heard(self.now);
        if header.command.is_response() {
            self.response(header, body)
        } else {
            self.request_of_peer(header, body)
        }
    }

    fn response<'b>(&mut self, header: Header, body: &'b [u8]) -> Option<Event<'b>> {
        match header.command {
            Command::GENERIC_NACK => self.nack(header),
            Command::ENQUIRE_LINK_RESP => None,
            Command::UNBIND_RESP => self.unbind_response(header),
            Command::BIND_RECEIVER_RESP | Command::BIND_TRANSMITTER_RESP | Command::BIND_TRANSCEIVER_RESP => {
                self.bind_response(header, body)
            }
            command => {
                let request = command.request();
                if let Some(entry) = self.window.take(header.sequence, request) {
                    return Some(self.answered(entry, header, body, false));
                }
                let entry = self.window.take_late(header.sequence, Some(request), self.nanos);
                self.late_or_unknown(entry, header, body)
            }
        }
    }

    fn late_or_unknown<'b>(
        &mut self,
        entry: Option<WindowEntry>,
        header: Header,
        body: &'b [u8],
    ) -> Option<Event<'b>> {
        let Some(entry) = entry else {
            self.counters.unknown_responses += 1;
            return None;
        };
        self.counters.late_responses += 1;
        Some(self.answered(entry, header, body, true))
    }

    fn answered<'b>(&mut self, entry: WindowEntry, header: Header, body: &'b [u8], late: bool) -> Event<'b> {
        let (message_id, tlvs, malformed) = match id_and_tlvs(header, body) {
            Ok((message_id, tlvs)) => (message_id, tlvs, false),
            Err(_) => (&b""[..], Tlvs::NONE, true),
        };
        self.counters.malformed_responses += u64::from(malformed);
        self.timers.active(self.now);
        let waited = Duration::from_nanos(self.nanos.saturating_sub(entry.sent));
        self.drain_further();
        let WindowEntry { token, sequence, command, .. } = entry;
        let status = header.status;
        Event::Response(Response {
            token,
            sequence,
            command,
            status,
            message_id,
            tlvs,
            body,
            malformed,
            late,
            waited,
        })
    }

    /// A generic_nack answers whatever has its sequence; it is never answered itself.
    fn nack<'b>(&mut self, header: Header) -> Option<Event<'b>> {
        // Its status should say what is wrong; one that says nothing must not pass for success.
        let status = if header.status.is_ok() { Status::RUNKNOWNERR } else { header.status };
        let header = Header { status, ..header };
        if self.role == Role::Esme && self.bind.is_some_and(|bind| bind.sequence == header.sequence) {
            return Some(self.our_bind_refused(status));
        }
        if self.unbind == (Unbinding::Asked { sequence: header.sequence }) {
            self.close(Reason::Unbound);
            return None;
        }
        if let Some(entry) = self.window.take_any(header.sequence) {
            return Some(self.answered(entry, header, &[], false));
        }
        if let Some(entry) = self.window.take_late(header.sequence, None, self.nanos) {
            return self.late_or_unknown(Some(entry), header, &[]);
        }
        (Some(header.sequence) != self.enquired).then_some(Event::Nack { status, sequence: header.sequence })
    }

    fn unbind_response<'b>(&mut self, header: Header) -> Option<Event<'b>> {
        if self.unbind == (Unbinding::Asked { sequence: header.sequence }) {
            self.close(Reason::Unbound);
        } else {
            self.counters.unknown_responses += 1;
        }
        None
    }

    fn bind_response<'b>(&mut self, header: Header, body: &'b [u8]) -> Option<Event<'b>> {
        let ours = self.bind.filter(|bind| {
            self.role == Role::Esme
                && bind.sequence == header.sequence
                && bind.mode.command().response() == header.command
        });
        let Some(bind) = ours else {
            self.counters.unknown_responses += 1;
            return None;
        };
        if !header.status.is_ok() {
            return Some(self.our_bind_refused(header.status));
        }
        let response = BindResp::decode_body(header.command, body).unwrap_or_else(|_| {
            self.counters.malformed_responses += 1;
            BindResp::default()
        });
        self.bind = None;
        // 3.4 §4.1.2: without sc_interface_version the SMSC knows no optional parameters.
        let theirs = response.version().or(self.config.assumed_version).unwrap_or(Version::V3_3);
        let version = self.config.version.min(theirs).known();
        self.bound(bind.mode, version);
        Some(Event::Bound { system_id: response.system_id, mode: bind.mode, version })
    }

    fn our_bind_refused<'b>(&mut self, status: Status) -> Event<'b> {
        self.bind = None;
        self.timers.bind_refused(self.now);
        self.state = SessionState::Open;
        Event::BindRefused { status }
    }

    pub(super) fn bound(&mut self, mode: BindMode, version: Version) {
        self.state = SessionState::Bound(mode);
        self.mode = mode;
        self.version = version;
        self.timers.bound(self.now);
    }

    fn request_of_peer<'b>(&mut self, header: Header, body: &'b [u8]) -> Option<Event<'b>> {
        match header.command {
            Command::ENQUIRE_LINK => self.enquire_request(header, body),
            Command::UNBIND => self.unbind_request(header, body),
            Command::BIND_RECEIVER | Command::BIND_TRANSMITTER | Command::BIND_TRANSCEIVER => {
                self.bind_request(header, body)
            }
            Command::OUTBIND | Command::ALERT_NOTIFICATION => self.notification(header, body),
            command if state::is_request(command) => self.message_request(header, body),
            _ => Some(self.refuse(header, Status::RINVCMDID, None)),
        }
    }

    /// Answers a request with an error. A command without a response, known or not, gets a generic_nack.
    fn refuse<'b>(&mut self, header: Header, status: Status, error: Option<DecodeError>) -> Event<'b> {
        let Header { command, sequence, .. } = header;
        let has_response =
            state::is_request(command) && !matches!(command, Command::OUTBIND | Command::ALERT_NOTIFICATION);
        let response = if has_response { command.response() } else { Command::GENERIC_NACK };
        encode_header(response, status, sequence, &mut self.out);
        self.counters.refused_requests += 1;
        self.wrote();
        Event::Refused(Refused { command, sequence, status, error })
    }

    fn refuse_malformed<'b>(&mut self, header: Header, error: DecodeError) -> Event<'b> {
        self.refuse(header, error.status, Some(error))
    }

    /// Whether the peer may send this now. While we are the one who unbinds, it may go on until it has seen
    /// that: what it sent before is taken and answered.
    fn peer_may_send(&self, command: Command) -> bool {
        let peer = match self.role {
            Role::Esme => Role::Smsc,
            Role::Smsc => Role::Esme,
        };
        let ours = matches!(self.unbind, Unbinding::Draining | Unbinding::Asked { .. });
        let state = if ours && self.state == SessionState::Unbound {
            SessionState::Bound(self.mode)
        } else {
            self.state
        };
        may_send(peer, command, state)
    }

    /// enquire_link is answered in every state (a rule of 5.0).
    fn enquire_request<'b>(&mut self, header: Header, body: &[u8]) -> Option<Event<'b>> {
        if let Err(error) = EnquireLink::decode_body(header.command, body) {
            return Some(self.refuse_malformed(header, error));
        }
        encode_header(Command::ENQUIRE_LINK_RESP, Status::ROK, header.sequence, &mut self.out);
        self.wrote();
        None
    }

    fn unbind_request<'b>(&mut self, header: Header, body: &[u8]) -> Option<Event<'b>> {
        let repeated = matches!(self.unbind, Unbinding::PeerAsked { .. });
        if repeated || !self.peer_may_send(Command::UNBIND) {
            return Some(self.refuse(header, Status::RINVBNDSTS, None));
        }
        if let Err(error) = Unbind::decode_body(header.command, body) {
            return Some(self.refuse_malformed(header, error));
        }
        self.state = SessionState::Unbound;
        self.unbind = Unbinding::PeerAsked { sequence: header.sequence };
        self.timers.drain_from(self.now, self.config.drain);
        self.drain_further();
        Some(Event::Unbinding)
    }

    fn bind_request<'b>(&mut self, header: Header, body: &'b [u8]) -> Option<Event<'b>> {
        if self.role == Role::Esme {
            return Some(self.refuse(header, Status::RINVBNDSTS, None));
        }
        let waiting = self.bind.is_some();
        if waiting || !matches!(self.state, SessionState::Open | SessionState::Outbound) {
            return Some(self.refuse(header, Status::RALYBND, None));
        }
        match Bind::decode_body(header.command, body) {
            Ok(bind) => {
                let (mode, peer_version) = (bind.mode, bind.interface_version);
                self.bind = Some(PendingBind { mode, sequence: header.sequence, peer_version });
                Some(Event::Bind { bind })
            }
            Err(error) => {
                let refused = self.refuse_malformed(header, error);
                self.bind_refused();
                Some(refused)
            }
        }
    }

    fn notification<'b>(&mut self, header: Header, body: &'b [u8]) -> Option<Event<'b>> {
        if !self.peer_may_send(header.command) {
            return Some(self.refuse(header, Status::RINVBNDSTS, None));
        }
        let event = if header.command == Command::OUTBIND {
            Outbind::decode_body(header.command, body).map(Event::Outbind)
        } else {
            AlertNotification::decode_body(header.command, body).map(Event::Alert)
        };
        if matches!(event, Ok(Event::Outbind(_))) {
            self.state = SessionState::Outbound;
        }
        Some(event.unwrap_or_else(|error| self.refuse_malformed(header, error)))
    }

    fn message_request<'b>(&mut self, header: Header, body: &'b [u8]) -> Option<Event<'b>> {
        if !self.peer_may_send(header.command) {
            return Some(self.refuse(header, Status::RINVBNDSTS, None));
        }
        if self.peers.is_full() {
            // Without an event: a flood costs the caller nothing.
            self.write_bare(header.command, self.config.flood_status, header.sequence);
            self.counters.flooded_requests += 1;
            self.wrote();
            return None;
        }
        let event = match self.read_request(header, body) {
            Ok(event) => event,
            Err(error) => return Some(self.refuse_malformed(header, error)),
        };
        if self.peers.insert(header.sequence, header.command).is_err() {
            // A number is repeated while a request of another kind with it is unanswered: the order of the
            // answers would not tell them apart.
            return Some(self.refuse(header, Status::RSYSERR, None));
        }
        self.timers.active(self.now);
        Some(event)
    }

    /// Reads a request's body; a server also judges its values.
    fn read_request<'b>(&self, header: Header, body: &'b [u8]) -> Result<Event<'b>, DecodeError> {
        let (command, sequence) = (header.command, header.sequence);
        match command {
            Command::SUBMIT_SM => {
                let pdu = SubmitSm::decode_body(command, body)?;
                self.judge_length(pdu.short_message)?;
                pdu.check()?;
                Ok(Event::Submit { sequence, pdu })
            }
            Command::DELIVER_SM => {
                let pdu = DeliverSm::decode_body(command, body)?;
                self.judge_length(pdu.short_message)?;
                Ok(Event::Deliver { sequence, pdu })
            }
            Command::DATA_SM => {
                if self.role == Role::Esme {
                    return Ok(Event::Data { sequence, pdu: DataSm::decode_of_carrier(body)? });
                }
                let pdu = DataSm::decode_body(command, body)?;
                pdu.check()?;
                Ok(Event::Data { sequence, pdu })
            }
            _ => {
                let pdu = Pdu::decode_body(command, body)?;
                self.judge(&pdu)?;
                Ok(Event::Request { sequence, pdu })
            }
        }
    }

    /// Judges the values of the rarer requests.
    fn judge(&self, pdu: &Pdu<'_>) -> Result<(), DecodeError> {
        match pdu {
            Pdu::SubmitMulti(multi) => {
                self.judge_length(multi.short_message)?;
                self.judge_count(multi.destinations.count())?;
                multi.check()
            }
            Pdu::ReplaceSm(replace) => {
                self.judge_length(replace.short_message)?;
                replace.check()
            }
            Pdu::QuerySm(query) => query.check(),
            Pdu::CancelSm(cancel) => cancel.check(),
            Pdu::BroadcastSm(broadcast) => broadcast.check(),
            Pdu::QueryBroadcastSm(query) => query.check(),
            Pdu::CancelBroadcastSm(cancel) => cancel.check(),
            _ => Ok(()),
        }
    }

    /// Before 5.0 a short message has at most 254 octets.
    fn judge_length(&self, short_message: &[u8]) -> Result<(), DecodeError> {
        if self.version >= Version::V5_0 || short_message.len() <= SHORT_MESSAGE_OCTETS_MAX {
            return Ok(());
        }
        let problem = ParameterProblem::TooLong { octets_max: SHORT_MESSAGE_OCTETS_MAX };
        Err(DecodeError { status: Status::RINVMSGLEN, field: "short_message", problem })
    }

    /// Before 5.0 a submit_multi has at most 254 destinations.
    fn judge_count(&self, destinations: usize) -> Result<(), DecodeError> {
        if self.version >= Version::V5_0 || destinations <= DESTINATIONS_MAX {
            return Ok(());
        }
        let problem = ParameterProblem::TooMany { limit: DESTINATIONS_MAX };
        Err(DecodeError { status: Status::RINVNUMDESTS, field: "number_of_dests", problem })
    }
}

/// The message id and TLVs of a response. A refusal may have no body, or one that says nothing.
fn id_and_tlvs(header: Header, body: &[u8]) -> Result<(&[u8], Tlvs<'_>), DecodeError> {
    if header.command == Command::SUBMIT_SM_RESP {
        return match SubmitSmResp::decode_body(header.command, body) {
            Ok(response) => Ok((response.message_id, response.tlvs)),
            Err(_) if !header.status.is_ok() => Ok((b"", Tlvs::NONE)),
            Err(error) => Err(error),
        };
    }
    Ok(match Pdu::decode(header, body)? {
        Pdu::DeliverSmResp(response) => (response.message_id, response.tlvs),
        Pdu::DataSmResp(response) => (response.message_id, response.tlvs),
        Pdu::SubmitMultiResp(response) => (response.message_id, response.tlvs),
        Pdu::QuerySmResp(response) => (response.message_id, response.tlvs),
        Pdu::BroadcastSmResp(response) => (response.message_id, response.tlvs),
        Pdu::QueryBroadcastSmResp(response) => (response.message_id, response.tlvs),
        Pdu::CancelSmResp(response) => (b"", response.tlvs),
        Pdu::ReplaceSmResp(response) => (b"", response.tlvs),
        Pdu::CancelBroadcastSmResp(response) => (b"", response.tlvs),
        Pdu::GenericNack(nack) => (b"", nack.tlvs),
        _ => (b"", Tlvs::NONE),
    })
}
