/// Why the store could not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// The disk is full. Nothing of this change was made.
    DiskFull,
    /// The change contradicts what is there.
    Conflict {
        /// What contradicts.
        why: String,
    },
    /// An act cannot be noted in the audit trail, so it was not done.
    NotNoted {
        /// The database's words.
        why: String,
    },
    /// The database refused, in its words.
    Database {
        /// What was tried, and the words.
        why: String,
    },
    /// A row cannot be read.
    Damaged {
        /// Which, why.
        what: String,
    },
    /// The lease that this writer works under has passed to another: nothing was changed.
    Fenced {
        /// Which lease.
        lease: String,
    },
    /// The database server does not answer. Whether the change was made is not known.
    Unreachable {
        /// What was tried, and what was heard.
        why: String,
    },
    /// The store is closing.
    Closed,
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StoreError::DiskFull => {
                f.write_str("the disk is full: nothing was changed; free some room and try again")
            }
            StoreError::Conflict { why } => f.write_str(why),
            StoreError::NotNoted { why } => write!(
                f,
                "the act cannot be noted in the audit trail, so it was not done: {why}; see that the database can be \
                 written, and try again"
            ),
            StoreError::Database { why } => write!(f, "the database refused: {why}"),
            StoreError::Damaged { what } => write!(f, "a stored row is damaged: {what}"),
            StoreError::Fenced { lease } => {
                write!(f, "the lease {lease:?} has passed to another process: nothing was changed")
            }
            StoreError::Unreachable { why } => write!(f, "the database does not answer: {why}"),
            StoreError::Closed => f.write_str("the store is closing"),
        }
    }
}
impl std::error::Error for StoreError {}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => StoreError::DiskFull,
            Some(rusqlite::ErrorCode::ConstraintViolation) => StoreError::Conflict { why: error.to_string() },
            _ => StoreError::Database { why: error.to_string() },
        }
    }
}

impl From<records::DecodeError> for StoreError {
    fn from(error: records::DecodeError) -> Self {
        StoreError::Damaged { what: error.to_string() }
    }
}
