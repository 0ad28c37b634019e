//! Deployment of a scenario: the production server and its carriers as processes of their own, a client of
//! its API, and what the system says of them.

mod api;
mod callbacks;
mod campanile;
mod carrier;
mod disk;
mod memory;
mod part;
mod placement;
mod process;
mod server;
mod server_with_carriers;

pub(crate) use api::{Api, http_client};
pub(crate) use callbacks::Callbacks;
pub(crate) use campanile::campanile;
pub(crate) use carrier::{Carrier, CarrierStats};
pub(crate) use disk::{Probe, fdatasync_p50_us};
pub(crate) use memory::touch_memory;
pub(crate) use part::{PartProcess, this_program};
pub(crate) use placement::{Placement, bind_this_thread, is_mapped, own_cpus};
pub(crate) use process::Usage;
pub(crate) use server::{ServerProcess, free_port};
pub(crate) use server_with_carriers::{Plan, ServerWithCarriers, Taken, WEBHOOK_CONNECTIONS};

use std::time::{SystemTime, UNIX_EPOCH};

/// The wall clock, microseconds since 1970: what the carriers' stamps are compared with.
pub(crate) fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}
