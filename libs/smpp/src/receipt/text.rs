//! The text of a receipt (3.4 appendix B):
//! `id:… sub:… dlvrd:… submit date:… done date:… stat:… err:… text:…`.

use super::{MessageState, Receipt, TEXT_OCTETS_MAX};

/// The fields, and how carriers write their names; the longer spelling first where one begins with another.
const NAMES: [(Field, &[u8]); 14] = [
    (Field::Id, b"id:"),
    (Field::Id, b"message id:"),
    (Field::Submitted, b"sub:"),
    (Field::Delivered, b"dlvrd:"),
    (Field::SubmitDate, b"submit date:"),
    (Field::SubmitDate, b"submit_date:"),
    (Field::SubmitDate, b"submitdate:"),
    (Field::DoneDate, b"done date:"),
    (Field::DoneDate, b"done_date:"),
    (Field::DoneDate, b"donedate:"),
    (Field::State, b"stat:"),
    (Field::State, b"status:"),
    (Field::Error, b"err:"),
    (Field::Text, b"text:"),
];
/// How many different fields there are.
const FIELDS: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Id,
    Submitted,
    Delivered,
    SubmitDate,
    DoneDate,
    State,
    Error,
    Text,
}

/// Reads the fields in whatever order they come. The first of each counts, so that a message whose own text
/// looks like a receipt cannot overrule the carrier's words before it.
pub(super) fn parse(message: &[u8]) -> Receipt<'_> {
    let mut values: [Option<&[u8]>; FIELDS] = [None; FIELDS];
    let mut open: Option<(Field, usize)> = None;
    let mut at = 0;
    // A word begins here each time.
    while at < message.len() {
        let found = name_at(&message[at..]).filter(|(field, _)| {
            values[*field as usize].is_none() && open.is_none_or(|(open, _)| open != *field)
        });
        if let Some((field, name_octets)) = found {
            if let Some((before, start)) = open {
                values[before as usize] = Some(&message[start..at]);
            }
            at += name_octets;
            open = Some((field, at));
        }
        let Some(word_octets) = message[at..].iter().position(|&octet| is_separator(octet)) else { break };
        at += word_octets + 1;
    }
    if let Some((field, start)) = open {
        values[field as usize] = Some(&message[start..]);
    }
    receipt(values)
}

fn receipt(values: [Option<&[u8]>; FIELDS]) -> Receipt<'_> {
    let word = |field: Field| values[field as usize].map_or(&b""[..], first_word);
    Receipt {
        text_id: word(Field::Id),
        state: MessageState::from_word(word(Field::State)),
        state_word: word(Field::State),
        error: word(Field::Error),
        submitted: number(word(Field::Submitted)),
        delivered: number(word(Field::Delivered)),
        submit_date: word(Field::SubmitDate),
        done_date: word(Field::DoneDate),
        text: values[Field::Text as usize].unwrap_or(b""),
        ..Receipt::default()
    }
}

fn name_at(message: &[u8]) -> Option<(Field, usize)> {
    let first = message.first()?.to_ascii_lowercase();
    if !matches!(first, b'i' | b'm' | b's' | b'd' | b'e' | b't') {
        return None;
    }
    let is_here = |name: &[u8]| {
        name[0] == first && message.get(..name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name))
    };
    let (field, name) = NAMES.iter().find(|(_, name)| is_here(name))?;
    Some((*field, name.len()))
}

/// By octet: a table, for receipts are read by the hundred thousand.
const SEPARATORS: [bool; 256] = {
    let mut table = [false; 256];
    let mut octet = 0_u8;
    loop {
        table[octet as usize] = octet.is_ascii_whitespace() || matches!(octet, b',' | b';' | 0);
        if octet == u8::MAX {
            break table;
        }
        octet += 1;
    }
};

fn is_separator(octet: u8) -> bool {
    SEPARATORS[usize::from(octet)]
}

fn first_word(value: &[u8]) -> &[u8] {
    let start = value.iter().position(|&octet| !is_separator(octet)).unwrap_or(value.len());
    let value = &value[start..];
    let end = value.iter().position(|&octet| is_separator(octet)).unwrap_or(value.len());
    &value[..end]
}

fn number(word: &[u8]) -> Option<u32> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Appends the text as appendix B has it.
pub(super) fn write(receipt: &Receipt<'_>, out: &mut Vec<u8>) {
    let or_zeros = |date: &'static [u8], given| if <[u8]>::is_empty(given) { date } else { given };
    let delivered = receipt.delivered.unwrap_or(u32::from(receipt.state == Some(MessageState::Delivered)));
    let count = |value: u32| {
        let value = value.min(999);
        [b'0' + (value / 100) as u8, b'0' + (value / 10 % 10) as u8, b'0' + (value % 10) as u8]
    };
    let state = receipt.state.map_or(receipt.state_word, |state| state.word().as_bytes());
    let text = &receipt.text[..receipt.text.len().min(TEXT_OCTETS_MAX)];
    let pieces: [&[u8]; 16] = [
        b"id:",
        receipt.id(),
        b" sub:",
        &count(receipt.submitted.unwrap_or(1)),
        b" dlvrd:",
        &count(delivered),
        b" submit date:",
        or_zeros(b"0000000000", receipt.submit_date),
        b" done date:",
        or_zeros(b"0000000000", receipt.done_date),
        b" stat:",
        state,
        b" err:",
        or_zeros(b"000", receipt.error),
        b" text:",
        text,
    ];
    for piece in pieces {
        out.extend_from_slice(piece);
    }
}
