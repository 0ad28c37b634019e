//! Public items of the libraries say what they are.

use super::{Finding, SourceFile};

const DOCUMENTED: &[&str] = &["fn", "struct", "enum", "trait"];
/// What may stand between `pub` and the keyword.
const QUALIFIERS: &[&str] = &["const", "async", "unsafe", "extern"];

pub fn check(file: &SourceFile) -> Vec<Finding> {
    if !file.is_under("libs/") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for at in file.source.words("pub") {
        let Some((keyword, name)) = item(file, at + 3) else { continue };
        let line = file.source.line_of(at);
        if !file.in_test(at) && !is_documented(file, line) {
            let message =
                format!("`pub {keyword} {name}` has no docstring: say what it is, its units, bounds, errors");
            findings.push(file.finding(line, message));
        }
    }
    findings
}

/// Keyword and name of the item whose visibility ends at `at`, if it is one that needs a docstring.
fn item(file: &SourceFile, mut at: usize) -> Option<(&str, &str)> {
    loop {
        let word = file.source.word_after(at);
        let start = at + file.source.code()[at..].iter().position(|b| !b.is_ascii_whitespace())?;
        if DOCUMENTED.contains(&word) {
            return Some((word, file.source.word_after(start + word.len())));
        }
        if !QUALIFIERS.contains(&word) {
            return None; // a field, a use, a constant, or pub(crate)
        }
        at = start + word.len();
    }
}

/// Looks upwards past attributes for a docstring. A macro's `$(#[$meta])*` takes it from who calls the macro.
fn is_documented(file: &SourceFile, line: usize) -> bool {
    if file.source.line(line).contains("$(#[") {
        return true;
    }
    let mut above = line - 1;
    while above > 0 {
        let text = file.source.line(above).trim();
        let documented = ["///", "#[doc", "$(#["].iter().any(|start| text.starts_with(start));
        if documented || text.ends_with("*/") {
            return true;
        }
        if text.starts_with("//") || text.starts_with("#[") {
            above -= 1;
        } else if text.ends_with(']') {
            // The end of an attribute of several lines.
            above -= 1;
            while above > 0 && !file.source.line(above).trim().starts_with("#[") {
                above -= 1;
            }
        } else {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample;

    #[test]
    fn public_items_without_a_docstring_are_found() {
        let text = "pub struct A;\n\n#[derive(Debug)]\npub enum B {}\n\npub trait C {}\n\npub const fn d() {}\n\
                    impl A {\n    /// Documented.\n    pub fn e() {}\n    pub async fn f() {}\n}\n";
        let lines: Vec<usize> = check(&sample("libs/x/src/lib.rs", text)).iter().map(|f| f.line).collect();
        assert_eq!(lines, [1, 4, 6, 8, 12]);
        assert_eq!(check(&sample("crates/x/src/lib.rs", text)), []);
    }

    #[test]
    fn documented_private_and_test_items_are_let_be() {
        let text = "/// A.\n#[derive(\n    Debug,\n    Clone,\n)]\n#[must_use]\npub struct A {\n    pub field: u8,\n}\n\
                    pub(crate) fn b() {}\npub use x::y;\npub const Z: u8 = 1;\nfn c() {}\n\
                    /** Old. */\npub fn d() {}\n    $(#[$meta])*\n    pub enum $name {}\n($(#[$meta:meta])* pub enum $name:ident {})\n#[cfg(test)]\nmod tests {\n    pub fn e() {}\n}\n// pub fn f() {}\n";
        assert_eq!(check(&sample("libs/x/src/lib.rs", text)), []);
    }
}
