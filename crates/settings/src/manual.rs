//! Manual generated from outlines: a commented file that is valid TOML, and Markdown for the documentation.

use crate::format::Section;
use crate::outline::{KeyDoc, Outline, Schema, Variant};
use std::fmt::Write;

/// Columns of a comment in the commented file.
const COLUMNS: usize = 120;

/// A section as TOML in one line: `{ton = 1, npi = 1}`.
pub fn inline_table<S: Section>(section: &S) -> String {
    let keys = section.write_keys().into_iter().map(|(key, value)| format!("{key} = {value}"));
    format!("{{{}}}", keys.collect::<Vec<_>>().join(", "))
}

/// The commented file: every key with its documentation and its default.
///
/// A line that begins with `# ` is a comment. A section or key that holds only where a file sets it is
/// commented out by `#` without a blank: without that sign it is a valid example. Of a key with a default the
/// default is shown, of another one its example.
pub fn toml(root: &Outline) -> String {
    let mut manual = Manual { text: String::new() };
    manual.comment(root.doc);
    manual.keys(root, "", true);
    manual.text
}

/// A section in Markdown: its prose, a table of its keys, and below headings the sections in it.
///
/// `path` is the section's, such as `smpp`; `key` is the key that has the section.
pub fn markdown(path: &str, key: &KeyDoc) -> String {
    let mut text = String::new();
    if let Some(outline) = key.schema.section() {
        markdown_section(&mut text, path, &outline);
    }
    text.trim_end().to_owned() + "\n"
}

/// Where generated text stands in a document.
const BEGIN: &str = "<!-- generated: ";
const END: &str = "<!-- end of generated text -->\n";

/// Replaces the generated parts of a Markdown document: what stands between `<!-- generated: SECTION -->` and
/// `<!-- end of generated text -->` becomes that section's [`markdown`].
///
/// # Errors
/// A section that the document has twice or not at all, or a mark without its end.
pub fn fill(document: &str, root: &Outline) -> Result<String, String> {
    let mut sections: Vec<&KeyDoc> = root.keys.iter().collect();
    let mut parts = document.split(BEGIN);
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->\n").ok_or("a mark is not closed by -->")?;
        let (_, after) = rest.split_once(END).ok_or_else(|| format!("{name}: {} is missing", END.trim()))?;
        let at = sections.iter().position(|key| key.name == name);
        let key = sections.remove(at.ok_or_else(|| format!("{name}: no section, or twice"))?);
        write!(filled, "{BEGIN}{name} -->\n\n{}\n{END}{after}", markdown(name, key)).ok();
    }
    match sections.first() {
        Some(key) => Err(format!("{BEGIN}{} --> is missing", key.name)),
        None => Ok(filled),
    }
}

struct Manual {
    text: String,
}

impl Manual {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Paragraphs of a doc comment, as comments.
    fn comment(&mut self, doc: &str) {
        let is_item = |paragraph: &str| paragraph.starts_with("- ");
        let mut before: Option<String> = None;
        for paragraph in paragraphs(doc) {
            if before.is_some_and(|before| !is_item(&before) || !is_item(&paragraph)) {
                self.line("#");
            }
            self.wrapped(&plain(&paragraph));
            before = Some(paragraph);
        }
    }

    /// A paragraph in lines that begin with `# `.
    fn wrapped(&mut self, paragraph: &str) {
        let indent = if paragraph.starts_with("- ") { "#   " } else { "# " };
        let mut line = "#".to_owned();
        for word in paragraph.split_whitespace() {
            if line.chars().count() + 1 + word.chars().count() > COLUMNS {
                self.line(&line);
                line = indent.trim_end_matches(' ').to_owned() + &" ".repeat(indent.len() - 2);
            }
            line.push(' ');
            line.push_str(word);
        }
        self.line(&line);
    }

    /// The keys of a section: those with a value first, then those that are sections. `is_on`: the section is
    /// not commented out.
    fn keys(&mut self, outline: &Outline, path: &str, is_on: bool) {
        let is_section = |key: &&KeyDoc| !key.is_inline && key.schema.section().is_some();
        for key in outline.keys.iter().filter(|key| !is_section(key)) {
            self.key(key, is_on);
        }
        for key in outline.keys.iter().filter(is_section) {
            let Some(section) = key.schema.section() else { continue };
            let path = crate::join(path, key.name);
            let is_list = matches!(key.schema, Schema::List(_));
            let header = if is_list { format!("[[{path}]]") } else { format!("[{path}]") };
            let is_on = is_on && !is_list && key.default.is_some() && !key.is_commented;
            if section.variants.is_empty() {
                self.section(section.doc, &header, is_on);
                self.keys(&section, &path, is_on);
            } else {
                self.variants(&section, &header);
            }
        }
    }

    fn section(&mut self, doc: &str, header: &str, is_on: bool) {
        self.line("");
        self.comment(doc);
        self.line(&format!("{}{header}", if is_on { "" } else { "#" }));
    }

    /// Entries of a list, one for each variant. Keys of all variants are documented at the first.
    fn variants(&mut self, section: &Outline, header: &str) {
        for (n, variant) in section.variants.iter().enumerate() {
            if n == 0 {
                self.line("");
                self.comment(section.doc);
            }
            self.section(variant.outline.doc, header, false);
            for key in &section.keys {
                let shown = variant.shared.iter().find(|(name, _)| *name == key.name);
                match shown {
                    _ if n == 0 => {
                        let example = shown.map(|(_, value)| value.as_str()).or(key.example);
                        self.documented(key, example, false);
                    }
                    Some((name, value)) => self.line(&format!("#{name} = {value}")),
                    None => {}
                }
            }
            for key in &variant.outline.keys {
                self.key(key, false);
            }
        }
    }

