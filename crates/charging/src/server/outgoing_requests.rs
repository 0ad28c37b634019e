//! Requests of the server on one connection: Re-Auth-Requests and Abort-Session-Requests, and what their
//! answers mean for the ledger.

use super::Server;
use super::answer::Identity;
use crate::session_notifier::{Mailbox, RequestResult, SessionNotifier, TRIES_MAX};
use diameter::credit::answer::{ServerRequest, SessionPart};
use diameter::dictionary::{avp, command};
use diameter::message::Message;
use diameter::peer::{Connection, EndToEnd, Outgoing, SendError};
use diameter::result_code;
use ledger::Ledger;
use ledger::session_clients::{RequestKind, SessionRequest};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// An answer is waited for so long (Tx, RFC 8506, section 13).
const TIMEOUT: Duration = Duration::from_secs(10);

/// The requests of ours on one connection.
pub(super) struct OutgoingRequests {
    ledger: Ledger,
    identity: Arc<Identity>,
    notifier: Arc<SessionNotifier>,
    mailbox: Arc<Mailbox>,
    end_to_end: EndToEnd,
    /// Those without an answer, by their tokens.
    asked: HashMap<u64, SessionRequest>,
    next: u64,
}

impl OutgoingRequests {
    pub(super) fn new(server: &Server, mailbox: Arc<Mailbox>) -> OutgoingRequests {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        OutgoingRequests {
            ledger: server.ledger.clone(),
            identity: Arc::clone(&server.identity),
            notifier: Arc::clone(&server.notifier),
            mailbox,
            end_to_end: EndToEnd::new(started, (server.next_seed() >> 32) as u32),
            asked: HashMap::new(),
            next: 0,
        }
    }

    /// Asks what waits to be asked, as far as the connection takes it.
    pub(super) fn send(&mut self, connection: &mut Connection, now: Instant) {
        let mut waiting = self.mailbox.take().into_iter();
        while let Some(request_of_ours) = waiting.next() {
            match self.ask(&request_of_ours, connection, now) {
                Ok(()) => {
                    self.notifier.count(RequestResult::Asked);
                    self.asked.insert(self.next, request_of_ours);
                    self.next += 1;
                }
                Err(SendError::NotOpen) => {
                    self.notifier.count(RequestResult::Unreachable);
                    self.notifier.wait_for(request_of_ours);
                }
                // Whatever makes room, an answer or a write, wakes this connection.
                Err(SendError::Suspended | SendError::WindowFull | SendError::OutputFull) => {
                    let rest = std::iter::once(request_of_ours).chain(waiting).collect();
                    return self.mailbox.put_back(rest);
                }
            }
        }
    }

    fn ask(
        &mut self,
        request_of_ours: &SessionRequest,
        connection: &mut Connection,
        now: Instant,
    ) -> Result<(), SendError> {
        let Ok(session_id) = std::str::from_utf8(&request_of_ours.id) else { return Err(SendError::NotOpen) };
        let request = ServerRequest {
            session_id,
            origin: self.identity.origin(),
            destination_host: &request_of_ours.client.host,
            destination_realm: &request_of_ours.client.realm,
            origin_state_id: None,
            part: SessionPart::All,
        };
        let command = match request_of_ours.ask {
            RequestKind::ReAuth => command::RE_AUTH,
            RequestKind::Abort => command::ABORT_SESSION,
        };
        let end_to_end = self.end_to_end.take();
        let outgoing = Outgoing { token: self.next, command, timeout: TIMEOUT, end_to_end };
        let write = |out: &mut Vec<u8>, hop_by_hop| {
            match request_of_ours.ask {
                RequestKind::ReAuth => request.write_re_auth(hop_by_hop, end_to_end, out),
                RequestKind::Abort => request.write_abort(hop_by_hop, end_to_end, out),
            };
        };
        connection.request(outgoing, now, write).map(drop)
    }

    /// A client answered. A session that it does not know is over: what is held for it is free, with a
    /// record.
    pub(super) fn answered(&mut self, token: u64, answer: &Message<'_>) {
        let Some(request_of_ours) = self.asked.remove(&token) else { return };
        let code = answer.find(avp::RESULT_CODE).and_then(|avp| avp.u32().ok());
        let result = match code {
            Some(result_code::SUCCESS | result_code::LIMITED_SUCCESS) => RequestResult::Agreed,
            Some(result_code::UNKNOWN_SESSION_ID) => RequestResult::Unknown,
            _ => RequestResult::Refused,
        };
        self.notifier.count(result);
        if result == RequestResult::Unknown {
            let session = request_of_ours.session;
            self.ledger.ask(request_of_ours.shard, move |shard| shard.end_sessions([session]));
        }
        if result == RequestResult::Refused {
            tracing::debug!(ask = ?request_of_ours.ask, client = %request_of_ours.client.host, ?code, "a client refused what it was asked");
        }
    }

    /// Nobody answered in time: the client is asked again, but not for ever. Its next request, or Tcc, tells
    /// it then.
    pub(super) fn unanswered(&mut self, token: u64) {
        if let Some(request_of_ours) = self.asked.remove(&token) {
            self.notifier.count(RequestResult::Unanswered);
            if request_of_ours.tries + 1 < TRIES_MAX {
                let again = SessionRequest { tries: request_of_ours.tries + 1, ..request_of_ours };
                self.notifier.ask_again(again, &self.ledger);
            }
        }
    }
}

impl Drop for OutgoingRequests {
    fn drop(&mut self) {
        // The connection ended first: the peer hears it when it is back.
        for (_, request_of_ours) in self.asked.drain() {
            self.notifier.count(RequestResult::Unanswered);
            self.notifier.wait_for(SessionRequest { tries: request_of_ours.tries + 1, ..request_of_ours });
        }
    }
}
