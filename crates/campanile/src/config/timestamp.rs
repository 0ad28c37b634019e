//! `[timestamp]`: the authority that time-stamps evidence of alerts.

use super::Config;
use super::check::Check;
use crate::evidence_keeper::{TimestampAuthority, roots_of};
use settings::section;
use std::path::{Path, PathBuf};

section! {
    /// The time-stamping authority (RFC 3161) that says when evidence of an alert was there. Off without this
    /// section. While it does not answer nothing waits for it: it is asked again for a week.
    /// [Evidence](evidence.md) describes it.
    Timestamp {
        /// Where it takes requests: `https://…` or `http://…`.
        #[manual(required, example = "http://timestamp.example/tsr")]
        url: String = String::new(),
        /// Root certificates (PEM) that its tokens are verified against; without it only that they are time
        /// stamps of our statements, signed by the certificate in them.
        #[manual(example = "tls/tsa-root.pem")]
        ca_file: Option<PathBuf> = None,
    }
}

impl Config {
    /// The authority, as the server asks it.
    pub(super) fn timestamp_authority(&self, data: &Path) -> Option<TimestampAuthority> {
        let timestamp = self.timestamp.as_ref()?;
        let ca_file = timestamp.ca_file.as_ref().map(|file| data.join(file));
        Some(TimestampAuthority { url: timestamp.url.clone(), ca_file })
    }
}

impl Check<'_> {
    pub(super) fn timestamp(&mut self) {
        let Some(timestamp) = &self.config.timestamp else { return };
        let host = timestamp.url.strip_prefix("https://").or(timestamp.url.strip_prefix("http://"));
        let is_url = host.is_some_and(|rest| !rest.is_empty() && !rest.contains([' ', '@']));
        self.check("timestamp.url", (!is_url).then_some("must be https://… or http://…"));
        let file = timestamp.ca_file.as_ref().map(|file| self.data.join(file));
        self.check("timestamp.ca_file", file.and_then(|file| roots_of(&file).err()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn parsed(text: &str) -> Result<Config, String> {
        let parsed = crate::config::parse(text, "c.toml", Path::new("/data"), &BTreeMap::new());
        parsed.map_err(|error| error.to_string())
    }

    #[test]
    fn an_authority_is_read_and_one_that_cannot_be_asked_is_refused_by_its_key() {
        let url = "http://timestamp.example/tsr";
        let authority = |text: &str| parsed(text).unwrap().timestamp_authority(Path::new("/data"));
        assert_eq!(authority(""), None);
        let expected = TimestampAuthority { url: url.to_owned(), ca_file: None };
        assert_eq!(authority(&format!("[timestamp]\nurl = \"{url}\"\n")), Some(expected));
        for (text, field) in [
            ("[timestamp]\nurl = \"ftp://x\"\n".to_owned(), "timestamp.url"),
            (format!("[timestamp]\nurl = \"{url}\"\nca_file = \"none.pem\"\n"), "timestamp.ca_file"),
        ] {
            let error = parsed(&text).unwrap_err();
            assert!(error.contains(field), "{error}");
        }
    }
}
