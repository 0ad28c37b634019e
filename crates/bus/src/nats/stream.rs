//! Streams: made or found, compared with what was asked, changed where they may be.

use super::api::{self, ApiFailure, code};
use super::link::NatsLink;
use super::{ANSWERED_WITHIN, name};
use crate::{BusError, Retention, TopicSettings};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Keys of appends are remembered for so long, unless the topic keeps its records shorter.
pub const KEYS_REMEMBERED: Duration = Duration::from_secs(120);
/// Servers keep no record shorter.
const AGE_MIN: Duration = Duration::from_millis(100);
/// Where a stream says whose it is.
const METADATA_NAME: &str = "campanile";
/// Names come in pages; so many pages are asked for at most: a million topics.
const PAGES_MAX: usize = 1_024;

/// Where a stream stands.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub struct StreamState {
    /// The sequence of the first message that is there, or would be.
    #[serde(default)]
    pub first_seq: u64,
    /// The sequence of the last message that ever was.
    #[serde(default)]
    pub last_seq: u64,
}

impl StreamState {
    /// The lowest index still there.
    pub fn low(&self) -> u64 {
        // Nothing was ever there: the first sequence is told as 0.
        self.first_seq.saturating_sub(1)
    }

    /// The index the next record will have.
    pub fn head(&self) -> u64 {
        self.last_seq
    }
}

/// What a topic's stream is to be like.
pub fn of_topic(link: &NatsLink, names: &name::StreamName, topic: &str, settings: &TopicSettings) -> Value {
    let Retention { age, octets, records } = settings.retention;
    let limit =
        |value: Option<u64>| value.map_or(-1, |value| i64::try_from(value.max(1)).unwrap_or(i64::MAX));
    let age = age.map(|age| age.max(AGE_MIN));
    json!({
        "name": names.stream,
        "subjects": [names.subject],
        "retention": "limits",
        "storage": "file",
        "discard": "old",
        "num_replicas": link.options.replicas,
        "max_consumers": -1,
        "max_msgs": limit(records),
        "max_bytes": limit(octets),
        "max_age": age.map_or(0, nanoseconds),
        "max_msgs_per_subject": -1,
        "duplicate_window": nanoseconds(age.map_or(KEYS_REMEMBERED, |age| age.min(KEYS_REMEMBERED))),
        "allow_direct": true,
        "allow_atomic": true,
        "deny_delete": true,
        "metadata": { METADATA_NAME: topic },
    })
}

/// What a retained topic's stream is to be like.
pub fn of_retained(link: &NatsLink, names: &name::StreamName, topic: &str) -> Value {
    json!({
        "name": names.stream,
        "subjects": [format!("{}.>", names.subject)],
        "retention": "limits",
        "storage": "file",
        "discard": "old",
        "num_replicas": link.options.replicas,
        "max_consumers": -1,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_age": 0,
        "max_msgs_per_subject": 1,
        "duplicate_window": nanoseconds(KEYS_REMEMBERED),
        "allow_direct": true,
        "allow_msg_ttl": true,
        "deny_delete": true,
        "metadata": { METADATA_NAME: topic },
    })
}

/// As the API counts.
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// What becomes of a stream's limits when it is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitsPolicy {
    /// They become what is asked now.
    Change,
    /// They stay what they are.
    Stay,
}

/// Where another process has just made a stream, one node may say that it is there, and the next that it is
/// not.
const HEARD_OF_WITHIN: Duration = Duration::from_secs(5);

/// What says how long records are kept.
const LIMITS: [&str; 4] = ["max_msgs", "max_bytes", "max_age", "duplicate_window"];

