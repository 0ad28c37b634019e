//! Events of one message among those that its client is told, as far back as the topic of the client goes.

use super::client_queue::GROUP;
use bus::{Bus, BusError};
use records::{ClientEvent, DlrState, MessageId, MessageStatus, Timestamp, client_topic};

/// Records that are looked through, the newest.
const LOOKED_MAX: u64 = 8_192;
/// Records read at a time, and their octets.
const AT_ONCE: usize = 512;
const OCTETS_AT_ONCE: usize = 1 << 20;

/// An event of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToldEvent {
    /// A bit of [`records::DlrRequest`].
    pub(crate) event: u8,
    /// How the message stood; nothing: the event does not say it.
    pub(crate) state: Option<DlrState>,
    /// When it came about.
    pub(crate) at: Timestamp,
    /// The carrier's id of the message; empty: not known.
    pub(crate) carrier_id: String,
    /// Of the network, and its error code.
    pub(crate) words: String,
    /// The client has taken it, or it was given up.
    pub(crate) is_told: bool,
}

/// What a client of the SMPP door is told of a message, the oldest first. May block.
///
/// # Errors
/// The bus's.
pub(crate) fn told_events(bus: &dyn Bus, system_id: &str, id: MessageId) -> Result<Vec<ToldEvent>, BusError> {
    let name = client_topic(system_id);
    // To open a topic would make it.
    if !bus.topics(&name)?.contains(&name) {
        return Ok(Vec::new());
    }
    let (topic, group) = (bus.topic(&name)?, bus.group(&name, GROUP)?);
    let (head, told_to) = (topic.head(), group.low_water());
    let mut from = topic.low().max(head.saturating_sub(LOOKED_MAX));
    let mut found = Vec::new();
    while from < head {
        let records = topic.read(from, AT_ONCE, OCTETS_AT_ONCE)?;
        let Some(last) = records.last() else { break };
        from = last.index + 1;
        for record in &records {
            if let Some((status, error)) = status_of(&record.octets).filter(|(status, _)| status.id == id) {
                found.push((record.index, event(status, &error, record.index < told_to)));
            }
        }
    }
    if found.iter().any(|(_, event)| !event.is_told) {
        // Some above the mark may have been taken before others below.
        let waiting = group.unacknowledged(LOOKED_MAX as usize);
        let is_whole = waiting.len() < LOOKED_MAX as usize;
        for (index, event) in &mut found {
            let is_listed = is_whole || waiting.last().is_some_and(|last| *index <= *last);
            event.is_told |= is_listed && !waiting.contains(index);
        }
    }
    Ok(found.into_iter().map(|(_, event)| event).collect())
}

fn status_of(octets: &[u8]) -> Option<(MessageStatus, Box<str>)> {
    match ClientEvent::decode(octets).ok()? {
        ClientEvent::Status(status) => Some((*status, "".into())),
        ClientEvent::Receipt(receipt) => Some((receipt.status, receipt.error)),
        ClientEvent::Inbound(_) => None,
    }
}

fn event(status: MessageStatus, error: &str, is_told: bool) -> ToldEvent {
    let words: Vec<&str> =
        [status.text.as_str(), error].into_iter().filter(|word| !word.is_empty()).collect();
    ToldEvent {
        event: status.event,
        state: Some(status.state),
        at: status.at,
        words: words.join(", error "),
        carrier_id: status.carrier_id,
        is_told,
    }
}
