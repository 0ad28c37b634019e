//! Mail, by SMTP.

use crate::content::{self, Part};
use crate::{Address, Channel, Defaults, MAIL, Traits, addr_spec};
use records::{AlertNo, AlertRequest, ChannelNumber, Content, EndpointNo, mail_key};
use std::borrow::Cow;

/// Characters of a subject that is made from a text (RFC 5322, 2.1.1).
const SUBJECT_CHARS_MAX: usize = 78;

/// Mail.
pub(crate) struct MailChannel;

impl Channel for MailChannel {
    fn number(&self) -> ChannelNumber {
        MAIL
    }
    fn name(&self) -> &'static str {
        "mail"
    }
    fn example(&self) -> &'static str {
        "name@example.org"
    }
    fn other_names(&self) -> &'static [&'static str] {
        &[
            "email",
            "mails",
            "emails",
            "smtp",
            "epost",
            "mejl",
            "mailadress",
            "mailbox",
            "poczta",
            "correo",
            "correoelectrónico",
            "courriel",
            "sähköposti",
        ]
    }
    fn form(&self) -> &'static str {
        "a mail address"
    }
    fn address(&self, text: &str, _: &Defaults) -> Result<Address, String> {
        addr_spec::mail(text)
    }
    /// No mail system in use tells letters of the mailbox's name by their case (RFC 5321, 2.4 asks not to),
    /// and quotes that are not needed say nothing.
    fn key<'a>(&self, address: &'a str) -> Cow<'a, str> {
        addr_spec::key(address)
    }
    fn content(&self, request: &AlertRequest, language: Option<&str>) -> Option<Content> {
        let text = content::text(request, language, MAIL)?;
        let texts = content::texts(request, language)?;
        let own = texts.own(MAIL);
        let headline = texts.headline.as_ref().or(request.headline.as_ref());
        let links: String = request.resources.iter().map(|link| format!("\n{link}")).collect();
        Some(Content {
            subject: own.and_then(|own| own.subject.as_ref()).or(headline).cloned(),
            text: format!("{text}{links}"),
            html: own.and_then(|own| own.html.clone()),
            spoken: None,
        })
    }
    /// A mail without a subject has the first line of its text.
    fn complete(&self, content: &mut Content) {
        if content.subject.is_none() {
            let line = content.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            content.subject = Some(line.trim().chars().take(SUBJECT_CHARS_MAX).collect());
        }
    }
    fn traits(&self) -> Traits {
        Traits { replies: true, reply_link: true, opt_out: true, mark_last: true, ..Traits::default() }
    }
    fn parts(&self) -> &'static [Part] {
        &[Part::Subject, Part::Text, Part::Html]
    }
    /// A mail has no id that a bounce would repeat: its envelope sender names the delivery.
    fn own_key(&self, alert: AlertNo, endpoint: EndpointNo) -> Option<u64> {
        Some(mail_key(alert, endpoint))
    }
}
