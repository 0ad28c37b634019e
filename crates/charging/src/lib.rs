//! Credit control by Diameter, server and client, over the ledger: who connects is answered from it, and our
//! own messages are paid from it, or at others' servers.

pub mod message_charging;
pub mod server;
pub mod session_notifier;
