//! Reply in the answer to a callback: its text goes back to the person as a message.

use bus::BusError;
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use records::{Intake, Message, Redacted, ShortText, Timestamp};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;

use super::NoticeDispatcher;

/// Characters of a reply: ten parts of GSM 7-bit. What is longer is a page that nobody meant to send.
const REPLY_CHARACTERS_MAX: usize = 1_530;
/// Octets of an answer that are read; a character has at most four.
const REPLY_OCTETS_MAX: usize = REPLY_CHARACTERS_MAX * 4;

/// The text in an answer: `text/plain` with something visible in it.
pub(super) async fn text_of(mut response: Response, url: &str) -> reqwest::Result<Option<String>> {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let label = content_type.and_then(charset_of_plain_text).map(str::to_owned);
    let is_reply = label.is_some() && response.status().is_success();
    let mut octets = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        octets.extend_from_slice(&chunk);
        if octets.len() > REPLY_OCTETS_MAX {
            break;
        }
    }
    let Some(label) = label.filter(|_| is_reply) else { return Ok(None) };
    let text = decoded(&octets, &label);
    if text.chars().count() > REPLY_CHARACTERS_MAX {
        tracing::warn!(
            url = %Redacted::Url(url),
            "the answer to a callback has over {REPLY_CHARACTERS_MAX} characters and is not sent to the person: \
             answer with a shorter text, or with none"
        );
        return Ok(None);
    }
    Ok(text.chars().any(is_visible).then_some(text))
}

/// Hands in the reply, as durable as any message.
pub(super) async fn send(office: &NoticeDispatcher, form: &Message, text: String) -> Result<(), BusError> {
    let message = message(form, text, office.context.now());
    let record = Intake::Message(Box::new(message)).encode();
    office.intake.append(&[&record]).await.map(|_| ())
}

/// The message of a form, from `at` on.
fn message(form: &Message, text: String, at: Timestamp) -> Message {
    let mut message = form.clone();
    message.expires = at.plus_us(form.expires.us_since(form.at));
    message.at = at;
    message.short.text = ShortText::Text { text: text.into(), class: None };
    message
}

/// The charset that plain text names, empty where it names none; nothing for other types.
fn charset_of_plain_text(content_type: &str) -> Option<&str> {
    let mut pieces = content_type.split(';').map(str::trim);
    if !pieces.next()?.eq_ignore_ascii_case("text/plain") {
        return None;
    }
    let charset = pieces.find_map(|piece| {
        let (name, value) = piece.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    });
    Some(charset.unwrap_or(""))
}

/// By its charset; without one UTF-8 where it is valid, else windows-1252, as at sendsms. Line ends behind it
/// are the platform's, not the text's.
fn decoded(octets: &[u8], label: &str) -> String {
    let named = Encoding::for_label(label.as_bytes());
    let is_utf_8 = std::str::from_utf8(octets).is_ok();
    let encoding = named.unwrap_or(if is_utf_8 { UTF_8 } else { WINDOWS_1252 });
    let (text, ..) = encoding.decode(octets);
    text.trim_end().to_owned()
}

fn is_visible(character: char) -> bool {
    let is_mark = matches!(character, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FEFF}');
    !character.is_whitespace() && !character.is_control() && !is_mark
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_alone_is_a_reply_and_names_its_charset() {
        let cases = [
            ("text/plain", Some("")),
            ("Text/Plain; charset=UTF-8", Some("UTF-8")),
            ("text/plain;format=flowed; Charset=\"iso-8859-1\"", Some("iso-8859-1")),
            ("text/html", None),
            ("application/json", None),
            ("", None),
        ];
        for (content_type, expected) in cases {
            assert_eq!(charset_of_plain_text(content_type), expected, "{content_type}");
        }
    }

    #[test]
    fn a_reply_is_read_by_its_charset() {
        let cases: [(&[u8], &str, &str); 6] = [
            (b"Thank you\r\n", "", "Thank you"),
            ("Grüße".as_bytes(), "", "Grüße"),
            (b"Gr\xFC\xDFe", "", "Grüße"),
            (b"Gr\xFC\xDFe", "ISO-8859-1", "Grüße"),
            (b"\x04\x16", "utf-16be", "Ж"),
            (b"  indented", "nonsense", "  indented"),
        ];
        for (octets, label, expected) in cases {
            assert_eq!(decoded(octets, label), expected);
        }
        for nothing in ["", " \n", "\u{FEFF}", "\u{200B} "] {
            assert!(!nothing.chars().any(is_visible), "{nothing:?}");
        }
    }
}
