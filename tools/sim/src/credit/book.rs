//! Balances and sessions, in memory.

use diameter::credit::{CreditControlRequest, RequestType, RequestedAction};
use diameter::result_code;
use std::collections::{HashMap, VecDeque};

/// Answers that are known again.
const ANSWERS_MAX: usize = 100_000;
/// Subscribers and sessions at most; those beyond are refused.
const KEPT_MAX: usize = 1_000_000;

/// Which request: two that are alike in this are one.
type Key = (String, i32, u32);

/// What came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requests of credit control.
    pub requests: u64,
    /// Those that came before.
    pub duplicates: u64,
    /// Those that were refused by chance.
    pub refused: u64,
    /// Answers that were not sent.
    pub lost: u64,
    /// Units that all subscribers together have used.
    pub used: u64,
    /// Units that are reserved.
    pub reserved: u64,
}

#[derive(Default)]
struct Account {
    left: u64,
    reserved: u64,
}

struct Session {
    account: String,
    reserved: u64,
}

/// What an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) code: u32,
    pub(super) granted: Option<u64>,
}

pub(super) struct Book {
    balance: u64,
    accounts: HashMap<String, Account>,
    sessions: HashMap<String, Session>,
    answers: HashMap<Key, Said>,
    order: VecDeque<Key>,
    pub(super) stats: Stats,
}

impl Book {
    pub(super) fn new(balance: u64) -> Book {
        let (accounts, sessions, answers) = Default::default();
        Book { balance, accounts, sessions, answers, order: VecDeque::new(), stats: Stats::default() }
    }

    pub(super) fn stats(&self) -> Stats {
        let reserved = self.accounts.values().map(|account| account.reserved).sum();
        Stats { reserved, ..self.stats }
    }

    /// The answer of a request that came before.
    pub(super) fn known(&mut self, request: &CreditControlRequest<'_>) -> Option<Said> {
        let said = self.answers.get(&key(request)).copied();
        self.stats.duplicates += u64::from(said.is_some());
        said
    }

    /// Does what a request asks, once.
    pub(super) fn charge(&mut self, request: &CreditControlRequest<'_>) -> Said {
        let said = self.decide(request);
        if self.order.len() >= ANSWERS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.answers.remove(&oldest);
        }
        self.order.push_back(key(request));
        self.answers.insert(key(request), said);
        said
    }

    fn decide(&mut self, request: &CreditControlRequest<'_>) -> Said {
        let refused = |code| Said { code, granted: None };
        if self.sessions.len() >= KEPT_MAX || self.accounts.len() >= KEPT_MAX {
            return refused(result_code::UNABLE_TO_COMPLY);
        }
        let used = request.used().map_while(Result::ok).filter_map(|used| used.units.specific).sum();
        let asked = request.requested.map(|units| units.specific);
        if asked == Some(None) || request.services().next().is_some() {
            return refused(result_code::RATING_FAILED);
        }
        let asked = asked.flatten();
        match request.kind {
            RequestType::Initial => match request.subscriptions().next() {
                Some(subscriber) => {
                    self.free(request.session_id);
                    let account = subscriber.data.to_owned();
                    self.sessions.insert(request.session_id.to_owned(), Session { account, reserved: 0 });
                    self.reserve(request.session_id, asked)
                }
                None => refused(result_code::MISSING_AVP),
            },
            RequestType::Update | RequestType::Termination => {
                let Some(session) = self.sessions.get(request.session_id) else {
                    return refused(result_code::UNKNOWN_SESSION_ID);
                };
                let account = session.account.clone();
                self.free(request.session_id);
                self.take(&account, used);
                if request.kind == RequestType::Termination {
                    self.sessions.remove(request.session_id);
                    return Said { code: result_code::SUCCESS, granted: None };
                }
                self.reserve(request.session_id, asked)
            }
            RequestType::Event => self.event(request, asked.unwrap_or(0)),
        }
    }

    fn event(&mut self, request: &CreditControlRequest<'_>, asked: u64) -> Said {
        let Some(subscriber) = request.subscriptions().next() else {
            return Said { code: result_code::MISSING_AVP, granted: None };
        };
        let account = self.account(subscriber.data);
        let has_enough = account.left - account.reserved >= asked;
        let said = |code, granted| Said { code, granted };
        match request.action {
            Some(RequestedAction::RefundAccount) => {
                account.left = account.left.saturating_add(asked);
                self.stats.used = self.stats.used.saturating_sub(asked);
                said(result_code::SUCCESS, None)
            }
            Some(RequestedAction::DirectDebiting) | None if has_enough => {
                self.take(subscriber.data, asked);
                said(result_code::SUCCESS, Some(asked))
            }
            Some(RequestedAction::DirectDebiting) | None => said(result_code::CREDIT_LIMIT_REACHED, None),
            Some(RequestedAction::CheckBalance | RequestedAction::PriceEnquiry) => {
                said(result_code::SUCCESS, None)
            }
        }
    }

    fn account(&mut self, name: &str) -> &mut Account {
        let left = self.balance;
        self.accounts.entry(name.to_owned()).or_insert(Account { left, reserved: 0 })
    }

    /// Frees what a session holds.
    fn free(&mut self, session: &str) {
        if let Some(session) = self.sessions.get_mut(session) {
            let (account, reserved) = (session.account.clone(), std::mem::take(&mut session.reserved));
            self.account(&account).reserved -= reserved;
        }
    }

    /// Takes what was used, as far as there is so much.
    fn take(&mut self, account: &str, used: u64) {
        let account = self.account(account);
        let taken = used.min(account.left - account.reserved);
        account.left -= taken;
        self.stats.used += taken;
    }

    /// Reserves as much as there is; a session that gets nothing does not go on.
    fn reserve(&mut self, id: &str, asked: Option<u64>) -> Said {
        let Some(account) = self.sessions.get(id).map(|session| session.account.clone()) else {
            return Said { code: result_code::UNKNOWN_SESSION_ID, granted: None };
        };
        let account = self.account(&account);
        let granted = asked.unwrap_or(0).min(account.left - account.reserved);
        if granted == 0 && asked.is_some_and(|asked| asked > 0) {
            self.sessions.remove(id);
            return Said { code: result_code::CREDIT_LIMIT_REACHED, granted: None };
        }
        account.reserved += granted;
        if let Some(session) = self.sessions.get_mut(id) {
            session.reserved = granted;
        }
        Said { code: result_code::SUCCESS, granted: asked.map(|_| granted) }
    }
}

fn key(request: &CreditControlRequest<'_>) -> Key {
    (request.session_id.to_owned(), request.kind.value(), request.number)
}
