//! What is asked of the server, and what it said.

use super::content;
use super::extensions::Extensions;
use super::reply::{Class, Reply, cut};

/// An address on the wire is at most so many octets (RFC 5321 §4.5.3.1.3, the angle brackets taken off).
pub const PATH_OCTETS_MAX: usize = 254;
/// Before the `@` (RFC 5321 §4.5.3.1.1).
pub const LOCAL_PART_OCTETS_MAX: usize = 64;
/// An envelope id is at most so many octets (RFC 3461 §4.4).
pub const ENVELOPE_ID_OCTETS_MAX: usize = 100;

/// An address that can stand between angle brackets: it cannot end a command or begin another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path(String);

/// The text cannot be an address in an envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAPath(pub &'static str);

impl Path {
    /// Takes `local@domain` without blanks, controls and angle brackets. Quoted local parts with blanks are refused:
    /// no mailbox worth warning has one, and every one of them is an attempt at something.
    pub fn parse(address: &str) -> Result<Path, NotAPath> {
        let (local, domain) = address.rsplit_once('@').ok_or(NotAPath("the address has no @"))?;
        if address.len() > PATH_OCTETS_MAX {
            return Err(NotAPath("the address is over the limit of 254 octets"));
        }
        if local.is_empty() || local.len() > LOCAL_PART_OCTETS_MAX {
            return Err(NotAPath("the part before the @ is empty or over the limit of 64 octets"));
        }
        if domain.is_empty() {
            return Err(NotAPath("the part after the @ is empty"));
        }
        let forbidden =
            |c: char| c.is_control() || c.is_whitespace() || matches!(c, '<' | '>' | '"' | '\\' | ',' | ';');
        if address.contains(forbidden) {
            return Err(NotAPath("the address has a character that cannot stand in one"));
        }
        Ok(Path(address.to_owned()))
    }

    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What stands behind the `@`.
    pub fn domain(&self) -> &str {
        self.0.rsplit_once('@').map_or("", |(_, domain)| domain)
    }
}

/// One mail for one recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// The caller's own number of it, handed back with the verdict.
    pub id: u64,
    /// Envelope sender; where bounces go.
    pub from: Path,
    /// Envelope recipient.
    pub to: Path,
    /// Sent as ENVID where the server has DSN: bounces repeat it.
    pub envelope_id: String,
    /// Ask for a notification of success as well, where the server has DSN.
    pub notify_success: bool,
    /// Headers and body. Line ends are made canonical and dots stuffed on the way out.
    pub message: Vec<u8>,
}

/// What became of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The server took responsibility for it.
    Accepted {
        /// The server's words.
        words: String,
        /// Its id of the message; empty if none was recognised.
        queue_id: String,
    },
    /// The server, or we in its place, said no.
    Refused {
        /// 5xx.
        permanent: bool,
        /// `smtp:550 5.1.1`; `local:…` where we knew without asking.
        code: String,
        /// The server's words.
        text: String,
    },
    /// Its end was written, and the connection was lost before the reply.
    Unknown {
        /// How the connection was lost.
        text: String,
    },
    /// Its end was not written: the server cannot have taken it.
    NotTried {
        /// How the connection was lost.
        text: String,
        /// It was the one the server was at, and the server did not say that it closes for other reasons: it may be
        /// what the server cannot bear.
        suspect: bool,
    },
}

impl Verdict {
    /// A refusal in the server's words.
    pub(super) fn refused(reply: &Reply) -> Verdict {
        Verdict::Refused {
            permanent: reply.class() == Class::Permanent,
            code: reply.stable_code(),
            text: cut(reply.words()),
        }
    }
    /// An acceptance in the server's words.
    pub(super) fn accepted(reply: &Reply) -> Verdict {
        Verdict::Accepted { queue_id: reply.queue_id().to_owned(), words: cut(reply.words()) }
    }
}

