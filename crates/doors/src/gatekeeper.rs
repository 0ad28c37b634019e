//! Gatekeeper: what all doors of a server share against those who would fill them or guess their way in.

use crate::guessing::GuessingGuard;
use net::DescriptorBudget;
use std::sync::Arc;

/// The descriptors of all doors, and the guard of their passwords.
#[derive(Debug, Clone)]
pub struct Gatekeeper {
    /// What all doors together may open.
    pub descriptors: Arc<DescriptorBudget>,
    /// Bounds wrong passwords and tokens.
    pub guessing: Arc<GuessingGuard>,
}

impl Gatekeeper {
    /// With these descriptors, and nobody who guessed yet.
    pub fn new(descriptors: Arc<DescriptorBudget>) -> Gatekeeper {
        Gatekeeper { descriptors, guessing: Arc::default() }
    }
}

impl Default for Gatekeeper {
    /// Without a bound on descriptors.
    fn default() -> Gatekeeper {
        Gatekeeper::new(DescriptorBudget::unlimited())
    }
}
