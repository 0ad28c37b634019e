//! The durable consumer behind a group: made or found, by several processes at once, each with settings of
//! its own.

use crate::nats::api::{self, ApiFailure, code};
use crate::nats::stream::nanoseconds;
use crate::nats::topic::NatsTopic;
use crate::nats::{ANSWERED_WITHIN, link::NatsLink};
use crate::{BusError, GroupSettings};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Records under way, of all members together, are at least so many, whatever the bound on what is out of
/// order.
const UNDER_WAY_MIN: usize = 4_096;
/// Questions for records that stand, of all members together.
const WAITING_MAX: usize = 512;

/// Which consumer.
#[derive(Clone)]
pub struct Consumer {
    link: Arc<NatsLink>,
    /// Its topic, for words.
    topic: String,
    pub stream: String,
    pub name: String,
}

/// What it is like.
#[derive(Debug, Clone, Copy)]
pub struct OpenedConsumer {
    /// Everything below was acknowledged.
    pub floor: u64,
    /// How long the servers wait for a sign of life: whoever made it decided.
    pub ack_wait: Duration,
}

impl Consumer {
    pub fn new(topic: &NatsTopic, name: String) -> Consumer {
        Consumer {
            link: topic.link.clone(),
            topic: topic.name.clone(),
            stream: topic.names.stream.clone(),
            name,
        }
    }

    /// Makes it or finds it. What another process asked of it before stands; only its bound is raised if it
    /// is too low.
    pub async fn open(&self, settings: &GroupSettings) -> Result<OpenedConsumer, BusError> {
        let until = Instant::now() + ANSWERED_WITHIN;
        loop {
            match self.open_once(settings).await {
                Ok(found) => return self.read(&found),
                // Made by another in between, or another node has not heard of the stream yet.
                Err(fault)
                    if Instant::now() < until
                        && (fault.passes()
                            || fault.is(code::STREAM_NOT_FOUND)
                            || fault.is(code::CONSUMER_EXISTS)
                            || fault.is(code::CONSUMER_NAME_EXISTS)
                            || fault.is(code::CONSUMER_NOT_FOUND)) =>
                {
                    tokio::time::sleep(api::TRY_AGAIN_AFTER).await;
                }
                Err(fault) => return Err(fault.into_error(&self.topic)),
            }
        }
    }

    async fn open_once(&self, settings: &GroupSettings) -> Result<Value, ApiFailure> {
        let under_way = settings.out_of_order_max.max(UNDER_WAY_MIN);
        match self.info().await {
            Err(fault) if fault.is(code::CONSUMER_NOT_FOUND) => {
                let config = json!({
                    "name": self.name,
                    "durable_name": self.name,
                    "ack_policy": "explicit",
                    "ack_wait": nanoseconds(self.link.options.lease),
                    "deliver_policy": "all",
                    "replay_policy": "instant",
                    "max_deliver": -1,
                    "max_ack_pending": under_way,
                    "max_waiting": WAITING_MAX,
                    "num_replicas": 0,
                });
                self.change(config, "create").await
            }
            Ok(found)
                if found["config"]["max_ack_pending"].as_u64().is_some_and(|now| now < under_way as u64) =>
            {
                let mut config = found["config"].clone();
                config["max_ack_pending"] = json!(under_way);
                self.change(config, "update").await
            }
            found => found,
        }
    }

    async fn change(&self, config: Value, action: &str) -> Result<Value, ApiFailure> {
        let subject = format!("$JS.API.CONSUMER.CREATE.{}.{}", self.stream, self.name);
        let question = json!({ "stream_name": self.stream, "config": config, "action": action });
        api::ask_once(&self.link, &subject, &question).await
    }

    async fn info(&self) -> Result<Value, ApiFailure> {
        let subject = format!("$JS.API.CONSUMER.INFO.{}.{}", self.stream, self.name);
        api::ask_once(&self.link, &subject, &Value::Null).await
    }

    fn read(&self, found: &Value) -> Result<OpenedConsumer, BusError> {
        let config = &found["config"];
        let unfit = |what: &str| {
            let why = format!(
                "consumer {} of stream {} {what}: another program made it; remove it or set another [bus] prefix",
                self.name, self.stream
            );
            BusError::Unfit { why }
        };
        if config["ack_policy"] != "explicit" {
            return Err(unfit("does not wait for acknowledgements"));
        }
        if config["deliver_subject"].as_str().is_some_and(|subject| !subject.is_empty()) {
            return Err(unfit("pushes records instead of waiting for requests"));
        }
        let ack_wait = config["ack_wait"].as_u64().filter(|wait| *wait > 0);
        let ack_wait = ack_wait.ok_or_else(|| unfit("has no ack_wait"))?;
        Ok(OpenedConsumer { floor: floor(found), ack_wait: Duration::from_nanos(ack_wait) })
    }

    /// Below which index everything was acknowledged.
    pub async fn floor(&self) -> Result<u64, BusError> {
        let found = self.info().await;
        found.map(|found| floor(&found)).map_err(|fault| fault.into_error(&self.topic))
    }
}

/// A sequence that was acknowledged with all before it is one more than its index: so it is the lowest index
/// that was not.
fn floor(found: &Value) -> u64 {
    let acknowledged = found["ack_floor"]["stream_seq"].as_u64().unwrap_or(0);
    let delivered = found["delivered"]["stream_seq"].as_u64().unwrap_or(0);
    if found["num_ack_pending"].as_u64() == Some(0) { acknowledged.max(delivered) } else { acknowledged }
}
