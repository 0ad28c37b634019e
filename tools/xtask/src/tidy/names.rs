//! Names that hide what is inside.

use super::{Finding, SourceFile};

const JUNK_DRAWERS: &[&str] = &["utils", "util", "common", "manager", "helper", "helpers", "misc"];

pub fn check(file: &SourceFile) -> Vec<Finding> {
    let mut findings = junk_drawers(file);
    if file.is_under("libs/") {
        findings.extend(getters(file));
    }
    findings
}

fn junk_drawers(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let by_path = file.path.split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part));
    for name in by_path.filter(|name| JUNK_DRAWERS.contains(name)) {
        findings.push(file.finding(1, junk_drawer(name)));
    }
    for at in file.source.words("mod") {
        let name = file.source.word_after(at + 3);
        if JUNK_DRAWERS.contains(&name) {
            findings.push(file.finding(file.source.line_of(at), junk_drawer(name)));
        }
    }
    findings
}

fn junk_drawer(name: &str) -> String {
    format!("`{name}` names a junk drawer: name it after what it knows, or move its parts to who uses them")
}

fn getters(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for at in file.source.words("fn") {
        let name = file.source.word_after(at + 2);
        if let Some(noun) = name.strip_prefix("get_") {
            let message = format!("`{name}` says get_: call it `{noun}`");
            findings.push(file.finding(file.source.line_of(at), message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample;

    #[test]
    fn junk_drawers_are_found_as_files_folders_crates_and_modules() {
        for (path, text) in [
            ("crates/x/src/utils.rs", ""),
            ("crates/x/src/helpers/text.rs", ""),
            ("crates/common/src/lib.rs", ""),
            ("crates/x/src/lib.rs", "fn f() {}\npub(crate) mod misc { }"),
            ("tools/it/src/helper/mod.rs", ""),
        ] {
            assert_eq!(check(&sample(path, text)).len(), 1, "{path}");
        }
        for (path, text) in [
            ("crates/x/src/utility.rs", "mod commons;"),
            ("crates/x/src/lib.rs", "// mod util\nlet manager = \"mod utils\";"),
        ] {
            assert_eq!(check(&sample(path, text)), [], "{path}");
        }
    }

    #[test]
    fn getters_are_found_in_libraries_only() {
        let text = "impl A {\n    pub fn get_rate(&self) {}\n    pub fn get(&self) {}\n    fn forget_it(&self) {}\n}";
        let found = check(&sample("libs/x/src/lib.rs", text));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].line, found[0].message.as_str()), (2, "`get_rate` says get_: call it `rate`"));
        assert_eq!(check(&sample("crates/x/src/lib.rs", text)), []);
    }
}
