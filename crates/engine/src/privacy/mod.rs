//! Privacy: a person is forgotten everywhere, or shown all that is known of them.
//!
//! A person is found in rosters by their id, and by addresses that were theirs alone: an address that another
//! recipient has too stays theirs. What is counted stays counted: an endpoint keeps its place, channel,
//! state, times and the key of its answer, and loses address, names, values and words.

mod erase;
mod export;
mod person;
#[cfg(test)]
mod tests;

pub(crate) use erase::aside;
pub use erase::{Erased, ForgetElsewhere};
pub use export::PersonExport;
pub use person::ForgottenPerson;

use crate::run::Engine;

/// Erasure and export of people, by an engine's store and memory.
pub struct Privacy {
    engine: Engine,
}

impl Privacy {
    /// Of the accounts of this engine.
    pub fn of(engine: &Engine) -> Privacy {
        Privacy { engine: engine.clone() }
    }
}
