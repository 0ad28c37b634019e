//! The way of an alert: solve (who), plan (which devices, when, in what order and pace), dispatch (onto the bus),
//! record (what became of it), report.
//!
//! One task owns all that changes (the hot state); everyone else sends it a message through [`Engine`].
//! What decides is pure: lists and `now` in, lists out.

mod api;
pub use api::*;
