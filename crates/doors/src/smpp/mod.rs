//! The SMPP door: platforms bind to us, hand messages in, and are told what becomes of them.
//!
//! What one wake-up of a session brings is written into one buffer, record by record as it lies in the PDUs,
//! appended to the bus as one unit, and answered when that is durable. What a client is told waits on a topic
//! of its own until one of its sessions has it. There is no task and no timer for a message.
//!
//! ```text
//! door            listens, one session for each connection
//! connection      a session's worker: messages in, answers out
//! binding         decision on a bind; clients: their settings; bind_throttle: too many wrong ones
//! submit_sm       from a PDU to a record; message_text, address, times, ids: its pieces
//! batch           messages appended and answered together
//! query_cancel    query_sm, cancel_sm, replace_sm
//! dlr_delivery    receipts and messages from people, out; deliver_sm: the PDU; client_queue: where they wait
//! ```

mod address;

mod batch;
mod bind_throttle;
mod binding;
mod bucket;
mod client_queue;
mod clients;
mod config;
mod connection;
mod deliver_sm;
mod dlr_delivery;
mod door;
mod ids;
mod intake;
mod message_text;
mod meter;
mod query_cancel;
mod record;
mod submit_sm;
#[cfg(test)]
mod tests;
mod times;

pub use clients::{ClientChanges, Clients};
pub use config::{
    CLIENT_CONNECTIONS, CLIENT_WINDOW, CLIENTS_MAX, CONNECTIONS_MAX, Long, Secret, SmppClient, SmppConfig,
    VALIDITY_S, VALIDITY_S_MAX, parse_long,
};
pub use door::{SmppError, SmppRunning, start};
pub use intake::Intake;
pub use net::AllowedIp;

use bus::Bus;
use engine::Clock;
use net::Cores;
use std::sync::Arc;

/// What the door is given.
#[derive(Clone)]
pub struct SmppDeps {
    /// Takes messages: [`engine::Engine::messages`].
    pub intake: Arc<dyn Intake>,
    /// Who may bind; a reload puts others in their place.
    pub clients: Arc<Clients>,
    /// Where what clients are told waits.
    pub bus: Arc<dyn Bus>,
    /// The wall clock.
    pub clock: Clock,
    /// Where connections live.
    pub cores: Arc<Cores>,
}
