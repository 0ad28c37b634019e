//! Reads from the servers: direct gets in batches (ADR-31). Any replica answers them, also one that is behind
//! its leader; so an answer that ends before what is known to be there is asked for again.

use super::api::{ApiFailure, TRY_AGAIN_AFTER, TRY_WITHIN};
use super::topic::NatsTopic;
use super::{ANSWERED_WITHIN, stream};
use crate::{BusError, Record};
use async_nats::{Message, StatusCode};
use futures_util::StreamExt;
use serde_json::json;
use std::time::Instant;

/// One read brings at most so many records.
const RECORDS_MAX: usize = 4_096;
/// And about so many octets.
const OCTETS_MAX: usize = 16 * 1024 * 1024;

/// End of a batch (ADR-31).
const END_OF_BATCH: u16 = 204;

/// At most `records_max` records and about `octets_max` octets from `from` on.
pub async fn from_servers(
    topic: &NatsTopic,
    from: u64,
    records_max: usize,
    octets_max: usize,
) -> Result<Vec<Record>, BusError> {
    let records_max = records_max.min(RECORDS_MAX);
    let octets_max = octets_max.clamp(1, OCTETS_MAX);
    let until = Instant::now() + ANSWERED_WITHIN;
    let mut is_sure = false;
    loop {
        if topic.is_closed() {
            return Err(BusError::Closed);
        }
        let from = from.max(topic.low_known());
        match one_batch(topic, from, records_max, octets_max).await {
            Ok(records) => {
                if let Some(last) = records.last() {
                    topic.reached(last.index + 1);
                    return Ok(records);
                }
                if from >= crate::Topic::head(topic) || is_sure && Instant::now() >= until {
                    return Ok(records);
                }
                // Something is said to be there: let go of since, or this replica is behind.
                let state = stream::state(&topic.link, &topic.names.stream, &topic.name).await?;
                topic.heard(state);
                is_sure = true;
                if state.head() <= state.low() {
                    return Ok(records);
                }
            }
            Err(fault) if fault.passes() && Instant::now() < until => {}
            Err(fault) => return Err(fault.into_error(&topic.name)),
        }
        tokio::time::sleep(TRY_AGAIN_AFTER).await;
    }
}

async fn one_batch(
    topic: &NatsTopic,
    from: u64,
    records_max: usize,
    octets_max: usize,
) -> Result<Vec<Record>, ApiFailure> {
    let link = &topic.link;
    let silent = |error: &dyn std::fmt::Display| ApiFailure::Silent(error.to_string());
    let inbox = link.client.new_inbox();
    let mut answers = link.client.subscribe(inbox.clone()).await.map_err(|error| silent(&error))?;
    let question = json!({ "seq": from + 1, "batch": records_max, "max_bytes": octets_max });
    let subject = format!("$JS.API.DIRECT.GET.{}", topic.names.stream);
    let asked = link.client.publish_with_reply(subject, inbox, question.to_string().into());
    asked.await.map_err(|error| silent(&error))?;
    let mut records: Vec<Record> = Vec::new();
    loop {
        let next = tokio::time::timeout(TRY_WITHIN, answers.next()).await;
        let Ok(Some(message)) = next else {
            // What came is whole and in order; the rest is another read's.
            return if records.is_empty() {
                Err(ApiFailure::Silent("no answer".to_owned()))
            } else {
                Ok(records)
            };
        };
        match message.status {
            None | Some(StatusCode::OK) => {}
            Some(StatusCode::NOT_FOUND) => return Ok(records),
            Some(status) if status == END_OF_BATCH => return Ok(records),
            Some(status) => {
                let words = message.description.unwrap_or_default();
                return if records.is_empty() {
                    Err(ApiFailure::Silent(format!("{status} {words}")))
                } else {
                    Ok(records)
                };
            }
        }
        let Some(index) = index(&message) else {
            return Err(ApiFailure::Silent("an answer without a sequence".to_owned()));
        };
        records.push(Record { index, octets: message.payload });
        if records.len() == records_max {
            return Ok(records);
        }
    }
}

/// The place of a message that came by a direct get.
fn index(message: &Message) -> Option<u64> {
    let sequence = message.headers.as_ref()?.get_last("Nats-Sequence")?;
    sequence.as_str().parse::<u64>().ok()?.checked_sub(1)
}

/// The key under which the record at an index was appended, as the stream's leader has it.
pub async fn message_id(topic: &NatsTopic, index: u64) -> Result<Option<String>, ApiFailure> {
    let question = json!({ "seq": index + 1 });
    let subject = format!("$JS.API.STREAM.MSG.GET.{}", topic.names.stream);
    let answer = match super::api::ask_once(&topic.link, &subject, &question).await {
        Err(fault) if fault.is(super::api::code::NO_MESSAGE_FOUND) => return Ok(None),
        answer => answer?,
    };
    // The headers as they stand in the message, in base64.
    use base64::Engine as _;
    let Some(headers) = answer["message"]["hdrs"].as_str() else { return Ok(None) };
    let headers = base64::engine::general_purpose::STANDARD.decode(headers).unwrap_or_default();
    let headers = String::from_utf8_lossy(&headers);
    let id = headers.lines().find_map(|line| line.strip_prefix("Nats-Msg-Id:"));
    Ok(id.map(|id| id.trim().to_owned()))
}
