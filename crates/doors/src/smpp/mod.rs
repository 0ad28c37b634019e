//! SMPP door: platforms bind to us, submit messages, and get receipts and inbound messages.
//!
//! The messages of one wake-up of a session are written into one buffer, straight from the PDUs, appended to
//! the bus as one unit, and answered when that is durable. Events for a client wait on a topic of its own
//! until one of its sessions has delivered them. There is no task and no timer for a message.
//!
//! ```text
//! door            listens, one session for each connection
//! connection      a session's worker: messages in, answers out
//! binding         decision on a bind; clients: their settings; unbound: those that never bind
//! submit_sm       from a PDU to a record; message_text, address, times, ids: its pieces
//! batch           messages appended and answered together
//! query_cancel    query_sm, cancel_sm, replace_sm
//! activity        what a client does, counted
//! told_events     a message's events among those of its client
//! dlr_delivery    receipts and messages from people, out; deliver_sm: the PDU; client_queue: where they wait
//! ```

mod activity;
mod address;
mod batch;
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
mod message_control;
mod message_text;
mod meter;
mod places;
mod query_cancel;
mod record;
mod submit_sm;
#[cfg(test)]
mod tests;
mod times;
mod told_events;
mod unbound;

pub(crate) use activity::{ActivityView, ClientSessionView};
pub(crate) use clients::ClientView;
pub use clients::{ClientChanges, Clients};
pub use config::{
    CLIENT_CONNECTIONS, CLIENT_WINDOW, CLIENTS_MAX, CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX,
    ClientLanes, ClientPassword, LongMessageForm, SmppClient, SmppConfig, VALIDITY_S, VALIDITY_S_MAX,
    parse_long_message_form,
};
pub use door::{SmppError, SmppRunning, start};
pub(crate) use ids::parse as parse_message_id;
pub use message_control::MessageControl;
pub use net::AllowedIp;
pub(crate) use told_events::{ToldEvent, told_events};

use crate::Gatekeeper;
use bus::Bus;
use engine::Clock;
use net::Cores;
use std::sync::Arc;

/// The parts of the server that the door uses.
#[derive(Clone)]
pub struct SmppDeps {
    /// Takes messages: [`engine::Engine::messages`].
    pub intake: Arc<dyn MessageControl>,
    /// Clients that may bind; a reload puts others in their place.
    pub clients: Arc<Clients>,
    /// The bus with the queues of the clients' events.
    pub bus: Arc<dyn Bus>,
    /// The wall clock.
    pub clock: Clock,
    /// The cores that run the connections.
    pub cores: Arc<Cores>,
    /// Descriptors and guesses, over all doors.
    pub gatekeeper: Gatekeeper,
}
