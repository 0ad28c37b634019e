//! Record with a list of changes, as the topics of this module have them: JSON behind the form's octet.

use bus::{BusError, Topic};
use records::{DecodeError, FORM, behind_form};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Records read at a time.
const READ_RECORDS: usize = 1_000;
/// And octets of them.
const READ_OCTETS: usize = 1024 * 1024;

/// A record of these changes.
pub(super) fn encode<T: Serialize>(changes: &[T]) -> Vec<u8> {
    let mut record = vec![FORM];
    if let Err(error) = serde_json::to_writer(&mut record, changes) {
        // Changes are numbers and names only.
        tracing::error!(%error, "changes of unsettled messages cannot be written");
    }
    record
}

/// Reads what [`encode`] wrote.
///
/// # Errors
/// A record of a newer version, or one that is damaged; `noun` names the topic.
pub(super) fn decode<T: DeserializeOwned>(noun: &'static str, record: &[u8]) -> Result<Vec<T>, DecodeError> {
    serde_json::from_slice(behind_form(noun, record)?)
        .map_err(|error| DecodeError { noun, why: error.to_string() })
}

/// Applies the changes on a topic from `next` to `end`, and moves `next` there. A record that cannot be read
/// is passed over.
///
/// # Errors
/// The bus's.
pub(super) async fn read<T: DeserializeOwned>(
    topic: &dyn Topic,
    next: &mut u64,
    end: u64,
    noun: &'static str,
    mut apply: impl FnMut(T),
) -> Result<(), BusError> {
    while *next < end {
        let records = topic.fetch(*next, READ_RECORDS, READ_OCTETS).await?;
        let Some(last) = records.last() else { break };
        *next = last.index + 1;
        for record in &records {
            match decode(noun, &record.octets) {
                Ok(changes) => changes.into_iter().for_each(&mut apply),
                Err(error) => {
                    tracing::error!(index = record.index, %error, "changes of unsettled messages cannot be read: what they are of is free when its hold ends");
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_back_and_those_of_a_newer_version_refused() {
        let record = encode(&[1_u8, 2]);
        assert_eq!(decode::<u8>("record of the topic x", &record).unwrap(), [1, 2]);
        let newer = [&[FORM + 1][..], &record[1..]].concat();
        let refused = decode::<u8>("record of the topic x", &newer).unwrap_err().to_string();
        assert!(refused.contains("the topic x") && refused.contains("newer version"), "{refused}");
        assert!(decode::<u8>("record of the topic x", &record[1..]).is_err());
    }
}
