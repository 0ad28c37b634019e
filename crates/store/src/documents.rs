use crate::StoreError;
use futures_util::future::BoxFuture;
use records::Timestamp;

/// An id or a lookup is no longer than this.
pub const DOCUMENT_KEY_OCTETS_MAX: usize = 256;
/// A body is no longer than this.
pub const DOCUMENT_OCTETS_MAX: usize = 1 << 20;

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DocumentKind {
    /// Somebody who signs in. Its lookup is the name to sign in with.
    User,
    /// An invitation or a reset, by the hash of its link; due when it ends.
    Invitation,
    /// An alert that is being written.
    Draft,
    /// An earlier version of a draft: `DRAFT/VERSION`.
    DraftVersion,
    /// An alert that is kept to be sent again.
    Template,
    /// A named place.
    Area,
    /// What sends an alert, or fetches a directory, at its times; due at the next.
    Schedule,
    /// An import that is looked at before it is committed.
    Import,
    /// A part of what an import read, or of what it replaced: `IMPORT/NUMBER`.
    ImportPart,
    /// A user, a recipient or a group as an identity provider wrote it. Its lookup is the provider's name for
    /// it.
    Provisioned,
    /// A decision that is to be looked at afterwards; due when somebody is to be told.
    Review,
    /// Somebody who needs help.
    HelpCase,
    /// What happened to an alert, and how many people it reached by when.
    AlertStory,
    /// What alerts of a client have where they say nothing, by the id of its token, or for a whole account.
    Profile,
    /// The forecast of an alert, by its id; due when it is removed.
    AlertForecast,
    /// What a route did in the last days, by its name.
    RouteDays,
    /// Who runs the server and by which time, as the first run set it.
    Site,
}

impl DocumentKind {
    /// As it is stored.
    pub fn name(self) -> &'static str {
        match self {
            DocumentKind::User => "user",
            DocumentKind::Invitation => "invitation",
            DocumentKind::Draft => "draft",
            DocumentKind::DraftVersion => "draft_version",
            DocumentKind::Template => "template",
            DocumentKind::Area => "area",
            DocumentKind::Schedule => "schedule",
            DocumentKind::Import => "import",
            DocumentKind::ImportPart => "import_part",
            DocumentKind::Provisioned => "provisioned",
            DocumentKind::Review => "review",
            DocumentKind::HelpCase => "help_case",
            DocumentKind::AlertStory => "alert_story",
            DocumentKind::Profile => "profile",
            DocumentKind::AlertForecast => "alert_forecast",
            DocumentKind::RouteDays => "route_days",
            DocumentKind::Site => "site",
        }
    }
}

/// A document, as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its key within its account and kind, of at most 256 octets.
    pub id: String,
    /// 1 for a new one; each change raises it.
    pub version: u64,
    /// When it was changed last.
    pub changed: Timestamp,
    /// Another key, unique within its account and kind.
    pub lookup: Option<String>,
    /// When somebody has to look at it.
    pub due: Option<Timestamp>,
    /// JSON, of at most a mebibyte.
    pub body: String,
}

/// A document to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDocument {
    /// Its key within its account and kind.
    pub id: String,
    /// Another key, unique within its account and kind.
    pub lookup: Option<String>,
    /// When somebody has to look at it.
    pub due: Option<Timestamp>,
    /// JSON.
    pub body: String,
}

/// What has to stand where something is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Nothing.
    Absent,
    /// This version.
    Version(u64),
    /// Whatever stands.
    Any,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentWritten {
    /// It is written, in this version.
    Done(u64),
    /// Something else stands there, or nothing does; nothing was written.
    Conflict(Option<Box<Document>>),
    /// Another document of its kind has this lookup; nothing was written.
    LookupTaken,
}

/// Documents of people: JSON by account, kind and id.
pub trait Documents {
    /// Writes one if what stands is as expected. Too long an id, a lookup or a body is a
    /// [`StoreError::Conflict`].
    fn put_document<'a>(
        &'a self,
        account: &'a str,
        kind: DocumentKind,
        document: NewDocument,
        expected: Expected,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<DocumentWritten, StoreError>>;
    /// One of them.
    fn document<'a>(
        &'a self,
        account: &'a str,
        kind: DocumentKind,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, StoreError>>;
    /// One of them, by its lookup.
    fn document_by<'a>(
        &'a self,
        account: &'a str,
        kind: DocumentKind,
        lookup: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, StoreError>>;
    /// In order of their ids.
    fn documents_after<'a>(
        &'a self,
        account: &'a str,
        kind: DocumentKind,
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Document>, StoreError>>;
    /// How many there are.
    fn count_documents<'a>(
        &'a self,
        account: &'a str,
        kind: DocumentKind,
    ) -> BoxFuture<'a, Result<u64, StoreError>>;
    /// Removes one if what stands is as expected. False: it is not, or nothing stands there.
    fn delete_document<'a>(
        &'a self,
        account: &'a str,
        kind: DocumentKind,
        id: &'a str,
        expected: Expected,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;
    /// Those of all accounts that are due by then, the oldest first, with their accounts.
    fn due_documents(
        &self,
        kind: DocumentKind,
        until: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(String, Document)>, StoreError>>;
}

/// Keys and bodies are bounded.
pub(crate) fn within_limits(document: &NewDocument) -> Result<(), StoreError> {
    let too_long = |what: &str, octets: usize, max: usize| {
        Err(StoreError::Conflict { why: format!("{what} of {octets} octets is longer than {max}") })
    };
    let keys = [("an id", Some(&document.id)), ("a lookup", document.lookup.as_ref())];
    for (what, key) in keys.into_iter().filter_map(|(what, key)| Some((what, key?))) {
        if key.is_empty() || key.len() > DOCUMENT_KEY_OCTETS_MAX {
            return too_long(what, key.len(), DOCUMENT_KEY_OCTETS_MAX);
        }
    }
    if document.body.len() > DOCUMENT_OCTETS_MAX {
        return too_long("a document", document.body.len(), DOCUMENT_OCTETS_MAX);
    }
    Ok(())
}

/// Is what stands (its version) as expected?
pub(crate) fn is_expected(expected: Expected, stands: Option<u64>) -> bool {
    match expected {
        Expected::Absent => stands.is_none(),
        Expected::Version(version) => stands == Some(version),
        Expected::Any => true,
    }
}
