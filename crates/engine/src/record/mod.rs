//! Record: outcomes folded into deliveries, and the memory of whom a carrier's id or a person's number belongs to.

mod asked;
mod carrier_ids;
mod fold;
pub mod hot;
mod live;
mod slips;
mod tally;
#[cfg(test)]
mod tests;

pub use asked::{Asked, choice_of};
pub use carrier_ids::CarrierIds;
pub use fold::{Effect, Folding};
pub use hot::Words;
pub use live::Live;
pub use slips::{Happened, KINDS, RESULTS, fate, kind};
pub use tally::counts;
