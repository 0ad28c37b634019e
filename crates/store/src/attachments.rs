use crate::StoreError;
use futures_util::future::BoxFuture;
use records::Timestamp;
use uuid::Uuid;

/// A file that an alert names is kept for so long after the alert, seconds, unless
/// [`Attachments::keep_named_for`] says more: an alert lasts 40 days at most; a day more for what is retried
/// at its end.
pub const NAMED_KEPT_S: i64 = 41 * 86_400;
/// Files of one account at most: what they take of the disk beside their octets is bounded too.
pub const FILES_MAX: u64 = 50_000;

/// Who has which file of the folder of attachments: each account, and each token in it, what it uploaded. A
/// file is kept while anybody has it. [`Alerts::accept_alert`](crate::Alerts::accept_alert) prolongs the
/// files that the alert names.
pub trait Attachments {
    /// Reserves octets for a file that comes: as many as are free of the account's, at most `at_most`.
    /// Calls with the same `upload` replace each other. Nothing: fewer than `at_least` are free, or there are
    /// [`FILES_MAX`] files; then nothing changed.
    fn reserve_upload(&self, room: UploadRoom) -> BoxFuture<'_, Result<Option<u64>, StoreError>>;
    /// The file of an upload is whole: its token has it until `until`, or longer if it had it before.
    fn finish_upload<'a>(
        &'a self,
        upload: Uuid,
        file: OwnedFile,
        until: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// An upload came to no end: its octets are free.
    fn drop_upload(&self, upload: Uuid) -> BoxFuture<'_, Result<(), StoreError>>;
    /// Octets of each file that the account has (with `token`: that this token uploaded), nothing for others.
    /// Each is kept until `until` at least.
    fn hold_attachments<'a>(
        &'a self,
        account: &'a str,
        token: Option<&'a str>,
        ids: Vec<String>,
        until: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Option<u64>>, StoreError>>;
    /// Nobody has any more what was kept until `now`. Gives the files that nobody has then; at most `limit`
    /// entries are looked at.
    fn forget_attachments(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<ForgottenFiles, StoreError>>;
    /// Files that alerts name from now on are kept for so long after their alert, seconds; at least
    /// [`NAMED_KEPT_S`].
    fn keep_named_for(&self, seconds: i64);
    /// Whether anybody has this file.
    fn has_attachment<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// Room for a file that comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadRoom {
    /// Which upload.
    pub upload: Uuid,
    /// Whose.
    pub account: String,
    /// Octets it needs.
    pub at_least: u64,
    /// Octets it would use.
    pub at_most: u64,
    /// Octets that all files of the account may have.
    pub total_max: u64,
    /// When.
    pub now: Timestamp,
    /// Free again then, whatever became of it.
    pub until: Timestamp,
}

/// A whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedFile {
    /// BLAKE3 of its content, in hexadecimal digits.
    pub id: String,
    /// Octets.
    pub octets: u64,
    /// Whose.
    pub account: String,
    /// The token that uploaded it.
    pub token: String,
}

/// What [`Attachments::forget_attachments`] did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForgottenFiles {
    /// Files that nobody has.
    pub ids: Vec<String>,
    /// There may be more to forget.
    pub is_more: bool,
}

/// Octets that are granted, of those that are free.
pub(crate) fn granted(room: &UploadRoom, used: u64, files: u64) -> Option<u64> {
    let free = room.total_max.saturating_sub(used);
    (free >= room.at_least && files < FILES_MAX).then(|| room.at_most.min(free).max(room.at_least))
}
