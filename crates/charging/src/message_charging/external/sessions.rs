//! Memory of sessions at others' servers, and the answers to what a server asks about one by itself: to ask
//! for credit again (Re-Auth-Request; RFC 8506, section 5.5), or to end it (Abort-Session-Request; RFC 6733,
//! section 8.5). Knows no connection.

use crate::message_charging::ChargeId;
use diameter::result_code;
use std::collections::{HashMap, HashSet};
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
/// Sessions that are to end, and of which no more may be known; beyond, the server ends those it hears
/// nothing of.
const UNWANTED_MAX: usize = 65_536;

/// What a server asks by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ServerRequest {
    /// That we ask for credit again.
    ReAuthorize,
    /// That the session ends.
    Abort,
}

/// What is to be done besides the answer.
#[derive(Debug)]
pub(super) enum FollowUp {
    /// Nothing, or nothing yet.
    Nothing,
    /// An UPDATE_REQUEST.
    Update(Update),
    /// A TERMINATION_REQUEST, unless an outcome brings it.
    End,
    /// All processes are to hear of it, and the next: one of them has the session, and one ends it. The
    /// answer waits for that.
    Tell,
}

/// What this process can do for a server that asks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Means {
    /// What is asked can be told to all processes.
    pub(super) tells: bool,
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
    /// Locked while its INITIAL_REQUEST is under way: an emergency goes out, and may end, before that is
    /// answered.
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

    /// Waits until its INITIAL_REQUEST is answered, or given up after Tx. An end that came to the server
    /// before it would leave what is then reserved to nobody.
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

/// A session that is to end, as every process hears it.
#[derive(Debug)]
struct Unwanted {
    /// The server that wants it.
    host: Arc<str>,
    since: Instant,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Sessions {
    all: HashMap<ChargeId, Open>,
    /// Whichever process leads then ends them, whoever began them.
    unwanted: HashMap<ChargeId, Unwanted>,
    /// Of an earlier process, or begun by another: nobody knows of their messages.
    kept: HashSet<ChargeId>,
    /// What was asked here and is not answered yet, or not heard of: what follows waits for both.
    half_done: HashMap<(ChargeId, ServerRequest), u32>,
    /// Other processes begin and end sessions too.
    is_shared: bool,
    since: Instant,
    sweep_at: usize,
}

impl Sessions {
    pub(super) fn new(is_shared: bool, since: Instant) -> Sessions {
        Sessions {
            all: HashMap::new(),
            unwanted: HashMap::new(),
            kept: HashSet::new(),
            half_done: HashMap::new(),
            is_shared,
            since,
            sweep_at: SWEEP_AT,
        }
    }

    /// An INITIAL_REQUEST is sent for so many parts; it is under way until what this gives is dropped.
    pub(super) fn begin(
        &mut self,
        id: ChargeId,
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
            // Another process may have begun it before, and have been told that it is to end.
            let is_aborted = self.unwanted.contains_key(&id);
            self.all.insert(id, Open { is_aborted, ..Open::new(account, parts, now) });
        }
        let beginning = &self.all.get(&id)?.beginning;
        Arc::clone(beginning).try_lock_owned().ok()
    }

    /// This server granted it: what it wanted meanwhile.
    pub(super) fn granted(&mut self, id: ChargeId, host: &Arc<str>) -> FollowUp {
        let Some(open) = self.all.get_mut(&id) else { return FollowUp::Nothing };
        open.host = Some(Arc::clone(host));
        if open.is_aborted {
            return FollowUp::End;
        }
        match std::mem::take(&mut open.is_asked) {
            true => open.update().map_or(FollowUp::Nothing, FollowUp::Update),
            false => FollowUp::Nothing,
        }
    }

