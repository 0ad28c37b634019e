//! Walks: the functions that docs/dev/walks.md goes through, and the lines where they stand.

use std::path::Path;

/// The document, below the root.
pub const FILE: &str = "docs/dev/walks.md";

/// A row whose function is not in its file, counted from 1.
#[derive(Debug, PartialEq)]
pub struct Lost {
    pub line: usize,
    pub message: String,
}

/// The document with the lines as they are now, and the rows that are lost.
///
/// # Errors
/// The document cannot be read.
pub fn renewed(root: &Path) -> Result<(String, Vec<Lost>), String> {
    let text = std::fs::read_to_string(root.join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
    Ok(renew(&text, |path| std::fs::read_to_string(root.join(path)).ok()))
}

/// Writes the document anew; true if it has changed.
///
/// # Errors
/// The document cannot be read or written, or a function is lost.
pub fn run(root: &Path) -> Result<bool, String> {
    let (text, lost) = renewed(root)?;
    if let Some(Lost { line, message }) = lost.first() {
        return Err(format!("{FILE}:{line}: {message}"));
    }
    let path = root.join(FILE);
    let before = std::fs::read_to_string(&path).map_err(|error| format!("{FILE}: {error}"))?;
    std::fs::write(&path, &text).map_err(|error| format!("{FILE}: {error}"))?;
    Ok(text != before)
}

fn renew(text: &str, read: impl Fn(&str) -> Option<String>) -> (String, Vec<Lost>) {
    let (mut renewed, mut lost) = (String::new(), Vec::new());
    for (at, row) in text.lines().enumerate() {
        match place(row) {
            None => renewed.push_str(row),
            Some((path, line, name)) => match read(path).map(|source| line_of(&source, name, line)) {
                Some(Some(now)) => {
                    renewed.push_str(&row.replacen(&format!(":{line}`"), &format!(":{now}`"), 1))
                }
                Some(None) => {
                    lost.push(Lost { line: at + 1, message: format!("{path} has no function `{name}`") })
                }
                None => lost.push(Lost { line: at + 1, message: format!("there is no {path}") }),
            },
        }
        renewed.push('\n');
    }
    (renewed, lost)
}

/// "| `PATH:LINE` | `NAME` | …".
fn place(row: &str) -> Option<(&str, usize, &str)> {
    let mut cells = row.strip_prefix("| `")?.split("` | `");
    let (path, line) = cells.next()?.rsplit_once(':')?;
    let name = cells.next()?.split('`').next()?;
    Some((path, line.parse().ok()?, name))
}

/// The line of a function, counted from 1: of several of one name the nearest to where it was.
fn line_of(source: &str, name: &str, before: usize) -> Option<usize> {
    let begins = |line: &str| {
        let mut words =
            line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        words.by_ref().any(|word| word == "fn") && words.next() == Some(name)
    };
    let lines = source.lines().enumerate().filter(|(_, line)| begins(line)).map(|(at, _)| at + 1);
    lines.min_by_key(|line| line.abs_diff(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "fn a() {}\n\npub(super) async fn take(x: u8) {\n    fn taken() {}\n}\nfn take_all() {}\nfn take() {}\n";

    fn read(path: &str) -> Option<String> {
        (path == "crates/x/src/a.rs").then(|| SOURCE.to_owned())
    }

    #[test]
    fn a_row_gets_the_line_where_its_function_is_now() {
        let row = |line| format!("# A\n| `crates/x/src/a.rs:{line}` | `take` | takes `take` |\n");
        assert_eq!(renew(&row(1), read), (row(3), vec![]));
        assert_eq!(renew(&row(90), read), (row(7), vec![]), "the nearest");
    }

    #[test]
    fn a_function_or_a_file_that_is_gone_is_lost() {
        let text = "| where | function |\n|---|---|\n| `crates/x/src/a.rs:3` | `taking` | x |\n| `crates/y.rs:1` | `a` | x |\n";
        let (_, lost) = renew(text, read);
        let lines: Vec<usize> = lost.iter().map(|lost| lost.line).collect();
        assert_eq!(lines, [3, 4], "{lost:?}");
    }
}
