//! Commands of a client, read from their lines (RFC 5321 §4.1.1, RFC 1870, RFC 6152, RFC 6531).

use super::replies;
use crate::path::read_bracketed;

/// One command with the parameters that the server offers; points into its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmtpCommand<'a> {
    /// `EHLO`; the client's name is not used.
    Ehlo,
    /// `HELO`.
    Helo,
    /// `MAIL FROM`.
    Mail {
        /// The reverse-path; empty for the null sender.
        from: &'a str,
        /// Octets of the message as announced by SIZE (RFC 1870); 0 without it.
        size: u64,
    },
    /// `RCPT TO`.
    Rcpt {
        /// The forward-path; never empty.
        to: &'a str,
    },
    /// `DATA`.
    Data,
    /// `RSET`.
    Rset,
    /// `NOOP`.
    Noop,
    /// `STARTTLS` (RFC 3207).
    StartTls,
    /// `VRFY` or `EXPN`.
    Verify,
    /// `QUIT`.
    Quit,
}

/// A line that is no command that can be carried out: the reply to it. The client is to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandError(pub &'static str);

const UNKNOWN: CommandError = CommandError(replies::NOT_A_COMMAND);
const SYNTAX: CommandError = CommandError(replies::NO_ADDRESS);
const PARAMETER: CommandError = CommandError(replies::UNKNOWN_PARAMETER);

