//! Fenced appends of segments, where several processes share the bus: the leader moves the head of each topic
//! when it begins, and appends at the head it knows.

use super::context::LeaderGuard;
use crate::shared::Term;
use records::Segment;
use std::time::Duration;

/// After a failure an append is tried again so much later.
const PAUSE: Duration = Duration::from_millis(200);

/// Moves the head of a topic of segments: what a process that no longer leads still has on its way to the old
/// one is refused. Resolves to the head after it.
pub async fn take_fencing_record(
    topic: &dyn bus::Topic,
    fencing_record: &Segment,
    term: &Term,
) -> Result<u64, bus::BusError> {
    let octets = fencing_record.encode();
    while term.holds() {
        let tried = match topic.latest().await {
            Ok(head) => topic.append_at(head, &[&octets]).await,
            Err(error) => Err(error),
        };
        match tried {
            Ok(index) => return Ok(index + 1),
            // Somebody was faster: after them, then.
            Err(bus::BusError::Moved { .. }) => {}
            Err(bus::BusError::Unreachable { .. }) => tokio::time::sleep(PAUSE).await,
            Err(error) => return Err(error),
        }
    }
    Err(LeaderGuard::passed())
}

/// Appends at a known head. After a lost acknowledgement it is tried again at that same index, so that it is
/// there once. [`bus::BusError::Moved`]: another leads.
pub async fn append_fenced(
    topic: &dyn bus::Topic,
    head: u64,
    octets: &[u8],
    term: &Term,
) -> Result<u64, bus::BusError> {
    while term.holds() {
        match topic.append_at(head, &[octets]).await {
            Err(moved @ bus::BusError::Moved { .. }) => match topic.fetch(head, 1, 1).await {
                Ok(found) => {
                    // No two segments are alike: each has attempts of its own.
                    let is_ours = found.first().is_some_and(|it| it.index == head && it.octets == octets);
                    return if is_ours { Ok(head) } else { Err(moved) };
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            Err(bus::BusError::Unreachable { .. }) => tokio::time::sleep(PAUSE).await,
            ended => return ended,
        }
    }
    Err(LeaderGuard::passed())
}
