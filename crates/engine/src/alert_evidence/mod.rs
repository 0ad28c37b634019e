//! Evidence of an alert: what was sent, what became of it and what was answered, as leaves of a tree whose
//! head is signed (`libs/evidence`).
//!
//! It is made once an alert has ended, and again when late receipts or answers changed it, from rosters and
//! deliveries in SQL, page by page: the engine's task has no part in it. SQL keeps salts and hashes alone; an
//! export makes the lines again, and shows by its hash a line that is not as it was: of a person who was
//! erased, an answer past its time, or a delivery that changed since.

mod build;
mod content;
mod export;

pub use export::EvidenceExport;

use crate::run::Engine;

/// Evidence of the alerts of an engine.
pub struct AlertEvidence {
    engine: Engine,
}

impl AlertEvidence {
    /// Of the alerts of this engine.
    pub fn of(engine: &Engine) -> AlertEvidence {
        AlertEvidence { engine: engine.clone() }
    }
}
