use std::path::PathBuf;
use std::time::Duration;

use super::caller::CallerSettings;
use settings::Secret;

/// How notices are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeSettings {
    /// `whsec_` and base64 of 24 to 64 octets: the first signs; all do while secrets are being changed.
    pub secrets: Vec<Secret>,
    /// From connecting to the end of the answer.
    pub timeout: Duration,
    /// For connecting alone.
    pub connect_timeout: Duration,
    /// First wait before a notice is told again.
    pub retry_first: Duration,
    /// Longest one.
    pub retry_max: Duration,
    /// Requests under way at a time.
    pub requests_max: usize,
    /// How long what is under way may take when the gateway stops.
    pub drain: Duration,
    /// PEM certificates trusted beside the world's roots.
    pub ca_file: Option<PathBuf>,
}

impl Default for NoticeSettings {
    fn default() -> NoticeSettings {
        NoticeSettings {
            secrets: Vec::new(),
            timeout: Duration::from_secs(15),
            connect_timeout: Duration::from_secs(5),
            retry_first: Duration::from_secs(1),
            retry_max: Duration::from_secs(300),
            requests_max: 256,
            drain: Duration::from_secs(5),
            ca_file: None,
        }
    }
}

impl NoticeSettings {
    /// How its client connects.
    pub(super) fn caller(&self) -> CallerSettings {
        CallerSettings {
            timeout: self.timeout,
            connect_timeout: self.connect_timeout,
            ca_file: self.ca_file.clone(),
            idle_max: None,
        }
    }
}
