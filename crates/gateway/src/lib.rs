//! The ways out: one folder a channel, each with the same rooms (config, encode, session, outcome).
//!
//! - [`World`], [`Running`]: what every gateway is given, and what starting one gives back.
//! - [`feed`]: from segments on the bus to entries that may be written, and what an earlier process left half done.
//! - [`journal`]: what became of them, on the topic of outcomes, before anybody acts on it.
//! - [`peers`]: what gateways of several processes tell each other.
//! - [`purse`]: who pays for what is written.
//! - [`sms`]: SMPP. [`mail`]: SMTP. [`topic`]: text topics. [`edge`]: files for sites, by paced UDP. [`notice`]: what we tell platforms and observers, by HTTP.

pub mod edge;
pub mod feed;
pub mod journal;
pub mod mail;
pub mod notice;
pub mod peers;
pub mod purse;
pub mod sms;
pub mod topic;
pub mod world;

pub use purse::Purse;
pub use world::{Behind, Changed, Clock, Problem, Running, Secret, Stop, Witness, World};
