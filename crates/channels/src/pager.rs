//! Pagers, by SNPP or by mail to the paging carrier.

use crate::{Address, Channel, Defaults, PAGER, Traits, addr_spec, content, legible};
use records::{AlertNo, AlertRequest, ChannelNumber, Content, EndpointNo, channel_key};
use std::borrow::Cow;

/// Characters of a pager's id at most.
const ID_CHARS_MAX: usize = 32;

/// Pagers.
pub(crate) struct PagerChannel;

impl Channel for PagerChannel {
    fn number(&self) -> ChannelNumber {
        PAGER
    }
    fn name(&self) -> &'static str {
        "pager"
    }
    fn example(&self) -> &'static str {
        "5551212"
    }
    fn other_names(&self) -> &'static [&'static str] {
        &[
            "pagers",
            "beeper",
            "bleep",
            "bleeper",
            "bip",
            "biper",
            "bipper",
            "personsökare",
            "sökare",
            "personsøker",
            "personsøger",
            "semafoon",
            "pieper",
            "piepser",
            "meldeempfänger",
            "funkmelder",
            "melder",
            "buscapersonas",
            "cercapersone",
            "hakulaite",
        ]
    }
    fn vague_names(&self) -> &'static [&'static str] {
        &["bip", "sökare", "melder"]
    }
    fn form(&self) -> &'static str {
        "a pager's id, or a mail address at the paging carrier"
    }
    /// Letters, digits, `-`, `_`, `.` and `+`, the first a letter, a digit or `+`: nothing that would be two
    /// words of a command. With an `@` it is a mail address.
    fn address(&self, text: &str, _: &Defaults) -> Result<Address, String> {
        if text.contains('@') {
            return addr_spec::mail(text);
        }
        let id = legible::address(text);
        let id = id.trim();
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
        let begins = id.chars().next().is_some_and(|c| c.is_ascii_alphanumeric() || c == '+');
        if begins && id.len() <= ID_CHARS_MAX && id.chars().all(fits) {
            return Ok(id.to_owned());
        }
        Err(format!(
            "{id:?} is no pager: its id has 1 to {ID_CHARS_MAX} letters, digits, -, _, . and +, such as pager:5551212; \
             or write the mail address that the paging carrier gave it"
        ))
    }
    /// Paging terminals do not tell letters by their case.
    fn key<'a>(&self, address: &'a str) -> Cow<'a, str> {
        if address.contains('@') {
            return addr_spec::key(address);
        }
        match address.bytes().any(|octet| octet.is_ascii_uppercase()) {
            true => Cow::Owned(address.to_ascii_lowercase()),
            false => Cow::Borrowed(address),
        }
    }
    /// The pager's own text stands alone; another one goes with the headline, of which the route keeps as
    /// much as it has room for.
    fn content(&self, request: &AlertRequest, language: Option<&str>) -> Option<Content> {
        let text = content::text(request, language, PAGER)?;
        let texts = content::texts(request, language)?;
        let is_own = texts.own(PAGER).is_some_and(|own| own.text.is_some());
        // Within a language only that language's words: the alert's general headline is in the default one.
        let general = if language.is_none() { request.headline.as_ref() } else { None };
        let headline = texts.headline.as_ref().or(general).filter(|_| !is_own);
        Some(Content { subject: headline.cloned(), ..Content::of_text(text) })
    }
    fn traits(&self) -> Traits {
        Traits { replies: true, headline_in_text: true, ..Traits::default() }
    }
    /// A two-way page is asked for by its tag; what is found is said of the delivery.
    fn own_key(&self, alert: AlertNo, endpoint: EndpointNo) -> Option<u64> {
        Some(channel_key(PAGER, alert, endpoint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::{ChannelTexts, Mode, OnUnknown, OwnText, Priority, Strategy, Terminal, Texts, Timestamp};

    fn request() -> AlertRequest {
        AlertRequest {
            headline: None,
            text: None,
            texts: Texts::default(),
            audience: Vec::new(),
            exclude: Vec::new(),
            channels: Vec::new(),
            strategy: Strategy::All,
            require_answer: false,
            choices: Vec::new(),
            terminal: Terminal::Accepted,
            not_before: None,
            expires: Timestamp(i64::MAX),
            priority: Priority::Routine,
            on_unknown: OnUnknown::Hold,
            callback: None,
            sender: None,
            mode: Mode::Live,
            participants_only: false,
            answer_rules: records::AnswerRules::default(),
            follows: None,
            flash: false,
            resources: Vec::new(),
            attachments: Vec::new(),
            area: None,
        }
    }

    #[test]
    fn an_id_is_one_word_of_a_command_and_an_at_sign_makes_it_a_mail_address() {
        let address = |text: &str| PagerChannel.address(text, &Defaults::default());
        for (text, expected) in [
            ("5551212", "5551212"),
            (" SHIRLEY ", "SHIRLEY"),
            ("+46-70.1_2", "+46-70.1_2"),
            ("5551212@Page.Example", "5551212@page.example"),
            (&"7".repeat(ID_CHARS_MAX), &"7".repeat(ID_CHARS_MAX)),
        ] {
            assert_eq!(address(text).as_deref(), Ok(expected));
            assert_eq!(address(expected).as_deref(), Ok(expected), "a normal form is its own");
        }
        for text in
            ["", "-1", ".", "555 1212", "5\r\nSEND", "\u{e5}", "1;2", "a@", &"7".repeat(ID_CHARS_MAX + 1)]
        {
            assert!(address(text).is_err(), "{text:?}");
        }
        assert_eq!(PagerChannel.key("Shirley"), "shirley");
    }

    #[test]
    fn a_pagers_own_text_stands_alone_and_another_goes_with_the_headline() {
        let text = |text: &str| OwnText { text: Some(text.to_owned()), ..OwnText::default() };
        let mut request = request();
        request.headline = Some("Gas leak".to_owned());
        request.text = Some("Leave by the north gate.".to_owned());
        let content = PagerChannel.content(&request, None).unwrap();
        assert_eq!(
            (content.subject.as_deref(), &*content.text),
            (Some("Gas leak"), "Leave by the north gate.")
        );
        let mut own = ChannelTexts::default();
        own.own.insert(PAGER, text("GO NORTH"));
        request.texts.default = own;
        let content = PagerChannel.content(&request, None).unwrap();
        assert_eq!((content.subject, &*content.text), (None, "GO NORTH"));
    }
}