/// Makes the stream, or finds it made; several processes may do this at once. What it is kept as then is
/// compared with what was asked.
pub async fn open(link: &NatsLink, wanted: &Value, limits: LimitsPolicy) -> Result<StreamState, BusError> {
    let name = wanted["name"].as_str().unwrap_or_default();
    let topic = wanted["metadata"][METADATA_NAME].as_str().unwrap_or_default();
    let until = Instant::now() + ANSWERED_WITHIN;
    loop {
        let tried = open_once(link, name, wanted, limits).await;
        match tried {
            Ok((config, state)) => {
                check(topic, wanted, &config, limits)?;
                return Ok(state);
            }
            // Somebody else made, or changed, it in between; or another node has not heard of it yet.
            Err(fault)
                if Instant::now() < until
                    && (fault.passes()
                        || fault.is(code::STREAM_NAME_EXISTS)
                        || fault.is(code::STREAM_NOT_FOUND)) =>
            {
                tokio::time::sleep(api::TRY_AGAIN_AFTER).await;
            }
            Err(fault) if matches!(&fault, ApiFailure::Refused(no) if (400..=500).contains(&no.code)) => {
                let said = fault.into_error(topic);
                return Err(match said {
                    BusError::Io { topic, why } => {
                        BusError::Unfit { why: format!("topic {topic} cannot be kept as asked: {why}") }
                    }
                    other => other,
                });
            }
            Err(fault) => return Err(fault.into_error(topic)),
        }
    }
}

async fn open_once(
    link: &NatsLink,
    name: &str,
    wanted: &Value,
    limits: LimitsPolicy,
) -> Result<(Value, StreamState), ApiFailure> {
    let found = match api::ask_once(link, &format!("$JS.API.STREAM.INFO.{name}"), &Value::Null).await {
        Err(fault) if fault.is(code::STREAM_NOT_FOUND) => {
            api::ask_once(link, &format!("$JS.API.STREAM.CREATE.{name}"), wanted).await?
        }
        found => found?,
    };
    let Some(changed) = changed(wanted, &found["config"], limits) else {
        return parts(found);
    };
    parts(api::ask_once(link, &format!("$JS.API.STREAM.UPDATE.{name}"), &changed).await?)
}

fn parts(mut answer: Value) -> Result<(Value, StreamState), ApiFailure> {
    let state = api::read(answer["state"].take())?;
    Ok((answer["config"].take(), state))
}

/// The configuration as it must become, if what may be changed is not as asked: how long records are kept,
/// and on how many servers at least.
fn changed(wanted: &Value, found: &Value, limits: LimitsPolicy) -> Option<Value> {
    let mut changed = found.clone();
    let mut is_changed = false;
    for field in LIMITS {
        if limits == LimitsPolicy::Change && found[field] != wanted[field] {
            changed[field] = wanted[field].clone();
            is_changed = true;
        }
    }
    if found["num_replicas"].as_u64() < wanted["num_replicas"].as_u64() {
        changed["num_replicas"] = wanted["num_replicas"].clone();
        is_changed = true;
    }
    is_changed.then_some(changed)
}

/// An old server drops silently what it does not know, and an operator may have made the stream: so all that
/// was asked must stand in what came back.
fn check(topic: &str, wanted: &Value, found: &Value, limits: LimitsPolicy) -> Result<(), BusError> {
    let Some(fields) = wanted.as_object() else { return Ok(()) };
    for (field, value) in fields {
        let is_so = match field.as_str() {
            "num_replicas" => found[field].as_u64() >= value.as_u64(),
            // Servers add fields of their own there.
            "metadata" => found[field][METADATA_NAME] == value[METADATA_NAME],
            limit if LIMITS.contains(&limit) && limits == LimitsPolicy::Stay => true,
            _ => found[field] == *value,
        };
        if !is_so {
            let why = format!(
                "topic {topic} needs a stream with {field} = {value}, and the servers keep it with {field} = {}: they are too old, \
                 or somebody else made it",
                found[field]
            );
            return Err(BusError::Unfit { why });
        }
    }
    Ok(())
}

/// How a stream stands now, as its leader says.
pub async fn state(link: &NatsLink, stream: &str, topic: &str) -> Result<StreamState, BusError> {
    let subject = format!("$JS.API.STREAM.INFO.{stream}");
    let until = Instant::now() + HEARD_OF_WITHIN;
    let mut asked = api::ask(link, &subject, &Value::Null).await;
    while asked.as_ref().is_err_and(|fault| fault.is(code::STREAM_NOT_FOUND)) && Instant::now() < until {
        tokio::time::sleep(api::TRY_AGAIN_AFTER).await;
        asked = api::ask(link, &subject, &Value::Null).await;
    }
    let mut answer = asked.map_err(|fault| fault.into_error(topic))?;
    api::read(answer["state"].take()).map_err(|fault| fault.into_error(topic))
}

