//! `[outbound]`: whom the server calls for clients.

use super::Config;
use super::check::Check;
use net::OutboundPolicy;
use settings::section;

/// Entries at most.
const ALLOWED_MAX: usize = 1_000;

section! {
    /// Where callbacks, observers, `dlr-url` and webhooks may go. Public addresses may always be called.
    /// [URLs that clients give](operating.md#urls-that-clients-give) are checked when they are given, and
    /// again at each call after the name is resolved. URLs in this file are trusted, each at its host and
    /// port.
    Outbound {
        /// Networks, addresses and host names that may be called beyond public addresses; at most 1,000. A
        /// host name stands for itself, `*.hooks.example` for all names below one; either may then resolve to
        /// any address.
        #[manual(example = ["10.20.0.0/16", "fd00:20::/32", "hooks.city.internal"])]
        allow: Vec<String> = Vec::new(),
    }
}

impl Config {
    /// Whom to call: what `[outbound]` lists, and the hosts of this file's own URLs.
    pub(super) fn outbound_policy(&self) -> OutboundPolicy {
        // What is no entry was a problem when the config was checked.
        let policy = OutboundPolicy::new(&self.outbound.allow).unwrap_or_default();
        let own = self.platform.iter().flat_map(|platform| [&platform.callback, &platform.dlr_url]);
        policy.trusting(own.filter_map(|url| url.as_deref()))
    }
}

impl Check<'_> {
    pub(super) fn outbound(&mut self) {
        let allow = &self.config.outbound.allow;
        let over = allow.len() > ALLOWED_MAX;
        let reason = || format!("{} entries are over the limit of {ALLOWED_MAX}", allow.len());
        self.check("outbound.allow", over.then(reason));
        for (place, reason) in OutboundPolicy::new(allow).err().unwrap_or_default() {
            self.add(&format!("outbound.allow[{place}]"), reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn parsed(text: &str) -> Result<Config, String> {
        let parsed = crate::config::parse(text, "c.toml", Path::new("/data"), &BTreeMap::new());
        parsed.map_err(|problems| problems.to_string())
    }

    #[test]
    fn an_entry_that_is_none_is_a_problem_of_its_place() {
        let found = parsed("[outbound]\nallow = [\"10.0.0.0/8\", \"http://hooks.example\"]\n").unwrap_err();
        assert!(
            found.starts_with("c.toml:2:24: outbound.allow[1]: \"http://hooks.example\" is neither"),
            "{found}"
        );
        let many = vec!["\"a.example\""; ALLOWED_MAX + 1].join(",");
        let found = parsed(&format!("[outbound]\nallow = [{many}]\n")).unwrap_err();
        assert!(found.contains("outbound.allow: 1001 entries are over the limit of 1000"), "{found}");
    }

    #[test]
    fn the_files_own_urls_are_trusted_and_a_reload_notices_that_they_changed() {
        let platform = |url: &str| {
            format!("[[platform]]\nusername = \"a\"\npassword = \"b\"\ncallback = \"{url}?text=%b\"\n")
        };
        let policy = |text: &str| parsed(text).unwrap().outbound_policy();
        let before = policy(&platform("http://127.0.0.1:9000/in"));
        assert!(before.judge_text("http://127.0.0.1:9000/other").is_ok());
        assert!(before.judge_text("http://127.0.0.1:9001/in").is_err());
        assert_ne!(before, policy(&platform("http://127.0.0.1:9001/in")));
        assert_eq!(policy(""), OutboundPolicy::default());
    }
}
