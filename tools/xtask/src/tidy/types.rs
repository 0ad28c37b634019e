//! Types: crates that share a name, methods and fields of one type. Old findings stand in a list that may
//! only shrink.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{Finding, SourceFile};

/// A type name stands in at most so many crates.
const CRATES_MAX: usize = 2;
/// Methods of one type, over all its files.
const METHODS_MAX: usize = 40;
/// Fields of one struct.
const FIELDS_MAX: usize = 15;
/// The list of what was over the limits when these rules came: `RULE NAME COUNT` a line.
const OLD: &str = "tools/xtask/src/tidy/old_types";

/// A rule and a name: `crates State`, `methods crates/engine EngineActor`.
type Counted = BTreeMap<String, usize>;

/// Checks all files against the limits and the list.
///
/// # Errors
/// The list cannot be read.
pub fn check(root: &Path, files: &[SourceFile]) -> Result<Vec<Finding>, String> {
    let text = std::fs::read_to_string(root.join(OLD)).map_err(|error| format!("{OLD}: {error}"))?;
    Ok(compare(&over(files), &text))
}

/// Everything over a limit.
fn over(files: &[SourceFile]) -> Counted {
    let mut crates: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let (mut methods, mut fields) = (Counted::new(), Counted::new());
    for file in files.iter().filter(|file| !file.is_test) {
        let owner = owner(&file.path);
        for (name, at) in declared(file) {
            crates.entry(name.clone()).or_default().insert(owner);
            fields.insert(format!("fields {owner} {name}"), count_fields(file, at));
        }
        for (name, count) in implemented(file) {
            *methods.entry(format!("methods {owner} {name}")).or_default() += count;
        }
    }
    let crates = crates.into_iter().map(|(name, owners)| (format!("crates {name}"), owners.len()));
    let mut all: Counted = crates.filter(|(_, count)| *count > CRATES_MAX).collect();
    all.extend(methods.into_iter().filter(|(_, count)| *count > METHODS_MAX));
    all.extend(fields.into_iter().filter(|(_, count)| *count > FIELDS_MAX));
    all
}

fn compare(over: &Counted, list: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    let mut found = |line, message| findings.push(Finding { path: OLD.to_owned(), line, message });
    for (at, text) in list.lines().enumerate().filter(|(_, text)| !text.starts_with('#')) {
        let Some((name, count)) = text.rsplit_once(' ').and_then(|(name, n)| Some((name, n.parse().ok()?)))
        else {
            found(at + 1, format!("`{text}`: a line is RULE NAME COUNT"));
            continue;
        };
        seen.insert(name);
        match over.get(name) {
            None => found(at + 1, format!("`{name}` is within its limit now: remove the line")),
            Some(&now) if now < count => found(at + 1, format!("`{name}` has {now} now: write it here")),
            Some(&now) if now > count => {
                found(at + 1, format!("`{name}` has {now}, more than {count} before"))
            }
            Some(_) => {}
        }
    }
    for (name, count) in over.iter().filter(|(name, _)| !seen.contains(name.as_str())) {
        let rule = name.split(' ').next().unwrap_or_default();
        let advice = match rule {
            "crates" => {
                format!("a type name of {count} crates, more than {CRATES_MAX}: name it by its module")
            }
            "methods" => {
                format!("{count} methods, more than {METHODS_MAX}: split the type by what its parts own")
            }
            _ => format!("{count} fields, more than {FIELDS_MAX}: group them by what changes together"),
        };
        found(1, format!("`{name}`: {advice}"));
    }
    findings
}

/// The crate's folder: `crates/engine`.
fn owner(path: &str) -> &str {
    path.match_indices('/').nth(1).map_or(path, |(end, _)| &path[..end])
}

/// Types that a file declares outside its tests, with the offset of the keyword.
fn declared(file: &SourceFile) -> Vec<(String, usize)> {
    let mut all = Vec::new();
    for keyword in ["struct", "enum", "trait", "union"] {
        for at in file.source.words(keyword).into_iter().filter(|at| !file.in_test(*at)) {
            let name = file.source.word_after(at + keyword.len());
            // Macros declare `$name`, which is no word.
            if name.starts_with(|c: char| c.is_ascii_uppercase()) {
                all.push((name.to_owned(), at));
            }
        }
    }
    all
}

/// Named fields of a struct: words before a colon, outside inner brackets.
fn count_fields(file: &SourceFile, at: usize) -> usize {
    let code = file.source.code();
    if !code[at..].starts_with(b"struct") {
        return 0;
    }
    let Some(body) = file.source.body(at) else { return 0 };
    let (mut depth, mut count) = (0, 0);
    for at in body {
        match code[at] {
            b'{' | b'(' | b'[' | b'<' => depth += 1,
            b'>' if code[at - 1] == b'-' => {}
            b'}' | b')' | b']' | b'>' => depth -= 1,
            b':' if depth == 1 && code[at - 1] != b':' && code.get(at + 1) != Some(&b':') => count += 1,
            _ => {}
        }
    }
    count
}

