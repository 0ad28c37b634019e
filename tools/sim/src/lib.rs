//! The world outside: SMSC, mailbox, a town of recipients: real listeners, real bytes.

pub mod chance;
pub mod town;
