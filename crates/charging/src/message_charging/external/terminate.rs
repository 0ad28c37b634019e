//! A message's session ends: what was used is charged once, and what was not is free.

use super::request::{About, RequestStage, is_number_taken, result_code};
use super::sessions::Open;
use super::{External, until_usable};
use crate::message_charging::ChargeId;
use crate::message_charging::record_lease::RecordLease;
use crate::server::{Asker, Reply};
use diameter::message::Message;
use diameter::result_code;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The server that has the session is waited for so long before others are asked, if it was told nothing yet.
const ELSEWHERE_AFTER: Duration = Duration::from_secs(30);
/// A server that may have taken the money is waited for so long; after that nobody knows.
const GIVES_UP_AFTER: Duration = Duration::from_secs(3_600);
/// What is free needs less patience: the server frees it by itself (Tcc).
const RELEASES_WITHIN: Duration = Duration::from_secs(120);
/// A debit without a session is repeated so long: no server need know an event for longer.
const DEBITS_WITHIN: Duration = Duration::from_secs(30);
/// An answer is waited for so long on a connection.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);
/// A server with too much to do is asked again after so long.
const BUSY: Duration = Duration::from_secs(1);
/// Numbers that are tried for the end of a session of which nobody remembers whether there was an update.
const NUMBERS_MAX: u32 = 16;
/// A store that does not answer is asked so often.
const LOOK_UPS: u32 = 60;

/// What a server says of a session's end.
enum ServerVerdict {
    /// It is over, and charged.
    Done,
    /// The server has no such session.
    Unknown,
    /// It cannot now.
    Busy,
    /// It will not.
    Refused(u32),
}

/// A session that is being ended.
struct SessionTermination<'a> {
    external: &'a External,
    id: ChargeId,
    open: Option<Open>,
    used: u32,
    /// CC-Request-Number.
    number: u32,
    end_to_end: u32,
    /// A server may have heard it.
    is_retransmit: bool,
    began: Instant,
    /// Those that do not know the session.
    strangers: Vec<Arc<str>>,
    /// Another process began it, and may be waiting for the answer still.
    may_begin_yet: bool,
    /// On the record of outcomes that ends it.
    lease: &'a RecordLease,
}

/// The record is leased to another process by now.
struct NotOurs;

impl External {
    /// Ends a message's session with so many parts used; `is_again`: a server may have been asked to before.
    /// True: that is charged, or nobody can say any more whether it is. False: another process is to end it.
    pub(super) async fn end(&self, id: ChargeId, used: u32, lease: &RecordLease, is_again: bool) -> bool {
        let mut open = self.sessions().end(&id);
        if let Some(begun) = open.take() {
            begun.has_begun().await;
            open = self.sessions().end(&id).or(Some(begun));
        }
        let is_said = self.end_of(id, used, open, (lease, is_again)).await;
        if is_said {
            self.sessions().forget(&id);
        }
        is_said
    }

    /// The same of a session of which this is known.
    pub(super) async fn end_of(
        &self,
        id: ChargeId,
        used: u32,
        open: Option<Open>,
        (lease, is_again): (&RecordLease, bool),
    ) -> bool {
        let number = match &open {
            Some(open) => open.last_number().await,
            None => 1,
        };
        let mut ending = SessionTermination {
            external: self,
            id,
            may_begin_yet: self.0.is_shared && open.is_none(),
            open,
            number,
            used,
            end_to_end: self.end_to_end(),
            is_retransmit: is_again,
            began: Instant::now(),
            strangers: Vec::new(),
            lease,
        };
        ending.run().await.is_ok()
    }
}

