//! Instant messages: Matrix and Telegram. An address begins with its network's scheme.

use crate::{Address, Channel, Defaults, IM, Traits, content};
use records::{AlertRequest, ChannelNumber, Content};

/// Octets of a Matrix user id, room id or alias at most, with its sigil and server (Matrix, Appendices,
/// "Common Identifier Format").
const MATRIX_ID_OCTETS_MAX: usize = 255;
/// Scheme of Matrix.
const MATRIX: &str = "matrix";
/// Scheme of Telegram.
const TELEGRAM: &str = "telegram";
/// Scheme of XMPP, whose addresses are known and not built yet.
const XMPP: &str = "xmpp";
/// Telegram's ids of chats have at most 52 significant bits.
const CHAT_MAX: u64 = 1 << 52;

/// Instant messages.
pub(crate) struct ImChannel;

impl Channel for ImChannel {
    fn number(&self) -> ChannelNumber {
        IM
    }
    fn name(&self) -> &'static str {
        "im"
    }
    fn schemes(&self) -> &'static [&'static str] {
        &[MATRIX, TELEGRAM, XMPP]
    }
    fn example(&self) -> &'static str {
        "matrix:@name:example.org"
    }
    fn other_names(&self) -> &'static [&'static str] {
        &["matrix", "telegram", "messenger", "instantmessage", "instantmessaging", "instantmessenger"]
    }
    fn form(&self) -> &'static str {
        "matrix:@name:server, matrix:!room:server, matrix:#alias:server or telegram:CHAT"
    }
    /// With its scheme. A Matrix id shows by its first character what it is, so its scheme may be left out.
    fn address(&self, text: &str, _: &Defaults) -> Result<Address, String> {
        let text = text.trim();
        let (scheme, id) = match text.split_once(':') {
            _ if text.starts_with(['@', '!', '#']) => (MATRIX.to_owned(), text),
            Some((scheme, id)) => (scheme.to_ascii_lowercase(), id.trim()),
            None => (String::new(), text),
        };
        match scheme.as_str() {
            MATRIX => matrix(id).map(|id| format!("{MATRIX}:{id}")),
            TELEGRAM => telegram(id).map(|id| format!("{TELEGRAM}:{id}")),
            XMPP => Err(format!("{text:?} is an address of XMPP, which is not built yet")),
            _ => Err(format!("{text:?} is no address of an instant messenger: write {}", self.form())),
        }
    }
    fn check_prefix(&self, prefix: &str) -> Result<(), String> {
        let begins = |scheme: &str| prefix.strip_prefix(scheme).is_some_and(|rest| rest.starts_with(':'));
        if begins(MATRIX) || begins(TELEGRAM) {
            return Ok(());
        }
        Err(format!("{prefix:?} does not begin with {MATRIX}: or {TELEGRAM}:"))
    }
    fn content(&self, request: &AlertRequest, language: Option<&str>) -> Option<Content> {
        let text = content::text(request, language, IM)?;
        let links: String = request.resources.iter().map(|link| format!("\n{link}")).collect();
        Some(Content::of_text(format!("{text}{links}")))
    }
    /// Those of the network that claims most; a route of another claims less.
    fn traits(&self) -> Traits {
        Traits {
            receipts: true,
            replies: true,
            reply_link: true,
            choices_line: true,
            opt_out: true,
            repeatable: true,
            ..Traits::default()
        }
    }
}

/// The normal form of a Matrix user id (`@`), room id (`!`) or room alias (`#`), or of a `matrix:` URI of one
/// (RFC 7595 form of the Matrix specification).
fn matrix(text: &str) -> Result<String, String> {
    let id = from_uri(text);
    let wrong = |why: &str| Err(format!("{text:?} is no Matrix id: {why}"));
    if id.len() > MATRIX_ID_OCTETS_MAX {
        return wrong(&format!("it has over {MATRIX_ID_OCTETS_MAX} octets"));
    }
    if let Some(odd) = id.chars().find(|c| c.is_whitespace() || c.is_control()) {
        return wrong(&format!("it may not hold {odd:?}"));
    }
    let (sigil, rest) = id.split_at(id.chars().next().map_or(0, char::len_utf8));
    let (local, server) = match rest.split_once(':') {
        Some((local, server)) => (local, Some(server)),
        None => (rest, None),
    };
    if local.is_empty() {
        return wrong("it has no name, such as @name:example.org");
    }
    if let Some(server) = server.filter(|server| !is_server_name(server)) {
        return wrong(&format!("{server:?} is no name of a server"));
    }
    match (sigil, server) {
        // Since room version 12 an id of a room names no server.
        ("!", _) | ("#", Some(_)) => Ok(id),
        ("@", Some(server)) => {
            let lower = local.to_ascii_lowercase();
            match lower.chars().find(|c| !is_localpart(*c)) {
                None => Ok(format!("@{lower}:{server}")),
                Some(odd) => wrong(&format!("the name of a user may not hold {odd:?}")),
            }
        }
        ("@" | "#", None) => wrong("it has no server, such as :example.org at its end"),
        _ => wrong("it begins with @ (a user), ! (a room) or # (an alias of a room)"),
    }
}

