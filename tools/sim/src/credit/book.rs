//! Balances and sessions, in memory.

use super::service::{Asked, Granted, Key as ServiceKey, asked};
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
struct CreditAccount {
    left: u64,
    reserved: u64,
}

struct BookSession {
    account: String,
    /// What each service of it holds.
    reserved: HashMap<ServiceKey, u64>,
}

/// What an answer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CreditAnswer {
    pub(super) code: u32,
    /// Each service, in the order of the request. One that is not named stands at the top of the answer.
    pub(super) services: Vec<Granted>,
}

impl CreditAnswer {
    /// A Result-Code and nothing else.
    pub(super) fn only(code: u32) -> CreditAnswer {
        CreditAnswer { code, services: Vec::new() }
    }
}

pub(super) struct Book {
    balance: u64,
    accounts: HashMap<String, CreditAccount>,
    sessions: HashMap<String, BookSession>,
    answers: HashMap<Key, CreditAnswer>,
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
    pub(super) fn known(&mut self, request: &CreditControlRequest<'_>) -> Option<CreditAnswer> {
        let said = self.answers.get(&key(request)).cloned();
        self.stats.duplicates += u64::from(said.is_some());
        said
    }

    /// Does what a request asks, once.
    pub(super) fn charge(&mut self, request: &CreditControlRequest<'_>) -> CreditAnswer {
        let said = self.decide(request);
        if self.order.len() >= ANSWERS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.answers.remove(&oldest);
        }
        self.order.push_back(key(request));
        self.answers.insert(key(request), said.clone());
        said
    }

    fn decide(&mut self, request: &CreditControlRequest<'_>) -> CreditAnswer {
        if self.sessions.len() >= KEPT_MAX || self.accounts.len() >= KEPT_MAX {
            return CreditAnswer::only(result_code::UNABLE_TO_COMPLY);
        }
        let Ok(services) = asked(request) else { return CreditAnswer::only(result_code::RATING_FAILED) };
        match request.kind {
            RequestType::Initial => {
                let Some(subscriber) = request.subscriptions().next() else {
                    return CreditAnswer::only(result_code::MISSING_AVP);
                };
                self.end(request.session_id);
                let (account, reserved) = (subscriber.data.to_owned(), HashMap::new());
                self.sessions.insert(request.session_id.to_owned(), BookSession { account, reserved });
                let said = self.go_on(request.session_id, &services);
                if said.code != result_code::SUCCESS {
                    self.end(request.session_id);
                }
                said
            }
            RequestType::Update => self.go_on(request.session_id, &services),
            RequestType::Termination => {
                let said = self.go_on(request.session_id, &services);
                self.end(request.session_id);
                said
            }
            RequestType::Event => self.event(request, &services),
        }
    }

    /// Takes what services of a session used, and reserves anew what they ask for.
    fn go_on(&mut self, id: &str, services: &[Asked]) -> CreditAnswer {
        let Some(session) = self.sessions.get_mut(id) else {
            return CreditAnswer::only(result_code::UNKNOWN_SESSION_ID);
        };
        let account = session.account.clone();
        let freed = services.iter().filter_map(|service| session.reserved.remove(&service.key)).sum::<u64>();
        self.account(&account).reserved -= freed;
        services.iter().for_each(|service| self.take(&account, service.used));
        let granted: Vec<Granted> =
            services.iter().map(|service| self.reserve(id, &account, service)).collect();
        // With one service alone, or with none that gets anything, its result is that of all.
        let is_refused = |service: &Granted| service.code != result_code::SUCCESS;
        let code = match granted.first() {
            Some(first) if granted.iter().all(is_refused) => first.code,
            _ => result_code::SUCCESS,
        };
        CreditAnswer { code, services: granted }
    }

    fn event(&mut self, request: &CreditControlRequest<'_>, services: &[Asked]) -> CreditAnswer {
        let Some(subscriber) = request.subscriptions().next() else {
            return CreditAnswer::only(result_code::MISSING_AVP);
        };
        let price = services.iter().map(Asked::price).fold(0, u64::saturating_add);
        let account = self.account(subscriber.data);
        let has_enough = account.left - account.reserved >= price;
        match request.action {
            Some(RequestedAction::RefundAccount) => {
                account.left = account.left.saturating_add(price);
                self.stats.used = self.stats.used.saturating_sub(price);
                CreditAnswer::only(result_code::SUCCESS)
            }
            Some(RequestedAction::DirectDebiting) | None if has_enough => {
                self.take(subscriber.data, price);
                let services = services.iter().map(Asked::in_whole).collect();
                CreditAnswer { code: result_code::SUCCESS, services }
            }
            Some(RequestedAction::DirectDebiting) | None => {
                CreditAnswer::only(result_code::CREDIT_LIMIT_REACHED)
            }
            Some(RequestedAction::CheckBalance | RequestedAction::PriceEnquiry) => {
                CreditAnswer::only(result_code::SUCCESS)
            }
        }
    }

    fn account(&mut self, name: &str) -> &mut CreditAccount {
        let left = self.balance;
        self.accounts.entry(name.to_owned()).or_insert(CreditAccount { left, reserved: 0 })
    }

    /// Frees what a session holds, and forgets it.
    fn end(&mut self, session: &str) {
        if let Some(session) = self.sessions.remove(session) {
            self.account(&session.account).reserved -= session.reserved.values().sum::<u64>();
        }
    }

    /// Takes what was used, as far as there is so much.
    fn take(&mut self, account: &str, used: u64) {
        let account = self.account(account);
        let taken = used.min(account.left - account.reserved);
        account.left -= taken;
        self.stats.used += taken;
    }

    /// Reserves as much as there is.
    fn reserve(&mut self, id: &str, account: &str, service: &Asked) -> Granted {
        let account = self.account(account);
        let granted = service.within(account.left - account.reserved);
        let price = Asked { requested: granted.units, ..*service }.price();
        account.reserved += price;
        if let Some(session) = self.sessions.get_mut(id).filter(|_| price > 0) {
            session.reserved.insert(service.key, price);
        }
        granted
    }
}

fn key(request: &CreditControlRequest<'_>) -> Key {
    (request.session_id.to_owned(), request.kind.value(), request.number)
}
