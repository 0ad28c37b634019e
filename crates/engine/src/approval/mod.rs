//! Approval: which alerts need the yes of other people ([`policy`]), and what a decision of one of them makes
//! of an alert that waits ([`decision`]). Pure: people, counts and the time come in, changes go out; the part
//! of the actor that carries them out is `run/approvals.rs`.
//!
//! A waiting alert is solved, so that its people are counted, and nothing of it is handed over. The last
//! approval that it needs makes it be solved anew: who left, joined or said STOP meanwhile counts, and an
//! audience that grew by more than a tenth asks again. Silence never sends.

mod decision;
mod policy;
#[cfg(test)]
mod tests;

pub use decision::{
    ApprovalDecision, ApprovalRefusal, ApprovalVerb, Decided, after_solve, decide, reaches_nobody,
};
pub use policy::{
    ApprovalAudience, ApprovalDemand, ApprovalPolicy, ApprovalRule, ApprovalSubject, OriginKind, REMIND_S,
};
