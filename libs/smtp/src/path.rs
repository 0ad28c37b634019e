//! Envelope addresses (RFC 5321 §4.1.2, Path): strict as they are written, tolerant as they are read.

/// Octets of an address at most (RFC 5321 §4.5.3.1.3, without the angle brackets).
pub const PATH_OCTETS_MAX: usize = 254;
/// Octets before the `@` at most (RFC 5321 §4.5.3.1.1).
pub const LOCAL_PART_OCTETS_MAX: usize = 64;

/// Address that can be written between angle brackets: it cannot end a command or begin another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path(String);

/// Reason why a text cannot be written as an envelope's address; names the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathError(pub &'static str);

impl Path {
    /// Parses `local@domain`, at most 254 octets, without blanks, controls, quotes and angle brackets (RFC
    /// 5321 §4.1.2, RFC 6531 §3.3). Quoted local parts are refused: hardly a mailbox has one, and hardly one
    /// is not an attack.
    ///
    /// # Errors
    /// A text without `@`, an empty or overlong part, a forbidden character.
    pub fn parse(address: &str) -> Result<Path, PathError> {
        let (local, domain) = address.rsplit_once('@').ok_or(PathError("the address has no @"))?;
        if address.len() > PATH_OCTETS_MAX {
            return Err(PathError("the address is over the limit of 254 octets"));
        }
        if local.is_empty() || local.len() > LOCAL_PART_OCTETS_MAX {
            return Err(PathError("the part before the @ is empty or over the limit of 64 octets"));
        }
        if domain.is_empty() {
            return Err(PathError("the part after the @ is empty"));
        }
        let forbidden =
            |c: char| c.is_control() || c.is_whitespace() || matches!(c, '<' | '>' | '"' | '\\' | ',' | ';');
        if address.contains(forbidden) {
            return Err(PathError("the address has a character that cannot stand in one"));
        }
        Ok(Path(address.to_owned()))
    }

    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part behind the `@`.
    pub fn domain(&self) -> &str {
        self.0.rsplit_once('@').map_or("", |(_, domain)| domain)
    }
}

/// Reads `<address>` off the front of `text`: the address, empty for the null reverse-path, and the text
/// behind the bracket. A source route before the address is dropped (RFC 5321 appendix C). `None` if there
/// are no brackets, or a control or `<` stands between them.
pub fn read_bracketed(text: &str) -> Option<(&str, &str)> {
    let (path, rest) = text.strip_prefix('<')?.split_once('>')?;
    let address = match path.strip_prefix('@').and_then(|route| route.split_once(':')) {
        Some((_, address)) => address,
        None => path,
    };
    (!address.chars().any(|c| c.is_control() || c == '<')).then_some((address, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    fn a_bracketed_address_is_read_without_its_source_route() {
        for (text, expected) in [
            ("<a@b.se>", Some(("a@b.se", ""))),
            ("<> SIZE=1", Some(("", " SIZE=1"))),
            ("<@one,@two:a@b.se>x", Some(("a@b.se", "x"))),
            ("<@one>", Some(("@one", ""))),
            ("<\"a b\"@c.se>", Some(("\"a b\"@c.se", ""))),
            ("<<a@b.se>>", None),
            ("<a\0@b.se>", None),
            ("<a@b.se", None),
            ("a@b.se>", None),
            ("", None),
        ] {
            assert_eq!(read_bracketed(text), expected, "{text:?}");
        }
    }

    proptest! {
        /// Any text: an address that may be written is read back as it was, whatever follows it.
        #[test]
        fn an_address_that_is_written_is_read_back(
            address in prop_oneof!["[a-zåä@.<>\"\\\\ \r\n]{0,20}", "[a-z+=-]{1,20}@[a-z.]{1,20}", any::<String>()],
            rest in any::<String>(),
        ) {
            if let Ok(path) = Path::parse(&address) {
                prop_assert!(path.as_str().len() <= PATH_OCTETS_MAX && !path.domain().is_empty());
                let text = format!("<{}>{rest}", path.as_str());
                // A local part that looks like a source route is the one exception, and harmless: it is
                // dropped.
                if !(address.starts_with('@') && address.contains(':')) {
                    prop_assert_eq!(read_bracketed(&text), Some((path.as_str(), rest.as_str())));
                }
            }
        }
    }
}
