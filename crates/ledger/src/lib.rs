//! The ledger: accounts, reservations, sessions and our own messages' money, in memory, behind a log.
//!
//! A `Shard` is a pure state machine: time and the log's buffer come with each request. What became of a
//! request is one `Entry`, and the state moves by entries alone, so that what is read back from the log makes
//! the same state. The shell around it (`ShardThread`) has one thread for each shard and answers only when
//! the entries are as safe on disk as the configuration says.

pub mod account;
mod account_changes;
mod answered;
pub mod audit;
mod background;
pub mod batch;
pub mod block;
pub mod books;
mod bundle;
pub mod client;
pub mod config;
mod credit;
mod direct;
mod duplicates;
pub mod ended;
pub mod entry;
mod event;
mod expiry;
pub mod hash;
mod huge_pages;
pub mod key;
pub mod log;
mod message;
mod message_holds;
mod old_numbers;
mod pool;
mod preallocate;
mod rating;
pub mod records;
pub mod recovery;
pub mod request;
mod retire;
mod rules;
pub mod runtime_rules;
pub mod session;
pub mod session_clients;
mod sessions;
pub mod shard;
pub mod shard_threads;
pub mod shared;
pub mod snapshot;
mod sync_pipeline;
pub mod tariff;
pub mod tariff_spec;
#[cfg(test)]
mod tests;
pub mod transfer;
mod varint;

pub use audit::audit;
pub use batch::{Batch, NewRequest};
pub use client::{Client, Opener};
pub use config::Config;
pub use hash::{Hash128, HashKey};
pub use key::{KeyKind, PackedKey};
pub use log::Fsync;
pub use recovery::Refusal;
pub use request::{Answer, Kind, Request, Service, ServiceAnswer, Terms, Units};
pub use rules::{Prices, RulesError};
pub use shard::Shard;
pub use shard_threads::{Ledger, Options, Receiver, Refused};
