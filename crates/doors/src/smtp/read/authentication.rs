//! Authentication-Results, as our own relay notes them (RFC 8601): whether a mail's author is who it says.
//!
//! A header counts where its authserv-id is the relay's. All of those must say that DMARC passed, for the
//! domain of the one author; one that cannot be read, or says otherwise, proves nothing.

use mail_parser::Message;

const HEADER: &str = "Authentication-Results";
/// Such headers of a mail: with more it is not believed.
const HEADERS_MAX: usize = 20;
/// Octets of one of them.
const HEADER_OCTETS_MAX: usize = 8 * 1024;
/// Words and marks of one of them.
const TOKENS_MAX: usize = 512;
/// Comments within comments.
const COMMENTS_MAX: usize = 8;
/// The version of the header's syntax, and of a method, that there is (RFC 8601, sections 2.2 and 2.6).
const VERSION: &str = "1";

/// Whether the relay with this authserv-id notes that the author's domain vouches for the author.
pub fn is_author_proven(message: &Message<'_>, authserv_id: &str) -> bool {
    let Some(domain) = author_domain(message) else { return false };
    let headers = message.headers_raw().filter(|(name, _)| name.eq_ignore_ascii_case(HEADER));
    let headers: Vec<&str> = headers.map(|(_, value)| value).take(HEADERS_MAX + 1).collect();
    if headers.len() > HEADERS_MAX {
        return false;
    }
    let mut found = false;
    for value in headers {
        match read(value, authserv_id) {
            NoteReading::Others => {}
            NoteReading::Broken => return false,
            NoteReading::Dmarc(results) => {
                if !results.iter().all(|result| result.passed && is_same_domain(&result.domain, domain)) {
                    return false;
                }
                found |= !results.is_empty();
            }
        }
    }
    found
}

/// The domain of the author, where there is one author alone.
fn author_domain<'m>(message: &'m Message<'_>) -> Option<&'m str> {
    if message.headers_raw().filter(|(name, _)| name.eq_ignore_ascii_case("From")).count() != 1 {
        return None;
    }
    let mut authors = message.from()?.iter();
    let (author, more) = (authors.next()?, authors.next());
    let (_, domain) = author.address()?.rsplit_once('@')?;
    (more.is_none() && !domain.is_empty()).then_some(domain)
}

fn is_same_domain(a: &str, b: &str) -> bool {
    let bare = |domain: &str| domain.strip_suffix('.').unwrap_or(domain).to_lowercase();
    bare(a) == bare(b)
}

/// What a header says.
#[derive(Debug, PartialEq, Eq)]
enum NoteReading {
    /// Another server noted it.
    Others,
    /// It is the relay's, and cannot be read.
    Broken,
    Dmarc(Vec<DmarcResult>),
}

#[derive(Debug, PartialEq, Eq)]
struct DmarcResult {
    passed: bool,
    /// Of the author, as the relay read it.
    domain: String,
}

fn read(value: &str, authserv_id: &str) -> NoteReading {
    let Some(tokens) = tokens(value) else {
        // Whose it is cannot be read either: one with our id in it may be ours.
        return if names(value, authserv_id) { NoteReading::Broken } else { NoteReading::Others };
    };
    let mut parts = tokens.split(|token| *token == NoteToken::Semicolon);
    match parts.next().unwrap_or_default() {
        [NoteToken::Word(id)] if id.eq_ignore_ascii_case(authserv_id) => {}
        [NoteToken::Word(id), NoteToken::Word(version)] if id.eq_ignore_ascii_case(authserv_id) => {
            if version != VERSION {
                return NoteReading::Broken;
            }
        }
        [NoteToken::Word(id), ..] if id.eq_ignore_ascii_case(authserv_id) => return NoteReading::Broken,
        _ => return NoteReading::Others,
    }
    let parts: Vec<&[NoteToken]> = parts.collect();
    if let [[NoteToken::Word(none)]] = parts[..]
        && none.eq_ignore_ascii_case("none")
    {
        return NoteReading::Dmarc(Vec::new());
    }
    let results: Option<Vec<Option<DmarcResult>>> = parts.iter().map(|part| result(part)).collect();
    match results {
        Some(results) if !results.is_empty() => NoteReading::Dmarc(results.into_iter().flatten().collect()),
        _ => NoteReading::Broken,
    }
}