/// Removes a stream with its consumers; one that is not there is removed.
pub async fn remove(link: &NatsLink, stream: &str) -> Result<(), BusError> {
    match api::ask(link, &format!("$JS.API.STREAM.DELETE.{stream}"), &Value::Null).await {
        Ok(_) => Ok(()),
        Err(fault) if fault.is(code::STREAM_NOT_FOUND) => Ok(()),
        Err(fault) => Err(fault.into_error(stream)),
    }
}

/// Lets go of everything below an index.
pub async fn trim(link: &NatsLink, stream: &str, topic: &str, below: u64) -> Result<(), BusError> {
    let question = json!({ "seq": below + 1 });
    let asked = api::ask(link, &format!("$JS.API.STREAM.PURGE.{stream}"), &question).await;
    match asked {
        Ok(_) => Ok(()),
        // With all that was in it.
        Err(fault) if fault.is(code::STREAM_NOT_FOUND) => Ok(()),
        Err(fault) => Err(fault.into_error(topic)),
    }
}

/// The names of all topics that exist.
pub async fn topic_names(link: &NatsLink) -> Result<Vec<String>, BusError> {
    let all = name::topics(&link.options.prefix);
    let mut names = Vec::new();
    let mut offset = 0;
    for _ in 0..PAGES_MAX {
        let question = json!({ "offset": offset, "subject": all.subject });
        let page = api::ask(link, "$JS.API.STREAM.NAMES", &question).await;
        let page = page.map_err(|fault| fault.into_error("listing topics"))?;
        let streams = page["streams"].as_array().cloned().unwrap_or_default();
        for stream in streams.iter().filter_map(Value::as_str) {
            let Some(token) = stream.strip_prefix(&all.stream) else { continue };
            match name::unescaped(token) {
                Some(name) => names.push(name),
                None => names.extend(whole_name(link, stream).await?),
            }
        }
        offset += streams.len();
        if streams.is_empty() || offset as u64 >= page["total"].as_u64().unwrap_or(0) {
            break;
        }
    }
    Ok(names)
}

/// The name of a topic whose stream's name was shortened; nothing if it has just gone.
async fn whole_name(link: &NatsLink, stream: &str) -> Result<Option<String>, BusError> {
    match api::ask(link, &format!("$JS.API.STREAM.INFO.{stream}"), &Value::Null).await {
        Ok(found) => Ok(found["config"]["metadata"][METADATA_NAME].as_str().map(str::to_owned)),
        Err(fault) if fault.is(code::STREAM_NOT_FOUND) => Ok(None),
        Err(fault) => Err(fault.into_error("listing topics")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_that_lost_a_field_is_told_by_its_name() {
        let wanted =
            json!({"name": "s", "allow_atomic": true, "num_replicas": 3, "metadata": {"campanile": "t"}});
        let whole = json!({"name": "s", "allow_atomic": true, "num_replicas": 5,
            "metadata": {"campanile": "t", "_nats.level": "2"}, "sealed": false});
        check("t", &wanted, &whole, LimitsPolicy::Change).expect("all that was asked, and more");
        for field in ["allow_atomic", "num_replicas", "metadata"] {
            let mut lost = whole.clone();
            lost.as_object_mut().expect("an object").remove(field);
            let error = check("t", &wanted, &lost, LimitsPolicy::Change).expect_err("lost");
            assert!(matches!(&error, BusError::Unfit { why } if why.contains(field)), "{error}");
        }
    }

    #[test]
    fn only_what_may_change_is_changed() {
        let wanted =
            json!({"max_msgs": 5, "max_bytes": -1, "max_age": 0, "duplicate_window": 1, "num_replicas": 1});
        let mut found = wanted.clone();
        found["extra"] = json!("kept");
        assert_eq!(changed(&wanted, &found, LimitsPolicy::Change), None);
        found["num_replicas"] = json!(3);
        assert_eq!(changed(&wanted, &found, LimitsPolicy::Change), None, "more servers than asked are well");
        found["max_msgs"] = json!(7);
        assert_eq!(super::changed(&wanted, &found, LimitsPolicy::Stay), None);
        let changed = changed(&wanted, &found, LimitsPolicy::Change).expect("changed");
        assert_eq!(
            (&changed["max_msgs"], &changed["num_replicas"], &changed["extra"]),
            (&json!(5), &json!(3), &json!("kept"))
        );
    }
}
