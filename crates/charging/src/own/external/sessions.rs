//! What is remembered of sessions at others' servers, and what is answered when a server asks about one by itself: to ask for credit again
//! (Re-Auth-Request; RFC 8506, section 5.5), or to end it (Abort-Session-Request; RFC 6733, section 8.5). Knows no connection.

use super::MessageId;
use diameter::result_code;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Sessions that are remembered; beyond, all servers are asked which of them knows one.
const SESSIONS_MAX: usize = 262_144;
/// Where another process ends what this one began, nobody says when it is over: it is remembered so long.
const SHARED_FOR: Duration = Duration::from_secs(600);
/// What is older is looked for when there are so many, and then when there are twice as many as stayed.
const SWEEP_AT: usize = 16_384;
/// After a start, what the process before it had under way is all begun or ended anew.
const SETTLED_AFTER: Duration = Duration::from_secs(120);

/// What a server asks by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// That we ask for credit again.
    ReAuthorize,
    /// That the session ends.
    Abort,
}

/// What is to be done besides the answer.
#[derive(Debug)]
pub(super) enum Deed {
    /// Nothing, or nothing yet.
    Nothing,
    /// An UPDATE_REQUEST.
    Update(Update),
    /// A TERMINATION_REQUEST, unless an outcome brings it.
    End,
}

/// An UPDATE_REQUEST whose turn it is: of one session there is one at a time, and its end waits for it.
#[derive(Debug)]
pub(super) struct Update {
    pub(super) account: Arc<str>,
    pub(super) host: Arc<str>,
    pub(super) parts: u32,
    /// The last CC-Request-Number that was taken.
    pub(super) last: OwnedMutexGuard<u32>,
}

/// What is remembered of a session.
#[derive(Debug, Clone)]
pub(super) struct Open {
    pub(super) account: Arc<str>,
    /// The server that granted, if one did.
    pub(super) host: Option<Arc<str>>,
    parts: u32,
    began: Instant,
    /// Locked while its INITIAL_REQUEST is under way: an emergency goes out, and may end, before that is answered.
    beginning: Arc<Mutex<()>>,
    /// The last CC-Request-Number of an UPDATE_REQUEST, if there was one.
    updates: Option<Arc<Mutex<u32>>>,
    /// Its server wants credit to be asked for again, once it has granted.
    is_asked: bool,
    /// Its server wants it ended.
    is_aborted: bool,
    is_ending: bool,
}

impl Open {
    /// A session that begins.
    pub(super) fn new(account: &str, parts: u32, began: Instant) -> Open {
        Open {
            account: account.into(),
            host: None,
            parts,
            began,
            beginning: Arc::default(),
            updates: None,
            is_asked: false,
            is_aborted: false,
            is_ending: false,
        }
    }

    /// The same where this server has it.
    pub(super) fn at(self, host: Arc<str>) -> Open {
        Open { host: Some(host), ..self }
    }

    /// Waits until its INITIAL_REQUEST is answered, or given up after Tx. An end that came to the server before it would leave what is then reserved
    /// to nobody.
    pub(super) async fn has_begun(&self) {
        drop(self.beginning.lock().await);
    }

    /// CC-Request-Number of the session's end, once no UPDATE_REQUEST is under way.
    pub(super) async fn last_number(&self) -> u32 {
        match &self.updates {
            Some(updates) => *updates.lock().await + 1,
            None => 1,
        }
    }