fn names(value: &str, authserv_id: &str) -> bool {
    value.to_ascii_lowercase().contains(&authserv_id.to_ascii_lowercase())
}

/// `dmarc=pass (p=none) header.from=town.test`. The outer nothing is of what cannot be read, the inner one of
/// another method.
fn result(part: &[NoteToken]) -> Option<Option<DmarcResult>> {
    let pairs = pairs(part)?;
    let ((method, value), more) = pairs.split_first()?;
    let (method, version) = method.split_once('/').unwrap_or((method, VERSION));
    if !method.eq_ignore_ascii_case("dmarc") {
        return Some(None);
    }
    let domains: Vec<&str> = more
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("header.from"))
        .map(|(_, value)| value.rsplit('@').next().unwrap_or_default())
        .collect();
    let passed = value.eq_ignore_ascii_case("pass") && version == VERSION;
    match domains[..] {
        [domain] => Some(Some(DmarcResult { passed, domain: domain.to_owned() })),
        [] => Some(Some(DmarcResult { passed: false, domain: String::new() })),
        _ => None,
    }
}

/// Names and values: words before a `=`, and the word behind it.
fn pairs(part: &[NoteToken]) -> Option<Vec<(String, &str)>> {
    let (mut found, mut rest) = (Vec::new(), part);
    while !rest.is_empty() {
        let at = rest.iter().position(|token| *token == NoteToken::Equals)?;
        let (Some(name), Some(NoteToken::Word(value))) = (name(&rest[..at]), rest.get(at + 1)) else {
            return None;
        };
        found.push((name, value.as_str()));
        rest = &rest[at + 2..];
    }
    (!found.is_empty()).then_some(found)
}

/// `header.from`, perhaps with blanks or comments around its mark.
fn name(words: &[NoteToken]) -> Option<String> {
    let mut name = String::new();
    for token in words {
        let NoteToken::Word(word) = token else { return None };
        let is_joined = name.is_empty() || name.ends_with(['.', '/']) || word.starts_with(['.', '/']);
        if !is_joined {
            return None;
        }
        name.push_str(word);
    }
    (!name.is_empty()).then_some(name)
}

/// A piece of a header, comments and blanks aside.
#[derive(Debug, PartialEq, Eq)]
enum NoteToken {
    /// As it is meant: of a quoted string what is within.
    Word(String),
    Equals,
    Semicolon,
}

/// Nothing where a header is too long or no header of this kind.
fn tokens(value: &str) -> Option<Vec<NoteToken>> {
    if value.len() > HEADER_OCTETS_MAX {
        return None;
    }
    let (mut found, mut rest) = (Vec::new(), value);
    while let Some(next) = rest.chars().next() {
        if found.len() >= TOKENS_MAX {
            return None;
        }
        let behind = &rest[next.len_utf8()..];
        rest = match next {
            ' ' | '\t' | '\r' | '\n' => behind,
            '(' => comment(behind)?,
            '=' => {
                found.push(NoteToken::Equals);
                behind
            }
            ';' => {
                found.push(NoteToken::Semicolon);
                behind
            }
            '"' => {
                let (mut word, behind) = quoted(behind)?;
                // `"local part"@domain`
                let length = behind.find(|c| !is_of_word(c)).unwrap_or(behind.len());
                if length > 0 && !behind.starts_with('@') {
                    return None;
                }
                word.push_str(&behind[..length]);
                found.push(NoteToken::Word(word));
                &behind[length..]
            }
            next if is_of_word(next) => {
                let length = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
                if rest[length..].starts_with('"') {
                    return None;
                }
                found.push(NoteToken::Word(rest[..length].to_owned()));
                &rest[length..]
            }
            _ => return None,
        };
    }
    Some(found)
}

