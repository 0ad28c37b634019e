//! Service extensions of a reply to EHLO, read and written (RFC 5321 §2.2, §4.1.1.1).

/// The extensions that the machines of this crate use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extensions {
    /// RFC 2920: commands may be sent before the replies to earlier ones.
    pub pipelining: bool,
    /// RFC 3030: `BDAT`, which can be pipelined as a whole transaction.
    pub chunking: bool,
    /// RFC 1870.
    pub size: bool,
    /// RFC 1870: the largest message in octets; 0: not said, or without a fixed limit.
    pub size_max: u64,
    /// RFC 6152.
    pub eight_bit: bool,
    /// RFC 6531: addresses beyond ASCII.
    pub utf8: bool,
    /// RFC 3207.
    pub start_tls: bool,
    /// RFC 4954 with the mechanism PLAIN (RFC 4616).
    pub auth_plain: bool,
    /// RFC 4954 with the mechanism LOGIN.
    pub auth_login: bool,
    /// RFC 2034.
    pub enhanced_codes: bool,
    /// RFC 3461.
    pub dsn: bool,
}

impl Extensions {
    /// Reads the text of a reply to EHLO, lines parted by line feeds: the first is the server's name, each
    /// other one a keyword in any case with parameters. Unknown keywords are skipped.
    pub fn parse(text: &str) -> Extensions {
        let mut extensions = Extensions::default();
        for line in text.lines().skip(1) {
            // Old servers write `AUTH=LOGIN PLAIN`.
            let mut words = line.split([' ', '=']).filter(|word| !word.is_empty());
            let keyword = words.next().unwrap_or_default().to_ascii_uppercase();
            match keyword.as_str() {
                "PIPELINING" => extensions.pipelining = true,
                "CHUNKING" => extensions.chunking = true,
                "8BITMIME" => extensions.eight_bit = true,
                "SMTPUTF8" => extensions.utf8 = true,
                "STARTTLS" => extensions.start_tls = true,
                "ENHANCEDSTATUSCODES" => extensions.enhanced_codes = true,
                "DSN" => extensions.dsn = true,
                "SIZE" => {
                    extensions.size = true;
                    extensions.size_max = words.next().and_then(|size| size.parse().ok()).unwrap_or(0);
                }
                "AUTH" => words.for_each(|mechanism| {
                    extensions.auth_plain |= mechanism.eq_ignore_ascii_case("PLAIN");
                    extensions.auth_login |= mechanism.eq_ignore_ascii_case("LOGIN");
                }),
                _ => {}
            }
        }
        extensions
    }

    /// Appends a reply to EHLO that offers these, with `hostname` as its first line.
    pub fn push_reply(&self, out: &mut Vec<u8>, hostname: &str) {
        let size = match self.size_max {
            0 => "SIZE".to_owned(),
            octets => format!("SIZE {octets}"),
        };
        let auth = match (self.auth_plain, self.auth_login) {
            (true, true) => "AUTH PLAIN LOGIN",
            (true, false) => "AUTH PLAIN",
            (false, _) => "AUTH LOGIN",
        };
        let offers = [
            (self.pipelining, "PIPELINING"),
            (self.chunking, "CHUNKING"),
            (self.size, size.as_str()),
            (self.eight_bit, "8BITMIME"),
            (self.utf8, "SMTPUTF8"),
            (self.start_tls, "STARTTLS"),
            (self.auth_plain || self.auth_login, auth),
            (self.dsn, "DSN"),
            (self.enhanced_codes, "ENHANCEDSTATUSCODES"),
        ];
        let mut line = hostname;
        for (_, keyword) in offers.iter().filter(|(is_offered, _)| *is_offered) {
            push_line(out, b"250-", line);
            line = keyword;
        }
        push_line(out, b"250 ", line);
    }
}

fn push_line(out: &mut Vec<u8>, code: &[u8], text: &str) {
    out.extend_from_slice(code);
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::ReplyReader;
    use proptest::prelude::*;

    #[test]
    fn keywords_are_read_in_any_case_and_the_first_line_is_a_name() {
        let none = Extensions::default();
        for (text, expected) in [
            ("PIPELINING", none),
            (
                "mx\nPIPELINING\nsize 10240000\nDSN",
                Extensions { pipelining: true, size: true, size_max: 10_240_000, dsn: true, ..none },
            ),
            ("mx\nSIZE", Extensions { size: true, ..none }),
            ("mx\nSIZE 99999999999999999999999", Extensions { size: true, ..none }),
            ("mx\nAUTH LOGIN plain CRAM-MD5", Extensions { auth_plain: true, auth_login: true, ..none }),
            ("mx\nAUTH=LOGIN", Extensions { auth_login: true, ..none }),
            (
                "mx\nStartTLS\nsmtputf8\n8bitmime\nchunking\nEnhancedStatusCodes",
                Extensions {
                    start_tls: true,
                    utf8: true,
                    eight_bit: true,
                    chunking: true,
                    enhanced_codes: true,
                    ..none
                },
            ),
            ("mx\nX-PIPELINING\n\nHELP", none),
            ("", none),
        ] {
            assert_eq!(Extensions::parse(text), expected, "{text:?}");
        }
    }
    proptest! {
        /// Any set of extensions: a client reads what a server wrote.
        #[test]
        fn a_reply_that_is_written_offers_the_same_when_it_is_read(flags in any::<[bool; 10]>(), octets in any::<u64>()) {
            let [pipelining, chunking, size, eight_bit, utf8, start_tls, auth_plain, auth_login, enhanced_codes, dsn] = flags;
            let extensions = Extensions {
                pipelining, chunking, size, eight_bit, utf8, start_tls, auth_plain, auth_login, enhanced_codes, dsn,
                size_max: if size { octets } else { 0 },
            };
            let mut reader = ReplyReader::default();
            let mut wire = Vec::new();
            extensions.push_reply(&mut wire, "mx.test");
            reader.push(&wire);
            let reply = reader.next_reply().unwrap().unwrap();
            prop_assert_eq!((reply.code, Extensions::parse(&reply.text)), (250, extensions));
            prop_assert!(reader.is_empty());
        }

        /// Any text is read without a fault.
        #[test]
        fn any_text_is_read_as_some_extensions(text in any::<String>()) {
            Extensions::parse(&text);
        }
    }
}
