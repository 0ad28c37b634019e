//! unbind and unbind_resp (3.4 §4.2).

use super::Command;
use super::empty::empty_body;

empty_body! {
    /// Ends the session.
    Unbind, Command::UNBIND
}

empty_body! {
    /// The session is ended.
    UnbindResp, Command::UNBIND_RESP
}