impl Transaction {
    /// Why this server will refuse it, if that is known before asking.
    pub(super) fn hopeless(&self, extensions: &Extensions) -> Option<Verdict> {
        let refused = |code: &str, text: String| {
            Some(Verdict::Refused { permanent: true, code: code.to_owned(), text })
        };
        let octets = self.message.len() as u64;
        if extensions.size_max > 0 && octets > extensions.size_max {
            let limit = extensions.size_max;
            return refused(
                "local:too-large",
                format!("the mail has {octets} octets, the relay takes {limit}"),
            );
        }
        if self.is_international() && !extensions.utf8 {
            return refused(
                "local:smtputf8",
                "the address is beyond ASCII, and the relay has no SMTPUTF8".to_owned(),
            );
        }
        None
    }

    /// An address of it is beyond ASCII.
    fn is_international(&self) -> bool {
        !(self.from.0.is_ascii() && self.to.0.is_ascii())
    }

    /// `MAIL FROM` with what the server understands.
    pub(super) fn push_mail(&self, out: &mut Vec<u8>, extensions: &Extensions) {
        out.extend_from_slice(b"MAIL FROM:<");
        out.extend_from_slice(self.from.0.as_bytes());
        out.push(b'>');
        if extensions.size {
            out.extend_from_slice(format!(" SIZE={}", self.message.len()).as_bytes());
        }
        if self.is_international() && extensions.utf8 {
            out.extend_from_slice(b" SMTPUTF8");
            // The message then has raw UTF-8 in its headers (RFC 6531 §3.6).
            if extensions.eight_bit {
                out.extend_from_slice(b" BODY=8BITMIME");
            }
        }
        if extensions.dsn {
            out.extend_from_slice(b" RET=HDRS");
            if !self.envelope_id.is_empty() {
                out.extend_from_slice(b" ENVID=");
                push_xtext(out, &self.envelope_id, ENVELOPE_ID_OCTETS_MAX);
            }
        }
        out.extend_from_slice(b"\r\n");
    }

    /// `RCPT TO` with what the server understands.
    pub(super) fn push_rcpt(&self, out: &mut Vec<u8>, extensions: &Extensions) {
        out.extend_from_slice(b"RCPT TO:<");
        out.extend_from_slice(self.to.0.as_bytes());
        out.push(b'>');
        if extensions.dsn {
            let success: &[u8] = if self.notify_success { b"SUCCESS," } else { b"" };
            out.extend_from_slice(b" NOTIFY=");
            out.extend_from_slice(success);
            out.extend_from_slice(b"FAILURE,DELAY");
        }
        out.extend_from_slice(b"\r\n");
    }

    /// The message after `DATA`, its end included.
    pub(super) fn push_content(&self, out: &mut Vec<u8>) {
        content::push_stuffed(out, &self.message);
        out.extend_from_slice(content::END_OF_DATA);
    }

    /// `BDAT` with the whole message (RFC 3030 §2).
    pub(super) fn push_chunk(&self, out: &mut Vec<u8>) {
        let mut canonical = Vec::with_capacity(self.message.len() + 2);
        content::push_canonical(&mut canonical, &self.message);
        out.extend_from_slice(format!("BDAT {} LAST\r\n", canonical.len()).as_bytes());
        out.extend_from_slice(&canonical);
    }
}

