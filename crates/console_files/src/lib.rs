//! The built files of the web console, embedded, and the form of each that a client gets.
//!
//! The build script makes the table of what `npm run build` left in `console/build`: each file as it is, and
//! the forms by Brotli and gzip that stand beside it. Where nothing was built the table is empty, and the
//! server has its pages without scripts alone. Nothing here knows of HTTP but Accept-Encoding and ETags.

#[cfg(test)]
mod built_files;
mod encoding;
#[cfg(test)]
mod tests;

use encoding::Coding;

/// The page that is given for every path of the console.
pub const PAGE: &str = "/index.html";

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// All embedded files.
pub static CONSOLE: FileTable = FileTable { files: FILES, script_hashes: SCRIPT_HASHES };

/// Whether there is a console in this program.
pub fn embedded() -> bool {
    CONSOLE.find(PAGE).is_some()
}

/// Files by their paths, in ascending order.
#[derive(Debug, Clone, Copy)]
pub struct FileTable {
    files: &'static [EmbeddedFile],
    script_hashes: &'static [&'static str],
}

impl FileTable {
    /// The file of exactly this path, as it stands in a URL: no escapes, no steps upwards.
    pub fn find(&self, path: &str) -> Option<&'static EmbeddedFile> {
        let files = self.files;
        files.binary_search_by(|file| file.path.cmp(path)).ok().map(|at| &files[at])
    }

    /// The inline scripts of the page, as `script-src` names them.
    pub fn script_hashes(&self) -> &'static [&'static str] {
        self.script_hashes
    }
}

/// A file in the forms that were built.
#[derive(Debug)]
pub struct EmbeddedFile {
    /// As in URLs.
    pub path: &'static str,
    /// Content-Type.
    pub content_type: &'static str,
    /// Names the content.
    tag: &'static str,
    identity: &'static [u8],
    brotli: Option<&'static [u8]>,
    gzip: Option<&'static [u8]>,
}

/// What a client gets of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileForm {
    /// Content-Encoding, if it has one.
    pub encoding: Option<&'static str>,
    /// With its quotes; another one in each form.
    pub etag: String,
    /// The body.
    pub octets: &'static [u8],
}

impl EmbeddedFile {
    /// The form that suits an Accept-Encoding best; the file as it is where none does.
    pub fn form(&self, accept_encoding: &str) -> FileForm {
        let chosen = encoding::best(accept_encoding, |coding| self.octets(coding).is_some());
        let name = chosen.and_then(Coding::name);
        let octets = chosen.and_then(|coding| self.octets(coding)).unwrap_or(self.identity);
        let etag = match name {
            Some(name) => format!("\"{}-{name}\"", self.tag),
            None => format!("\"{}\"", self.tag),
        };
        FileForm { encoding: name, etag, octets }
    }

    fn octets(&self, coding: Coding) -> Option<&'static [u8]> {
        match coding {
            Coding::Brotli => self.brotli,
            Coding::Gzip => self.gzip,
            Coding::Identity => Some(self.identity),
        }
    }
}