/// `u/name:server`, `r/alias:server` and `roomid/id:server`, which are what links of the scheme have behind
/// it, as ids; anything else as it is.
fn from_uri(text: &str) -> String {
    let text = text.split('?').next().unwrap_or_default();
    let kinds = [("u/", "@"), ("r/", "#"), ("roomid/", "!")];
    let found = kinds.iter().find_map(|(kind, sigil)| Some((sigil, text.strip_prefix(kind)?)));
    found.map_or_else(|| text.to_owned(), |(sigil, rest)| format!("{sigil}{rest}"))
}

/// Letters of a user's name (Matrix, Appendices, "User Identifiers"). Upper case is of accounts of old, which
/// no server makes any more.
fn is_localpart(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '=' | '_' | '/' | '+')
}

/// A host name, an IPv4 address or an IPv6 one in brackets, and perhaps a port (Matrix, Appendices, "Server
/// Name"). Its case counts.
fn is_server_name(server: &str) -> bool {
    let (host, port) = match server.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (server, None),
    };
    let is_port = |port: &str| (1..=5).contains(&port.len()) && port.bytes().all(|c| c.is_ascii_digit());
    let is_host = match host.strip_prefix('[') {
        Some(rest) => {
            rest.strip_suffix(']').is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok())
        }
        None => {
            !host.is_empty() && host.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-'))
        }
    };
    is_host && port.is_none_or(is_port)
}

/// The normal form of a chat's id: digits, negative for groups and channels.
fn telegram(text: &str) -> Result<String, String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|octet| octet.is_ascii_digit());
    let number = if is_number { digits.parse::<u64>().ok() } else { None };
    match number.filter(|number| (1..=CHAT_MAX).contains(number)) {
        Some(number) if text.starts_with('-') => Ok(format!("-{number}")),
        Some(number) => Ok(number.to_string()),
        None => Err(format!(
            "{text:?} is no chat of Telegram: its id is a number, negative for a group, such as telegram:123456789 (a \
             user's name will not do: a bot cannot write first)"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Result<Address, String> {
        ImChannel.address(text, &Defaults::default())
    }

    #[test]
    fn an_address_has_the_scheme_of_its_network_and_a_normal_form() {
        for (text, expected) in [
            ("matrix:@name:example.org", "matrix:@name:example.org"),
            (" Matrix:@Na.Me=/+-_7:example.org:8448 ", "matrix:@na.me=/+-_7:example.org:8448"),
            ("@a:[::1]:8448", "matrix:@a:[::1]:8448"),
            ("@a:[2001:db8::1]", "matrix:@a:[2001:db8::1]"),
            ("matrix:u/a:b?action=chat", "matrix:@a:b"),
            ("matrix:r/Room:b", "matrix:#Room:b"),
            ("matrix:roomid/opaque:b", "matrix:!opaque:b"),
            ("!OpaQue:b", "matrix:!OpaQue:b"),
            (
                "!31hneApxJ_1o-63DmFrpeqnkFfWppnzWso1JvH3ogLM",
                "matrix:!31hneApxJ_1o-63DmFrpeqnkFfWppnzWso1JvH3ogLM",
            ),
            ("#Stab\u{e5}:b", "matrix:#Stab\u{e5}:b"),
            ("telegram:123456789", "telegram:123456789"),
            ("TELEGRAM:-1001234567890", "telegram:-1001234567890"),
            ("telegram:007", "telegram:7"),
        ] {
            assert_eq!(address(text).as_deref(), Ok(expected), "{text}");
            assert_eq!(address(expected).as_deref(), Ok(expected), "{expected}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_words() {
        for (text, words) in [
            ("", "write matrix:"),
            ("123456789", "write matrix:"),
            ("signal:+4670", "write matrix:"),
            ("xmpp:a@b", "not built yet"),
            ("matrix:", "it has no name"),
            ("matrix:@:b", "it has no name"),
            ("@a", "it has no server"),
            ("#a", "it has no server"),
            ("@a:", "no name of a server"),
            ("@a:b_c", "no name of a server"),
            ("@a:b:port", "no name of a server"),
            ("@a:[::x]", "no name of a server"),
            ("@a b:c", "may not hold ' '"),
            ("@\u{e5}:c", "may not hold '\u{e5}'"),
            ("@a\n:c", "may not hold '\\n'"),
            ("matrix:$event:b", "begins with @"),
            ("telegram:", "no chat"),
            ("telegram:-", "no chat"),
            ("telegram:0", "no chat"),
            ("telegram:+1", "no chat"),
            ("telegram:@name", "a bot cannot write first"),
            ("telegram:99999999999999999999", "no chat"),
        ] {
            let reason = address(text).unwrap_err();
            assert!(reason.contains(words), "{text:?}: {reason}");
        }
        let name = |octets: usize| format!("@{}:b", "x".repeat(octets - 3));
        assert!(address(&name(MATRIX_ID_OCTETS_MAX)).is_ok());
        assert!(address(&name(MATRIX_ID_OCTETS_MAX + 1)).unwrap_err().contains("over 255 octets"));
    }

    #[test]
    fn a_prefix_begins_with_a_network() {
        for good in ["matrix:", "telegram:", "matrix:@fire-", "telegram:-100"] {
            assert_eq!(ImChannel.check_prefix(good), Ok(()), "{good}");
        }
        for bad in ["", "@a", "matrix", "xmpp:", "+46"] {
            assert!(ImChannel.check_prefix(bad).is_err(), "{bad:?}");
        }
    }
}
