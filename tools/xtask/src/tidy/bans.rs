//! Banned code: panics by convenience, the wall clock where it is a parameter, unsafe.

use super::{Finding, SourceFile};

/// Banned outside tests: the code and what to do instead.
const PANICS: &[(&str, &str)] = &[
    (".unwrap()", "handle the error, or `expect` with the proof that it cannot happen"),
    ("todo!", "write it, or leave it out and refuse by name"),
    ("unimplemented!", "write it, or leave it out and refuse by name"),
    ("dbg!", "remove it, or log a sentence"),
];
/// Ways to read the clock.
const CLOCKS: &[&str] = &["SystemTime::now", "Instant::now", "Timestamp::now", "Zoned::now", ".elapsed()"];
/// Where time is a parameter: pure libraries, nouns, and code that decides. A prefix ends at a `/` or a `.`.
const TIMELESS: &[&str] = &[
    "libs",
    "crates/records",
    "crates/engine/src/solve",
    "crates/engine/src/plan",
    "crates/engine/src/dispatch",
    "crates/engine/src/record",
    "crates/engine/src/report",
];
/// Where `unsafe` is at home. Elsewhere it needs its proof right above it.
const UNSAFE_ALLOWED: &[&str] = &["crates/paced_udp/", "crates/net/src/socket"];
const PROOF: &str = "SAFETY:";
/// How far above `unsafe` the proof may begin.
const PROOF_LINES: usize = 6;

pub fn check(file: &SourceFile) -> Vec<Finding> {
    let mut findings = panics(file);
    findings.extend(clocks(file));
    findings.extend(unsafes(file));
    findings
}

fn panics(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (code, instead) in PANICS {
        let is_macro = code.ends_with('!');
        for at in file.source.find(code) {
            let inside_a_word = is_macro && at > 0 && is_word(file.source.code()[at - 1]);
            if !inside_a_word && !file.in_test(at) {
                let message = format!("`{code}` outside tests: {instead}");
                findings.push(file.finding(file.source.line_of(at), message));
            }
        }
    }
    findings
}

fn clocks(file: &SourceFile) -> Vec<Finding> {
    // An example measures: it is the caller that a library's time comes from.
    if file.path.contains("/examples/") || !TIMELESS.iter().any(|prefix| is_below(&file.path, prefix)) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for code in CLOCKS {
        for at in file.source.find(code).filter(|&at| !file.in_test(at)) {
            let message = format!("`{code}` reads the clock here: take the time as a parameter");
            findings.push(file.finding(file.source.line_of(at), message));
        }
    }
    findings
}

fn unsafes(file: &SourceFile) -> Vec<Finding> {
    if UNSAFE_ALLOWED.iter().any(|prefix| file.is_under(prefix)) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for at in file.source.words("unsafe") {
        let line = file.source.line_of(at);
        let has_proof = (line.saturating_sub(PROOF_LINES).max(1)..=line)
            .any(|above| file.source.line(above).trim_start().starts_with("// SAFETY:"));
        if !has_proof {
            let message =
                format!("`unsafe` outside its rooms: avoid it, or prove it in a `// {PROOF}` above it");
            findings.push(file.finding(line, message));
        }
    }
    findings
}

fn is_below(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample;

    const NONE: [usize; 0] = [];

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let mut lines: Vec<usize> = check(&sample(path, text)).into_iter().map(|f| f.line).collect();
        lines.sort();
        lines
    }

    #[test]
    fn panics_by_convenience_are_found_outside_tests() {
        let text = "fn f() {\n    x.unwrap();\n    todo!();\n    unimplemented!();\n    dbg!(x);\n}\n";
        assert_eq!(lines("crates/x/src/lib.rs", text), [2, 3, 4, 5]);
        assert_eq!(lines("crates/x/src/tests.rs", text), NONE);
        assert_eq!(lines("tools/it/src/story.rs", text), NONE);
        assert_eq!(lines("crates/x/src/lib.rs", &format!("#[cfg(test)]\nmod tests {{\n{text}\n}}\n")), NONE);
        assert_eq!(lines("crates/x/src/lib.rs", &format!("#[cfg(test)]\nmod tests;\n{text}")), [4, 5, 6, 7]);
    }

    #[test]
    fn what_only_looks_like_a_panic_is_let_be() {
        let text = "/// x.unwrap() todo!()\nfn f() { x.unwrap_or(0); \".unwrap()\"; my_dbg!(x); x.expect(\"proof\"); }\n";
        assert_eq!(lines("crates/x/src/lib.rs", text), NONE);
    }

    #[test]
    fn the_clock_is_banned_where_time_is_a_parameter() {
        let text = "use std::time::Instant;\nfn f() { Instant::now() }\nfn g() { std::time::SystemTime::now() }\n\
                    fn h() { started.elapsed() }\nfn i() { jiff::Timestamp::now(); jiff::Zoned::now() }\n";
        for path in [
            "libs/x/src/lib.rs",
            "crates/records/src/lib.rs",
            "crates/engine/src/plan/order.rs",
            "crates/engine/src/solve.rs",
        ] {
            assert_eq!(lines(path, text), [2, 3, 4, 5, 5], "{path}");
        }
        for path in [
            "crates/engine/src/reporter.rs",
            "crates/engine/src/lib.rs",
            "crates/net/src/lib.rs",
            "libs/x/examples/rate.rs",
        ] {
            assert_eq!(lines(path, text), NONE, "{path}");
        }
        assert_eq!(lines("libs/x/src/lib.rs", "#[test]\nfn f() { Instant::now() }"), NONE);
    }

    #[test]
    fn unsafe_needs_its_room_or_its_proof() {
        let text = "fn f() {\n    unsafe { g() }\n}\n";
        assert_eq!(lines("crates/bus/src/log.rs", text), [2]);
        assert_eq!(lines("crates/paced_udp/src/lib.rs", text), NONE);
        assert_eq!(lines("crates/net/src/socket.rs", text), NONE);
        assert_eq!(lines("crates/net/src/socket/options.rs", text), NONE);
        assert_eq!(lines("crates/net/src/tcp.rs", text), [2]);
        let proved = "fn f() {\n    // SAFETY: g only reads its own memory.\n    unsafe { g() }\n}\n";
        assert_eq!(lines("crates/bus/src/log.rs", proved), NONE);
        assert_eq!(lines("crates/bus/src/log.rs", "#![forbid(unsafe_code)] // unsafe"), NONE);
    }
}
