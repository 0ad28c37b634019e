//! The ledger of balances and reservations, tariffs, charging records, the credit-control server and client.

pub mod books;
pub mod ledger;
pub mod message_charging;
pub mod records;
pub mod server;
pub mod session_notifier;
