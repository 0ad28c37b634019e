//! Record with a list of changes, as the topics of this module have them: JSON behind the form's octet.

use records::{DecodeError, FORM, behind_form};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A record of these changes.
///
/// # Errors
/// Of serde: a change that JSON cannot hold.
pub(super) fn encode<T: Serialize>(changes: &[T]) -> Result<Vec<u8>, serde_json::Error> {
    let mut record = vec![FORM];
    serde_json::to_writer(&mut record, changes)?;
    Ok(record)
}

/// Reads what [`encode`] wrote.
///
/// # Errors
/// A record of a newer version, or one that is damaged; `noun` names the topic.
pub(super) fn decode<T: DeserializeOwned>(noun: &'static str, record: &[u8]) -> Result<Vec<T>, DecodeError> {
    serde_json::from_slice(behind_form(noun, record)?)
        .map_err(|error| DecodeError { noun, why: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_back_and_those_of_a_newer_version_refused() {
        let record = encode(&[1_u8, 2]).unwrap();
        assert_eq!(decode::<u8>("record of the topic x", &record).unwrap(), [1, 2]);
        let newer = [&[FORM + 1][..], &record[1..]].concat();
        let refused = decode::<u8>("record of the topic x", &newer).unwrap_err().to_string();
        assert!(refused.contains("the topic x") && refused.contains("newer version"), "{refused}");
        assert!(decode::<u8>("record of the topic x", &record[1..]).is_err());
    }
}