    /// Its end is to be told: from now on no UPDATE_REQUEST begins. Of one that another process began it may
    /// be known which server has it.
    pub(super) fn end(&mut self, id: &ChargeId) -> Option<Open> {
        let Some(open) = self.all.get_mut(id) else {
            let unwanted = self.unwanted.get(id)?;
            return Some(Open::new("", 0, unwanted.since).at(Arc::clone(&unwanted.host)));
        };
        open.is_ending = true;
        Some(open.clone())
    }

    pub(super) fn known(&self, id: &ChargeId) -> Option<&Open> {
        self.all.get(id)
    }

    pub(super) fn forget(&mut self, id: &ChargeId) {
        self.all.remove(id);
        self.unwanted.remove(id);
        self.kept.remove(id);
    }

    /// These are kept for messages that are unknown, whoever began them.
    pub(super) fn keep(&mut self, ids: impl Iterator<Item = ChargeId>) {
        self.kept = ids.collect();
    }

    /// Its server wanted it ended.
    pub(super) fn is_aborted(&self, id: &ChargeId) -> bool {
        self.unwanted.contains_key(id) || self.all.get(id).is_some_and(|open| open.is_aborted)
    }

    /// Those that are to end.
    pub(super) fn unwanted(&self) -> Vec<ChargeId> {
        self.unwanted.keys().copied().collect()
    }

    /// A server asks about a session whose Session-Id is one of this house: the Result-Code of the answer,
    /// and what is to be done.
    pub(super) fn asked(
        &mut self,
        of: (ChargeId, ServerRequest),
        server: &str,
        means: Means,
        now: Instant,
    ) -> (u32, FollowUp) {
        let (code, deed) = self.judge(of, server, means, now);
        if let FollowUp::Tell = deed {
            *self.half_done.entry(of).or_default() += 2;
        }
        (code, deed)
    }

    fn judge(
        &mut self,
        (id, wish): (ChargeId, ServerRequest),
        server: &str,
        means: Means,
        now: Instant,
    ) -> (u32, FollowUp) {
        let is_young = now.saturating_duration_since(self.since) < SETTLED_AFTER;
        let Some(open) = self.all.get_mut(&id) else {
            // Another process has it, or the one before this had: a server that heard 5002 would free what is
            // held for it.
            let is_elsewhere = self.is_shared || is_young || self.kept.contains(&id);
            return match wish {
                ServerRequest::Abort if is_elsewhere && means.tells => (result_code::SUCCESS, FollowUp::Tell),
                ServerRequest::ReAuthorize if self.is_shared && means.tells => {
                    (result_code::LIMITED_SUCCESS, FollowUp::Tell)
                }
                _ if is_elsewhere => (result_code::UNABLE_TO_COMPLY, FollowUp::Nothing),
                _ => (result_code::UNKNOWN_SESSION_ID, FollowUp::Nothing),
            };
        };
        if open.host.as_ref().is_some_and(|host| !host.eq_ignore_ascii_case(server)) {
            // It went to the next one: what this one holds for it is not used.
            return (result_code::UNKNOWN_SESSION_ID, FollowUp::Nothing);
        }
        match wish {
            // PendingI, Open, PendingU | User service terminated (by an ASR) | CC termination req. now or
            // from the queue | PendingT
            ServerRequest::Abort if means.tells => {
                // What is not granted is kept back from here; what is under way is for whoever leads when its
                // outcome comes.
                open.is_aborted = true;
                (result_code::SUCCESS, FollowUp::Tell)
            }
            ServerRequest::Abort => (result_code::UNABLE_TO_COMPLY, FollowUp::Nothing),
            // PendingT has no row for an RAR: there is nothing to ask for any more.
            ServerRequest::ReAuthorize if open.is_ending || open.is_aborted => {
                (result_code::UNABLE_TO_COMPLY, FollowUp::Nothing)
            }
            // Neither has PendingI: its answer may cross the RAR, so that is remembered as what the table
            // queues there is.
            ServerRequest::ReAuthorize if open.host.is_none() => {
                open.is_asked = true;
                (result_code::LIMITED_SUCCESS, FollowUp::Nothing)
            }
            // Open | RAR received | Send RAA followed by CC update req., start Tx | PendingU
            // PendingU | RAR received | Send RAA | PendingU
            ServerRequest::ReAuthorize => {
                (result_code::LIMITED_SUCCESS, open.update().map_or(FollowUp::Nothing, FollowUp::Update))
            }
        }
    }

