//! Block of a session of the line protocol: what a route writes into it.

use crate::{AlertNo, EndpointNo};

/// The text of one delivery, as an open session shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineBlock {
    /// The route that writes it.
    pub route: String,
    /// The delivery.
    pub of: (AlertNo, EndpointNo),
    /// Its id for people and receipts.
    pub id: String,
    /// An answer is asked for: what is typed next is one.
    pub asks: bool,
    /// Without line ends and control characters.
    pub lines: Vec<String>,
}
