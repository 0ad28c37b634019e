//! One alert's text onto one topic.

use super::TopicJob;
use super::config::TopicRoute;
use super::encode;
use crate::GatewayContext;
use bus::{BusError, Topic};
use records::{AttemptResult, text_topic_on_bus};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Topics kept open at most.
const TOPICS_MAX: usize = 10_000;

/// The topics of a route.
#[derive(Default)]
pub(super) struct Topics {
    open: FxHashMap<String, Arc<dyn Topic>>,
}

impl Topics {
    /// The topic of an address, if it is open.
    pub(super) fn find(&self, address: &str) -> Option<Arc<dyn Topic>> {
        self.open.get(address).map(Arc::clone)
    }

    /// Opens the topic of an address, if it is not open.
    ///
    /// # Errors
    /// The bus's.
    pub(super) async fn open(
        &mut self,
        context: &GatewayContext,
        config: &TopicRoute,
        address: &str,
    ) -> Result<(), BusError> {
        if self.open.contains_key(address) {
            return Ok(());
        }
        let topic = format!("@{address}");
        let cut = topic.floor_char_boundary(config.topic_octets_max.min(topic.len()));
        let (bus, settings, name) =
            (Arc::clone(&context.bus), config.settings, text_topic_on_bus(&topic.as_bytes()[..cut]));
        // To open one may mean to ask servers.
        let opened = tokio::task::spawn_blocking(move || bus.topic_with(&name, &settings)).await;
        let opened = opened.map_err(|_| BusError::Closed)??;
        if self.open.len() >= TOPICS_MAX {
            self.open.clear();
        }
        self.open.insert(address.to_owned(), opened);
        Ok(())
    }
}

/// Publishes what an entry says. Whatever is tried again stands there once: an endpoint's messages have a key
/// of their own.
pub(super) async fn publish(topic: &dyn Topic, config: &TopicRoute, job: &TopicJob) -> AttemptResult {
    let segment = &job.leased.segment;
    let messages =
        encode::text(segment, job.entry()).map(|text| encode::messages(text, config.message_octets_max));
    let messages = messages.unwrap_or_default();
    if messages.is_empty() {
        return AttemptResult::Refused {
            permanent: true,
            code: "topic:empty".to_owned(),
            text: "there is no text for a topic".to_owned(),
        };
    }
    let key = format!("{}/{}", segment.alert_id, job.entry().endpoint.0);
    let records: Vec<&[u8]> = messages.iter().map(String::as_bytes).collect();
    match topic.append_keyed(key.as_bytes(), &records).await {
        Ok(keyed) => AttemptResult::Accepted { keys: Vec::new(), id: keyed.first.to_string() },
        Err(error) => refused(&error),
    }
}

/// What the bus's words mean on record. A record may stand there even so: the key finds it when it is tried
/// again.
pub(super) fn refused(error: &BusError) -> AttemptResult {
    let (permanent, code) = match error {
        BusError::TooLarge { .. } | BusError::BadName { .. } => (true, "topic:name"),
        BusError::DiskFull { .. } => (false, "topic:full"),
        BusError::Unreachable { .. } => (false, "topic:unreachable"),
        _ => (false, "topic:failed"),
    };
    AttemptResult::Refused { permanent, code: code.to_owned(), text: error.to_string() }
}