    /// A server asked a process, which told all of them: what is to be done here. An end is for who leads.
    /// What was asked here waits for its answer.
    pub(super) fn heard(&mut self, of: (ChargeId, ServerRequest), server: &str, now: Instant) -> FollowUp {
        match self.is_half_done(of) {
            true => FollowUp::Nothing,
            false => self.follow(of, server, now),
        }
    }

    /// What this process told was answered: the same, once it has heard it too.
    pub(super) fn answered(&mut self, of: (ChargeId, ServerRequest), server: &str, now: Instant) -> FollowUp {
        self.heard(of, server, now)
    }

    /// What was to be told was not, and is not answered so.
    pub(super) fn not_told(&mut self, of: (ChargeId, ServerRequest)) {
        self.is_half_done(of);
        self.is_half_done(of);
    }

    /// One of two halves is done; whether the other is not.
    fn is_half_done(&mut self, of: (ChargeId, ServerRequest)) -> bool {
        let Some(halves) = self.half_done.get_mut(&of) else { return false };
        *halves -= 1;
        let is_half = *halves > 0;
        if !is_half {
            self.half_done.remove(&of);
        }
        is_half
    }

    fn follow(&mut self, (id, wish): (ChargeId, ServerRequest), server: &str, now: Instant) -> FollowUp {
        let means = Means { tells: false };
        match wish {
            ServerRequest::ReAuthorize if self.all.contains_key(&id) => {
                self.judge((id, wish), server, means, now).1
            }
            ServerRequest::ReAuthorize => FollowUp::Nothing,
            ServerRequest::Abort => {
                if let Some(open) = self.all.get_mut(&id) {
                    let is_elsewhere = |host: &Arc<str>| !host.eq_ignore_ascii_case(server);
                    if open.is_ending || open.host.as_ref().is_some_and(is_elsewhere) {
                        return FollowUp::Nothing;
                    }
                    open.is_aborted = true;
                }
                self.note_unwanted(id, server, now);
                FollowUp::End
            }
        }
    }

