//! generic_nack (3.4 §4.3): the answer to a PDU that could not be understood; its status says why.

use super::Command;
use super::empty::empty_body;

empty_body! {
    /// Not understood.
    GenericNack, Command::GENERIC_NACK
}
