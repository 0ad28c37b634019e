//! Replies of the server: code, enhanced status code (RFC 2034, RFC 3463) and words, one line each without
//! its end.

/// To MAIL.
pub const SENDER_OK: &str = "250 2.1.0 ok";
/// To RCPT.
pub const RECIPIENT_OK: &str = "250 2.1.5 ok";
/// To DATA.
pub const START_INPUT: &str = "354 end with a dot on a line of its own";
/// To the end of data.
pub const ACCEPTED: &str = "250 2.0.0 taken";
/// To RSET.
pub const RESET: &str = "250 2.0.0 forgotten";
/// To NOOP.
pub const NOOP: &str = "250 2.0.0 nothing done";
/// To STARTTLS: the handshake comes next (RFC 3207 §4).
pub const START_TLS: &str = "220 2.0.0 begin TLS";
/// To VRFY and EXPN: no address is confirmed (RFC 5321 §3.5.3).
pub const CANNOT_VERIFY: &str = "252 2.1.5 try and see";
/// To QUIT.
pub const CLOSING: &str = "221 2.0.0 goodbye";

/// The server stops (RFC 5321 §3.8).
pub const STOPPING: &str = "421 4.3.2 the service is stopping";
/// A command or a message was not whole in time (RFC 5321 §4.5.3.2).
pub const TIMED_OUT: &str = "421 4.4.2 nothing came for too long";
/// Over the limit of errors.
pub const TOO_MANY_ERRORS: &str = "421 4.7.0 too many errors";
/// Over the limit of commands.
pub const TOO_MANY_COMMANDS: &str = "421 4.7.0 too many commands";

/// The message could not be processed.
pub const LOCAL_ERROR: &str = "451 4.3.0 it could not be written down, try later";
/// There is no storage for the message.
pub const NO_STORAGE: &str = "452 4.3.1 there is no room for it now, try later";
/// Over the limit of recipients.
pub const TOO_MANY_RECIPIENTS: &str = "452 4.5.3 too many recipients";

/// The line is no command.
pub const NOT_A_COMMAND: &str = "500 5.5.2 not a command";
/// A CR or LF that is not part of a CRLF (RFC 5321 §2.3.8), in a command or a message.
pub const BARE_LINE_END: &str = "500 5.5.2 a line ends with CR LF, and neither stands alone";
/// A command line is over the limit.
pub const LINE_TOO_LONG: &str = "500 5.5.2 line too long";
/// MAIL or RCPT without an address.
pub const NO_ADDRESS: &str = "501 5.5.4 not an address in angle brackets";
/// STARTTLS with a parameter (RFC 3207 §4).
pub const NO_PARAMETER: &str = "501 5.5.4 no parameter may stand there";
/// STARTTLS where no certificate is.
pub const NO_TLS: &str = "502 5.5.1 no TLS is offered";
/// STARTTLS within TLS.
pub const TLS_ALREADY: &str = "503 5.5.1 this is TLS already";
/// Octets behind STARTTLS, which somebody between may have put in (RFC 3207 §6).
pub const BEHIND_START_TLS: &str = "503 5.5.1 nothing may stand behind STARTTLS";
/// MAIL with a SIZE that is no number.
pub const NO_SIZE: &str = "501 5.5.4 SIZE is not a number";
/// MAIL before EHLO.
pub const HELLO_FIRST: &str = "503 5.5.1 first EHLO";
/// RCPT before MAIL.
pub const MAIL_FIRST: &str = "503 5.5.1 first MAIL";
/// DATA without a recipient.
pub const RECIPIENT_FIRST: &str = "503 5.5.1 first MAIL and RCPT";
/// MAIL within a transaction.
pub const NESTED_MAIL: &str = "503 5.5.1 one sender at a time";
/// RCPT with an address that the policy does not take.
pub const NO_SUCH_ADDRESS: &str = "550 5.1.1 no such address here";
/// The message, or its announced size, is over the limit (RFC 1870 §6).
pub const TOO_LARGE: &str = "552 5.3.4 larger than this server takes";
/// MAIL or RCPT with a parameter that was not offered.
pub const UNKNOWN_PARAMETER: &str = "555 5.5.4 unknown parameter";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::ReplyReader;

    #[test]
    fn every_reply_is_one_line_whose_enhanced_code_is_of_its_class() {
        for text in [
            SENDER_OK,
            RECIPIENT_OK,
            ACCEPTED,
            RESET,
            NOOP,
            START_TLS,
            BARE_LINE_END,
            NO_PARAMETER,
            NO_TLS,
            TLS_ALREADY,
            BEHIND_START_TLS,
            CANNOT_VERIFY,
            CLOSING,
            STOPPING,
            TIMED_OUT,
            TOO_MANY_ERRORS,
            TOO_MANY_COMMANDS,
            LOCAL_ERROR,
            NO_STORAGE,
            TOO_MANY_RECIPIENTS,
            NOT_A_COMMAND,
            LINE_TOO_LONG,
            NO_ADDRESS,
            NO_SIZE,
            HELLO_FIRST,
            MAIL_FIRST,
            RECIPIENT_FIRST,
            NESTED_MAIL,
            NO_SUCH_ADDRESS,
            TOO_LARGE,
            UNKNOWN_PARAMETER,
        ] {
            let mut reader = ReplyReader::default();
            reader.push(format!("{text}\r\n").as_bytes());
            let reply = reader.next_reply().unwrap().unwrap();
            assert!(reply.enhanced().is_some(), "{text}");
            assert!(reader.is_empty(), "{text}");
        }
    }
}