fn is_of_word(c: char) -> bool {
    !c.is_control() && !c.is_whitespace() && !matches!(c, '(' | ')' | '"' | '\\' | ';' | '=')
}

/// What follows a comment, whose first mark is taken (RFC 5322, section 3.2.2).
fn comment(text: &str) -> Option<&str> {
    let (mut depth, mut is_escaped) = (1, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '(' if depth >= COMMENTS_MAX => return None,
            '(' => depth += 1,
            ')' if depth == 1 => return Some(&text[at + 1..]),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// A quoted string, whose first mark is taken, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let (mut word, mut is_escaped) = (String::new(), false);
    for (at, c) in text.char_indices() {
        match c {
            c if c.is_control() && c != '\t' => return None,
            c if is_escaped => {
                word.push(c);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            '"' => return Some((word, &text[at + 1..])),
            c => word.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail_parser::MessageParser;

    const RELAY: &str = "mx.city.test";

    fn proven(headers: &str) -> bool {
        let mail = format!("{headers}\nSubject: x\n\nJOIN harbour\n").replace('\n', "\r\n");
        is_author_proven(&MessageParser::default().parse(mail.as_bytes()).unwrap(), RELAY)
    }

    fn noted(value: &str) -> bool {
        proven(&format!("Authentication-Results: {value}\nFrom: Ann <ann@town.test>"))
    }

    /// After the examples of RFC 8601, appendix B, and what relays write.
    #[test]
    fn a_pass_that_the_relay_notes_for_the_authors_domain_proves_the_author() {
        for value in [
            "mx.city.test; dmarc=pass header.from=town.test",
            "MX.City.Test; DMARC=Pass HEADER.From=Town.Test",
            "mx.city.test 1; dmarc=pass header.from=town.test",
            "\"mx.city.test\"; dmarc=pass header.from=town.test.",
            "mx.city.test (our relay) ; dmarc = pass (p=none (sic) dis=none) header . from = town.test",
            "mx.city.test;\n spf=pass smtp.mailfrom=town.test;\n\tdkim=pass (2048-bit key) header.d=town.test\n header.i=@town.test header.b=\"oINEO8hg\";\n dmarc=pass header.from=town.test",
            "mx.city.test; auth=pass (cram-md5) smtp.auth=\"a b\"@town.test; dmarc/1=pass header.from=town.test",
            "mx.city.test; dmarc=pass action=none header.from=town.test;compauth=pass reason=100",
            "mx.city.test; dmarc=pass reason=\"p=none; all good\" policy.dmarc=none header.from=ann@town.test",
            "mx.city.test; iprev=pass policy.iprev=2001:db8::1; dmarc=pass header.from=town.test",
        ] {
            assert!(noted(value), "{value}");
        }
        let signed = "Authentication-Results: mx.city.test; spf=fail smtp.mailfrom=list.test\n";
        let passed = "Authentication-Results: mx.city.test; dmarc=pass header.from=town.test\n";
        let none = "Authentication-Results: mx.city.test; none\n";
        let others = "Authentication-Results: mx.evil.test; dmarc=fail header.from=town.test\n";
        assert!(proven(&format!("{signed}{passed}{none}{others}From: ann@town.test")));
    }

    #[test]
    fn what_another_server_notes_or_that_did_not_pass_proves_nothing() {
        for value in [
            "mx.city.test; none",
            "mx.city.test; spf=pass smtp.mailfrom=town.test",
            "mx.city.test; dkim=pass header.d=town.test",
            "mx.city.test; dmarc=fail header.from=town.test",
            "mx.city.test; dmarc=none header.from=town.test",
            "mx.city.test; dmarc=bestguesspass header.from=town.test",
            "mx.city.test; dmarc=temperror header.from=town.test",
            "mx.city.test; dmarc=pass header.from=evil.test",
            "mx.city.test; dmarc=pass header.from=sub.town.test",
            "mx.city.test; dmarc=pass",
            "mx.city.test; dmarc=pass smtp.mailfrom=town.test",
            "mx.city.test; dmarc/2=pass header.from=town.test",
            "mx.city.test; dmarc=pass header.from=town.test; dmarc=fail header.from=town.test",
            "mx.city.test; dmarc=pass header.from=town.test; dmarc=pass header.from=evil.test",
            "mx.city.test 2; dmarc=pass header.from=town.test",
            "mx.evil.test; dmarc=pass header.from=town.test",
            "mx.city.test.evil.test; dmarc=pass header.from=town.test",
            "(mx.city.test) mx.evil.test; dmarc=pass header.from=town.test",
        ] {
            assert!(!noted(value), "{value}");
        }
    }

    #[test]
    fn what_is_hidden_in_comments_quotes_and_broken_headers_proves_nothing() {
        for value in [
            "",
            "mx.city.test",
            "mx.city.test;",
            "; dmarc=pass header.from=town.test",
            "mx.city.test; (dmarc=pass header.from=town.test)",
            "mx.city.test; spf=pass smtp.mailfrom=\"x; dmarc=pass header.from=town.test\"",
            "mx.city.test; spf=pass smtp.mailfrom=\"x\\\"; dmarc=pass header.from=town.test",
            "mx.city.test; spf=pass (x; dmarc=pass header.from=town.test",
            "mx.city.test; spf=pass x) ; dmarc=pass header.from=town.test",
            "mx.city.test; dmarc=fail (\\); dmarc=pass header.from=town.test",
            "mx.city.test; dmarc=pass header.from=town.test;",
            "mx.city.test; dmarc=pass header.from==town.test",
            "mx.city.test; dmarc=pass header.from=evil.test header.from=town.test",
            "mx.city.test; dmarc=pass header from=town.test",
            "mx.city.test; dmarc=pass header.from=\"town\".test",
            "mx.city.test; dmarc=pass header.from=town.test \u{7f}",
            "mx.city.test extra words; dmarc=pass header.from=town.test",
            "mx.city.test dmarc=pass header.from=town.test",
            "mx.city.test; dmarc pass header.from=town.test",
            "mx.city.test; none; dmarc=pass header.from=town.test",
        ] {
            assert!(!noted(value), "{value}");
        }
        let deep = format!("mx.city.test; dmarc=pass {} header.from=town.test", "(".repeat(5_000));
        let long =
            format!("mx.city.test; dmarc=pass header.from=town.test ({})", "x".repeat(HEADER_OCTETS_MAX));
        let many = format!("mx.city.test; dmarc=pass header.from=town.test{}", "; spf=pass x=y".repeat(400));
        for value in [deep, long, many] {
            assert!(!noted(&value), "{}", value.len());
        }
    }

    #[test]
    fn a_mail_of_several_authors_or_headers_that_disagree_proves_nothing() {
        let passed = "Authentication-Results: mx.city.test; dmarc=pass header.from=town.test\n";
        assert!(proven(&format!("{passed}From: ann@town.test")));
        for more in [
            "From: ann@town.test, eve@town.test",
            "From: ann@town.test\nFrom: eve@town.test",
            "From: ann@evil.test",
            "From: \"ann@town.test\" <eve@evil.test>",
            "From: ann",
            "To: ann@town.test",
            "Authentication-Results: mx.city.test; dmarc=fail header.from=town.test\nFrom: ann@town.test",
            "Authentication-Results: mx.city.test; dmarc=pass header.from=evil.test\nFrom: ann@town.test",
            "Authentication-Results: mx.city.test; (\nFrom: ann@town.test",
        ] {
            assert!(!proven(&format!("{passed}{more}")), "{more}");
        }
        assert!(!proven(&format!("{}From: ann@town.test", passed.repeat(HEADERS_MAX + 1))));
    }
}
