//! Reads the folder of built files and writes the source of their table: of the build script, and of tests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Octets of a file's hash that its ETag has.
const TAG_OCTETS: usize = 16;
/// Endings of the compressed forms that stand beside a file.
const BROTLI: &str = ".br";
const GZIP: &str = ".gz";

/// A built file, and the compressed forms of it that are worth having.
#[derive(Debug, PartialEq, Eq)]
pub struct BuiltFile {
    /// In URLs: `/_app/version.json`.
    pub path: String,
    pub identity: PathBuf,
    pub brotli: Option<PathBuf>,
    pub gzip: Option<PathBuf>,
}

/// All files of a folder, by path; none if it is not there.
///
/// # Errors
/// A file or folder cannot be read, or has a name that no URL has as it is.
pub fn read(folder: &Path) -> Result<Vec<BuiltFile>, String> {
    let mut found = BTreeMap::new();
    if folder.is_dir() {
        list(folder, "", &mut found)?;
    }
    let mut files = Vec::new();
    for (path, file) in &found {
        let is_form = |ending: &str| path.strip_suffix(ending).is_some_and(|of| found.contains_key(of));
        if is_form(BROTLI) || is_form(GZIP) {
            continue;
        }
        let octets = octets_of(file)?;
        let form = |ending: &str| {
            let Some(form) = found.get(&format!("{path}{ending}")) else { return Ok(None) };
            Ok::<_, String>(Some(form.clone()).filter(|_| octets_of(form).is_ok_and(|fewer| fewer < octets)))
        };
        let (brotli, gzip) = (form(BROTLI)?, form(GZIP)?);
        files.push(BuiltFile { path: path.clone(), identity: file.clone(), brotli, gzip });
    }
    Ok(files)
}

fn octets_of(file: &Path) -> Result<u64, String> {
    fs::metadata(file).map(|metadata| metadata.len()).map_err(|error| format!("{}: {error}", file.display()))
}

fn list(folder: &Path, path: &str, found: &mut BTreeMap<String, PathBuf>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (name, file) = (entry.file_name(), entry.path());
        let name = name.to_str().filter(|name| name.bytes().all(is_plain)).ok_or_else(|| {
            format!("{}: rename it; a URL has letters, digits and -._~@+ as they are", file.display())
        })?;
        let path = format!("{path}/{name}");
        if file.is_dir() {
            list(&file, &path, found)?;
        } else {
            found.insert(path, file);
        }
    }
    Ok(())
}

fn is_plain(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b"-._~@+".contains(&octet)
}

/// The source of the table.
///
/// # Errors
/// A file cannot be read.
pub fn source(files: &[BuiltFile]) -> Result<String, String> {
    let mut out = String::from("static FILES: &[EmbeddedFile] = &[\n");
    let mut hashes = Vec::new();
    for file in files {
        let octets =
            fs::read(&file.identity).map_err(|error| format!("{}: {error}", file.identity.display()))?;
        if file.path.ends_with(".html") {
            hashes.extend(script_hashes(&String::from_utf8_lossy(&octets)));
        }
        let content_type = content_type(&file.path);
        let included = |form: &Option<PathBuf>| form.as_deref().map_or("None".to_owned(), some_included);
        let (brotli, gzip) = (included(&file.brotli), included(&file.gzip));
        let _ = writeln!(
            out,
            "    EmbeddedFile {{ path: {:?}, content_type: {content_type:?}, tag: {:?}, identity: {}, brotli: {brotli}, gzip: {gzip} }},",
            file.path,
            tag(&octets),
            include(&file.identity),
        );
    }
    hashes.sort();
    hashes.dedup();
    let _ = writeln!(out, "];\nstatic SCRIPT_HASHES: &[&str] = &{hashes:?};");
    Ok(out)
}

fn include(file: &Path) -> String {
    format!("include_bytes!({:?})", file.display().to_string())
}

fn some_included(file: &Path) -> String {
    format!("Some({})", include(file))
}

/// Names the content of a file: the beginning of its SHA-256.
fn tag(octets: &[u8]) -> String {
    Sha256::digest(octets).iter().take(TAG_OCTETS).fold(String::new(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

/// The media type of a file, by its ending.
pub fn content_type(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "txt" => "text/plain; charset=utf-8",
        "json" | "map" => "application/json",
        "geojson" => "application/geo+json",
        "webmanifest" => "application/manifest+json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

/// The inline scripts of a page, as `script-src` of Content-Security-Policy names them: `sha256-…`.
pub fn script_hashes(page: &str) -> Vec<String> {
    // A browser hashes what it has parsed: each end of a line is one character.
    let page = page.replace("\r\n", "\n");
    let folded = page.to_ascii_lowercase();
    let (mut hashes, mut at) = (Vec::new(), 0);
    while let Some(tag) = folded[at..].find("<script").map(|found| at + found) {
        let Some(begin) = folded[tag..].find('>').map(|found| tag + found + 1) else { break };
        let Some(end) = folded[begin..].find("</script").map(|found| begin + found) else { break };
        let attributes = &folded[tag..begin];
        if !attributes
            .split(|c: char| c.is_ascii_whitespace() || c == '>')
            .any(|word| word.starts_with("src="))
        {
            hashes.push(format!("sha256-{}", STANDARD.encode(Sha256::digest(&page[begin..end]))));
        }
        at = end;
    }
    hashes
}
