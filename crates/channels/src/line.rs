//! Sessions of the line protocol, in which people have logged in under an id.

use crate::content::{self, Part};
use crate::{Address, Channel, Defaults, LINE, Traits};
use records::{AlertNo, AlertRequest, ChannelNumber, Content, EndpointNo, channel_key};

/// Octets of a login id at most.
const ID_OCTETS_MAX: usize = 64;

/// Sessions of the line protocol.
pub(crate) struct LineChannel;

impl Channel for LineChannel {
    fn number(&self) -> ChannelNumber {
        LINE
    }
    fn name(&self) -> &'static str {
        "line"
    }
    fn example(&self) -> &'static str {
        "ann"
    }
    fn form(&self) -> &'static str {
        "a login id of the line protocol"
    }
    /// Letters, digits, `.`, `-` and `_`; their case does not count.
    fn address(&self, text: &str, _: &Defaults) -> Result<Address, String> {
        let id = text.trim();
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if (1..=ID_OCTETS_MAX).contains(&id.len()) && id.chars().all(fits) {
            return Ok(id.to_ascii_lowercase());
        }
        Err(format!(
            "{id:?} is no login id: it has 1 to {ID_OCTETS_MAX} letters (a to z), digits, ., - and _, such as line:ann"
        ))
    }
    fn content(&self, request: &AlertRequest, language: Option<&str>) -> Option<Content> {
        let text = content::text(request, language, LINE)?;
        let texts = content::texts(request, language)?;
        let headline = texts.headline.as_ref().or(request.headline.as_ref());
        let own = texts.own(LINE).and_then(|own| own.subject.as_ref());
        Some(Content { subject: own.or(headline).cloned(), ..Content::of_text(text) })
    }
    /// A session shows a delivery once, however often it is written.
    fn traits(&self) -> Traits {
        Traits {
            receipts: true,
            replies: true,
            choices_line: true,
            opt_out: true,
            repeatable: true,
            presence: true,
            ..Traits::default()
        }
    }
    fn parts(&self) -> &'static [Part] {
        &[Part::Subject, Part::Text]
    }
    /// What is typed in a session is of the delivery that it shows.
    fn own_key(&self, alert: AlertNo, endpoint: EndpointNo) -> Option<u64> {
        Some(channel_key(LINE, alert, endpoint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_form_whatever_its_case_and_nothing_that_a_line_could_hide() {
        let address = |id: &str| LineChannel.address(id, &Defaults::default());
        for (id, expected) in [("ann", "ann"), (" Ann.B-7_x ", "ann.b-7_x"), ("7", "7")] {
            assert_eq!(address(id).as_deref(), Ok(expected), "{id}");
            assert_eq!(address(expected).as_deref(), Ok(expected), "{expected}");
        }
        assert!(address(&"x".repeat(ID_OCTETS_MAX)).is_ok());
        for id in
            ["", " ", "a b", "a@b", "a#b", "a:b", "\u{e5}", "a\nb", "a\0", &"x".repeat(ID_OCTETS_MAX + 1)]
        {
            assert!(address(id).unwrap_err().contains("1 to 64"), "{id:?}");
        }
    }
}
