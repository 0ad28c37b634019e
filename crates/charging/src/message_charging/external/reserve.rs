//! A message's session begins: its parts are reserved, or it is known why not.

use super::request::{About, RequestStage, granted, phone, result_code};
use super::sessions::{FollowUp, Open};
use super::{External, until_usable};
use crate::message_charging::ChargeId;
use crate::server::{Asker, Reply};
use diameter::credit::client::session::{ClientSession, SessionConfig, SessionEvent};
use diameter::credit::client::{ClientAction, CreditAnswer, Steps};
use diameter::message::Message;
use diameter::peer::NoAnswer;
use diameter::result_code;
use records::{Bill, BillItem, Funding, Unpaid};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A request's own time, with all that is sent elsewhere: after that it has failed.
const OWN_TIME: Duration = Duration::from_secs(120);
/// Without any server that can be reached it is looked again after so long.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// One INITIAL_REQUEST on its way.
struct InitialRequest<'a> {
    external: &'a External,
    about: About<'a>,
    parts: u32,
    is_emergency: bool,
    end_to_end: u32,
    /// A server may have received it.
    is_retransmit: bool,
    /// Where it went last.
    server: Option<Arc<Asker>>,
    /// Those that it need not go to again.
    passed: Vec<Arc<str>>,
    /// Until when it has its own time.
    until: Instant,
}

impl External {
    /// Reserves what a message costs.
    pub(super) async fn begin(&self, bill: &Bill, item: &BillItem) -> Funding {
        let id = ChargeId { alert: bill.alert, endpoint: item.endpoint, attempt: item.attempt };
        let phone = phone(&item.address);
        let about = About { id, account: &bill.account, phone, is_sms: !phone.is_empty() };
        let now = Instant::now();
        let mut beginning = InitialRequest {
            external: self,
            about,
            parts: item.parts.into(),
            is_emergency: bill.is_emergency,
            end_to_end: self.end_to_end(),
            // A segment that was made before this process began may have been paid for by the one before; of
            // several, by who had it.
            is_retransmit: if self.0.is_shared { bill.is_again } else { bill.since <= self.0.born_at },
            server: None,
            passed: Vec::new(),
            until: now + OWN_TIME,
        };
        let config = SessionConfig {
            tx: self.0.settings.tx,
            failure_handling: self.0.settings.failure_handling,
            has_alternative: self.servers().len() > 1,
            ..SessionConfig::default()
        };
        let mut session = ClientSession::new(config, now);
        let steps = session.handle(SessionEvent::Start, now);
        // Who pays is known here, and where the message ends without a session it is needed.
        let _under_way = self.sessions().begin(id, &bill.account, item.parts.into(), now);
        let funding = beginning.carry_out(&mut session, steps).await;
        let is_over = !bill.is_emergency
            && matches!(funding, Funding::Refused(why) if why != Unpaid::NoServer)
            && self.sessions().known(&id).is_some_and(|open| open.host.is_none());
        if is_over {
            self.sessions().forget(&id);
        }
        funding
    }
}

