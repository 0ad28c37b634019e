//! Long files and long functions.

use super::{Finding, SourceFile};

const FILE_LINES_MAX: usize = 1_000;
const FUNCTION_LINES_MAX: usize = 70;

pub fn check(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = file.source.lines();
    if lines > FILE_LINES_MAX && !file.path.ends_with("/generated.rs") {
        let message =
            format!("{lines} lines, more than {FILE_LINES_MAX}: split the file by what its parts know");
        findings.push(file.finding(lines, message));
    }
    for function in file.source.functions() {
        if function.lines > FUNCTION_LINES_MAX {
            let message = format!(
                "function `{}` has {} lines, more than {FUNCTION_LINES_MAX}: give its steps names",
                function.name, function.lines
            );
            findings.push(file.finding(function.line, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample;

    #[test]
    fn a_file_over_the_limit_is_found_and_one_at_the_limit_is_not() {
        let at = sample("libs/x/src/a.rs", &"\n".repeat(FILE_LINES_MAX));
        assert_eq!(check(&at), []);
        let over = sample("libs/x/src/a.rs", &"\n".repeat(FILE_LINES_MAX + 1));
        assert_eq!(check(&over).len(), 1);
        assert_eq!(check(&over)[0].line, FILE_LINES_MAX + 1);
    }

    #[test]
    fn a_function_over_the_limit_is_found_and_one_at_the_limit_is_not() {
        let body = |lines: usize| format!("fn f() {{\n{}}}\n", "    g(\"}\");\n".repeat(lines - 2));
        assert_eq!(check(&sample("libs/x/src/a.rs", &body(FUNCTION_LINES_MAX))), []);
        let found = check(&sample("libs/x/src/a.rs", &body(FUNCTION_LINES_MAX + 1)));
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("`f` has 71 lines"), "{}", found[0]);
    }
}
