//! enquire_link and enquire_link_resp (3.4 §4.11).

use super::Command;
use super::empty::empty_body;

empty_body! {
    /// Are you there?
    EnquireLink, Command::ENQUIRE_LINK
}

empty_body! {
    /// I am.
    EnquireLinkResp, Command::ENQUIRE_LINK_RESP
}
