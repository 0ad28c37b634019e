//! The credit-control client of RFC 8506 section 7: what it sends, and what it does to the user's service,
//! when answers come, fail or do not come.
//!
//! - [`session`]: credit control by sessions; the first interrogation by a CCR, or within an AA request.
//! - [`one_time`]: one-time events: debits, refunds, enquiries; and requests that were stored.
//!
//! Both are pure: an event goes in with the time, [`ClientAction`]s and a deadline come out. They write no
//! message: the caller, which has the service's parameters, does, with the `CC-Request-Number` of the action.
//! Answers are classified by [`CreditAnswer::read`].

mod answer;
pub mod one_time;
pub mod session;

#[cfg(test)]
mod tests;

pub use answer::{CreditAnswer, FinalUnitAction, Grant};

use std::time::Duration;

/// The timer Tx, by default (section 13): how long the user waits for an answer.
pub const TX_DEFAULT: Duration = Duration::from_secs(10);

/// What the client is to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAction {
    /// Send an AA request with credit-control AVPs.
    SendAaRequest,
    /// Send a CCR INITIAL_REQUEST with this CC-Request-Number.
    SendInitial(u32),
    /// Send a CCR UPDATE_REQUEST with this CC-Request-Number.
    SendUpdate(u32),
    /// Send a CCR TERMINATION_REQUEST with this CC-Request-Number.
    SendTermination(u32),
    /// Send a CCR EVENT_REQUEST.
    SendEvent,
    /// Send the request out of storage.
    SendStored,
    /// Send the last request once more, to an alternative server, with the same CC-Request-Number and
    /// End-to-End Identifier. The T bit is set where the first server may have seen it.
    SendElsewhere {
        /// Set the T bit.
        is_retransmit: bool,
    },
    /// Answer the RAR.
    SendRaa,
    /// Grant the service to the end user, or let it go on.
    GrantService,
    /// Terminate the end user's service, or deny it; of an AA request, disconnect the user.
    TerminateService,
    /// Redirect or restrict the user: the final units are used up (section 5.6).
    ApplyFinalUnitAction(FinalUnitAction),
    /// Tell the user of a service error.
    IndicateError,
    /// Store the request where it survives a restart.
    Store {
        /// Set the T bit when it is sent.
        is_retransmit: bool,
    },
    /// Delete the request, from storage if it is there.
    DeleteRequest,
}

/// Steps of one event, in their order.
pub type Steps = Vec<ClientAction>;
