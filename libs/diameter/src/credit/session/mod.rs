//! The server's session machine: the table of the credit-control server, RFC 8506, section 7, table 6.
//!
//! A state is a type, a row of the table a method: what the table does not have does not compile. Each method
//! returns the next state and the [`Duty`] that the row's action column asks of whoever holds the ledger and
//! the connection. [`ServerSession`] is either state, for a table of sessions, and [`ServerSession::admit`]
//! says which rows a request may take, before anything is reserved or debited.
//!
//! ```
//! use diameter::credit::RequestType;
//! use diameter::credit::session::{Admission, Idle, ServerSession, Supervision};
//! use std::time::{Duration, Instant};
//!
//! let now = Instant::now();
//! let supervision = Supervision { without_validity: Duration::from_secs(3600) };
//! assert_eq!(ServerSession::Idle(Idle).admit(RequestType::Initial, 0), Admission::Process);
//! // The ledger has reserved units, valid for ten minutes:
//! let open = Idle.initial_processed(0, supervision.tcc(Some(600)), now).state;
//! assert_eq!(open.poll_timeout(), now + Duration::from_secs(1200));
//! assert_eq!(ServerSession::Open(open).admit(RequestType::Update, 0), Admission::Duplicate);
//! let ended = open.handle_timeout(now + Duration::from_secs(1200)).unwrap();
//! assert!(ended.duty.release_reserved);
//! ```

#[cfg(test)]
mod tests;

use super::RequestType;
use crate::result_code;
use std::time::{Duration, Instant};

/// How sessions are supervised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supervision {
    /// Tcc where no Validity-Time was granted.
    pub without_validity: Duration,
}

impl Supervision {
    /// Tcc: twice the Validity-Time that was granted (section 13), in seconds; of several the longest is to
    /// be given.
    pub fn tcc(&self, validity_s: Option<u32>) -> Duration {
        validity_s.map_or(self.without_validity, |validity_s| Duration::from_secs(2 * u64::from(validity_s)))
    }
}

/// What a row's action column asks for, besides the next state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duty {
    /// The answer to send.
    pub answer: AnswerDuty,
    /// Take from the reservation what the request says was used.
    pub debit_used: bool,
    /// Reserve new units, before the answer tells of them.
    pub reserve: bool,
    /// Give back what is left of the reservation.
    pub release_reserved: bool,
    /// What becomes of the session supervision timer.
    pub tcc: TccDuty,
}

/// Which answer a row sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerDuty {
    /// None: no request caused it.
    None,
    /// With Result-Code SUCCESS.
    Success,
    /// With another Result-Code.
    Failure,
}

/// What becomes of the session supervision timer Tcc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TccDuty {
    /// It does not run, and need not.
    None,
    /// It runs until then; started anew.
    Start(Instant),
    /// It is stopped.
    Stop,
}

/// The next state and what is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "its duty is to be done"]
pub struct Transition<S> {
    /// The next state.
    pub state: S,
    /// What is to be done.
    pub duty: Duty,
}

const REST: Duty = Duty {
    answer: AnswerDuty::None,
    debit_used: false,
    reserve: false,
    release_reserved: false,
    tcc: TccDuty::None,
};

/// There is no session: none yet, or no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Idle;

impl Idle {
    /// Idle | CC initial request received and successfully processed | send CC initial answer, reserve units,
    /// start Tcc | Open
    pub fn initial_processed(self, number: u32, tcc: Duration, now: Instant) -> Transition<Open> {
        let deadline = now + tcc;
        let duty = Duty { answer: AnswerDuty::Success, reserve: true, tcc: TccDuty::Start(deadline), ..REST };
        Transition { state: Open { number, deadline }, duty }
    }

    /// Idle | CC initial request received but not successfully processed | send CC initial answer with
    /// Result-Code != SUCCESS | Idle
    pub fn initial_failed(self) -> Transition<Idle> {
        Transition { state: Idle, duty: Duty { answer: AnswerDuty::Failure, ..REST } }
    }

    /// Idle | CC event request received and successfully processed | send CC event answer | Idle
    pub fn event_processed(self) -> Transition<Idle> {
        Transition { state: Idle, duty: Duty { answer: AnswerDuty::Success, ..REST } }
    }

    /// Idle | CC event request received but not successfully processed | send CC event answer with
    /// Result-Code != SUCCESS | Idle
    pub fn event_failed(self) -> Transition<Idle> {
        Transition { state: Idle, duty: Duty { answer: AnswerDuty::Failure, ..REST } }
    }
}

