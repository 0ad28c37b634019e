//! One client session on its way through the script. Knows no connection and no clock.

use super::script::{Script, ScriptStep};
use diameter::check::Origin;
use diameter::credit::request::UsedUnits;
use diameter::credit::write_request::RequestToSend;
use diameter::credit::{RequestType, Subscription, SubscriptionKind, Units};
use diameter::dictionary::avp;
use diameter::header::CommandFlags;
use diameter::message::Message;
use diameter::result_code;
use std::time::Instant;

/// Termination-Cause (RFC 6733, section 8.15): DIAMETER_LOGOUT.
const LOGOUT: i32 = 1;
/// Where the flags and the Hop-by-Hop Identifier of a message stand.
const FLAGS_AT: usize = 4;
const HOP_BY_HOP: std::ops::Range<usize> = 12..16;

/// Who asks, and whom.
pub(super) struct RoutingAvps<'a> {
    pub(super) origin: Origin<'a>,
    pub(super) realm: &'a str,
    /// Where it is known, from the second request of a session on.
    pub(super) host: Option<&'a str>,
}

/// What is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// To send what [`ClientSession::request`] writes.
    Ask,
    /// An answer.
    Answer,
    /// That time.
    Until(Instant),
    /// Nothing: it is through.
    Over,
}

/// What an answer came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Learnt {
    pub(super) code: u32,
    /// Service-specific units.
    pub(super) granted: u64,
    /// Units that were told as used, and taken.
    pub(super) used: u64,
    /// It answers a repeated request: whether as the first one.
    pub(super) is_alike: Option<bool>,
}

pub(super) struct ClientSession {
    id: String,
    subscriber: String,
    script: Script,
    at: usize,
    /// Of the session within the script that is open, or was last.
    part: u32,
    /// CC-Request-Number, while one is open.
    number: Option<u32>,
    granted: u64,
    /// The last request, its end-to-end identifier, what it told as used, and its answer.
    last: (Vec<u8>, u32, u64, Vec<u8>),
    /// The last one is said again.
    is_again: bool,
    /// The service ends once what is repeated is answered: whether the server has no session by then.
    ends: Option<bool>,
    next: Next,
}

impl ClientSession {
    pub(super) fn new(id: String, subscriber: String, script: Script) -> ClientSession {
        let last = Default::default();
        let mut session = ClientSession {
            id,
            subscriber,
            script,
            at: 0,
            part: 0,
            number: None,
            granted: 0,
            last,
            is_again: false,
            ends: None,
            next: Next::Ask,
        };
        // A pause before the first request is none.
        while matches!(session.step(), Some(ScriptStep::Pause(_))) {
            session.at += 1;
        }
        session
    }

    pub(super) fn next(&self) -> Next {
        self.next
    }

    fn step(&self) -> Option<ScriptStep> {
        self.script.0.get(self.at).copied()
    }

    /// Its Session-Id, as it stands in requests now.
    pub(super) fn session_id(&self) -> String {
        format!("{};{}", self.id, self.part)
    }

    /// What is to be sent, whole but for its Hop-by-Hop Identifier, and its end-to-end identifier: the one
    /// given, or that of the request that is repeated. Nothing: there is no such request.
    pub(super) fn request(&mut self, names: &RoutingAvps<'_>, end_to_end: u32) -> Option<(Vec<u8>, u32)> {
        let step = self.step()?;
        self.next = Next::Answer;
        let (kind, requested, used) = match step {
            ScriptStep::Initial { wanted } => (RequestType::Initial, Some(wanted), 0),
            ScriptStep::Update { used, wanted } => (RequestType::Update, Some(wanted), used),
            ScriptStep::Terminate { used } => (RequestType::Termination, None, used),
            ScriptStep::Event { units, .. } => (RequestType::Event, Some(units), 0),
            ScriptStep::Again => {
                self.is_again = true;
                let mut octets = self.last.0.clone();
                octets[FLAGS_AT] |= CommandFlags::RETRANSMIT.0;
                return Some((octets, self.last.1));
            }
            ScriptStep::Pause(_) => return None,
        };
        self.is_again = false;
        if matches!(kind, RequestType::Initial | RequestType::Event) {
            self.part += 1;
        }
        let number = match kind {
            RequestType::Initial => 0,
            _ => self.number.map_or(0, |number| number + 1),
        };
        if kind != RequestType::Event {
            self.number = Some(number);
        }
        // Nobody uses more than was granted.
        let used = used.min(self.granted);
        let used_units = [UsedUnits { units: Units::of_specific(used), ..UsedUnits::default() }];
        let id = self.session_id();
        let subscriptions = [Subscription { kind: SubscriptionKind::E164, data: &self.subscriber }];
        let action = if let ScriptStep::Event { action, .. } = step { Some(action) } else { None };
        let request = RequestToSend {
            destination_host: names.host.filter(|_| number > 0),
            kind,
            number,
            action,
            subscriptions: &subscriptions,
            termination_cause: (kind == RequestType::Termination).then_some(LOGOUT),
            requested: requested.map(Units::of_specific),
            used: if used > 0 { &used_units } else { &[] },
            ..RequestToSend::debit(&id, names.origin, names.realm, Units::default())
        };
        let mut octets = Vec::new();
        request.write(0, end_to_end, &mut octets);
        let counted = match action {
            Some(diameter::credit::RequestedAction::DirectDebiting) => requested.unwrap_or(0),
            _ => used,
        };
        self.last = (octets.clone(), end_to_end, counted, Vec::new());
        Some((octets, end_to_end))
    }

