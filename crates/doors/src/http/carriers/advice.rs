//! Advice about an error of a route: what to do next, and the key of the configuration that it is about.

/// What to do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RouteAdvice {
    /// A sentence.
    pub(super) text: &'static str,
    /// The key to look at, if it is a matter of the configuration.
    pub(super) key: Option<&'static str>,
}

/// A piece of an error's code or text, in small letters, with the key and the advice. The first that fits
/// counts.
const ADVICE: &[(&[&str], Option<&str>, &str)] = &[
    (
        &[
            "invalid password",
            "smpp:0000000e",
            "smtp:535",
            "authentication failed",
            "authentication credentials",
        ],
        Some("password"),
        "The carrier says that the password or the user name is wrong. Compare them with what it gave you.",
    ),
    (
        &["invalid system id", "smpp:0000000f"],
        Some("system_id"),
        "The carrier does not know the system id. Compare it with what the carrier gave you.",
    ),
    (
        &["invalid system type", "smpp:00000053"],
        Some("system_type"),
        "The carrier wants another system type. Ask it which one.",
    ),
    (
        &["bind failed", "smpp:0000000d", "already in bound state", "smpp:00000005"],
        Some("sessions"),
        "The carrier refuses a session. Ask it whether the account is blocked, and how many sessions it allows.",
    ),
    (
        &[
            "throttling",
            "smpp:00000058",
            "message queue full",
            "smpp:00000014",
            "too many requests",
            "http:429",
        ],
        Some("rate"),
        "The carrier takes less than is sent. Compare the rate with what was agreed; until then the route sends more slowly by itself.",
    ),
    (
        &["invalid source", "smpp:0000000a", "smpp:00000048", "smpp:00000049"],
        Some("source"),
        "The carrier does not take the sender that is shown. Ask it which senders are registered.",
    ),
    (
        &["invalid destination", "smpp:0000000b", "smpp:00000050", "smpp:00000051"],
        None,
        "The carrier does not take the number. Compare it with the recipient's; if all numbers are refused, ask the carrier in which form it wants them.",
    ),
    (
        &["certificate", "tls handshake", "tls alert"],
        Some("tls"),
        "No secure connection could be made. Compare tls and the certificate with what the carrier says.",
    ),
    (
        &["connection refused"],
        Some("address"),
        "Nobody listens at the address. Compare it with what the carrier gave you, or ask whether it is down.",
    ),
    (
        &["lookup", "name or service not known", "no such host", "cannot be resolved"],
        Some("address"),
        "The name of the address is not found. Compare it, and ask whether DNS works on this machine.",
    ),
    (
        &["timed out", "no answer within", "unreachable", "went silent"],
        Some("address"),
        "The carrier does not answer. Ask it whether it is down, and whether it admits this machine's address.",
    ),
    (
        &["smtp:550", "smtp:551", "smtp:553", "user unknown", "no such user", "mailbox unavailable"],
        None,
        "The mailbox does not exist or takes no mail from here. Compare the recipient's address.",
    ),
    (
        &["connection broke", "went away", "connection lost", "reset by peer"],
        None,
        "The connection was lost; it is made again by itself. Ask the carrier if it happens often.",
    ),
];

/// The advice about an error; nothing: there is none that would be better than its own words.
pub(super) fn advice(code: &str, text: &str) -> Option<RouteAdvice> {
    let words = format!("{code} {text}").to_lowercase();
    let fits = |pieces: &[&str]| pieces.iter().any(|piece| words.contains(piece));
    ADVICE.iter().find(|(pieces, ..)| fits(pieces)).map(|(_, key, text)| RouteAdvice { text, key: *key })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_leads_to_the_key_that_it_is_about() {
        for (code, text, key) in [
            ("down", "the carrier refused the bind: invalid password", Some("password")),
            ("smtp:535 5.7.8", "no", Some("password")),
            (
                "down",
                "cannot bind: cannot connect to 127.0.0.1:1: Connection refused (os error 111)",
                Some("address"),
            ),
            ("smpp:00000058", "throttling error: message limits exceeded, 10 times", Some("rate")),
            ("smpp:0000000A", "invalid source address", Some("source")),
            ("unknown", "no answer within 60 s after write", Some("address")),
        ] {
            assert_eq!(advice(code, text).map(|advice| advice.key), Some(key), "{code} {text}");
        }
        let number = advice("smpp:0000000B", "invalid destination address (ESME_RINVDSTADR)").unwrap();
        assert!(number.key.is_none() && number.text.contains("the recipient's"));
        assert_eq!(advice("smpp:00000452", "vendor specific error"), None);
    }
}
