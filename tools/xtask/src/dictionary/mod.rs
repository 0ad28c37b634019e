//! Compiles the Diameter dictionary: `libs/diameter/dictionary/*.dict`, the RFC's own ABNF, into small static
//! tables.

mod parse;
mod render;

use std::path::Path;

/// Where the data files stand.
const SOURCES: &str = "libs/diameter/dictionary";
/// What is compiled from them.
pub const GENERATED: &str = "libs/diameter/src/dictionary/generated.rs";

/// An AVP as a data file defines it.
#[derive(Debug, Clone, PartialEq)]
pub struct AvpDefinition {
    pub text: String,
    pub code: u32,
    pub vendor: u32,
    pub kind: String,
    pub mandatory: Mandatory,
    /// Of an Enumerated, the values there are.
    pub values: Option<(i32, i32)>,
}

/// The flag rule of the M bit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mandatory {
    Must,
    MustNot,
    Sent,
    NotSent,
}

/// A group's or a command's grammar.
#[derive(Debug, Clone, PartialEq)]
pub struct Grammar {
    pub text: String,
    pub of: Of,
    pub members: Vec<GrammarLine>,
    /// Ends with `*[ AVP ]`.
    pub is_open: bool,
    /// Where it was defined, for error messages.
    pub place: String,
}

/// Whose grammar it is.
#[derive(Debug, Clone, PartialEq)]
pub enum Of {
    Group { code: u32, vendor: u32 },
    Command { code: u32, abbreviation: String, is_request: bool, is_proxiable: bool, is_error: bool },
}

/// One line of a grammar.
#[derive(Debug, Clone, PartialEq)]
pub struct GrammarLine {
    pub text: String,
    pub min: u32,
    /// `None`: any number.
    pub max: Option<u32>,
}

/// All data files together.
#[derive(Debug, Default, PartialEq)]
pub struct Dictionary {
    pub vendors: Vec<(String, u32)>,
    pub applications: Vec<(String, u32)>,
    pub avps: Vec<AvpDefinition>,
    pub grammars: Vec<Grammar>,
}

/// The generated file as it should be.
pub fn compile(root: &Path) -> Result<String, String> {
    let folder = root.join(SOURCES);
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("cannot list {}: {e}", folder.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| format!("cannot list {}: {e}", folder.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "dict") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut dictionary = Dictionary::default();
    for path in paths {
        let text =
            std::fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        parse::parse(&name, &text, &mut dictionary)?;
    }
    render::render(&mut dictionary)
}

/// Writes the generated file; says whether it changed.
pub fn run(root: &Path) -> Result<bool, String> {
    let text = compile(root)?;
    let path = root.join(GENERATED);
    if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
        return Ok(false);
    }
    std::fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    Ok(true)
}

/// Whether the generated file is what the data files say.
pub fn is_fresh(root: &Path) -> Result<bool, String> {
    let path = root.join(GENERATED);
    let old = std::fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    Ok(old == compile(root)?)
}

#[cfg(test)]
mod tests;
