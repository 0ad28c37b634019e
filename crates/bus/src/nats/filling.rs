//! Filling of a bus from another one: what is under the prefix, taken away, and topics that begin at an
//! index.

use super::api::{self, code};
use super::{Nats, NatsOptions, name, stream};
use crate::{Bus, BusError, TopicSettings};
use serde_json::{Value, json};
use std::sync::Arc;

/// Names come in pages; so many pages are asked for at most: a million streams.
const PAGES_MAX: usize = 1_024;

/// A bus over NATS that is filled from another one.
pub struct Filling {
    nats: Arc<Nats>,
}

impl Filling {
    /// Opens the bus: see [`super::open`].
    ///
    /// # Errors
    /// As there.
    pub fn open(url: &str, options: NatsOptions) -> Result<Filling, BusError> {
        Ok(Filling { nats: Arc::new(Nats::open(url, options)?) })
    }

    /// The bus itself.
    pub fn bus(&self) -> Arc<dyn Bus> {
        self.nats.clone()
    }

    /// Names of all streams of topics and retained topics under the prefix. Blocks.
    ///
    /// # Errors
    /// The servers'.
    pub fn streams(&self) -> Result<Vec<String>, BusError> {
        let link = self.nats.link.clone();
        self.nats.link.block(async move {
            let prefix = &link.options.prefix;
            let ours = ["t", "r"].map(|kind| format!("{prefix}-{kind}-"));
            let (mut names, mut offset) = (Vec::new(), 0);
            for _ in 0..PAGES_MAX {
                let question = json!({ "offset": offset, "subject": format!("{prefix}.>") });
                let page = api::ask(&link, "$JS.API.STREAM.NAMES", &question).await;
                let page = page.map_err(|fault| fault.into_error("listing streams"))?;
                let found = page["streams"].as_array().cloned().unwrap_or_default();
                let of_ours = found.iter().filter_map(Value::as_str);
                let of_ours = of_ours.filter(|name| ours.iter().any(|kind| name.starts_with(&**kind)));
                names.extend(of_ours.map(str::to_owned));
                offset += found.len();
                if found.is_empty() || offset as u64 >= page["total"].as_u64().unwrap_or(0) {
                    break;
                }
            }
            Ok(names)
        })
    }

    /// Removes all of these. Blocks.
    ///
    /// # Errors
    /// The servers'.
    pub fn clear(&self) -> Result<(), BusError> {
        for name in self.streams()? {
            let link = self.nats.link.clone();
            self.nats.link.block(async move { stream::remove(&link, &name).await })?;
        }
        Ok(())
    }

    /// Makes a topic whose first record will have this index, so that indexes go on where another bus was.
    /// Blocks.
    ///
    /// # Errors
    /// The topic is there already, and begins elsewhere; the servers'.
    pub fn begin_at(&self, topic: &str, first: u64) -> Result<(), BusError> {
        let link = self.nats.link.clone();
        let names = name::topic(&link.options.prefix, topic)?;
        let mut wanted = stream::of_topic(&link, &names, topic, &TopicSettings::default());
        // An index is the stream's sequence less one.
        wanted["first_seq"] = json!(first + 1);
        let name = topic.to_owned();
        self.nats.link.block(async move {
            let subject = format!("$JS.API.STREAM.CREATE.{}", names.stream);
            match api::ask(&link, &subject, &wanted).await {
                Ok(_) => Ok(()),
                Err(fault) if fault.is(code::STREAM_NAME_EXISTS) => {
                    Err(BusError::Unfit { why: format!("topic {name} is there already") })
                }
                Err(fault) => Err(fault.into_error(&name)),
            }
        })
    }
}
