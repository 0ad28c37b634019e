//! Far end of topic routes for the conformance checks: the topics themselves, on the bus of this process.

use super::TopicRoute;
use crate::conformance::{FarEnd, Manner, Message};
use crate::{AnyRoute, GatewayContext};
use bus::{Bus, Durability, TopicSettings};
use records::text_topic_on_bus;
use std::sync::{Arc, Mutex};

/// Topics of the checks: more than any has persons.
const TOPICS: u32 = 300;

/// Where readers of topics look: the bus of the process that runs now.
#[derive(Default)]
pub(super) struct Readers(Mutex<Option<Arc<dyn Bus>>>);

impl FarEnd for Readers {
    fn route(&self, name: &str, rate: f64, _process: &str) -> AnyRoute {
        let settings = TopicSettings { durability: Some(Durability::Os), ..TopicSettings::default() };
        AnyRoute::new(TopicRoute { name: name.to_owned(), rate, settings, ..TopicRoute::default() })
    }

    fn furnish(&self, context: &mut GatewayContext) {
        *self.0.lock().unwrap() = Some(Arc::clone(&context.bus));
    }

    fn address(&self, person: u32) -> String {
        format!("board {person}")
    }

    /// A bus answers, and takes what it can.
    fn set_manner(&self, manner: Manner) -> bool {
        manner == Manner::Accept
    }

    fn cut(&self) -> bool {
        false
    }

    fn arrived(&self) -> Vec<Message> {
        let bus = self.0.lock().unwrap();
        let bus = bus.as_ref().unwrap();
        (0..TOPICS).map(|person| self.address(person)).flat_map(|address| read(&**bus, &address)).collect()
    }
}

fn read(bus: &dyn Bus, address: &str) -> Vec<Message> {
    let topic = bus.topic(&text_topic_on_bus(format!("@{address}").as_bytes())).unwrap();
    let records = topic.read(0, 1_000, 1_000_000).unwrap();
    let message = |record: bus::Record| Message {
        address: address.to_owned(),
        text: String::from_utf8(record.octets.to_vec()).unwrap(),
        identity: record.index.to_string(),
    };
    records.into_iter().map(message).collect()
}
