//! Mail transaction of a client and its verdict: one message for one recipient (RFC 5321 §3.3, RFC 3461, RFC
//! 6531).

use crate::content;
use crate::extensions::Extensions;
use crate::path::Path;
use crate::reply::{Class, Reply, cut};

/// Octets of an envelope id at most, before it is encoded as xtext (RFC 3461 §4.4).
pub const ENVELOPE_ID_OCTETS_MAX: usize = 100;

/// One message for one recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// The caller's own number of it, handed back with the verdict.
    pub id: u64,
    /// Envelope sender, the reverse-path: the address of bounces.
    pub from: Path,
    /// Envelope recipient, the forward-path.
    pub to: Path,
    /// Written as ENVID where the server has DSN, up to [`ENVELOPE_ID_OCTETS_MAX`] (RFC 3461 §4.4): bounces
    /// repeat it.
    pub envelope_id: String,
    /// Requests a notification of success too, where the server has DSN (RFC 3461 §4.1).
    pub notify_success: bool,
    /// Headers and body in octets (RFC 5322). Line ends are made canonical and dots stuffed on the way out.
    pub message: Vec<u8>,
}

/// Result of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The server took responsibility for it (RFC 5321 §4.2.5).
    Accepted {
        /// The server's reply on one line, at most 1,000 octets.
        words: String,
        /// Id of the message at the server; empty if none was recognised.
        queue_id: String,
    },
    /// The server refused it, or the client did so in its place.
    Refused {
        /// 5xx: the same again would be refused again.
        permanent: bool,
        /// `smtp:550 5.1.1`; `local:…` for a refusal without a request.
        code: String,
        /// The server's reply on one line, at most 1,000 octets.
        text: String,
    },
    /// Its end was written, and the connection was lost before the reply.
    Unknown {
        /// Reason of the loss.
        text: String,
    },
    /// Its end was not written: the server cannot have taken it.
    NotTried {
        /// Reason of the loss.
        text: String,
        /// The server was at this transaction, and did not announce by 421 that it closes for other reasons:
        /// the transaction may be the reason.
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
    /// The refusal of a transaction that this server is known to refuse: too large, or an address beyond
    /// ASCII.
    pub(super) fn local_refusal(&self, extensions: &Extensions) -> Option<Verdict> {
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
        !(self.from.as_str().is_ascii() && self.to.as_str().is_ascii())
    }

    /// `MAIL FROM` with the parameters of the server's extensions (RFC 5321 §4.1.1.2).
    pub(super) fn push_mail(&self, out: &mut Vec<u8>, extensions: &Extensions) {
        out.extend_from_slice(b"MAIL FROM:<");
        out.extend_from_slice(self.from.as_str().as_bytes());
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

    /// `RCPT TO` with the parameters of the server's extensions (RFC 5321 §4.1.1.3).
    pub(super) fn push_rcpt(&self, out: &mut Vec<u8>, extensions: &Extensions) {
        out.extend_from_slice(b"RCPT TO:<");
        out.extend_from_slice(self.to.as_str().as_bytes());
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

/// RFC 3461 §4: printable ASCII but `+` and `=`, which stand as `+2B` and `+3D`. Stops before `max` would be
/// passed.
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
    fn a_transaction_beyond_the_servers_extensions_is_refused_locally() {
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
        assert_eq!(code(transaction("b@x.test", 10).local_refusal(&small)), None);
        assert_eq!(
            code(transaction("b@x.test", 11).local_refusal(&small)),
            Some("local:too-large".to_owned())
        );
        assert_eq!(code(transaction("b@å.test", 1).local_refusal(&small)), Some("local:smtputf8".to_owned()));
        let utf8 = Extensions { utf8: true, ..small };
        assert_eq!(code(transaction("b@å.test", 1).local_refusal(&utf8)), None);
        assert_eq!(code(transaction("b@x.test", 1_000_000).local_refusal(&Extensions::default())), None);
    }
}
