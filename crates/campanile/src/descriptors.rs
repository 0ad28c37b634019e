//! Descriptors of the process: as many as the system allows, of which the doors leave some for carriers,
//! store and bus.

use net::DescriptorBudget;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::sync::{Arc, OnceLock};

/// Kept back from the doors, whatever the limit: connections to carriers, relays, the store and the bus,
/// their files, and files of attachments.
const RESERVE: u64 = 256;
/// Of a small limit the doors get half.
const RESERVE_PART: u64 = 2;
/// A limit that is not one; nothing counts so far.
const UNLIMITED: u64 = 1 << 20;

/// Raises the soft limit of descriptors to the hard one, and logs what there is. Called once, at the start of
/// a server.
pub fn raise() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return tracing::info!(
            descriptors = limit.current,
            doors = budget_of(limit.current),
            "descriptors of this process"
        );
    }
    match setrlimit(Resource::Nofile, rustix::process::Rlimit { current: limit.maximum, ..limit }) {
        Ok(()) => tracing::info!(
            before = limit.current,
            descriptors = limit.maximum,
            doors = budget_of(limit.maximum),
            "the limit of descriptors was raised to the hard limit"
        ),
        Err(error) => tracing::warn!(
            %error,
            descriptors = limit.current,
            "the limit of descriptors could not be raised: set LimitNOFILE in the systemd unit, or ulimit -n"
        ),
    }
}

/// What all doors together may open.
pub fn budget() -> Arc<DescriptorBudget> {
    static BUDGET: OnceLock<Arc<DescriptorBudget>> = OnceLock::new();
    let open = || DescriptorBudget::new(budget_of(getrlimit(Resource::Nofile).current));
    Arc::clone(BUDGET.get_or_init(open))
}

fn budget_of(limit: Option<u64>) -> usize {
    let limit = limit.unwrap_or(UNLIMITED);
    let reserve = RESERVE.min(limit / RESERVE_PART);
    usize::try_from(limit - reserve).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_doors_leave_descriptors_for_all_else() {
        for (limit, doors) in
            [(Some(256), 128), (Some(1_024), 768), (Some(4_096), 3_840), (None, (1 << 20) - 256)]
        {
            assert_eq!(budget_of(limit), doors, "{limit:?}");
        }
    }
}