    fn key(&mut self, key: &KeyDoc, is_on: bool) {
        self.documented(key, key.example, is_on);
    }

    /// A key with its documentation. `example` is shown where there is no default, or the default must not be
    /// set.
    fn documented(&mut self, key: &KeyDoc, example: Option<&str>, is_on: bool) {
        let example = example.map(in_one_line);
        let example = example.as_deref();
        let default = key.default.as_deref();
        let is_on = is_on && default.is_some() && !key.is_commented && !key.is_required;
        let shown = match (is_on, example, default) {
            (true, _, Some(default)) => default,
            (_, Some(example), _) => example,
            (_, None, Some(default)) => default,
            (_, None, None) => "",
        };
        let mut doc = documentation(key);
        if let Some(words) = key.schema.words()
            && words.iter().any(|word| !doc.contains(&format!("\"{}\"", word.word)))
        {
            let words: Vec<String> = words.iter().map(|word| format!("\"{}\"", word.word)).collect();
            write!(doc, " Of: {}.", words.join(", ")).ok();
        }
        match (key.is_required, key.default_in_words, default) {
            (true, ..) => doc.push_str(" Required."),
            (_, Some(words), _) => drop(write!(doc, " Default: {words}.")),
            (_, None, None) => doc.push_str(" Default: none."),
            (_, None, Some(default)) if default != shown => drop(write!(doc, " Default: {default}.")),
            _ => {}
        }
        self.comment(&doc);
        if let Some(example) = example.filter(|_| is_on) {
            self.line(&format!("# For example: {} = {example}", key.name));
        }
        self.line(&format!("{}{} = {shown}", if is_on { "" } else { "#" }, key.name));
    }
}

/// The compiler breaks long examples: TOML has an inline table in one line.
fn in_one_line(example: &str) -> String {
    example.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// A key's doc comment, and of a secret the name of its twin.
fn documentation(key: &KeyDoc) -> String {
    let mut doc = key.doc.trim_end().to_owned();
    if key.schema.is_secret() {
        write!(doc, " Or `{}_file`: a file that holds it.", key.name).ok();
    }
    doc
}

/// Paragraphs and list items of a doc comment, each in one line.
fn paragraphs(doc: &str) -> Vec<String> {
    let mut paragraphs: Vec<String> = Vec::new();
    let mut is_new = true;
    for line in doc.lines().map(str::trim) {
        if line.is_empty() {
            is_new = true;
        } else if is_new || line.starts_with("- ") {
            paragraphs.push(line.to_owned());
            is_new = false;
        } else if let Some(paragraph) = paragraphs.last_mut() {
            paragraph.push(' ');
            paragraph.push_str(line);
        }
    }
    paragraphs
}

/// Markdown without its signs: backticks go, `[words](page.md#part)` becomes `words (docs/page.md)`.
fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, after)) = rest.split_once('[') {
        text.push_str(before);
        let link = after.split_once("](").and_then(|(words, after)| {
            let (target, after) = after.split_once(')')?;
            (!words.contains([']', '['])).then_some((words, target, after))
        });
        let Some((words, target, after)) = link else {
            text.push('[');
            rest = after;
            continue;
        };
        text.push_str(words);
        let page = target.split('#').next().unwrap_or_default();
        if !page.is_empty() {
            write!(text, " (docs/{page})").ok();
        }
        rest = after;
    }
    text.push_str(rest);
    text.replace('`', "")
}

fn markdown_section(text: &mut String, path: &str, outline: &Outline) {
    prose(text, outline.doc);
    table(text, &outline.keys);
    for Variant { tag: (tag, word), outline, .. } in &outline.variants {
        write!(text, "### {path} of {tag} {word}\n\n").ok();
        prose(text, outline.doc);
        table(text, &outline.keys);
    }
    for key in outline.keys.iter().filter(|key| !key.is_inline) {
        if let Some(section) = key.schema.section() {
            let path = crate::join(path, key.name);
            write!(text, "### {path}\n\n").ok();
            markdown_section(text, &path, &section);
        }
    }
}

fn prose(text: &mut String, doc: &str) {
    let mut was_item = false;
    for paragraph in paragraphs(doc) {
        let is_item = paragraph.starts_with("- ");
        if was_item && !is_item {
            text.push('\n');
        }
        text.push_str(&paragraph);
        text.push_str(if is_item { "\n" } else { "\n\n" });
        was_item = is_item;
    }
    if was_item {
        text.push('\n');
    }
}

fn table(text: &mut String, keys: &[KeyDoc]) {
    let is_row = |key: &&KeyDoc| key.is_inline || key.schema.section().is_none();
    let rows: Vec<&KeyDoc> = keys.iter().filter(is_row).collect();
    if rows.is_empty() {
        return;
    }
    text.push_str("| key | value | default | meaning and bounds |\n|---|---|---|---|\n");
    for key in rows {
        row(text, "", key);
        if key.is_inline
            && let Some(section) = key.schema.section()
        {
            section.keys.iter().for_each(|below| row(text, &format!("{}.", key.name), below));
        }
    }
    text.push('\n');
}

fn row(text: &mut String, before: &str, key: &KeyDoc) {
    let default = match (key.is_required, key.default_in_words, &key.default) {
        (true, ..) => "required".to_owned(),
        (_, Some(words), _) => words.to_owned(),
        (_, None, Some(default)) => format!("`{default}`"),
        (_, None, None) => "none".to_owned(),
    };
    let doc = paragraphs(&documentation(key)).join(" ");
    let cells = [format!("`{before}{}`", key.name), key.schema.in_words(), default, doc];
    let cells = cells.map(|cell| cell.replace('|', "\\|"));
    writeln!(text, "| {} |", cells.join(" | ")).ok();
}
