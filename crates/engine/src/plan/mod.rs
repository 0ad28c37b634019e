//! Plan: which routes, in what order, how much at once, who comes after whom. Pure: lists in, lists out.

mod chains;
mod classify;
mod cut;
mod forecast;
mod takers;

pub use chains::{Chains, Move, Standing};
pub use classify::{Classifier, NOWHERE, Sought, Tiers};
pub use cut::{Cut, ahead_units_max};
pub use forecast::Tableau;
pub use takers::{NotTaken, Takers};