impl SessionTermination<'_> {
    fn about(&self) -> About<'_> {
        let account = self.open.as_ref().map_or("", |open| &open.account);
        About { id: self.id, account, phone: "", is_sms: true }
    }

    async fn run(&mut self) -> Result<(), NotOurs> {
        loop {
            let Some(server) = self.next().await else {
                if std::mem::take(&mut self.may_begin_yet) {
                    self.await_beginning().await;
                    continue;
                }
                return self.nobody_knows().await;
            };
            self.look()?;
            let what = RequestStage::End { used: self.used, number: self.number };
            let octets =
                self.external.write(self.about(), what, (&server, self.end_to_end, self.is_retransmit));
            match server.ask(octets, self.end_to_end, ANSWERED_WITHIN).await {
                // An update of it, of which nobody remembers, had this number.
                Reply::Answer(octets) if self.number < NUMBERS_MAX && is_number_taken(&octets) => {
                    (self.number, self.end_to_end) = (self.number + 1, self.external.end_to_end());
                }
                Reply::Answer(octets) => match word(&octets) {
                    ServerVerdict::Done => return Ok(()),
                    ServerVerdict::Unknown => self.strangers.push(Arc::from(&*server.host)),
                    ServerVerdict::Busy => tokio::time::sleep(BUSY).await,
                    ServerVerdict::Refused(code) => {
                        self.lost(&format!("{} refuses it with {code}", server.host));
                        return Ok(());
                    }
                },
                Reply::Unanswered(fate) => {
                    if fate.is_retransmit() {
                        self.is_retransmit = true;
                        // It may have taken the money: nobody else is asked before it has spoken.
                        let open = Open::new(self.about().account, self.used, self.began);
                        self.open = Some(open.at(Arc::from(&*server.host)));
                    }
                }
            }
        }
    }

    /// Waits until the process that wrote the message has its session's beginning answered, or has given that
    /// up: an emergency is written before. All servers are asked once more then, since one that has heard the
    /// end first holds what it grants for nobody, and a debit beside that would be the second.
    async fn await_beginning(&mut self) {
        // What was written by now was begun before.
        tokio::time::sleep_until((self.began + self.external.0.settings.tx).into()).await;
        self.strangers.clear();
        self.end_to_end = self.external.end_to_end();
    }

    /// Nothing is asked that another process may be asking.
    fn look(&self) -> Result<(), NotOurs> {
        if self.lease.holds(Instant::now()) { Ok(()) } else { Err(NotOurs) }
    }

    /// The server to be asked next, once it can be; nothing if none knows the session, or none comes.
    async fn next(&mut self) -> Option<Arc<Asker>> {
        let patience = match (self.used, self.is_retransmit) {
            (0, _) => RELEASES_WITHIN,
            (_, true) => GIVES_UP_AFTER,
            (_, false) => ELSEWHERE_AFTER,
        };
        let until = self.began + patience;
        self.external.until_attached(until).await;
        let owner = self.open.as_ref().and_then(|open| open.host.clone());
        let is_stranger = |host: &str| self.strangers.iter().any(|stranger| **stranger == *host);
        if let Some(owner) = owner.filter(|owner| !is_stranger(owner)) {
            let server = self.external.servers().into_iter().find(|server| *server.host == *owner);
            if let Some(server) = server
                && until_usable(&server, until).await
            {
                return Some(server);
            }
            // It does not come, or is configured no more.
            self.strangers.push(owner);
        }
        loop {
            if let Some(server) = self.external.usable(&self.strangers) {
                return Some(server);
            }
            let servers = self.external.servers();
            let absent =
                servers.iter().find(|server| !self.strangers.iter().any(|host| **host == *server.host));
            match absent {
                // Without any server, the first that comes.
                Some(server) if !until_usable(server, (Instant::now() + BUSY).min(until)).await => {
                    if Instant::now() >= until {
                        self.strangers.push(Arc::from(&*server.host));
                    }
                }
                Some(server) => return Some(Arc::clone(server)),
                None if servers.is_empty() && Instant::now() < self.began + GIVES_UP_AFTER => {
                    tokio::time::sleep(BUSY).await;
                }
                None => return None,
            }
        }
    }

    /// No server knows the session. One that was certainly never told of its end has not charged it: its
    /// price is debited now. Of any other nobody knows, and it is not charged twice.
    async fn nobody_knows(&mut self) -> Result<(), NotOurs> {
        if self.used == 0 || self.is_retransmit {
            return Ok(());
        }
        let Some(account) = self.account().await else {
            self.lost("nobody knows whose it is");
            return Ok(());
        };
        let about = About { id: self.id, account: &account, phone: "", is_sms: true };
        let began = Instant::now();
        let end_to_end = self.external.end_to_end();
        let mut is_retransmit = false;
        let mut chosen: Option<Arc<Asker>> = None;
        while chosen.is_none() || began.elapsed() < DEBITS_WITHIN {
            let Some(server) = chosen.clone().or_else(|| self.external.usable(&[])) else {
                if self.began.elapsed() > GIVES_UP_AFTER {
                    break;
                }
                tokio::time::sleep(BUSY).await;
                continue;
            };
            self.look()?;
            let what = RequestStage::Debit { parts: self.used };
            let octets = self.external.write(about, what, (&server, end_to_end, is_retransmit));
            match server.ask(octets, end_to_end, ANSWERED_WITHIN).await {
                Reply::Answer(octets) => match word(&octets) {
                    ServerVerdict::Done => return Ok(()),
                    ServerVerdict::Busy => tokio::time::sleep(BUSY).await,
                    ServerVerdict::Unknown => {
                        self.lost("its server does not know it");
                        return Ok(());
                    }
                    ServerVerdict::Refused(code) => {
                        self.lost(&format!("{} refuses it with {code}", server.host));
                        return Ok(());
                    }
                },
                Reply::Unanswered(fate) if fate.is_retransmit() => {
                    // Nobody else is asked: this one may have taken the money.
                    (is_retransmit, chosen) = (true, Some(Arc::clone(&server)));
                    until_usable(&server, began + DEBITS_WITHIN).await;
                }
                Reply::Unanswered(_) => {}
            }
        }
        self.lost("no server answers");
        Ok(())
    }

    /// Who pays: as it is remembered, or as the alert says.
    async fn account(&self) -> Option<Arc<str>> {
        if let Some(open) = self.open.as_ref().filter(|open| !open.account.is_empty()) {
            return Some(Arc::clone(&open.account));
        }
        let mut tried = 0;
        loop {
            match self.external.0.store.alert_by_no(self.id.alert).await {
                Ok(alert) => return alert.map(|alert| alert.account.into()),
                Err(error) if tried < LOOK_UPS => {
                    tracing::warn!(alert = %self.id.alert, %error, "whose an alert is cannot be looked up; it is tried again");
                    tried += 1;
                    tokio::time::sleep(BUSY).await;
                }
                Err(_) => return None,
            }
        }
    }

    fn lost(&self, why: &str) {
        if self.used > 0 {
            let ChargeId { alert, endpoint, .. } = self.id;
            tracing::warn!(%alert, endpoint = endpoint.0, parts = self.used, why, "an accepted message is not charged");
        }
    }
}

fn word(octets: &[u8]) -> ServerVerdict {
    let Ok(message) = Message::read(octets) else { return ServerVerdict::Busy };
    match result_code(&message) {
        code if result_code::is_success(code) => ServerVerdict::Done,
        // It costs nothing.
        result_code::CREDIT_CONTROL_NOT_APPLICABLE => ServerVerdict::Done,
        result_code::UNKNOWN_SESSION_ID => ServerVerdict::Unknown,
        result_code::TOO_BUSY
        | result_code::UNABLE_TO_DELIVER
        | result_code::LOOP_DETECTED
        | result_code::UNABLE_TO_COMPLY => ServerVerdict::Busy,
        code => ServerVerdict::Refused(code),
    }
}
