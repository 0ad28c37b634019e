//! Our own messages are charged: a hold before they are written, and a settlement by their outcomes. Either
//! from the local ledger (`local`), or at charging servers of others ([`external`]).
//!
//! A message is one delivery (alert, endpoint), whatever its attempts, routes and processes. Its charge is
//! keyed by that, at a charging server by the attempt too (`ChargeId`), so that an outcome that is read
//! twice moves money once.
//!
//! - **Before the write** ([`MessageCharging::pay`], [`External::pay`](external::External::pay)) a
//!   segment's prices are held, and that is on disk before an intent is on the bus's. A crash in between
//!   leaves a hold; the segment is taken again, and the same hold answers. If it never is (its alert was
//!   stopped), an outcome says that it was not tried, or the hold ends with the message's validity.
//! - **Accepted** (any part of it) charges the message, once. So does a receipt that says delivered, where
//!   the attempt was unknown. The ledger takes the price at the tariff of the hold; a late yes to a message
//!   that was freed still takes its price, as far as there is money.
//! - **Refused, or not tried** frees the hold. Another attempt holds again, and is refused if the money is
//!   gone meanwhile. The outcome's place on its topic goes to the ledger too: read again after a crash, it
//!   frees nothing that was held for a segment made after it.
//! - **Unknown** keeps its hold: no refusal of another attempt frees it, only a yes, a receipt, or the end of
//!   its validity. A receipt that is read before its message is known as unknown waits for that
//!   (`pending_receipts`).
//! - **An emergency** waits for no money: its price is owed to the ledger
//!   ([`Kind::Debt`](ledger::Kind::Debt)), apart from the balance, also by an account that is blocked or was
//!   never opened. It waits at most [`EMERGENCY_WAITS`]; if its process is killed while the disk hangs, it
//!   may owe less. A message that was refused or not tried is owed no more.
//!
//! One settler ([`settler`]) consumes the topic of outcomes as a group, decides (`settlement`), has one of
//! two backends carry that out (`backend`), and acknowledges a record when the backend has: the engine
//! keeps the topic until then. A crash between both repeats to the backend what it knows.

mod backend;
mod changes;
pub mod external;
mod local;
mod message_parts;
mod pending_receipts;
mod record_lease;
mod settlement;
pub mod settler;
#[cfg(test)]
mod tests;

pub use local::{LATE_US, MessageCharging};

use records::{AlertNo, EndpointNo};
use std::time::Duration;

/// An emergency is written when its charge is on disk, or after so long.
pub const EMERGENCY_WAITS: Duration = Duration::from_secs(1);

/// The key of a charge: a message, and the attempt at it where each is charged by itself, which else is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ChargeId {
    pub(crate) alert: AlertNo,
    pub(crate) endpoint: EndpointNo,
    pub(crate) attempt: u8,
}
