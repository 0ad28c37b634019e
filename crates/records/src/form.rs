//! Form of records: the first octet of each record on the bus and of each binary value in SQL, and the form
//! of all of them as a whole. docs/dev/compatibility.md has the policy and the list of records.

use crate::DecodeError;

/// Form of everything that stands on a bus, as a whole: its files, and all records. Raised with the first
/// release that writes something that an earlier one cannot read, so that the earlier one refuses the whole
/// at its start instead of single records later.
pub const DATA_FORM: u32 = 2;

/// First octet of each record. A record whose form changes takes the next number, and its reader goes on to
/// read this one.
pub const FORM: u8 = 1;

/// A record that is not made by postcard: its form's octet, then `rest`.
pub fn with_form(rest: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(1 + rest.len());
    record.push(FORM);
    record.extend_from_slice(rest);
    record
}

/// The octets behind the form's octet of a record.
///
/// # Errors
/// A form that only a newer version can read, in words that name `noun`; a record without octets.
pub fn behind_form<'a>(noun: &'static str, record: &'a [u8]) -> Result<&'a [u8], DecodeError> {
    match record.split_first() {
        Some((&FORM, rest)) => Ok(rest),
        Some((form, _)) => {
            let why = format!(
                "its form is {form}, which was written by a newer version of campanile: this one reads forms up to {FORM}"
            );
            Err(DecodeError { noun, why })
        }
        None => Err(DecodeError { noun, why: "no octets".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_a_newer_form_is_refused_by_name() {
        let record = with_form(b"rest");
        assert_eq!(behind_form("thing", &record), Ok(&b"rest"[..]));
        let newer = [&[FORM + 1][..], b"rest"].concat();
        let error = behind_form("thing", &newer).unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot read a thing: its form is 2, which was written by a newer version of campanile: this one reads forms up to 1"
        );
        assert!(behind_form("thing", b"").is_err());
    }
}
