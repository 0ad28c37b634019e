//! Reliable push of one file to many sites, over UDP at the rate asked, unicast and multicast.
//!
//! Data goes out as RaptorQ symbols over plain UDP; beside it each site has a control channel over QUIC, on
//! which both sides prove that they know the site's key before anything is sent. `planner` and `assembly` are
//! the two pure machines; everything else drives them:
//!
//! - sending: `send` (the entry), `site` (a task for each site's control channel), `stream` (the thread for
//!   data);
//! - receiving: `receive` (the entry, and a task for each sender), `block_receiver` (the thread for data),
//!   `disk`;
//! - on the wire: `packet` (data), `report`, `message` and `frames` (control), `manifest`, `proof`.

mod assembly;
mod block_receiver;
mod code;
mod disk;
mod frames;
#[cfg(test)]
mod goodput_tests;
mod interface;
mod layout;
mod link;
mod manifest;
mod message;
mod pacer;
mod packet;
mod planner;
mod proof;
mod receive;
mod report;
mod send;
mod site;
#[cfg(test)]
mod speed_tests;
mod stream;
pub mod udp;
#[cfg(test)]
mod wire_tests;

pub use interface::Interface;
pub use proof::SiteKey;
pub use receive::{Arrived, ReceiveOptions, Received, Receiving};
pub use send::{
    PushProgress, PushReport, RATE_MIN, SITES_MAX, SendOptions, Site, SiteOutcome, SiteReport,
    fresh_signing_key, public_key, send, short_path,
};
pub use stream::PushCounts;
