//! Savepoint of a shard before a turn, as far as the turn may change it, so that a decision made too late can
//! be taken back.
//!
//! The table of duplicates is left as it is: what it says is a guess, which is held against the log. The
//! queue of what ends by itself may be told of something twice, and looks at it when it is due.

use crate::account::{Account, AccountNumber};
use crate::batch::Batch;
use crate::bundle::AccountBundles;
use crate::client::Clients;
use crate::expiry::Due;
use crate::hash::Hash128;
use crate::message::Message;
use crate::request::{Kind, MessageKey, Request};
use crate::session::Session;
use crate::shard::{Shard, Turn};

#[derive(Default)]
pub(crate) struct Savepoint {
    accounts_open: usize,
    accounts: Vec<(AccountNumber, Account)>,
    bundles: Vec<(AccountNumber, Option<AccountBundles>)>,
    sessions: Vec<(Hash128, Option<Session>)>,
    /// Who opened sessions, where a turn may open or end some.
    clients: Option<Clients>,
    messages: Vec<(MessageKey, Option<Message>)>,
    refunds: Vec<(Hash128, Option<(i64, u64)>)>,
    ended: Vec<Due>,
}

impl Savepoint {
    /// Before a turn.
    pub(crate) fn begin(&mut self, shard: &Shard) {
        self.accounts_open = shard.accounts.len();
        self.accounts.clear();
        self.bundles.clear();
        self.sessions.clear();
        self.clients = None;
        self.messages.clear();
        self.refunds.clear();
        self.ended.clear();
    }

    /// Notes all that these requests may change, before any of the turn is applied.
    pub(crate) fn save(&mut self, shard: &Shard, batch: &Batch) {
        for (request, hash) in batch.requests() {
            self.save_request(shard, &request, hash);
        }
    }

    fn save_request(&mut self, shard: &Shard, request: &Request<'_>, hash: u64) {
        if let Some(number) = shard.accounts.find(hash, &request.account) {
            self.save_account(shard, number);
            if matches!(request.kind, Kind::AddBundle { .. }) {
                self.bundles.push((number, shard.bundles.get(&number).cloned()));
            }
        }
        match request.kind {
            Kind::Initial | Kind::Update | Kind::Terminate => self.save_session(shard, request.session),
            Kind::Hold { message, .. }
            | Kind::Settle { message, .. }
            | Kind::Release { message, .. }
            | Kind::Keep { message }
            | Kind::Debt { message, .. } => self.save_message(shard, message),
            Kind::Refund { of: Some(of) } => self.refunds.push((of, shard.refunds.get(&of).copied())),
            Kind::Refund { of: None }
            | Kind::Debit
            | Kind::CheckBalance
            | Kind::PriceEnquiry
            | Kind::TopUp { .. }
            | Kind::Create { .. }
            | Kind::SetLimit { .. }
            | Kind::Block { .. }
            | Kind::AddBundle { .. } => {}
        }
    }

    fn save_account(&mut self, shard: &Shard, number: AccountNumber) {
        if let Some(account) = shard.accounts.account(number) {
            self.accounts.push((number, account.clone()));
            if account.has_bundles {
                self.bundles.push((number, shard.bundles.get(&number).cloned()));
            }
        }
    }

    fn save_session(&mut self, shard: &Shard, id: Hash128) {
        // A node has few clients, and each is counted.
        self.clients.get_or_insert_with(|| shard.clients.clone());
        let session = shard.sessions.find(&id).cloned();
        if let Some(session) = &session {
            self.save_account(shard, session.account);
        }
        self.sessions.push((id, session));
    }

    fn save_message(&mut self, shard: &Shard, key: MessageKey) {
        let message = shard.messages.find(&key).copied();
        if let Some(message) = &message {
            self.save_account(shard, message.account);
        }
        self.messages.push((key, message));
    }

    /// Ends what is over, at most so many, each noted before.
    pub(crate) fn expire(&mut self, shard: &mut Shard, turn: &mut Turn<'_>, most: usize) {
        let mut written = 0;
        while written < most
            && let Some(due) = shard.pop_due()
        {
            match due {
                Due::Session(id) | Due::Ended(id) => self.save_session(shard, id),
                Due::Message(key) => self.save_message(shard, key),
                Due::Bundles(number) => self.save_account(shard, number),
            }
            if shard.end(due, turn) {
                self.ended.push(due);
                written += 1;
            }
        }
    }

    /// Makes the shard as it was. What was noted first is put back last.
    pub(crate) fn restore(&mut self, shard: &mut Shard) {
        let open = self.accounts_open;
        if shard.accounts.len() > open {
            shard.accounts.close_to(open);
            shard.bundles.retain(|number, _| (*number as usize) < open);
        }
        for (number, account) in self.accounts.drain(..).rev() {
            if let Some(place) = shard.accounts.account_mut(number) {
                *place = account;
            }
        }
        for (number, bundles) in self.bundles.drain(..).rev() {
            match bundles {
                Some(bundles) => shard.bundles.insert(number, bundles),
                None => shard.bundles.remove(&number),
            };
        }
        for (id, session) in self.sessions.drain(..).rev() {
            match session {
                Some(session) => shard.sessions.insert(id, session),
                None => {
                    shard.sessions.remove(&id);
                }
            }
        }
        if let Some(clients) = self.clients.take() {
            shard.clients = clients;
        }
        for (key, message) in self.messages.drain(..).rev() {
            match message {
                Some(message) => shard.messages.insert(key, message),
                None => drop(shard.messages.remove(&key)),
            }
        }
        for (of, refunded) in self.refunds.drain(..).rev() {
            match refunded {
                Some(refunded) => shard.refunds.insert(of, refunded),
                None => shard.refunds.remove(&of),
            };
        }
        let now_us = shard.now_us();
        self.ended.drain(..).for_each(|due| shard.expiry.push(now_us, due));
    }
}
