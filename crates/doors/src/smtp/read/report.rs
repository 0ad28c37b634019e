//! Delivery status notifications (RFC 3464, RFC 6533).

use super::{DeliveryReport, one_line};
use mail_parser::{Message, MessagePart, MimeHeaders};
use records::ReceiptState;

/// Fields of a report are looked at up to here.
const FIELDS_MAX: usize = 500;

/// The notification's report on its first recipient; nothing if the mail is not a notification.
pub fn report(message: &Message<'_>) -> Option<DeliveryReport> {
    let part = message.parts.iter().find(|part| is_status(part))?;
    let text = String::from_utf8_lossy(part.contents());
    // Groups of fields, an empty line between them: the first is of the message, each other of a recipient
    // (§2.1).
    let mut groups = groups(&text);
    let of_message = if groups.len() > 1 { groups.remove(0) } else { DsnFields::default() };
    let fields = groups
        .into_iter()
        .find(|group| group.value("Action").is_some() || group.value("Status").is_some())?;
    let status = fields.value("Status").map(|status| status_code(&status)).unwrap_or_default();
    let state = state(fields.value("Action").as_deref(), &status)?;
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
