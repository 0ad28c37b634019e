use std::fmt;

/// Why evidence does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvidenceError {
    /// A key cannot be read.
    Key(String),
    /// The header cannot be read, or not by this version.
    Header(String),
    /// The statement was signed with the key of this id, which is not the one that was given.
    OtherKey {
        /// Of the header.
        signed: String,
        /// Of the key that was given.
        given: String,
    },
    /// The signature is not that of the statement.
    Signature,
    /// A line, counted from 1 behind the header, cannot be read.
    Line {
        /// Which.
        line: u64,
        /// Why.
        why: String,
    },
    /// The proof of a line does not lead to the head of the tree.
    NotIncluded {
        /// The line, counted from 1 behind the header.
        line: u64,
        /// The index that it names.
        index: u64,
    },
    /// Another index stands where this one should be.
    Order {
        /// The line, counted from 1 behind the header.
        line: u64,
        /// What should be there.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// The lines from this index on are missing.
    Missing {
        /// The first that is missing.
        from: u64,
        /// Leaves of the tree.
        size: u64,
    },
    /// The time stamp does not hold.
    Timestamp(String),
}

impl fmt::Display for EvidenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvidenceError::Key(why) => write!(f, "the key: {why}"),
            EvidenceError::Header(why) => write!(f, "the header: {why}"),
            EvidenceError::OtherKey { signed, given } => write!(
                f,
                "the header was signed with the key {signed}, and the key that was given is {given}: \
                 get the key of the server that made the file"
            ),
            EvidenceError::Signature => {
                f.write_str("the header: the signature does not hold, the statement was changed")
            }
            EvidenceError::Line { line, why } => write!(f, "line {line}: {why}"),
            EvidenceError::NotIncluded { line, index } => write!(
                f,
                "line {line} (index {index}): it is not in the tree that was signed: content, salt, hash, \
                 index or proof was changed"
            ),
            EvidenceError::Order { line, expected, found } => write!(
                f,
                "line {line}: it has the index {found} where {expected} should be: lines were removed, \
                 repeated or exchanged; --line N verifies one alone"
            ),
            EvidenceError::Missing { from, size } => write!(
                f,
                "the lines from index {from} on are missing, of {size}; --line N verifies one alone"
            ),
            EvidenceError::Timestamp(why) => write!(f, "the time stamp: {why}"),
        }
    }
}

impl std::error::Error for EvidenceError {}
