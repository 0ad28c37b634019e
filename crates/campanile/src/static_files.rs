//! The console's files as the HTTP door takes them: those that are embedded in the program.

use doors::http::{StaticFile, StaticFiles};
use std::sync::Arc;

struct Embedded;

/// Nothing where the program was built without a console.
pub(crate) fn embedded() -> Option<Arc<dyn StaticFiles>> {
    console_files::embedded().then(|| Arc::new(Embedded) as Arc<dyn StaticFiles>)
}

impl StaticFiles for Embedded {
    fn file(&self, path: &str, accept_encoding: &str) -> Option<StaticFile> {
        let file = console_files::CONSOLE.find(path)?;
        let form = file.form(accept_encoding);
        Some(StaticFile {
            content_type: file.content_type,
            encoding: form.encoding,
            etag: form.etag,
            octets: form.octets,
        })
    }

    fn script_hashes(&self) -> Vec<String> {
        console_files::CONSOLE.script_hashes().iter().map(|hash| (*hash).to_owned()).collect()
    }
}
