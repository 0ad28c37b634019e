//! Calls by HTTP: the sessions of routes whose messages are requests, one message a request.
//!
//! ```text
//! call_loop       takes entries, has so many requests under way, reports outcomes
//! observed_body   a request's body that notes when it was written
//! template        texts of the configuration, filled in for a message
//! headers         header lines of the configuration, whose values are secrets
//! response        a response, read within a limit
//! ```
//!
//! Invariant worth naming: an entry whose body was not handed to a connection was surely not written. Only of
//! others can the outcome be unknown.

pub(crate) mod call_loop;
pub(crate) mod headers;
pub(crate) mod observed_body;
pub(crate) mod response;
pub(crate) mod template;
