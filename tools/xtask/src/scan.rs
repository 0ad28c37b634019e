//! Reads Rust well enough to know code from comments and strings, and where functions and test code begin and
//! end.

use std::ops::Range;

/// A source file with everything that is not code blanked out, octet for octet: offsets and lines stay.
pub struct Source {
    text: String,
    code: String,
    line_starts: Vec<usize>,
}

/// A function with a body.
#[derive(Debug, PartialEq)]
pub struct Function {
    pub name: String,
    pub line: usize,
    /// From the line of `fn` to the line of the closing brace, both included.
    pub lines: usize,
}

impl Source {
    pub fn new(text: &str) -> Source {
        let mut line_starts = vec![0];
        line_starts.extend(text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(at, _)| at + 1));
        Source { text: text.to_string(), code: blank(text), line_starts }
    }

    /// The code alone; comments, strings and characters are spaces.
    pub fn code(&self) -> &[u8] {
        self.code.as_bytes()
    }

    /// The line, counted from 1, that holds an offset.
    pub fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= offset)
    }

    /// Number of lines.
    pub fn lines(&self) -> usize {
        self.text.lines().count()
    }

    /// A line as it was written, counted from 1.
    pub fn line(&self, line: usize) -> &str {
        let Some(&start) = self.line_starts.get(line - 1) else { return "" };
        self.text[start..].lines().next().unwrap_or("")
    }

    /// Offsets of a word in the code, as a whole word.
    pub fn words(&self, word: &str) -> Vec<usize> {
        self.find(word)
            .filter(|&at| {
                let before = at.checked_sub(1).and_then(|at| self.code().get(at));
                !before.is_some_and(|&b| is_word(b))
                    && !self.code().get(at + word.len()).is_some_and(|&b| is_word(b))
            })
            .collect()
    }

    /// Offsets of a piece of code.
    pub fn find<'a>(&'a self, piece: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.code.match_indices(piece).map(|(at, _)| at)
    }

    /// The word that starts at or after an offset, past white space.
    pub fn word_after(&self, offset: usize) -> &str {
        let rest = self.code.get(offset..).unwrap_or("").trim_start();
        rest.split(|c: char| c.is_ascii() && !is_word(c as u8)).next().unwrap_or("")
    }

    /// All functions with a body, nested ones too.
    pub fn functions(&self) -> Vec<Function> {
        let mut found = Vec::new();
        for at in self.words("fn") {
            let name = self.word_after(at + 2).to_string();
            if name.is_empty() {
                continue; // a function pointer's type
            }
            if let Some(body) = self.body(at) {
                let line = self.line_of(at);
                found.push(Function { name, line, lines: self.line_of(body.end - 1) - line + 1 });
            }
        }
        found
    }

    /// Where code for tests alone stands: the items behind `#[cfg(test)]` and `#[test]`.
    pub fn test_ranges(&self) -> Vec<Range<usize>> {
        self.test_attributes().map(|at| at..self.item_end(at)).collect()
    }

    /// Names of modules in files of their own that are for tests alone: `#[cfg(test)] mod oracle;`.
    pub fn test_modules(&self) -> Vec<String> {
        let after = |at| self.word_after(self.attributes_end(at));
        self.test_attributes()
            .filter(|&at| after(at) == "mod")
            .filter(|&at| self.body(self.attributes_end(at)).is_none())
            .filter_map(|at| self.words("mod").into_iter().find(|&word| word >= self.attributes_end(at)))
            .map(|word| self.word_after(word + 3).to_string())
            .collect()
    }

    fn test_attributes(&self) -> impl Iterator<Item = usize> + '_ {
        self.find("#[").filter(|&at| {
            let end = self.matching(at + 1);
            let attribute: String = self.code.get(at..end).unwrap_or("").split_whitespace().collect();
            let condition = attribute.strip_prefix("#[cfg(").unwrap_or("");
            attribute == "#[test]"
                || condition.starts_with("test)")
                || (condition.starts_with("all(")
                    && condition.split(['(', ',', ')']).any(|word| word == "test"))
        })
    }

    /// The offset behind the attributes that begin at `at`.
    fn attributes_end(&self, mut at: usize) -> usize {
        loop {
            while self.code().get(at).is_some_and(u8::is_ascii_whitespace) {
                at += 1;
            }
            if !self.code()[at..].starts_with(b"#[") {
                return at;
            }
            at = self.matching(at + 1);
        }
    }

    /// The offset behind an item and its attributes that begin at `at`.
    fn item_end(&self, at: usize) -> usize {
        let item = self.attributes_end(at);
        self.body(item).map_or_else(
            || {
                self.code()[item..]
                    .iter()
                    .position(|&b| b == b';')
                    .map_or(self.code.len(), |end| item + end + 1)
            },
            |body| body.end,
        )
    }

    /// The braces that follow `at` before a semicolon of the same level, with what is between them.
    pub fn body(&self, at: usize) -> Option<Range<usize>> {
        let mut at = at;
        while at < self.code.len() {
            match self.code()[at] {
                b'{' => return Some(at..self.matching(at)),
                b'(' | b'[' => at = self.matching(at),
                b';' => return None,
                _ => at += 1,
            }
        }
        None
    }

    /// The offset behind the bracket that closes the one at `at`; the file's end where it never closes.
    fn matching(&self, at: usize) -> usize {
        let mut depth = 0_usize;
        for (offset, b) in self.code()[at..].iter().enumerate() {
            match b {
                b'{' | b'(' | b'[' => depth += 1,
                b'}' | b')' | b']' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return at + offset + 1;
                    }
                }
                _ => {}
            }
        }
        self.code.len()
    }
}

/// Letters, digits, `_`, and every octet of a character beyond ASCII.
fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80
}