impl InitialRequest<'_> {
    /// Does what the client's machine says until it is known whether the message may be written.
    async fn carry_out(&mut self, session: &mut ClientSession, mut steps: Steps) -> Funding {
        let mut refused = Unpaid::NoServer;
        let mut number = 0;
        loop {
            for step in std::mem::take(&mut steps) {
                match step {
                    ClientAction::SendInitial(first) => number = first,
                    ClientAction::SendElsewhere { .. } => {
                        self.passed.extend(self.server.take().map(|server| Arc::from(&*server.host)));
                    }
                    ClientAction::GrantService => return Funding::Paid,
                    ClientAction::TerminateService => return Funding::Refused(refused),
                    _ => {}
                }
            }
            let due = session.poll_timeout().unwrap_or(self.until);
            tokio::select! {
                biased;
                reply = self.ask(number) => {
                    let event = match &reply {
                        Some(octets) => match self.judge(octets) {
                            Ok(Some(funding)) => return funding,
                            Ok(None) => SessionEvent::FailureToSend,
                            Err((answer, why)) => {
                                refused = why;
                                SessionEvent::Answer(answer)
                            }
                        },
                        None => SessionEvent::FailureToSend,
                    };
                    steps = session.handle(event, Instant::now());
                }
                () = tokio::time::sleep_until(due.into()) => steps = session.handle_timeout(Instant::now()),
            }
        }
    }

    /// What an answer means: all that was asked for is granted, or less; else it is for the machine.
    fn judge(&self, octets: &[u8]) -> Result<Option<Funding>, (CreditAnswer, Unpaid)> {
        let Ok(message) = Message::read(octets) else { return Ok(None) };
        let answer = CreditAnswer::read(&message);
        if let CreditAnswer::Success(_) = answer {
            return Ok(Some(self.judge_grant(granted(&message, self.parts))));
        }
        let why = match result_code(&message) {
            result_code::CREDIT_LIMIT_REACHED => Unpaid::NoMoney,
            result_code::END_USER_SERVICE_DENIED => Unpaid::Blocked,
            result_code::USER_UNKNOWN => Unpaid::NoAccount,
            result_code::RATING_FAILED => Unpaid::NoPrice,
            result_code => {
                let server = self.server.as_ref().map(|server| server.host.clone());
                tracing::warn!(?server, result_code, "a charging server answers with an error");
                Unpaid::NoServer
            }
        };
        Err((answer, why))
    }

    /// So many parts are granted: whether the message may be written.
    fn judge_grant(&self, parts: u64) -> Funding {
        let (external, id) = (self.external, self.about.id);
        let Some(host) = self.server.as_ref().map(|server| Arc::<str>::from(&*server.host)) else {
            return Funding::Refused(Unpaid::NoServer);
        };
        let wanted = external.sessions().granted(id, &host);
        let open = Open::new(self.about.account, self.parts, Instant::now()).at(host);
        if parts < u64::from(self.parts) {
            // A part of a message is of no use: what was reserved is free again.
            external.begin_end(id, open);
            return Funding::Refused(Unpaid::NoMoney);
        }
        match wanted {
            // Its server wanted it ended before it was granted; an emergency goes out all the same, and its
            // outcome ends it.
            FollowUp::End if !self.is_emergency => {
                external.begin_end(id, open);
                return Funding::Refused(Unpaid::Blocked);
            }
            FollowUp::Update(update) => external.begin_update(id, update),
            FollowUp::End | FollowUp::Nothing | FollowUp::Tell => {}
        }
        Funding::Paid
    }

    /// Sends the request to the first server that can be asked, and to the next when that one is lost (RFC
    /// 6733, section 5.5.4), until one answers or the request's own time is over.
    async fn ask(&mut self, number: u32) -> Option<Vec<u8>> {
        loop {
            let Some(server) = self.external.usable(&self.passed) else {
                if Instant::now() >= self.until {
                    return None;
                }
                self.await_any().await;
                continue;
            };
            let what = RequestStage::Begin { parts: self.parts, number };
            let to = (&*server, self.end_to_end, self.is_retransmit);
            let octets = self.external.write(self.about, what, to);
            self.server = Some(Arc::clone(&server));
            // Whoever drops this may ask again: the server may have it by then.
            let before = std::mem::replace(&mut self.is_retransmit, true);
            match server.ask(octets, self.end_to_end, OWN_TIME).await {
                Reply::Answer(octets) => return Some(octets),
                Reply::Unanswered(NoAnswer::NotSent) => self.is_retransmit = before,
                Reply::Unanswered(NoAnswer::TimedOut) => return None,
                Reply::Unanswered(NoAnswer::FailedOver | NoAnswer::Ended) => {}
            }
        }
    }

    /// Waits until some server can be asked, or a moment.
    async fn await_any(&self) {
        let servers = self.external.servers();
        let until = Instant::now() + LOOK_AGAIN;
        let is_new = |server: &&Arc<Asker>| !self.passed.iter().any(|host| **host == *server.host);
        let waiting = servers.iter().filter(is_new).map(|server| Box::pin(until_usable(server, until)));
        let waiting: Vec<_> = waiting.collect();
        if waiting.is_empty() {
            return tokio::time::sleep_until(until.into()).await;
        }
        futures_util::future::select_all(waiting).await;
    }
}
