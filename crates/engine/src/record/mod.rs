//! Record: outcomes folded into deliveries, and the memory of whom a carrier's id or a person's number
//! belongs to.

mod answers;
mod carrier_ids;
pub mod delivery_cell;
mod fold;
mod live_alert;
mod message_meta;
mod missing_values;
mod ready_index;
mod reply_correlation;
mod tally;
#[cfg(test)]
mod tests;
mod unfolded_cells;

pub use carrier_ids::CarrierIds;
pub use delivery_cell::StringTable;
pub use fold::{Effect, Folding};
pub use live_alert::LiveAlert;
pub use message_meta::{KINDS, MessageEvent, RESULTS, kind, status};
pub use missing_values::MissingValues;
pub use reply_correlation::{ReplyCorrelation, choice_of};
pub use tally::counts;
