//! Errors that name the culprit: the peer ([`DecodeError`]) or our own caller ([`EncodeError`]).

use crate::status::Status;
use std::fmt;

/// What the peer did wrong, and the status its request is to be answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The status to answer with.
    pub status: Status,
    /// The parameter, by the specification's name.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: ParameterProblem,
}

/// What is wrong with a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterProblem {
    /// The body ends before the parameter does.
    Truncated,
    /// No NUL before the end of the body.
    Unterminated,
    /// Longer than the limit, in octets with the NUL.
    TooLong {
        /// The limit.
        octets_max: usize,
    },
    /// More than the limit.
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// A NUL inside a C-octet string to be sent.
    InnerNul,
    /// A value the specification does not allow.
    BadValue,
    /// Missing, and required here.
    Missing,
    /// Not allowed here: with its counterpart, or to a peer of this version.
    NotAllowed,
    /// `command_length` outside the limits.
    BadLength {
        /// What the header said.
        octets: u32,
    },
    /// No such command.
    UnknownCommand,
}

impl fmt::Display for ParameterProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterProblem::Truncated => f.write_str("the body ends before it does"),
            ParameterProblem::Unterminated => f.write_str("it has no terminating NUL"),
            ParameterProblem::TooLong { octets_max } => {
                write!(f, "it is over its limit of {octets_max} octets")
            }
            ParameterProblem::TooMany { limit } => write!(f, "there are more than {limit}"),
            ParameterProblem::InnerNul => f.write_str("it contains a NUL"),
            ParameterProblem::BadValue => f.write_str("its value is not allowed"),
            ParameterProblem::Missing => f.write_str("it is missing"),
            ParameterProblem::NotAllowed => f.write_str("it is not allowed here"),
            ParameterProblem::BadLength { octets } => write!(f, "{octets} octets is outside the limits"),
            ParameterProblem::UnknownCommand => f.write_str("no such command"),
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "peer's {}: {}", self.field, self.problem)
    }
}

impl std::error::Error for DecodeError {}

/// What our caller asked to send and no peer could read. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// The parameter, by the specification's name.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: ParameterProblem,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "our {}: {}", self.field, self.problem)
    }
}

impl std::error::Error for EncodeError {}
