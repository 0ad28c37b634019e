//! Commands of a client (RFC 5321 §4.1).

/// One command, understood as far as this server needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// `EHLO`; nothing of the name is used.
    Ehlo,
    /// `HELO`.
    Helo,
    /// `MAIL FROM`.
    Mail {
        /// Who wrote; empty for the null sender.
        from: &'a str,
        /// The size the client announced; 0 if it did not.
        size: u64,
    },
    /// `RCPT TO`.
    Rcpt {
        /// For whom.
        to: &'a str,
    },
    /// `DATA`.
    Data,
    /// `RSET`.
    Rset,
    /// `NOOP`.
    Noop,
    /// `VRFY`, `EXPN`: answered without an answer.
    Verify,
    /// `QUIT`.
    Quit,
}

/// What is wrong with a command: the whole reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotACommand(pub &'static str);

const UNKNOWN: NotACommand = NotACommand("500 5.5.2 not a command");
const SYNTAX: NotACommand = NotACommand("501 5.5.4 not an address in angle brackets");
const PARAMETER: NotACommand = NotACommand("555 5.5.4 unknown parameter");

impl<'a> Command<'a> {
    /// Reads a line without its end.
    pub fn parse(line: &'a [u8]) -> Result<Command<'a>, NotACommand> {
        let line = std::str::from_utf8(line).map_err(|_| UNKNOWN)?.trim_end();
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb.to_ascii_uppercase().as_str() {
            "EHLO" => Ok(Command::Ehlo),
            "HELO" => Ok(Command::Helo),
            "MAIL" => parse_mail(rest),
            "RCPT" => {
                let (to, parameters) = parse_path(rest, "TO:")?;
                match (to.is_empty(), parameters.is_empty()) {
                    (true, _) => Err(SYNTAX),
                    (_, false) => Err(PARAMETER),
                    _ => Ok(Command::Rcpt { to }),
                }
            }
            "DATA" => Ok(Command::Data),
            "RSET" => Ok(Command::Rset),
            "NOOP" => Ok(Command::Noop),
            "VRFY" | "EXPN" => Ok(Command::Verify),
            "QUIT" => Ok(Command::Quit),
            _ => Err(UNKNOWN),
        }
    }
}

fn parse_mail(rest: &str) -> Result<Command<'_>, NotACommand> {
    let (from, parameters) = parse_path(rest, "FROM:")?;
    let mut size = 0;
    for parameter in parameters.split_ascii_whitespace() {
        let (keyword, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        match keyword.to_ascii_uppercase().as_str() {
            "SIZE" => size = value.parse().map_err(|_| NotACommand("501 5.5.4 SIZE is not a number"))?,
            "BODY" if value.eq_ignore_ascii_case("7BIT") || value.eq_ignore_ascii_case("8BITMIME") => {}
            "SMTPUTF8" if value.is_empty() => {}
            _ => return Err(PARAMETER),
        }
    }
    Ok(Command::Mail { from, size })
}

/// `FROM:<local@domain>` and what follows. A source route before the address is dropped (RFC 5321 appendix C).
fn parse_path<'a>(rest: &'a str, keyword: &str) -> Result<(&'a str, &'a str), NotACommand> {
    let rest = rest.trim_start();
    let (head, rest) = rest.split_at_checked(keyword.len()).ok_or(SYNTAX)?;
    let rest =
        rest.trim_start().strip_prefix('<').filter(|_| head.eq_ignore_ascii_case(keyword)).ok_or(SYNTAX)?;
    let (path, parameters) = rest.split_once('>').ok_or(SYNTAX)?;
    let address = match path.strip_prefix('@').and_then(|route| route.split_once(':')) {
        Some((_, address)) => address,
        None => path,
    };
    if address.chars().any(|c| c.is_control() || c == '<')
        || !(parameters.is_empty() || parameters.starts_with(' '))
    {
        return Err(SYNTAX);
    }
    Ok((address, parameters.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_in_any_case_with_the_parameters_that_were_offered() {
        let mail = |from, size| Command::Mail { from, size };
        let rcpt = |to| Command::Rcpt { to };
        for (line, expected) in [
            ("ehlo mx.test", Ok(Command::Ehlo)),
            ("HELO", Ok(Command::Helo)),
            ("MAIL FROM:<>", Ok(mail("", 0))),
            ("mail from:<a@b.se> size=12 BODY=8bitmime SMTPUTF8", Ok(mail("a@b.se", 12))),
            ("MAIL FROM: <a@b.se>", Ok(mail("a@b.se", 0))),
            ("RCPT TO:<@one,@two:a@b.se>", Ok(rcpt("a@b.se"))),
            ("RCPT TO:<åsa@b.se>", Ok(rcpt("åsa@b.se"))),
            ("DATA", Ok(Command::Data)),
            ("rset", Ok(Command::Rset)),
            ("NOOP hello", Ok(Command::Noop)),
            ("VRFY root", Ok(Command::Verify)),
            ("QUIT ", Ok(Command::Quit)),
            ("MAIL FROM:a@b.se", Err(SYNTAX)),
            ("MAIL TO:<a@b.se>", Err(SYNTAX)),
            ("MAIL", Err(SYNTAX)),
            ("RCPT TO:<>", Err(SYNTAX)),
            ("RCPT TO:<a@b.se", Err(SYNTAX)),
            ("RCPT TO:<a@b.se>x", Err(SYNTAX)),
            ("RCPT TO:<a@b.se> NOTIFY=NEVER", Err(PARAMETER)),
            ("MAIL FROM:<a@b.se> SIZE=many", Err(NotACommand("501 5.5.4 SIZE is not a number"))),
            ("MAIL FROM:<a@b.se> AUTH=<>", Err(PARAMETER)),
            ("STARTTLS", Err(UNKNOWN)),
            ("GET / HTTP/1.1", Err(UNKNOWN)),
            ("", Err(UNKNOWN)),
        ] {
            assert_eq!(Command::parse(line.as_bytes()), expected, "{line:?}");
        }
        assert_eq!(Command::parse(b"MAIL FROM:<\xff@b.se>"), Err(UNKNOWN));
    }
}
