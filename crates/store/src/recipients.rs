use crate::StoreError;
use futures_util::future::BoxFuture;
use records::{Recipient, Timestamp};

/// Recipients as this version encodes them, one behind the other.
#[derive(Debug, Default)]
pub struct EncodedPeople {
    octets: Vec<u8>,
    ends: Vec<usize>,
}

impl EncodedPeople {
    /// Adds one as it was stored: one of an earlier form is encoded anew.
    pub fn push(&mut self, record: &[u8], recipient: &Recipient) {
        match Recipient::is_of_own_form(record) {
            true => self.octets.extend_from_slice(record),
            false => self.octets.extend_from_slice(&recipient.encode()),
        }
        self.ends.push(self.octets.len());
    }

    /// Each record.
    pub fn records(&self) -> impl Iterator<Item = &[u8]> {
        let froms = std::iter::once(&0).chain(&self.ends);
        froms.zip(&self.ends).map(|(from, end)| &self.octets[*from..*end])
    }

    /// Nobody is in it any more.
    pub fn clear(&mut self) {
        self.octets.clear();
        self.ends.clear();
    }
}

impl<'a> FromIterator<&'a Recipient> for EncodedPeople {
    fn from_iter<I: IntoIterator<Item = &'a Recipient>>(recipients: I) -> EncodedPeople {
        let mut people = EncodedPeople::default();
        recipients.into_iter().for_each(|recipient| people.push(&recipient.encode(), recipient));
        people
    }
}

/// People. A key is (account, recipient id).
pub trait Recipients {
    /// How often the account's people, and its groups and stops, have changed: what was read of them holds
    /// while this stays, whoever wrote.
    fn directory_revision<'a>(
        &'a self,
        account: &'a str,
    ) -> BoxFuture<'a, Result<DirectoryRevision, StoreError>>;
    /// Inserts or replaces. All or none; of two with one id the later stays. Resolves to each one's new
    /// version (for ETags).
    fn put_recipients<'a>(
        &'a self,
        account: &'a str,
        recipients: Vec<Recipient>,
    ) -> BoxFuture<'a, Result<Vec<u64>, StoreError>>;
    /// Replaces one if its version is still `version`; resolves to the new version, or to nothing if it is
    /// another by now (or there is none).
    fn replace_recipient<'a>(
        &'a self,
        account: &'a str,
        recipient: Recipient,
        version: u64,
    ) -> BoxFuture<'a, Result<Option<u64>, StoreError>>;
    /// One of them, with its version.
    fn recipient<'a>(
        &'a self,
        account: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<(Recipient, u64)>, StoreError>>;
    /// Those of the ids that exist, in the order asked.
    fn recipients_by_ids<'a>(
        &'a self,
        account: &'a str,
        ids: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Recipient>, StoreError>>;
    /// The next up to `limit` in key order after `after`.
    fn recipients_after<'a>(
        &'a self,
        account: &'a str,
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Recipient>, StoreError>>;
    /// The ids that say they belong to one of `groups`, in key order after `after`.
    fn members_after<'a>(
        &'a self,
        account: &'a str,
        groups: &'a [String],
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>>;
    /// Removes one. False if there was none. An import that is published later brings its rows, also those of
    /// this id.
    fn delete_recipient<'a>(
        &'a self,
        account: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;
    /// How many there are.
    fn recipient_count<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<u64, StoreError>>;
    /// Those of the names that somebody was given a value under, each with a recipient who had one when it
    /// was noted. See [`crate::unused_attributes`].
    fn attribute_witnesses<'a>(
        &'a self,
        account: &'a str,
        names: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, StoreError>>;
    /// Notes other witnesses: name and recipient's id of each.
    fn note_attributes<'a>(
        &'a self,
        account: &'a str,
        witnesses: Vec<(String, String)>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// The first up to `limit` names that somebody was given a value under, in order. Some may have no value
    /// by now.
    fn attribute_names<'a>(
        &'a self,
        account: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>>;
    /// Calls `each` with every recipient in key order, in slices, on the calling thread: one snapshot, one
    /// pass, no copy of the whole. For solve, which runs on a thread of its own (and should not dawdle: the
    /// log grows behind a snapshot). Ends early when `each` returns false.
    fn scan_recipients(
        &self,
        account: &str,
        each: &mut dyn FnMut(&[Recipient]) -> bool,
    ) -> Result<(), StoreError>;
    /// The same, with each slice as it is encoded too.
    fn scan_encoded_recipients(
        &self,
        account: &str,
        each: &mut dyn FnMut(&[Recipient], &EncodedPeople) -> bool,
    ) -> Result<(), StoreError> {
        self.scan_recipients(account, &mut |slice| each(slice, &slice.iter().collect()))
    }
    /// Begins an import; its rows are seen by nobody until [`Recipients::publish_import`].
    fn begin_import<'a>(
        &'a self,
        account: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<ImportNo, StoreError>>;
    /// Stages rows; of two with one id the later stays. A few thousand rows a call is best: they are held in
    /// memory until then.
    fn stage<'a>(&'a self, import: ImportNo, rows: Vec<Recipient>) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Writes what was staged, unseen, giving way to all who have somebody waiting; then makes it visible at
    /// one stroke: existing ids are replaced (whatever happened to them since the import began), absent ids
    /// stay. Resolves to the number of rows. An import whose publication fails is abandoned.
    fn publish_import(&self, import: ImportNo) -> BoxFuture<'_, Result<u64, StoreError>>;
    /// Of an import that is staged or being published: rows staged so far, and rows (and memberships) written
    /// so far.
    fn import_progress(&self, import: ImportNo) -> Option<(u64, u64)>;
    /// Drops a staged import; its rows are removed in the background.
    fn abandon_import(&self, import: ImportNo) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// Changes of an account's directory, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct DirectoryRevision {
    /// Changes of people, and of which imports are seen.
    pub people: u64,
    /// Changes of groups and of stops.
    pub stops: u64,
}

/// An import's generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImportNo(pub u64);