    /// Nothing where an UPDATE_REQUEST is under way.
    fn update(&mut self) -> Option<Update> {
        let host = self.host.clone()?;
        let last = Arc::clone(self.updates.get_or_insert_default()).try_lock_owned().ok()?;
        Some(Update { account: Arc::clone(&self.account), host, parts: self.parts, last })
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Sessions {
    all: HashMap<MessageId, Open>,
    /// Other processes begin and end sessions too.
    is_shared: bool,
    since: Instant,
    sweep_at: usize,
}

impl Sessions {
    pub(super) fn new(is_shared: bool, since: Instant) -> Sessions {
        Sessions { all: HashMap::new(), is_shared, since, sweep_at: SWEEP_AT }
    }

    /// An INITIAL_REQUEST is sent for so many parts; it is under way until what this gives is dropped.
    pub(super) fn begin(
        &mut self,
        id: MessageId,
        account: &str,
        parts: u32,
        now: Instant,
    ) -> Option<OwnedMutexGuard<()>> {
        if self.is_shared && self.all.len() >= self.sweep_at {
            self.all.retain(|_, open| now.saturating_duration_since(open.began) < SHARED_FOR);
            self.sweep_at = SWEEP_AT.max(self.all.len() * 2);
        }
        if let Some(open) = self.all.get_mut(&id) {
            // Asked again: what its server wants of it holds still.
            (open.host, open.is_ending) = (None, false);
        } else if self.all.len() < SESSIONS_MAX {
            self.all.insert(id, Open::new(account, parts, now));
        }
        let beginning = &self.all.get(&id)?.beginning;
        Arc::clone(beginning).try_lock_owned().ok()
    }

    /// This server granted it: what it wanted meanwhile.
    pub(super) fn granted(&mut self, id: MessageId, host: &Arc<str>) -> Deed {
        let Some(open) = self.all.get_mut(&id) else { return Deed::Nothing };
        open.host = Some(Arc::clone(host));
        if open.is_aborted {
            return Deed::End;
        }
        match std::mem::take(&mut open.is_asked) {
            true => open.update().map_or(Deed::Nothing, Deed::Update),
            false => Deed::Nothing,
        }
    }

    /// Its end is to be told: from now on no UPDATE_REQUEST begins.
    pub(super) fn end(&mut self, id: &MessageId) -> Option<Open> {
        let open = self.all.get_mut(id)?;
        open.is_ending = true;
        Some(open.clone())
    }

    pub(super) fn known(&self, id: &MessageId) -> Option<&Open> {
        self.all.get(id)
    }

    pub(super) fn forget(&mut self, id: &MessageId) {
        self.all.remove(id);
    }

    /// Its server wanted it ended.
    pub(super) fn is_aborted(&self, id: &MessageId) -> bool {
        self.all.get(id).is_some_and(|open| open.is_aborted)
    }

    /// A server asks about a session whose Session-Id is one of this house: the Result-Code of the answer, and what is to be done. `leads`:
    /// this process ends the house's sessions.
    pub(super) fn asked(
        &mut self,
        (id, wish): (MessageId, Wish),
        server: &str,
        leads: bool,
        now: Instant,
    ) -> (u32, Deed) {
        let is_settled = !self.is_shared && now.saturating_duration_since(self.since) >= SETTLED_AFTER;
        let Some(open) = self.all.get_mut(&id) else {
            // Another process has it, or the one before this had: a server that heard 5002 would free what is held for it.
            return match wish {
                Wish::Abort if self.is_shared && leads => (result_code::SUCCESS, Deed::End),
                _ if is_settled => (result_code::UNKNOWN_SESSION_ID, Deed::Nothing),
                _ => (result_code::UNABLE_TO_COMPLY, Deed::Nothing),
            };
        };
        if open.host.as_ref().is_some_and(|host| !host.eq_ignore_ascii_case(server)) {
            // It went to the next one: what this one holds for it is not used.
            return (result_code::UNKNOWN_SESSION_ID, Deed::Nothing);
        }
        match wish {
            // PendingI, Open, PendingU | User service terminated (by an ASR) | CC termination req. now or from the queue | PendingT
            Wish::Abort if open.host.is_none() || leads => {
                open.is_aborted = true;
                let is_begun = open.host.is_some() && !open.is_ending;
                (result_code::SUCCESS, if is_begun { Deed::End } else { Deed::Nothing })
            }
            // Only who leads ends sessions.
            Wish::Abort => (result_code::UNABLE_TO_COMPLY, Deed::Nothing),
            // PendingT has no row for an RAR: there is nothing to ask for any more.
            Wish::ReAuthorize if open.is_ending || open.is_aborted => {
                (result_code::UNABLE_TO_COMPLY, Deed::Nothing)
            }
            // Neither has PendingI: its answer may cross the RAR, so that is remembered as what the table queues there is.
            Wish::ReAuthorize if open.host.is_none() => {
                open.is_asked = true;
                (result_code::LIMITED_SUCCESS, Deed::Nothing)
            }
            // Open | RAR received | Send RAA followed by CC update req., start Tx | PendingU
            // PendingU | RAR received | Send RAA | PendingU
            Wish::ReAuthorize => {
                (result_code::LIMITED_SUCCESS, open.update().map_or(Deed::Nothing, Deed::Update))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use records::{AlertNo, EndpointNo};

    const HOST: &str = "ocs.test";
    const OF: MessageId = MessageId { alert: AlertNo(7), endpoint: EndpointNo(1), attempt: 1 };

    fn sessions(is_shared: bool) -> (Sessions, Instant) {
        let now = Instant::now();
        (Sessions::new(is_shared, now), now + SETTLED_AFTER)
    }

    fn begun() -> (Sessions, Instant) {
        let (mut sessions, now) = sessions(false);
        sessions.begin(OF, "town", 2, now);
        (sessions, now)
    }

    fn granted() -> (Sessions, Instant) {
        let (mut sessions, now) = begun();
        assert!(matches!(sessions.granted(OF, &HOST.into()), Deed::Nothing));
        (sessions, now)
    }

    #[tokio::test]
    async fn a_session_ends_after_its_beginning_was_answered() {
        let (mut sessions, now) = sessions(false);
        let beginning = sessions.begin(OF, "town", 2, now).expect("nobody else begins it");
        let open = sessions.end(&OF).unwrap();
        let mut begun = Box::pin(open.has_begun());
        assert!((&mut begun).now_or_never().is_none(), "it is under way");
        assert!(matches!(sessions.granted(OF, &HOST.into()), Deed::Nothing));
        drop(beginning);
        begun.await;
        assert_eq!(sessions.end(&OF).unwrap().host.as_deref(), Some(HOST), "where it is to be ended");
    }

    #[tokio::test]
    async fn a_re_authorization_of_an_open_session_brings_one_update_and_its_end_comes_after_it() {
        let (mut sessions, now) = granted();
        let ask = |sessions: &mut Sessions| sessions.asked((OF, Wish::ReAuthorize), HOST, true, now);
        // Open | RAR received | Send RAA followed by CC update req., start Tx | PendingU
        let (2002, Deed::Update(mut update)) = ask(&mut sessions) else { panic!("no update") };
        assert_eq!((&*update.account, &*update.host, update.parts, *update.last), ("town", HOST, 2, 0));
        // PendingU | RAR received | Send RAA | PendingU
        assert!(matches!(ask(&mut sessions), (2002, Deed::Nothing)));
        *update.last += 1;
        drop(update);
        let (2002, Deed::Update(mut update)) = ask(&mut sessions) else { panic!("no second update") };
        assert_eq!(*update.last, 1, "numbers go on");
        // PendingU | User service terminated | Queue termination event | PendingU
        let ending = sessions.end(&OF).unwrap();
        let number = tokio::spawn(async move { ending.last_number().await });
        *update.last += 1;
        drop(update);
        assert_eq!(number.await.unwrap(), 3);
        // PendingT: there is nothing to ask for any more.
        assert!(matches!(ask(&mut sessions), (5012, Deed::Nothing)));
        sessions.forget(&OF);
        assert!(matches!(ask(&mut sessions), (5002, Deed::Nothing)));
    }

    #[test]
    fn what_comes_before_the_grant_is_done_after_it() {
        let (mut sessions, now) = begun();
        assert!(matches!(sessions.asked((OF, Wish::ReAuthorize), HOST, true, now), (2002, Deed::Nothing)));
        assert!(matches!(sessions.granted(OF, &HOST.into()), Deed::Update(_)));
        // PendingI | User service terminated | Queue termination event | PendingI
        let (mut sessions, now) = begun();
        assert!(matches!(sessions.asked((OF, Wish::Abort), HOST, false, now), (2001, Deed::Nothing)));
        assert!(matches!(sessions.granted(OF, &HOST.into()), Deed::End));
    }

    #[test]
    fn an_abort_ends_an_open_session_once() {
        // Open | User service terminated | Send CC termination req. | PendingT
        let (mut sessions, now) = granted();
        assert!(!sessions.is_aborted(&OF));
        assert!(matches!(sessions.asked((OF, Wish::Abort), HOST, true, now), (2001, Deed::End)));
        assert!(sessions.is_aborted(&OF));
        sessions.end(&OF);
        assert!(matches!(sessions.asked((OF, Wish::Abort), HOST, true, now), (2001, Deed::Nothing)));
        sessions.forget(&OF);
        assert!(matches!(sessions.asked((OF, Wish::Abort), HOST, true, now), (5002, Deed::Nothing)));
    }

    #[test]
    fn a_server_that_was_passed_over_is_told_that_its_session_is_not_used() {
        let (mut sessions, now) = granted();
        for wish in [Wish::ReAuthorize, Wish::Abort] {
            assert!(matches!(sessions.asked((OF, wish), "other.test", true, now), (5002, Deed::Nothing)));
            assert!(!matches!(sessions.asked((OF, wish), "OCS.test", true, now), (5002, _)));
        }
    }

    #[test]
    fn what_another_process_may_have_is_not_called_unknown() {
        let (mut young, now) = sessions(false);
        let early = now - Duration::from_secs(1);
        let (mut shared, _) = sessions(true);
        for wish in [Wish::ReAuthorize, Wish::Abort] {
            assert!(matches!(young.asked((OF, wish), HOST, true, early), (5012, Deed::Nothing)));
            assert!(matches!(shared.asked((OF, wish), HOST, false, now), (5012, Deed::Nothing)));
        }
        assert!(matches!(shared.asked((OF, Wish::ReAuthorize), HOST, true, now), (5012, Deed::Nothing)));
        assert!(matches!(shared.asked((OF, Wish::Abort), HOST, true, now), (2001, Deed::End)));
        // Only who leads ends what was granted.
        shared.begin(OF, "town", 1, now);
        shared.granted(OF, &HOST.into());
        assert!(matches!(shared.asked((OF, Wish::Abort), HOST, false, now), (5012, Deed::Nothing)));
    }

    #[test]
    fn what_others_end_is_forgotten_after_a_while() {
        let (mut sessions, now) = sessions(true);
        for endpoint in 0..SWEEP_AT as u32 {
            sessions.begin(MessageId { endpoint: EndpointNo(endpoint), ..OF }, "town", 1, now);
        }
        sessions.begin(MessageId { attempt: 2, ..OF }, "town", 1, now + SHARED_FOR);
        assert_eq!(sessions.all.len(), 1);
    }
}
