//! Keys of a route of channel `topic`, and its settings made of them.

use super::Route;
use doors::topic::TopicsConfig;
use gateway::topic::TopicRoute;
use settings::section;

section! {
    /// Text topics: alerts are published there. It has no keys of its own and needs the section [topics](#topics).
    TopicKeys {}
}

impl Route {
    /// Settings of the topic gateway; nothing for another channel. `kept`: as the topic server keeps text topics.
    pub fn topic(&self, kept: &TopicsConfig) -> Option<TopicRoute> {
        self.keys::<TopicKeys>().map(|_| TopicRoute {
            name: self.common.name.clone(),
            rate: self.common.rate,
            settings: kept.settings(),
            topic_octets_max: kept.topic_octets_max,
            message_octets_max: kept.message_octets_max,
        })
    }
}