fn blank(text: &str) -> String {
    let text = text.as_bytes();
    let mut code = text.to_vec();
    let mut at = 0;
    while at < text.len() {
        let end = token_end(text, at);
        match end {
            Some(end) => {
                code[at..end].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
                at = end;
            }
            None if is_word(text[at]) => at += text[at..].iter().take_while(|&&b| is_word(b)).count(),
            None => at += 1,
        }
    }
    // Tokens begin and end at ASCII characters, so no character is cut; if one were, it would be no word of
    // ours.
    String::from_utf8(code).unwrap_or_else(|cut| {
        cut.into_bytes().iter().map(|&b| if b.is_ascii() { char::from(b) } else { ' ' }).collect()
    })
}

/// The end of the comment, string or character that starts at `at`, if one does.
fn token_end(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at..];
    match rest {
        [b'/', b'/', ..] => Some(at + rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len())),
        [b'/', b'*', ..] => Some(block_comment_end(text, at)),
        [b'"', ..] => Some(string_end(text, at + 1)),
        [b'b' | b'c', b'"', ..] => Some(string_end(text, at + 2)),
        [b'r', ..] => raw_string_end(text, at + 1),
        [b'b' | b'c', b'r', ..] => raw_string_end(text, at + 2),
        [b'b', b'\'', ..] => character_end(text, at + 2),
        [b'\'', ..] => character_end(text, at + 1),
        _ => None,
    }
}

/// Block comments nest.
fn block_comment_end(text: &[u8], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at < text.len() {
        if text[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

fn string_end(text: &[u8], mut at: usize) -> usize {
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// `at` is behind the `r`. `None` for a raw identifier or any word that begins with r.
fn raw_string_end(text: &[u8], at: usize) -> Option<usize> {
    let hashes = text[at..].iter().take_while(|&&b| b == b'#').count();
    if text.get(at + hashes) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.resize(1 + hashes, b'#');
    let body = at + hashes + 1;
    let end = text[body..].windows(close.len()).position(|window| window == close);
    Some(end.map_or(text.len(), |end| body + end + close.len()))
}

/// `at` is behind the quote. `None` for a lifetime or label: no quote closes after one character.
fn character_end(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at) == Some(&b'\\') {
        let close = text.get(at + 2..)?.iter().position(|&b| b == b'\'')?;
        return Some(at + 2 + close + 1);
    }
    let first = *text.get(at)?;
    let len = match first {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    };
    (text.get(at + len) == Some(&b'\'')).then_some(at + len + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        String::from_utf8(Source::new(text).code().to_vec())
            .unwrap()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn comments_strings_and_characters_are_not_code() {
        for (text, expected) in [
            ("a // b\nc", "a c"),
            ("a /* b /* c */ d */ e", "a e"),
            ("f(\"{ \\\" }\", x)", "f( , x)"),
            ("f(b\"{\", c\"}\", br#\"\"}\"#)", "f( , , )"),
            ("r\"a\\\" b", "b"),
            ("r##\"a\"# {\"## b", "b"),
            ("r#type + for", "r#type + for"),
            (
                "match c { '{' => 1, '\\'' => 2, '\\u{1F}' => 3, 'ä' => 4, '🔥' => 5, b'}' => 6 }",
                "match c { => 1, => 2, => 3, => 4, => 5, => 6 }",
            ),
            ("fn f<'a>(x: &'a str) -> &'static str {}", "fn f<'a>(x: &'a str) -> &'static str {}"),
            ("'outer: loop { break 'outer; }", "'outer: loop { break 'outer; }"),
            ("let bar\"x\";", "let bar ;"),
            ("/* never closed { ", ""),
            ("\"never closed { ", ""),
        ] {
            assert_eq!(code(text), expected, "{text}");
        }
    }

    #[test]
    fn blanking_keeps_offsets_and_lines() {
        let source = Source::new("a\n/* x\n y */ \"s\ns\"\nunsafe");
        let at = source.words("unsafe")[0];
        assert_eq!((source.line_of(at), source.lines()), (5, 5));
        assert_eq!(source.line(2), "/* x");
    }

    #[test]
    fn functions_are_measured_to_their_closing_brace() {
        let text = "fn one() { \"}\" }\n\
                    trait T { fn none(&self) -> [u8; 4]; }\n\
                    fn two<T>(x: [u8; 3]) -> [u8; 2]\nwhere\n    T: Fn(u8) -> u8,\n{\n    if x { '}' } else { /* } */ }\n}\n\
                    type P = fn(u8) -> u8;\n\
                    fn outer() {\n    fn inner() {\n    }\n}\n";
        let lines: Vec<(String, usize, usize)> =
            Source::new(text).functions().into_iter().map(|f| (f.name, f.line, f.lines)).collect();
        let expected = [("one", 1, 1), ("two", 3, 6), ("outer", 10, 4), ("inner", 11, 2)];
        assert_eq!(lines, expected.map(|(name, line, lines)| (name.to_string(), line, lines)));
    }

    #[test]
    fn test_code_is_found_behind_its_attribute() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests;\n#[cfg(all(test, unix))]\n#[allow(x)]\nmod more {\n}\n\
                    #[cfg(not(test))]\nfn b() {}\n#[test]\nfn c() {\n}\n#[cfg(feature = \"test\")]\nfn d() {}\n";
        let source = Source::new(text);
        let lines: Vec<_> = source
            .test_ranges()
            .into_iter()
            .map(|r| (source.line_of(r.start), source.line_of(r.end - 1)))
            .collect();
        assert_eq!(lines, [(2, 3), (4, 7), (10, 12)]);
        assert_eq!(source.test_modules(), ["tests"]);
    }
}