    fn note_unwanted(&mut self, id: ChargeId, server: &str, now: Instant) {
        if self.unwanted.len() >= UNWANTED_MAX {
            self.unwanted.retain(|_, unwanted| now.saturating_duration_since(unwanted.since) < SHARED_FOR);
        }
        if self.unwanted.len() < UNWANTED_MAX {
            self.unwanted.insert(id, Unwanted { host: server.into(), since: now });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use records::{AlertNo, EndpointNo};

    const HOST: &str = "ocs.test";
    const OF: ChargeId = ChargeId { alert: AlertNo(7), endpoint: EndpointNo(1), attempt: 1 };
    const MEANS: Means = Means { tells: true };

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
        assert!(matches!(sessions.granted(OF, &HOST.into()), FollowUp::Nothing));
        (sessions, now)
    }

    /// Asks for a session's end, and has it heard and answered: the Result-Code, and what was to be done
    /// then.
    fn abort(sessions: &mut Sessions, id: ChargeId, now: Instant) -> (u32, FollowUp) {
        let of = (id, ServerRequest::Abort);
        match sessions.asked(of, HOST, MEANS, now) {
            (code, FollowUp::Tell) => {
                assert!(matches!(sessions.heard(of, HOST, now), FollowUp::Nothing), "it is not answered yet");
                (code, sessions.answered(of, HOST, now))
            }
            said => said,
        }
    }

    #[tokio::test]
    async fn a_session_ends_after_its_beginning_was_answered() {
        let (mut sessions, now) = sessions(false);
        let beginning = sessions.begin(OF, "town", 2, now).expect("nobody else begins it");
        let open = sessions.end(&OF).unwrap();
        let mut begun = Box::pin(open.has_begun());
        assert!((&mut begun).now_or_never().is_none(), "it is under way");
        assert!(matches!(sessions.granted(OF, &HOST.into()), FollowUp::Nothing));
        drop(beginning);
        begun.await;
        assert_eq!(sessions.end(&OF).unwrap().host.as_deref(), Some(HOST), "where it is to be ended");
    }

    #[tokio::test]
    async fn a_re_authorization_of_an_open_session_brings_one_update_and_its_end_comes_after_it() {
        let (mut sessions, now) = granted();
        let ask =
            |sessions: &mut Sessions| sessions.asked((OF, ServerRequest::ReAuthorize), HOST, MEANS, now);
        // Open | RAR received | Send RAA followed by CC update req., start Tx | PendingU
        let (2002, FollowUp::Update(mut update)) = ask(&mut sessions) else { panic!("no update") };
        assert_eq!((&*update.account, &*update.host, update.parts, *update.last), ("town", HOST, 2, 0));
        // PendingU | RAR received | Send RAA | PendingU
        assert!(matches!(ask(&mut sessions), (2002, FollowUp::Nothing)));
        *update.last += 1;
        drop(update);
        let (2002, FollowUp::Update(mut update)) = ask(&mut sessions) else { panic!("no second update") };
        assert_eq!(*update.last, 1, "numbers go on");
        // PendingU | User service terminated | Queue termination event | PendingU
        let ending = sessions.end(&OF).unwrap();
        let number = tokio::spawn(async move { ending.last_number().await });
        *update.last += 1;
        drop(update);
        assert_eq!(number.await.unwrap(), 3);
        // PendingT: there is nothing to ask for any more.
        assert!(matches!(ask(&mut sessions), (5012, FollowUp::Nothing)));
        sessions.forget(&OF);
        assert!(matches!(ask(&mut sessions), (5002, FollowUp::Nothing)));
    }

    #[test]
    fn what_comes_before_the_grant_is_done_after_it() {
        let (mut sessions, now) = begun();
        assert!(matches!(
            sessions.asked((OF, ServerRequest::ReAuthorize), HOST, MEANS, now),
            (2002, FollowUp::Nothing)
        ));
        assert!(matches!(sessions.granted(OF, &HOST.into()), FollowUp::Update(_)));
        // PendingI | User service terminated | Queue termination event | PendingI
        let (mut sessions, now) = begun();
        assert_eq!(sessions.asked((OF, ServerRequest::Abort), HOST, MEANS, now).0, 2001);
        assert!(matches!(sessions.granted(OF, &HOST.into()), FollowUp::End), "before it is heard");
    }

    #[test]
    fn an_abort_ends_an_open_session_once() {
        // Open | User service terminated | Send CC termination req. | PendingT
        let (mut sessions, now) = granted();
        assert!(!sessions.is_aborted(&OF));
        assert!(matches!(abort(&mut sessions, OF, now), (2001, FollowUp::End)));
        assert!(sessions.is_aborted(&OF));
        sessions.end(&OF);
        assert!(matches!(abort(&mut sessions, OF, now), (2001, FollowUp::Nothing)));
        sessions.forget(&OF);
        assert!(matches!(abort(&mut sessions, OF, now), (5002, FollowUp::Nothing)));
    }

    #[test]
    fn what_follows_an_abort_waits_until_it_is_answered_and_heard_in_whatever_order() {
        let of = (OF, ServerRequest::Abort);
        for is_heard_first in [true, false] {
            let (mut sessions, now) = granted();
            // The server is impatient.
            for _ in 0..2 {
                assert!(matches!(sessions.asked(of, HOST, MEANS, now), (2001, FollowUp::Tell)));
            }
            let mut halves = Vec::new();
            for turn in 0..4 {
                halves.push(match (turn < 2) == is_heard_first {
                    true => sessions.heard(of, HOST, now),
                    false => sessions.answered(of, HOST, now),
                });
            }
            let is_end = |deed: &FollowUp| matches!(deed, FollowUp::End);
            assert_eq!(halves.iter().map(is_end).collect::<Vec<_>>(), [false, false, false, true]);
            assert!(matches!(sessions.heard(of, HOST, now), FollowUp::End), "of another process");
        }
        let (mut sessions, now) = granted();
        sessions.asked(of, HOST, MEANS, now);
        sessions.not_told(of);
        assert!(sessions.half_done.is_empty());
    }

    #[test]
    fn one_whose_message_was_unknown_to_an_earlier_process_may_be_ended_and_is_then_forgotten() {
        let (mut sessions, now) = sessions(false);
        let ask = |sessions: &mut Sessions, wish| sessions.asked((OF, wish), HOST, MEANS, now).0;
        assert_eq!(ask(&mut sessions, ServerRequest::Abort), 5002);
        sessions.keep([OF].into_iter());
        assert_eq!(ask(&mut sessions, ServerRequest::ReAuthorize), 5012);
        assert!(matches!(abort(&mut sessions, OF, now), (2001, FollowUp::End)));
        assert_eq!(sessions.end(&OF).unwrap().host.as_deref(), Some(HOST), "where it is to be ended");
        sessions.forget(&OF);
        assert_eq!(ask(&mut sessions, ServerRequest::Abort), 5002);
    }

    #[test]
    fn a_server_that_was_passed_over_is_told_that_its_session_is_not_used() {
        let (mut sessions, now) = granted();
        for wish in [ServerRequest::ReAuthorize, ServerRequest::Abort] {
            assert!(matches!(
                sessions.asked((OF, wish), "other.test", MEANS, now),
                (5002, FollowUp::Nothing)
            ));
            assert!(!matches!(sessions.asked((OF, wish), "OCS.test", MEANS, now), (5002, _)));
        }
    }

    #[test]
    fn what_another_process_may_have_is_not_called_unknown() {
        let (mut young, now) = sessions(false);
        let early = now - Duration::from_secs(1);
        let (mut shared, _) = sessions(true);
        for wish in [ServerRequest::ReAuthorize, ServerRequest::Abort] {
            // Others, and the next, cannot be told.
            let means = Means { tells: false };
            assert!(matches!(young.asked((OF, wish), HOST, means, early), (5012, FollowUp::Nothing)));
            assert!(matches!(shared.asked((OF, wish), HOST, means, now), (5012, FollowUp::Nothing)));
        }
        assert!(matches!(
            young.asked((OF, ServerRequest::ReAuthorize), HOST, MEANS, early),
            (5012, FollowUp::Nothing)
        ));
        assert!(matches!(
            young.asked((OF, ServerRequest::Abort), HOST, MEANS, early),
            (2001, FollowUp::Tell)
        ));
        let mut ask = |wish| shared.asked((OF, wish), HOST, MEANS, now);
        assert!(matches!(ask(ServerRequest::ReAuthorize), (2002, FollowUp::Tell)));
        assert!(matches!(ask(ServerRequest::Abort), (2001, FollowUp::Tell)));
    }

    #[test]
    fn what_one_process_is_asked_the_one_that_has_the_session_does() {
        let (mut asked, now) = sessions(true);
        let (mut other, _) = sessions(true);
        other.begin(OF, "town", 1, now);
        // Not granted yet: it is asked for again when it is.
        let re_authorize = (OF, ServerRequest::ReAuthorize);
        assert!(matches!(asked.asked(re_authorize, HOST, MEANS, now), (2002, FollowUp::Tell)));
        assert!(matches!(asked.heard(re_authorize, HOST, now), FollowUp::Nothing));
        assert!(matches!(asked.answered(re_authorize, HOST, now), FollowUp::Nothing));
        assert!(matches!(other.heard(re_authorize, HOST, now), FollowUp::Nothing));
        let FollowUp::Update(mut update) = other.granted(OF, &HOST.into()) else { panic!("no update") };
        *update.last += 1;
        drop(update);
        // Granted.
        assert!(matches!(other.heard(re_authorize, "next.test", now), FollowUp::Nothing), "it is not there");
        assert!(matches!(other.heard(re_authorize, HOST, now), FollowUp::Update(_)));
        // What is not granted is kept back by who asked for it.
        let kept_back = ChargeId { attempt: 2, ..OF };
        other.begin(kept_back, "town", 1, now);
        assert!(matches!(other.heard((kept_back, ServerRequest::Abort), HOST, now), FollowUp::End));
        assert!(matches!(other.granted(kept_back, &HOST.into()), FollowUp::End));
    }

    #[test]
    fn a_session_that_a_server_wants_ended_is_known_as_that_to_whichever_process_leads_then() {
        let (mut asked, now) = sessions(true);
        let (mut leader, _) = sessions(true);
        asked.begin(OF, "town", 1, now);
        asked.granted(OF, &HOST.into());
        let abort = (OF, ServerRequest::Abort);
        assert!(matches!(asked.asked(abort, HOST, MEANS, now), (2001, FollowUp::Tell)));
        assert!(matches!(asked.answered(abort, HOST, now), FollowUp::Nothing), "it is not heard yet");
        for sessions in [&mut asked, &mut leader] {
            assert!(matches!(sessions.heard(abort, HOST, now), FollowUp::End));
            assert!(sessions.is_aborted(&OF));
            assert_eq!(sessions.unwanted(), [OF]);
            assert_eq!(sessions.end(&OF).unwrap().host.as_deref(), Some(HOST), "where it is to be ended");
        }
        // Whoever takes the message over keeps it back.
        let (mut next, _) = sessions(true);
        next.heard(abort, HOST, now);
        next.begin(OF, "town", 1, now);
        assert!(matches!(next.granted(OF, &HOST.into()), FollowUp::End));
        leader.forget(&OF);
        assert!(!leader.is_aborted(&OF) && leader.end(&OF).is_none());
        // A server that was passed over holds what is not used; the session itself goes on.
        let elsewhere = ChargeId { attempt: 2, ..OF };
        asked.begin(elsewhere, "town", 1, now);
        asked.granted(elsewhere, &HOST.into());
        assert!(matches!(
            asked.heard((elsewhere, ServerRequest::Abort), "passed.test", now),
            FollowUp::Nothing
        ));
        assert!(!asked.is_aborted(&elsewhere));
    }

    #[test]
    fn sessions_that_are_to_end_are_remembered_in_a_bounded_number() {
        let (mut sessions, now) = sessions(true);
        let id = |endpoint| ChargeId { endpoint: EndpointNo(endpoint), ..OF };
        for endpoint in 0..=UNWANTED_MAX as u32 {
            sessions.heard((id(endpoint), ServerRequest::Abort), HOST, now);
        }
        assert_eq!(sessions.unwanted.len(), UNWANTED_MAX);
        sessions.heard((id(u32::MAX), ServerRequest::Abort), HOST, now + SHARED_FOR);
        assert_eq!(sessions.unwanted(), [id(u32::MAX)], "old ones make room");
    }

    #[test]
    fn what_others_end_is_forgotten_after_a_while() {
        let (mut sessions, now) = sessions(true);
        for endpoint in 0..SWEEP_AT as u32 {
            sessions.begin(ChargeId { endpoint: EndpointNo(endpoint), ..OF }, "town", 1, now);
        }
        sessions.begin(ChargeId { attempt: 2, ..OF }, "town", 1, now + SHARED_FOR);
        assert_eq!(sessions.all.len(), 1);
    }
}