impl<'a> SmtpCommand<'a> {
    /// Reads a line without its CRLF: the verb in any case, UTF-8 (RFC 6531 §3.3).
    ///
    /// # Errors
    /// The reply to an unknown verb, a path without brackets, a parameter that was not offered.
    pub fn parse(line: &'a [u8]) -> Result<SmtpCommand<'a>, CommandError> {
        let line = std::str::from_utf8(line).map_err(|_| UNKNOWN)?.trim_end();
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb.to_ascii_uppercase().as_str() {
            "EHLO" => Ok(SmtpCommand::Ehlo),
            "HELO" => Ok(SmtpCommand::Helo),
            "MAIL" => parse_mail(rest),
            "RCPT" => {
                let (to, parameters) = parse_path(rest, "TO:")?;
                match (to.is_empty(), parameters.is_empty()) {
                    (true, _) => Err(SYNTAX),
                    (_, false) => Err(PARAMETER),
                    _ => Ok(SmtpCommand::Rcpt { to }),
                }
            }
            "DATA" => Ok(SmtpCommand::Data),
            "RSET" => Ok(SmtpCommand::Rset),
            "NOOP" => Ok(SmtpCommand::Noop),
            "STARTTLS" if rest.is_empty() => Ok(SmtpCommand::StartTls),
            "STARTTLS" => Err(CommandError(replies::NO_PARAMETER)),
            "VRFY" | "EXPN" => Ok(SmtpCommand::Verify),
            "QUIT" => Ok(SmtpCommand::Quit),
            _ => Err(UNKNOWN),
        }
    }
}

fn parse_mail(rest: &str) -> Result<SmtpCommand<'_>, CommandError> {
    let (from, parameters) = parse_path(rest, "FROM:")?;
    let mut size = 0;
    for parameter in parameters.split_ascii_whitespace() {
        let (keyword, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        match keyword.to_ascii_uppercase().as_str() {
            "SIZE" => size = value.parse().map_err(|_| CommandError(replies::NO_SIZE))?,
            "BODY" if value.eq_ignore_ascii_case("7BIT") || value.eq_ignore_ascii_case("8BITMIME") => {}
            "SMTPUTF8" if value.is_empty() => {}
            _ => return Err(PARAMETER),
        }
    }
    Ok(SmtpCommand::Mail { from, size })
}

/// `FROM:<local@domain>`: the address, and the parameters behind it. Blanks before the bracket are let pass.
fn parse_path<'a>(rest: &'a str, keyword: &str) -> Result<(&'a str, &'a str), CommandError> {
    let (head, rest) = rest.trim_start().split_at_checked(keyword.len()).ok_or(SYNTAX)?;
    if !head.eq_ignore_ascii_case(keyword) {
        return Err(SYNTAX);
    }
    let (address, parameters) = read_bracketed(rest.trim_start()).ok_or(SYNTAX)?;
    if !(parameters.is_empty() || parameters.starts_with(' ')) {
        return Err(SYNTAX);
    }
    Ok((address, parameters.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn commands_are_read_in_any_case_with_the_parameters_that_were_offered() {
        let mail = |from, size| SmtpCommand::Mail { from, size };
        let rcpt = |to| SmtpCommand::Rcpt { to };
        for (line, expected) in [
            ("ehlo mx.test", Ok(SmtpCommand::Ehlo)),
            ("HELO", Ok(SmtpCommand::Helo)),
            ("MAIL FROM:<>", Ok(mail("", 0))),
            ("mail from:<a@b.se> size=12 BODY=8bitmime SMTPUTF8", Ok(mail("a@b.se", 12))),
            ("MAIL FROM: <a@b.se>", Ok(mail("a@b.se", 0))),
            ("RCPT TO:<@one,@two:a@b.se>", Ok(rcpt("a@b.se"))),
            ("RCPT TO:<åsa@b.se>", Ok(rcpt("åsa@b.se"))),
            ("DATA", Ok(SmtpCommand::Data)),
            ("rset", Ok(SmtpCommand::Rset)),
            ("NOOP hello", Ok(SmtpCommand::Noop)),
            ("VRFY root", Ok(SmtpCommand::Verify)),
            ("QUIT ", Ok(SmtpCommand::Quit)),
            ("MAIL FROM:a@b.se", Err(SYNTAX)),
            ("MAIL TO:<a@b.se>", Err(SYNTAX)),
            ("MAIL", Err(SYNTAX)),
            ("RCPT TO:<>", Err(SYNTAX)),
            ("RCPT TO:<a@b.se", Err(SYNTAX)),
            ("RCPT TO:<a@b.se>x", Err(SYNTAX)),
            ("RCPT TO:<a@b.se> NOTIFY=NEVER", Err(PARAMETER)),
            ("MAIL FROM:<a@b.se> SIZE=many", Err(CommandError(replies::NO_SIZE))),
            ("MAIL FROM:<a@b.se> AUTH=<>", Err(PARAMETER)),
            ("StartTLS", Ok(SmtpCommand::StartTls)),
            ("STARTTLS now", Err(CommandError(replies::NO_PARAMETER))),
            ("GET / HTTP/1.1", Err(UNKNOWN)),
            ("", Err(UNKNOWN)),
        ] {
            assert_eq!(SmtpCommand::parse(line.as_bytes()), expected, "{line:?}");
        }
        assert_eq!(SmtpCommand::parse(b"MAIL FROM:<\xff@b.se>"), Err(UNKNOWN));
    }
    proptest! {
        /// Any line: what is read of a path has no control, no bracket, and stands in the line.
        #[test]
        fn any_line_is_a_command_or_has_its_reply(
            line in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..80),
                "(?i)(mail from|rcpt to): ?<[a-zå@:, <>.\\x00-\\x1f]{0,20}> ?[a-z0-9=< ]{0,20}".prop_map(String::into_bytes),
            ],
        ) {
            match SmtpCommand::parse(&line) {
                Ok(SmtpCommand::Mail { from: path, .. } | SmtpCommand::Rcpt { to: path }) => {
                    prop_assert!(!path.contains(|c: char| c.is_control() || c == '<' || c == '>'));
                    prop_assert!(String::from_utf8_lossy(&line).contains(path));
                }
                Ok(_) => {}
                Err(CommandError(reply)) => prop_assert!(reply.starts_with('5')),
            }
        }
    }
}
