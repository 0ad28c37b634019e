//! Delivery status notifications (RFC 3464, RFC 6533).

use super::{DeliveryReport, one_line};
use mail_parser::{Message, MessagePart, MimeHeaders};
use records::ReceiptState;

/// Fields of a report are looked at up to here.
const FIELDS_MAX: usize = 500;

/// Whether a mail looks like a notification on several recipients: then the address of the delivery tells
/// which of them is meant.
pub fn names_several(octets: &[u8]) -> bool {
    super::count(octets, b"\nfinal-recipient:") > 1
}

/// The notification's report on the recipient with this address; nothing if the mail is not a notification.
pub fn report(message: &Message<'_>, address: Option<&str>) -> Option<DeliveryReport> {
    let part = message.parts.iter().find(|part| is_status(part))?;
    let text = String::from_utf8_lossy(part.contents());
    // Groups of fields, an empty line between them: the first is of the message, each other of a recipient
    // (§2.1).
    let mut groups = groups(&text);
    let of_message = if groups.len() > 1 { groups.remove(0) } else { DsnFields::default() };
    let fields = ours(groups, address)?;
    let status = fields.status();
    let state = fields.state()?;
    let mut words = vec![status];
    // `smtp; 550 5.1.1 no such user`: the type is not part of the text.
    let diagnostic = fields.value("Diagnostic-Code").map(|value| without_type(&value));
    words.extend(diagnostic.or_else(|| said_to_people(message, &fields.value("Final-Recipient")?)));
    if state == ReceiptState::Buffered {
        let until = fields.value("Will-Retry-Until").or_else(|| of_message.value("Will-Retry-Until"));
        words.extend(until.map(|until| format!("tried until {until}")));
    }
    words.retain(|word| !word.is_empty());
    Some(DeliveryReport { state, text: one_line(&words.join(" ")) })
}

/// The group of our recipient: the one with the address. An alias was expanded where only the original
/// recipient has it: the best of its groups, since one copy is enough. Where none has it, the worst: nobody
/// knows whose copy arrived.
fn ours(groups: Vec<DsnFields>, address: Option<&str>) -> Option<DsnFields> {
    let told = groups.into_iter().filter_map(|group| Some((rank(group.state()?), group)));
    let mut told: Vec<(u8, DsnFields)> = told.collect();
    let named = |field: &str, group: &DsnFields| match (address, group.value(field)) {
        (Some(address), Some(value)) => is_address(&without_type(&value), address),
        _ => false,
    };
    if let Some(at) = told.iter().position(|(_, group)| named("Final-Recipient", group)) {
        return Some(told.swap_remove(at).1);
    }
    let (of_alias, others): (Vec<_>, Vec<_>) =
        told.into_iter().partition(|(_, group)| named("Original-Recipient", group));
    let best = of_alias.into_iter().max_by_key(|(rank, _)| *rank);
    best.or_else(|| others.into_iter().min_by_key(|(rank, _)| *rank)).map(|(_, group)| group)
}

/// How much better one state is than another, for a person who waits for the mail.
fn rank(state: ReceiptState) -> u8 {
    match state {
        ReceiptState::Delivered => 2,
        ReceiptState::Buffered => 1,
        _ => 0,
    }
}

/// Whether a recipient's field has this address: an original one is written in xtext (RFC 3461, 4).
fn is_address(value: &str, address: &str) -> bool {
    let value = value.trim_matches(['<', '>']);
    let key = |address: &str| channels::key(channels::MAIL, address).into_owned();
    key(value) == key(address) || key(&from_xtext(value)) == key(address)
}

fn from_xtext(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('+') {
        out.push_str(&rest[..at]);
        let octet = rest.get(at + 1..at + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match octet.filter(u8::is_ascii) {
            Some(octet) => out.push(char::from(octet)),
            None => out.push_str(&rest[at..(at + 1)]),
        }
        rest = &rest[if octet.is_some_and(|octet| octet.is_ascii()) { at + 3 } else { at + 1 }..];
    }
    out + rest
}

/// `type; value`: the value.
fn without_type(value: &str) -> String {
    value.split_once(';').map_or(value, |(_, rest)| rest).trim().to_owned()
}

/// The text behind the address in the part for people (`a@b: why`), where the part for programs has no
/// diagnosis.
fn said_to_people(message: &Message<'_>, recipient: &str) -> Option<String> {
    let (address, text) = (without_type(recipient), message.body_text(0)?);
    let said = text.lines().find_map(|line| line.trim().trim_start_matches('<').strip_prefix(&address))?;
    let why = said.trim_start_matches(['>', ':', ' ']).trim();
    (!address.is_empty() && !why.is_empty()).then(|| why.to_owned())
}

fn is_status(part: &MessagePart<'_>) -> bool {
    part.content_type().is_some_and(|content| {
        let subtype = content.subtype().unwrap_or_default();
        content.ctype().eq_ignore_ascii_case("message")
            && (subtype.eq_ignore_ascii_case("delivery-status")
                || subtype.eq_ignore_ascii_case("global-delivery-status"))
    })
}

/// `Action` decides (§2.3.3); where it is missing or unknown, the status's class does (RFC 3463 §3.1).
fn state(action: Option<&str>, status: &str) -> Option<ReceiptState> {
    let action =
        action.unwrap_or_default().split([' ', ';', '(']).next().unwrap_or_default().to_ascii_lowercase();
    match (action.as_str(), status.as_bytes().first()) {
        // Delivery time expired (RFC 3463 §3.5).
        ("failed", _) if status.ends_with(".4.7") => Some(ReceiptState::Expired),
        ("failed", _) => Some(ReceiptState::Failed),
        ("delivered", _) => Some(ReceiptState::Delivered),
        // Passed on to a system without reports, or to a list's members: it may still arrive.
        ("delayed" | "relayed" | "expanded", _) => Some(ReceiptState::Buffered),
        (_, Some(b'5')) => Some(ReceiptState::Failed),
        (_, Some(b'4')) => Some(ReceiptState::Buffered),
        (_, Some(b'2')) => Some(ReceiptState::Delivered),
        _ => None,
    }
}

/// The code without the comment some write behind it.
fn status_code(status: &str) -> String {
    status.split([' ', '(']).next().unwrap_or_default().to_owned()
}

/// Fields of one group, unfolded.
#[derive(Debug, Default)]
struct DsnFields(Vec<(String, String)>);

impl DsnFields {
    fn status(&self) -> String {
        self.value("Status").map(|status| status_code(&status)).unwrap_or_default()
    }

    /// What became of the recipient; nothing where no field says so.
    fn state(&self) -> Option<ReceiptState> {
        state(self.value("Action").as_deref(), &self.status())
    }

    fn value(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
    }
}

fn groups(text: &str) -> Vec<DsnFields> {
    let mut groups = vec![DsnFields::default()];
    for line in text.lines().take(FIELDS_MAX) {
        let Some(group) = groups.last_mut() else { break };
        if line.trim().is_empty() {
            if !group.0.is_empty() {
                groups.push(DsnFields::default());
            }
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = group.0.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            group.0.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    groups.retain(|group| !group.0.is_empty());
    groups
}
