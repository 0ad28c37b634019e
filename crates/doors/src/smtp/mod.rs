//! The SMTP door: takes replies and bounces to the mails that went out, and nothing else.
//!
//! Its addresses are `answers+TAG@domain` and `bounces+TAG@domain`; the tag names a delivery, and a [`TagReader`] says
//! which. What a mail says is on the bus before the client hears `250`. Nothing is relayed, nothing is stored.

mod machine;
mod read;
mod tag;

pub use tag::{TagKind, TagReader};
