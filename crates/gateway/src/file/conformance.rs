//! Far end of file routes for the conformance checks: the files themselves.

use super::FileRoute;
use crate::AnyRoute;
use crate::conformance::{FarEnd, Manner, Message};

/// A folder that a person reads.
pub(super) struct Folder(tempfile::TempDir);

impl Folder {
    pub(super) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }
}

impl FarEnd for Folder {
    fn route(&self, name: &str, rate: f64, _process: &str) -> AnyRoute {
        AnyRoute::new(FileRoute { name: name.to_owned(), rate, folder: self.0.path().to_owned() })
    }

    fn address(&self, person: u32) -> String {
        format!("archive-{person}")
    }

    /// A disk takes what it has room for.
    fn set_manner(&self, manner: Manner) -> bool {
        manner == Manner::Accept
    }

    fn cut(&self) -> bool {
        false
    }

    fn arrived(&self) -> Vec<Message> {
        let files = std::fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().path());
        let texts: Vec<String> = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
        texts
            .iter()
            .flat_map(|text| text.lines())
            .enumerate()
            .map(|(number, line)| read(number, line))
            .collect()
    }
}

/// Two lines are two messages, whatever their ids.
fn read(number: usize, line: &str) -> Message {
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let member = |name: &str| line[name].as_str().unwrap().to_owned();
    Message { address: member("address"), text: member("text"), identity: number.to_string() }
}
