//! Replies of the server, with the texts that RFC 1861 suggests.

use crate::tag::{MessageTag, TagState, TagStatus};

pub(super) const PAGER_OK: &str = "250 Pager ID Accepted";
pub(super) const MESSAGE_OK: &str = "250 Message OK";
pub(super) const RESET_OK: &str = "250 RESET OK";
pub(super) const OPTION_OK: &str = "250 OK";
pub(super) const LOGIN_OK: &str = "250 Login Accepted";
pub(super) const SENT: &str = "250 Message Sent Successfully";
pub(super) const TWO_WAY: &str = "250 OK, Beginning 2-Way Transaction";
pub(super) const TAG_KILLED: &str = "250 Message Tag Killed";
pub(super) const HELP_END: &str = "250 End of Help Information";
pub(super) const GOODBYE: &str = "221 OK, Goodbye";
pub(super) const BEGIN_INPUT: &str = "354 Begin Input; End with <CRLF>'.'<CRLF>";
pub(super) const ONLINE: &str = "850 Two-Way Unit Online and Available; Transaction Accepted";
pub(super) const WILL_QUEUE: &str = "950 Unit NOT Online; Message Will be Queued for Later Delivery";
pub(super) const NOT_ONLINE: &str = "750 Two-Way Unit NOT Online; Transaction Denied";
pub(super) const PING_ONLINE: &str = "821 Unit On System, No Location Information Available";
pub(super) const PING_OFFLINE: &str = "920 Unit Not Online, But Can Queue Message for Later Delivery";
pub(super) const PING_ONE_WAY: &str = "550 Can't PING; Unit NOT 2-way capable";

pub(super) const NOT_IMPLEMENTED: &str = "500 Command Not Implemented";
pub(super) const CHOICE_TWICE: &str = "502 Error! Would Duplicate Previously Entered MCResponse";
pub(super) const MESSAGE_TWICE: &str = "503 ERROR, Message Already Entered";
pub(super) const PAGER_TWICE: &str = "503 Already Selected PAGEr";
pub(super) const INCOMPLETE: &str = "503 Error, Pager ID or Message Incomplete";
pub(super) const NO_PAGER: &str = "550 Error, Invalid Pager ID or Password";
pub(super) const NO_MESSAGE: &str = "550 ERROR, Invalid Message";
pub(super) const NO_TAG: &str = "550 Unknown or Illegal Message_Tag or Pass_Code";
pub(super) const NOT_TWO_WAY: &str = "550 Error, Pager Not 2WAY Capable";
pub(super) const UNDERWAY: &str = "550 Error, Standard Transaction Already Underway, use RESEt";
pub(super) const NOT_IN_TWO_WAY: &str = "550 Error, Not in 2WAY Mode";
pub(super) const NO_QUEUE_LATE: &str = "550 Can't Disable Queueing";
pub(super) const LOGIN_FIRST: &str = "550 Error, LOGIn First";
pub(super) const LOGIN_WRONG: &str = "550 Error, Invalid LoginID or Password";
pub(super) const TOO_MANY_PAGERS: &str = "552 Max Recipients Exceeded";
pub(super) const TOO_MANY_CHOICES: &str = "552 Too Many MCResponses Entered";
pub(super) const FAILED: &str = "554 Error, failed (technical reason)";

pub(super) const TIMED_OUT: &str = "421 Timeout, Goodbye";
pub(super) const TOO_MANY_ERRORS: &str = "421 Too Many Errors, Goodbye";
pub(super) const LINE_TOO_LONG: &str = "421 Line Too Long, Goodbye";
pub(super) const UNAVAILABLE: &str = "421 Gateway Service Unavailable";
pub(super) const DOWN: &str = "421 SERVER DOWN, Goodbye";

/// Help by level.
pub(super) const HELP: [&str; 3] = [
    "214 PAGEr <id>, MESSage <text>, RESEt, SEND, QUIT, HELP",
    "214 DATA, LOGIn <id> [password], LEVEl <0-11>, ALERt <0|1>, COVErage <area>, HOLDuntil <date> [zone], \
     CALLerid <id>, SUBJect <text>",
    "214 2WAY, PING <id>, EXPTag <hours>, NOQUEUEing, ACKRead <0|1>, RTYPe <type>, MCREsponse <code> <text>, \
     MSTAtus <tag> <pass>, KTAG <tag> <pass>",
];

/// Reply to SEND of a two-way page (§4.6.9). A state that cannot be so early counts as delivered.
pub(super) fn sent_two_way(tag: &MessageTag, state: &TagState) -> String {
    let (code, words) = match state {
        TagState::Queued | TagState::Expired => (960, "OK, Message QUEUED for Delivery"),
        TagState::AwaitingRead => (860, "Delivered, Awaiting Read Ack"),
        // A reply that is there so early is told by MSTAtus.
        TagState::AwaitingReply | TagState::ReadAwaitingReply | TagState::Choice(_) | TagState::Text(_) => {
            (861, "Delivered, Awaiting Reply (MCR)")
        }
        _ => (880, "Message Delivered"),
    };
    format!("{code} {} {} {words}", tag.tag(), tag.pass_code())
}

/// Reply to MSTAtus (§4.6.10).
pub(super) fn status(status: &TagStatus) -> String {
    let words = match &status.state {
        TagState::Queued => "Message Queued; Awaiting Delivery",
        TagState::AwaitingRead => "Delivered, Awaiting Read Confirmation",
        TagState::AwaitingReply => "Delivered, Awaiting Reply (MCR)",
        TagState::ReadAwaitingReply => "Delivered, Read, Awaiting Reply (MCR)",
        TagState::Delivered => "Message Delivered (No Reply Pending)",
        TagState::Read => "Message Delivered and Read by Recipient",
        TagState::Choice(_) => "MCR Reply Received",
        TagState::Text(text) => text,
        TagState::Expired => "MESSAGE EXPIRED Before Delivery!",
    };
    let code = match &status.state {
        TagState::Choice(code) => format!("{code} "),
        _ => String::new(),
    };
    let line = format!("{} {} {} {code}{words}", status.state.code(), status.sequence, status.at);
    line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