/// RFC 3461 §4: printable ASCII but `+` and `=`, which stand as `+2B` and `+3D`. Stops before `max` would be passed.
fn push_xtext(out: &mut Vec<u8>, text: &str, max: usize) {
    let limit = out.len() + max;
    for octet in text.bytes() {
        let plain = octet.is_ascii_graphic() && octet != b'+' && octet != b'=';
        if out.len() + if plain { 1 } else { 3 } > limit {
            return;
        }
        if plain {
            out.push(octet);
        } else {
            out.extend_from_slice(format!("+{octet:02X}").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_could_end_its_command_is_no_path() {
        for good in
            ["a@b.se", "bounces+1-2-abc@alerts.example", "åsa@exämple.se", "a@[192.0.2.1]", "o'neil@x.test"]
        {
            assert_eq!(Path::parse(good).map(|path| path.as_str().to_owned()), Ok(good.to_owned()));
        }
        for bad in [
            "",
            "a",
            "@b",
            "a@",
            "a b@c.se",
            "a@b.se\r\nRCPT TO:<x@y.se",
            "a@b.se>",
            "<a@b.se",
            "a@b\n.se",
            "\"a b\"@c.se",
            "a@b.se SIZE=1",
            "a\u{a0}b@c.se",
            "a@b\u{2028}c",
            "a,b@c.se",
            "a\0@b.se",
        ] {
            assert!(Path::parse(bad).is_err(), "{bad:?}");
        }
        let long_local = format!("{}@b.se", "a".repeat(LOCAL_PART_OCTETS_MAX + 1));
        let long = format!("a@{}.se", "b".repeat(PATH_OCTETS_MAX));
        assert!(Path::parse(&long_local).is_err() && Path::parse(&long).is_err());
    }

    #[test]
    fn commands_carry_only_what_the_server_offers() {
        let transaction = Transaction {
            id: 1,
            from: Path::parse("bounces+7-2a@x.test").unwrap(),
            to: Path::parse("åsa@y.test").unwrap(),
            envelope_id: "7-2a=x".to_owned(),
            notify_success: true,
            message: b"hello\n.\n".to_vec(),
        };
        let none = Extensions::default();
        let all = Extensions { dsn: true, size: true, utf8: true, eight_bit: true, ..none };
        let written = |push: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            push(&mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(&|out| transaction.push_mail(out, &none)), "MAIL FROM:<bounces+7-2a@x.test>\r\n");
        assert_eq!(written(&|out| transaction.push_rcpt(out, &none)), "RCPT TO:<åsa@y.test>\r\n");
        assert_eq!(
            written(&|out| transaction.push_mail(out, &all)),
            "MAIL FROM:<bounces+7-2a@x.test> SIZE=8 SMTPUTF8 BODY=8BITMIME RET=HDRS ENVID=7-2a+3Dx\r\n"
        );
        assert_eq!(
            written(&|out| transaction.push_rcpt(out, &all)),
            "RCPT TO:<åsa@y.test> NOTIFY=SUCCESS,FAILURE,DELAY\r\n"
        );
        assert_eq!(written(&|out| transaction.push_content(out)), "hello\r\n..\r\n.\r\n");
        assert_eq!(written(&|out| transaction.push_chunk(out)), "BDAT 10 LAST\r\nhello\r\n.\r\n");
    }

    #[test]
    fn what_the_server_said_it_cannot_take_is_refused_without_asking() {
        let transaction = |to: &str, octets: usize| Transaction {
            id: 1,
            from: Path::parse("a@x.test").unwrap(),
            to: Path::parse(to).unwrap(),
            envelope_id: String::new(),
            notify_success: false,
            message: vec![b'x'; octets],
        };
        let small = Extensions { size: true, size_max: 10, ..Extensions::default() };
        let code = |verdict| match verdict {
            Some(Verdict::Refused { permanent: true, code, .. }) => Some(code),
            None => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(code(transaction("b@x.test", 10).hopeless(&small)), None);
        assert_eq!(code(transaction("b@x.test", 11).hopeless(&small)), Some("local:too-large".to_owned()));
        assert_eq!(code(transaction("b@å.test", 1).hopeless(&small)), Some("local:smtputf8".to_owned()));
        let utf8 = Extensions { utf8: true, ..small };
        assert_eq!(code(transaction("b@å.test", 1).hopeless(&utf8)), None);
        assert_eq!(code(transaction("b@x.test", 1_000_000).hopeless(&Extensions::default())), None);
    }
}