    /// An answer came.
    pub(super) fn answered(&mut self, answer: &Message<'_>, now: Instant) -> Learnt {
        let code = answer.find(avp::RESULT_CODE).and_then(|avp| avp.u32().ok()).unwrap_or(0);
        let mut alike = answer.octets().to_vec();
        alike[HOP_BY_HOP].fill(0);
        if self.is_again {
            let is_alike = Some(alike == self.last.3);
            match self.ends.take() {
                Some(is_gone) => self.end(is_gone),
                None => self.go_on(now),
            }
            return Learnt { code, is_alike, ..Learnt::default() };
        }
        self.last.3 = alike;
        let is_good = result_code::is_success(code);
        let units = answer.find(avp::GRANTED_SERVICE_UNIT);
        let units = units.and_then(|units| units.group().find_name(avp::CC_SERVICE_SPECIFIC_UNITS));
        let granted = units.and_then(|units| units.u64().ok()).filter(|_| is_good).unwrap_or(0);
        let ended = matches!(self.step(), Some(ScriptStep::Terminate { .. } | ScriptStep::Event { .. }));
        self.granted = if ended { 0 } else { granted };
        let learnt = Learnt { code, granted, used: if is_good { self.last.2 } else { 0 }, is_alike: None };
        match is_good {
            true => self.go_on(now),
            false => self.refused(),
        }
        learnt
    }

    /// None came in time: what was used of it nobody knows, and the script goes on, perhaps by asking again.
    pub(super) fn unanswered(&mut self, now: Instant) {
        self.go_on(now);
    }

    fn go_on(&mut self, now: Instant) {
        if matches!(self.step(), Some(ScriptStep::Terminate { .. })) {
            self.number = None;
        }
        self.at += 1;
        self.next = match self.step() {
            None => Next::Over,
            Some(ScriptStep::Pause(pause)) => Next::Until(now + pause),
            Some(_) => Next::Ask,
        };
    }

    /// A pause is over.
    pub(super) fn woken(&mut self, now: Instant) {
        if matches!(self.next, Next::Until(_)) {
            self.go_on(now);
        }
    }

    /// The service ends: where the server has a session, it is told so; what is repeated next is still
    /// repeated.
    fn refused(&mut self) {
        let is_gone = !matches!(self.step(), Some(ScriptStep::Update { .. }));
        if matches!(self.script.0.get(self.at + 1), Some(ScriptStep::Again)) {
            self.at += 1;
            (self.next, self.ends) = (Next::Ask, Some(is_gone));
            return;
        }
        self.end(is_gone);
    }

    /// The server has, or will have, a session of it that does not end yet.
    fn is_open(&self) -> bool {
        self.number.is_some() && self.next != Next::Over
    }

    /// The server wants it to ask for credit again (RFC 8506, section 5.5): whether it has a session to do
    /// so. An UPDATE follows at once, or after the answer that is on its way; one that is on its way, or that
    /// is ending, is enough.
    pub(super) fn asked_again(&mut self, now: Instant) -> bool {
        if !self.is_open() {
            return false;
        }
        let is_answered = self.next != Next::Answer;
        let is_enough = match self.step() {
            Some(ScriptStep::Update { .. }) => true,
            Some(ScriptStep::Terminate { .. }) => !is_answered,
            _ => matches!(self.script.0.get(self.at + 1), Some(ScriptStep::Update { .. })),
        };
        if !is_enough {
            let wanted = self.script.0[..=self.at].iter().rev().find_map(ScriptStep::wanted).unwrap_or(1);
            // A request that is to be sent now comes after it.
            let at = self.at + usize::from(self.next != Next::Ask);
            self.script.0.insert(at, ScriptStep::Update { used: 0, wanted });
        }
        self.woken(now);
        true
    }

    /// The server wants it ended (RFC 6733, section 8.5): whether there is a session to end. A TERMINATION
    /// follows.
    pub(super) fn aborted(&mut self) -> bool {
        if !self.is_open() {
            return false;
        }
        if self.next != Next::Answer {
            self.end(false);
        } else {
            // After the answer that is on its way.
            self.script.0.truncate(self.at + 1);
            if !matches!(self.step(), Some(ScriptStep::Terminate { .. })) {
                self.script.0.push(ScriptStep::Terminate { used: 0 });
            }
        }
        true
    }

    fn end(&mut self, is_gone: bool) {
        self.script.0.truncate(self.at + usize::from(!is_gone));
        self.at = self.script.0.len();
        self.next = Next::Over;
        if !is_gone {
            self.script.0.push(ScriptStep::Terminate { used: 0 });
            self.next = Next::Ask;
        }
    }
}
