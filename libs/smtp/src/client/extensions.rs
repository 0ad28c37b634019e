//! What the server offers (RFC 5321 §4.1.1.1).

/// The extensions of an EHLO reply that we use.
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
    /// Reads the text of an EHLO reply: the first line is the server's name, each other one a keyword with parameters.
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
