//! Stories of one shard, and of a ledger on disk.

mod bench;
mod clients;
mod disk;
mod events;
mod gateways;
mod messages;
mod pools;
mod power;
mod power_cuts;
mod properties;
mod sessions;
mod tariffs;
mod transfer;

pub use bench::{ShardUnderTest, plain};
