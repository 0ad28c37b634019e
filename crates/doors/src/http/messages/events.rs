//! Status events of a message: what its client was told, or waits to be told.

use crate::http::app::App;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::smpp::{ToldEvent, told_events};
use bus::{Bus, BusError};
use engine::MessageCourse;
use records::{MessageClient, MessageId, NOTICE_GROUP, NOTICES, Notice};
use std::sync::Arc;

/// Notices that are looked through, the newest.
const LOOKED_MAX: u64 = 8_192;
/// Records read at a time, and their octets.
const AT_ONCE: usize = 512;
const OCTETS_AT_ONCE: usize = 1 << 20;

/// The oldest first. Those that left the bus are not known any more.
pub(super) async fn told(app: &App, course: &MessageCourse) -> HttpResult<Vec<ToldEvent>> {
    let Some(bus) = app.operations.server.bus.as_ref().map(Arc::clone) else { return Ok(Vec::new()) };
    let (party, id) = (course.view.message.party.clone(), course.view.message.id);
    let read = move || match party {
        MessageClient::Smpp(system_id) => told_events(&*bus, &system_id, id),
        MessageClient::Platform(_) => told_notices(&*bus, id),
        MessageClient::House => Ok(Vec::new()),
    };
    let read = tokio::task::spawn_blocking(read).await;
    let read = read.map_err(|error| HttpProblem::new(ProblemKind::Internal, error.to_string()))?;
    read.map_err(|error| {
        let detail = format!("the events of the message cannot be read: {error}; try again in a moment");
        HttpProblem::new(ProblemKind::Busy, detail)
    })
}

/// Calls of a platform's `dlr-url`: the id of a notice is the message's and the event's.
fn told_notices(bus: &dyn Bus, id: MessageId) -> Result<Vec<ToldEvent>, BusError> {
    let (topic, group) = (bus.topic(NOTICES)?, bus.group(NOTICES, NOTICE_GROUP)?);
    let (head, told_to) = (topic.head(), group.low_water());
    let mut from = topic.low().max(head.saturating_sub(LOOKED_MAX));
    let prefix = format!("{:016x}-", id.0);
    let mut found = Vec::new();
    while from < head {
        let records = topic.read(from, AT_ONCE, OCTETS_AT_ONCE)?;
        let Some(last) = records.last() else { break };
        from = last.index + 1;
        for record in &records {
            let Ok(notice) = Notice::decode(&record.octets) else { continue };
            let event = notice.id.strip_prefix(&prefix).and_then(|event| event.parse().ok());
            found.extend(event.map(|event| ToldEvent {
                event,
                state: None,
                at: notice.at,
                carrier_id: String::new(),
                words: String::new(),
                is_told: record.index < told_to,
            }));
        }
    }
    Ok(found)
}
