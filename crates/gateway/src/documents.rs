//! Alert documents: CAP, attachments and links of an alert, which a gateway requests from the keeper of
//! alerts.

use futures_util::future::BoxFuture;
use records::AlertNo;
use std::path::PathBuf;

/// Everything of an alert that goes into an archive, but for the text that an endpoint gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentSet {
    /// The alert as CAP 1.2.
    pub cap: Vec<u8>,
    /// Its headline.
    pub headline: Option<String>,
    /// `live` or `drill`.
    pub mode: &'static str,
    /// `emergency`, `urgent` or `routine`.
    pub priority: &'static str,
    /// When it was accepted, RFC 3339.
    pub sent: String,
    /// When it is over, RFC 3339.
    pub expires: String,
    /// Links that are not attached.
    pub links: Vec<String>,
    /// Its attachments.
    pub attachments: Vec<AttachedFile>,
}

/// One attachment, and where it is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachedFile {
    /// Its name in the archive, without any path.
    pub name: String,
    /// Its media type, such as `audio/wav`.
    pub media_type: String,
    /// Octets.
    pub size: u64,
    /// BLAKE3, in hexadecimal digits.
    pub blake3: String,
    /// Where it is.
    pub file: PathBuf,
}

/// The reason why an alert has no documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoDocuments {
    /// Asking again would get the same answer.
    pub permanent: bool,
    /// In words.
    pub why: String,
}

/// Keeps alerts.
pub trait AlertDocuments: Send + Sync {
    /// The documents of an alert; the same for as long as it is kept.
    fn documents(&self, alert: AlertNo) -> BoxFuture<'_, Result<DocumentSet, NoDocuments>>;
}
