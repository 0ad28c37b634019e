//! Evidence of an alert that third parties verify, without IO.
//!
//! What was sent, what became of it and what was answered are lines. Each line is a leaf of a [`merkle`] tree
//! (RFC 9162, section 2.1) over SHA-256, hashed with a random salt, in its [`canonical`] form (RFC 8785). A
//! [`Statement`] names the head of the tree and is signed with Ed25519 (RFC 8032); a [`timestamp`] token (RFC
//! 3161) says when it was there. An export is a [`EvidenceHeader`] and one [`Line`] for each leaf;
//! [`Checker`] verifies it.
//!
//! Invariants worth naming:
//! - A text that is read is canonical: whatever was changed in it is noticed, also a blank.
//! - A line proves itself: with the header it can be handed on alone.
//! - Without its salt a leaf's hash says nothing of its content, and stands for it in the tree.

pub mod canonical;
mod check;
mod error;
mod hex;
mod key;
mod line;
pub mod merkle;
mod statement;
#[cfg(test)]
mod tests;
pub mod timestamp;

pub use check::{CheckedExport, Checker};
pub use error::EvidenceError;
pub use key::{KEY_OCTETS, PublicKey, SIGNATURE_OCTETS, SigningKey};
pub use line::{LINE_OCTETS_MAX, Leaf, Line, SALT_OCTETS, leaf_of};
pub use statement::{EvidenceHeader, FORMAT, Statement};
