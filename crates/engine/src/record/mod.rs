//! Record: outcomes folded into deliveries, and the memory of whom a carrier's id or a person's number
//! belongs to.

mod absences;
mod answers;
mod carrier_ids;
mod chosen;
pub mod delivery_cell;
mod fold;
mod live_alert;
mod message_meta;
mod missing_values;
mod people;
mod ready_index;
mod reply_correlation;
mod tally;
#[cfg(test)]
mod tests;
mod unfolded_cells;

pub use absences::Absences;
pub use answers::OTHER;
pub use carrier_ids::CarrierIds;
pub use chosen::have_chosen;
pub use delivery_cell::StringTable;
pub use fold::{Effect, Folding};
pub use live_alert::LiveAlert;
pub use message_meta::{KINDS, MessageEvent, RESULTS, error_in_words, kind, state_in_words, status};
pub use missing_values::MissingValues;
pub use people::{FoundPerson, PersonPlace};
pub use reply_correlation::ReplyCorrelation;
pub use tally::counts;