/// Types with inherent methods in a file, each block by itself.
fn implemented(file: &SourceFile) -> Vec<(String, usize)> {
    let source = &file.source;
    let fns = source.words("fn");
    let mut all = Vec::new();
    for at in source.words("impl").into_iter().filter(|at| !file.in_test(*at)) {
        let Some(body) = source.body(at) else { continue };
        let head = String::from_utf8_lossy(&source.code()[at + 4..body.start]).into_owned();
        // `impl Trait` in a signature, and the implementation of a trait.
        if head.contains(['(', ')', ';', '=', ',']) && !head.trim_start().starts_with('<') || is_for(&head) {
            continue;
        }
        let Some(name) = type_of(&head) else { continue };
        let is_method = |at: &&usize| body.contains(at) && depth_of(source.code(), body.start, **at) == 1;
        all.push((name, fns.iter().filter(is_method).count()));
    }
    all
}

fn is_for(head: &str) -> bool {
    head.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "for")
}

/// `<'a, T: X> Name<'a, T> where …`: `Name`.
fn type_of(head: &str) -> Option<String> {
    let mut rest = head.trim();
    if rest.starts_with('<') {
        let mut depth = 0;
        let end = rest.char_indices().find_map(|(at, c)| {
            depth += match c {
                '<' => 1,
                '>' => -1,
                _ => 0,
            };
            (depth == 0).then_some(at + 1)
        })?;
        rest = rest[end..].trim();
    }
    let path = rest.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').next()?;
    let name = path.rsplit("::").next()?;
    name.starts_with(|c: char| c.is_ascii_uppercase()).then(|| name.to_owned())
}

/// Open braces between two offsets.
fn depth_of(code: &[u8], from: usize, to: usize) -> isize {
    code[from..to].iter().map(|b| isize::from(*b == b'{') - isize::from(*b == b'}')).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample;

    fn counts(files: &[(&str, String)]) -> Vec<(String, usize)> {
        let files: Vec<SourceFile> = files.iter().map(|(path, text)| sample(path, text)).collect();
        over(&files).into_iter().collect()
    }

    #[test]
    fn a_name_in_three_crates_is_found_and_one_in_two_or_in_tests_is_not() {
        let one = "pub struct State;\nenum Two {}\n#[cfg(test)]\nmod tests { struct Rig; }".to_owned();
        let three = ["crates/a/src/x.rs", "crates/b/src/lib.rs", "libs/c/src/y/z.rs"];
        let found = counts(&three.map(|path| (path, one.clone())));
        assert_eq!(found, [("crates State".to_owned(), 3), ("crates Two".to_owned(), 3)]);
        assert_eq!(
            counts(&[three[0], three[1], "crates/a/src/tests.rs"].map(|path| (path, one.clone()))),
            []
        );
    }

    #[test]
    fn methods_are_counted_over_files_without_those_of_traits_and_tests() {
        let methods = |count: usize, head: &str| {
            format!(
                "impl{head} {{\n{}}}\n",
                "    fn f(&self) { let g = || { fn inner() {} }; }\n".repeat(count)
            )
        };
        let files = |b: usize| {
            [
                (
                    "crates/a/src/x.rs",
                    methods(METHODS_MAX, "<'a, T: Ord> Actor<'a, T>") + &methods(9, " Clone for Actor"),
                ),
                ("crates/a/src/y.rs", methods(b, " super::Actor") + "fn h(x: impl Fn() -> u8) {}\n"),
            ]
        };
        assert_eq!(counts(&files(0)), []);
        assert_eq!(counts(&files(1)), [("methods crates/a Actor".to_owned(), METHODS_MAX + 1)]);
    }

    #[test]
    fn fields_are_counted_and_not_what_stands_in_their_types() {
        let fields = |count: usize| {
            let fields: String = (0..count).map(|n| format!("    f{n}: a::B<fn(u8) -> c::D>,\n")).collect();
            [("crates/a/src/x.rs", format!("struct Wide {{\n{fields}}}\nstruct Pair(u8, u8);\n"))]
        };
        assert_eq!(counts(&fields(FIELDS_MAX)), []);
        assert_eq!(counts(&fields(FIELDS_MAX + 1)), [("fields crates/a Wide".to_owned(), FIELDS_MAX + 1)]);
    }

    #[test]
    fn the_list_may_only_shrink() {
        let over = Counted::from([("crates State".to_owned(), 5)]);
        let messages = |list: &str| -> Vec<String> {
            compare(&over, list).into_iter().map(|finding| finding.message).collect()
        };
        assert_eq!(messages("# a comment\ncrates State 5\n"), [""; 0]);
        assert!(messages("crates State 6\n")[0].contains("has 5 now: write it here"));
        assert!(messages("crates State 4\n")[0].contains("more than 4 before"));
        assert!(messages("crates State 5\ncrates Kind 3\n")[0].contains("remove the line"));
        assert!(messages("")[0].contains("5 crates, more than 2"));
        assert!(messages("crates State\ncrates State 5\n")[0].contains("RULE NAME COUNT"));
    }
}