/// A session with units reserved, supervised by Tcc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    number: u32,
    deadline: Instant,
}

impl Open {
    /// A session that was open before a restart: its last CC-Request-Number, and Tcc started anew.
    pub fn resume(number: u32, tcc: Duration, now: Instant) -> Open {
        Open { number, deadline: now + tcc }
    }

    /// The last CC-Request-Number that was processed.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// When Tcc expires. It changes with [`update_processed`](Self::update_processed) alone.
    pub fn poll_timeout(&self) -> Instant {
        self.deadline
    }

    /// Open | CC update request received and successfully processed | send CC update answer, debit used
    /// units, reserve new units, restart Tcc | Open
    pub fn update_processed(self, number: u32, tcc: Duration, now: Instant) -> Transition<Open> {
        let deadline = now + tcc;
        let duty = Duty {
            answer: AnswerDuty::Success,
            debit_used: true,
            reserve: true,
            release_reserved: false,
            tcc: TccDuty::Start(deadline),
        };
        Transition { state: Open { number: number.max(self.number), deadline }, duty }
    }

    /// Open | CC update request received but not successfully processed | send CC update answer with
    /// Result-Code != SUCCESS, debit used units | Idle
    pub fn update_failed(self) -> Transition<Idle> {
        Transition { state: Idle, duty: ended(AnswerDuty::Failure) }
    }

    /// Open | CC termination request received and successfully processed | send CC termination answer, stop
    /// Tcc, debit used units | Idle
    pub fn termination_processed(self) -> Transition<Idle> {
        Transition { state: Idle, duty: ended(AnswerDuty::Success) }
    }

    /// Open | CC termination request received but not successfully processed | send CC termination answer
    /// with Result-Code != SUCCESS, debit used units | Idle
    pub fn termination_failed(self) -> Transition<Idle> {
        Transition { state: Idle, duty: ended(AnswerDuty::Failure) }
    }

    /// Open | session supervision timer Tcc expired | release reserved units | Idle
    ///
    /// # Errors
    /// The session as it was, when Tcc has not expired yet.
    pub fn handle_timeout(self, now: Instant) -> Result<Transition<Idle>, Open> {
        if now < self.deadline {
            return Err(self);
        }
        Ok(Transition { state: Idle, duty: Duty { release_reserved: true, ..REST } })
    }
}

/// A request ends the session: what it used is debited, and what is left goes back, since nobody can use it
/// any more.
const fn ended(answer: AnswerDuty) -> Duty {
    Duty { answer, debit_used: true, reserve: false, release_reserved: true, tcc: TccDuty::Stop }
}

/// Either state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerSession {
    /// There is none.
    Idle(Idle),
    /// It is open.
    Open(Open),
}

/// What to do with a request, by its type and CC-Request-Number alone (section 8.2: unique within a session,
/// one more each time).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is the next one: process it.
    Process,
    /// Numbers were left out: requests that never came. It can be processed; what the missing ones used is
    /// lost.
    Gap {
        /// The first number left out.
        expected: u32,
    },
    /// A number that was there before: the stored answer is sent again, nothing is debited.
    Duplicate,
    /// The table has no such row: answer with this code.
    Refuse {
        /// 5002 where there is no session, 5012 where one is in the way.
        result_code: u32,
    },
}

impl ServerSession {
    /// What to do with a request. Stored answers are to be looked for first: a session that has ended knows
    /// no duplicates.
    pub fn admit(&self, kind: RequestType, number: u32) -> Admission {
        match (self, kind) {
            (ServerSession::Idle(_), RequestType::Initial | RequestType::Event) => Admission::Process,
            (ServerSession::Idle(_), RequestType::Update | RequestType::Termination) => {
                Admission::Refuse { result_code: result_code::UNKNOWN_SESSION_ID }
            }
            (ServerSession::Open(open), _) if number <= open.number => Admission::Duplicate,
            (ServerSession::Open(open), RequestType::Update | RequestType::Termination) => {
                // Over the last number: adding one cannot overflow.
                match open.number + 1 {
                    expected if expected == number => Admission::Process,
                    expected => Admission::Gap { expected },
                }
            }
            (ServerSession::Open(_), RequestType::Initial | RequestType::Event) => {
                Admission::Refuse { result_code: result_code::UNABLE_TO_COMPLY }
            }
        }
    }
}
