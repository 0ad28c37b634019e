//! Webhooks: devices and systems that take an alert by HTTP.

use crate::content;
use crate::{Address, Channel, Defaults, Traits, WEBHOOK};
use records::{AlertNo, AlertRequest, ChannelNumber, Content, EndpointNo, channel_key};
use std::borrow::Cow;
use url::Url;

/// Octets of a URL at most, in normal form: more than any service hands out.
const URL_OCTETS_MAX: usize = 2_048;
/// Stands for path and query where a URL is shown: either may hold a secret.
const HIDDEN: &str = "\u{2026}";

/// Webhooks.
pub(crate) struct WebhookChannel;

impl Channel for WebhookChannel {
    fn number(&self) -> ChannelNumber {
        WEBHOOK
    }
    fn name(&self) -> &'static str {
        "webhook"
    }
    fn example(&self) -> &'static str {
        "https://hooks.example.org/siren-7"
    }
    fn other_names(&self) -> &'static [&'static str] {
        &["webhooks", "weburl", "hookurl"]
    }
    fn form(&self) -> &'static str {
        "an https URL"
    }
    /// A URL as the URL standard writes it, without a fragment, which is never sent. Errors say the host
    /// alone. Whether it may be called, and without TLS, is judged at each call.
    fn address(&self, text: &str, _: &Defaults) -> Result<Address, String> {
        let mut url = Url::parse(text.trim()).map_err(|error| {
            format!("is no URL ({error}): an address is such as webhook:{}", self.example())
        })?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err(format!("{:?} is not the scheme of a webhook, which is https", url.scheme()));
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        if host.is_empty() {
            return Err("is a URL without a host".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(format!(
                "the URL at {host} has a user name or password: a route's headers are the place for them"
            ));
        }
        url.set_fragment(None);
        let url = String::from(url);
        if url.len() > URL_OCTETS_MAX {
            let octets = url.len();
            return Err(format!("the URL at {host} has {octets} octets, the limit is {URL_OCTETS_MAX}"));
        }
        Ok(url)
    }
    /// The scheme and the host: path and query may hold secrets.
    fn shown<'a>(&self, address: &'a str) -> Cow<'a, str> {
        let begin = address.find("://").map_or(0, |at| at + "://".len());
        let host = address[begin..].find(['/', '?', '#', '\\']).map_or(address.len(), |at| begin + at);
        match &address[host..] {
            "" | "/" => Cow::Borrowed(address),
            _ => Cow::Owned(format!("{}/{HIDDEN}", &address[..host])),
        }
    }
    fn content(&self, request: &AlertRequest, language: Option<&str>) -> Option<Content> {
        let text = content::text(request, language, WEBHOOK)?;
        let headline = content::texts(request, language).and_then(|texts| texts.headline.as_ref());
        Some(Content { subject: headline.or(request.headline.as_ref()).cloned(), ..Content::of_text(text) })
    }
    /// A device may report later that it has shown the alert; most never do.
    fn traits(&self) -> Traits {
        Traits { replies: true, reply_link: true, repeatable: true, ..Traits::default() }
    }
    /// Its signed URL names the delivery.
    fn own_key(&self, alert: AlertNo, endpoint: EndpointNo) -> Option<u64> {
        Some(channel_key(WEBHOOK, alert, endpoint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address(text: &str) -> Result<Address, String> {
        WebhookChannel.address(text, &Defaults::default())
    }

    #[test]
    fn a_url_is_kept_in_its_one_form() {
        for (text, expected) in [
            ("https://Hooks.Example.org", "https://hooks.example.org/"),
            (" HTTPS://hooks.example.org:443/A/../b?c=D#e ", "https://hooks.example.org/b?c=D"),
            ("http://[2001:DB8::1]:8080/x y", "http://[2001:db8::1]:8080/x%20y"),
            ("https://r\u{e4}k.example/", "https://xn--rk-via.example/"),
        ] {
            assert_eq!(address(text).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn what_is_refused_is_refused_without_its_secrets() {
        let long = format!("https://h.example/{}", "secret".repeat(400));
        for text in [
            "",
            "secret",
            "/secret",
            "https://",
            "mailto:secret@h.example",
            "ftp://h.example/secret",
            "https://secret@h.example/",
            "https://u:secret@h.example/",
            "https://h.example:99999/secret",
            &long,
        ] {
            let reason = address(text).unwrap_err();
            assert!(!reason.contains("secret"), "{text}: {reason}");
        }
    }

    #[test]
    fn what_is_shown_is_the_host() {
        for (address, expected) in [
            ("https://h.example/", "https://h.example/"),
            ("https://h.example:8443/services/T0/B0/secret", "https://h.example:8443/\u{2026}"),
            ("https://h.example/?token=secret", "https://h.example/\u{2026}"),
            ("https://h.example?token=secret", "https://h.example/\u{2026}"),
            ("https://h.example", "https://h.example"),
        ] {
            assert_eq!(WebhookChannel.shown(address), expected);
        }
    }

    proptest! {
        #[test]
        fn a_normal_form_is_its_own_and_never_holds_a_user(text in "(https?://)?[ -~\u{e4}]{0,60}") {
            if let Ok(normal) = address(&text) {
                prop_assert_eq!(address(&normal), Ok(normal.clone()));
                prop_assert!(!normal.contains(['@', ' ', '#']) || !normal.split('/').nth(2).unwrap().contains('@'));
                prop_assert_eq!(WebhookChannel.key(&normal), normal.as_str());
            }
        }
    }
}
