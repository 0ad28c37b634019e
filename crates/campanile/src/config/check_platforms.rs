//! Checks of `[smpp]`, `[[platform]]` and `[[keyword]]`.

use super::check::Check;
use super::platforms::{ActionChoice, Platform, SmppClient};
use std::collections::BTreeSet;

/// Platforms at most.
const PLATFORMS_MAX: usize = 10_000;
/// Characters of a PIN at least.
const PIN_CHARACTERS_MIN: usize = 4;
/// Words of a keyword at most, and characters of each.
const WORDS_MAX: usize = 100;
const WORD_CHARACTERS_MAX: usize = 50;

impl Check<'_> {
    pub(super) fn smpp(&mut self) {
        let Some(smpp) = &self.config.smpp else { return };
        for (alone, key, other) in [
            (smpp.tls_cert.is_some() && smpp.tls_key.is_none(), "smpp.tls_cert", "tls_key"),
            (smpp.tls_key.is_some() && smpp.tls_cert.is_none(), "smpp.tls_key", "tls_cert"),
        ] {
            self.check(key, alone.then(|| format!("needs {other} beside it")));
        }
        self.networks("smpp.proxy_from", &smpp.proxy_from);
        for problem in smpp.door(self.data).problems() {
            let field = match problem.field.as_str() {
                "smpp.tls_listen" => "smpp.listen_tls",
                "smpp.response" => "smpp.response_timeout",
                other => other,
            };
            self.add(field, problem.reason);
        }
        if let Err(problems) = doors::smpp::Clients::new(smpp.clients()) {
            problems.into_iter().for_each(|problem| self.add(&problem.field, problem.reason));
        }
        for (n, SmppClient { allowed_ips, routes, .. }) in smpp.client.iter().enumerate() {
            self.origins(&format!("smpp.client[{n}]"), allowed_ips, routes);
        }
    }

    pub(super) fn platforms(&mut self) {
        let platforms = &self.config.platform;
        let over = platforms.len() > PLATFORMS_MAX;
        self.check(
            "platform",
            over.then(|| format!("{} platforms are over the limit of {PLATFORMS_MAX}", platforms.len())),
        );
        let mut names = BTreeSet::new();
        for (n, platform) in platforms.iter().enumerate() {
            let path = format!("platform[{n}]");
            let taken = !platform.username.is_empty() && !names.insert(platform.username.as_str());
            self.check(
                &format!("{path}.username"),
                taken.then(|| format!("{:?} is already the name of another platform", platform.username)),
            );
            self.platform(platform, &path);
        }
    }

    fn platform(&mut self, platform: &Platform, path: &str) {
        let at = |key: &str| format!("{path}.{key}");
        self.check(&at("username"), platform.username.is_empty().then_some("is needed"));
        self.check(&at("password"), platform.password.reveal().is_empty().then_some("is needed"));
        self.check(&at("account"), platform.account.is_empty().then_some("is empty"));
        let control = platform.sender.as_deref().is_some_and(|sender| sender.contains(char::is_control));
        self.check(&at("sender"), control.then_some("has a control character"));
        let rate = platform.rate;
        let wrong = !rate.is_finite() || rate < 0.0;
        self.check(
            &at("rate"),
            wrong.then(|| format!("{rate} is not a rate: messages per second, 0 for unlimited")),
        );
        for (key, url) in [("callback", &platform.callback), ("dlr_url", &platform.dlr_url)] {
            let bad =
                url.as_deref().filter(|url| !url.starts_with("http://") && !url.starts_with("https://"));
            // The whole might hold a password.
            self.check(&at(key), bad.map(|_| "does not begin with http:// or https://"));
        }
        self.origins(path, &platform.allowed_ips, &platform.routes);
    }

    /// Networks are networks, and routes are there.
    fn origins(&mut self, path: &str, allowed_ips: &[String], routes: &[String]) {
        for (n, ip) in allowed_ips.iter().enumerate() {
            self.check(&format!("{path}.allowed_ips[{n}]"), ip.parse::<doors::smpp::AllowedIp>().err());
        }
        for (n, name) in routes.iter().enumerate() {
            let known = self.config.route.iter().any(|route| route.common.name == *name);
            self.check(
                &format!("{path}.routes[{n}]"),
                (!known).then(|| format!("there is no route {name:?}")),
            );
        }
    }

    pub(super) fn prepared_alerts(&mut self) {
        let prepared = &self.config.send;
        for (n, send) in prepared.iter().enumerate() {
            let at = |key: &str| format!("send[{n}].{key}");
            let is_word = !send.name.is_empty() && !send.name.contains(char::is_whitespace);
            let earlier = prepared[..n].iter().any(|one| one.name.eq_ignore_ascii_case(&send.name));
            self.check(&at("name"), (!is_word).then_some("must be one word"));
            self.check(&at("name"), earlier.then(|| format!("{:?} is there twice", send.name)));
            let short = send.pin.reveal().chars().count() < PIN_CHARACTERS_MIN;
            self.check(&at("pin"), short.then(|| format!("needs at least {PIN_CHARACTERS_MIN} characters")));
            self.check(&at("who"), send.who.is_empty().then_some("is empty: nobody could send it"));
            for (m, who) in send.who.iter().enumerate() {
                let is_known = who.starts_with("recipient:") || who.starts_with("group:");
                self.check(
                    &at(&format!("who[{m}]")),
                    (!is_known).then(|| format!("{who:?} is neither recipient:ID nor group:NAME")),
                );
            }
            self.check(&at("text"), send.text.trim().is_empty().then_some("is empty"));
            self.check(&at("audience"), send.audience.is_empty().then_some("is empty: it goes to nobody"));
        }
    }

    pub(super) fn keywords(&mut self) {
        let keywords = &self.config.keyword;
        for (n, keyword) in keywords.iter().enumerate() {
            let at = |key: &str| format!("keyword[{n}].{key}");
            if keyword.action.is_none() && !self.places.contains_key(&at("action")) {
                self.add(&at("action"), "is needed: such as stop, help, text or join");
            }
            let needs_url = keyword.action == Some(ActionChoice::Url);
            let lacks_url = needs_url && keyword.url.is_none();
            self.check(&at("url"), lacks_url.then_some("is needed with action url"));
            let none = keyword.words.is_empty() || keyword.words.len() > WORDS_MAX;
            self.check(
                &at("words"),
                none.then(|| format!("has {} words; it needs 1 to {WORDS_MAX}", keyword.words.len())),
            );
            for (m, word) in keyword.words.iter().enumerate() {
                let wrong = word.trim().is_empty() || word.chars().count() > WORD_CHARACTERS_MAX;
                self.check(
                    &at(&format!("words[{m}]")),
                    wrong.then(|| format!("{word:?} needs 1 to {WORD_CHARACTERS_MAX} characters")),
                );
            }
        }
    }
}
