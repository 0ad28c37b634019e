//! Errors on the way to the server, and what each means for the change that was asked for.

use crate::StoreError;
use tokio_postgres::error::SqlState;

/// Why an attempt failed.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The connection or the server is gone. The server undoes what was under way on it, unless it was
    /// committing.
    Lost(String),
    /// It was undone, and may go well another time: a deadlock, a lock that was not to be had, a server that
    /// is starting.
    Undone(String),
    /// The answer is no, and stays no.
    Refused(StoreError),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Trouble {
        Trouble::Refused(error)
    }
}

impl From<records::DecodeError> for Trouble {
    fn from(error: records::DecodeError) -> Trouble {
        Trouble::Refused(error.into())
    }
}

impl From<tokio_postgres::Error> for Trouble {
    fn from(error: tokio_postgres::Error) -> Trouble {
        let why = words(&error);
        let Some(code) = error.code() else {
            // Neither the server's words nor the connection's: what was sent or read does not fit its type.
            let unfit = std::error::Error::source(&error)
                .is_some_and(|source| source.downcast_ref::<std::io::Error>().is_none());
            return if unfit && !error.is_closed() {
                Trouble::Refused(StoreError::Database { why })
            } else {
                Trouble::Lost(why)
            };
        };
        of_code(code, why)
    }
}

/// By class of the code (PostgreSQL, appendix A).
fn of_code(code: &SqlState, why: String) -> Trouble {
    let gone = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        SqlState::TOO_MANY_CONNECTIONS,
        // A server that was the first of several, and now only follows.
        SqlState::READ_ONLY_SQL_TRANSACTION,
    ];
    let undone = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::QUERY_CANCELED,
    ];
    if gone.contains(code) || code.code().starts_with("08") {
        Trouble::Lost(why)
    } else if undone.contains(code) {
        Trouble::Undone(why)
    } else if *code == SqlState::DISK_FULL {
        Trouble::Refused(StoreError::DiskFull)
    } else if code.code().starts_with("23") {
        Trouble::Refused(StoreError::Conflict { why })
    } else {
        Trouble::Refused(StoreError::Database { why })
    }
}

/// The server's words with their code, else the library's with what is behind them.
pub(super) fn words(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        let detail = said.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
        return format!("{}{detail} [{}]", said.message(), said.code().code());
    }
    let mut all = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(behind) = source {
        let behind_words = behind.to_string();
        if !all.contains(&behind_words) {
            all = format!("{all}: {behind_words}");
        }
        source = behind.source();
    }
    all
}
