//! Keys of a route of channel `file`, and its settings made of them.

use super::FileRoute;
use crate::route_keys::RouteKeys;
use crate::surroundings::Surroundings;
use settings::section;
use std::path::PathBuf;

section! {
    /// Files in which each message is a line of JSON, for archives and experiments. An alert to `file:NAME`
    /// is appended to `NAME.jsonl`.
    FileKeys {
        /// Folder of the files; made if it is not there.
        folder: PathBuf = PathBuf::from("files"),
    }
}

impl FileKeys {
    /// Settings of a route with these keys.
    pub(super) fn route(&self, common: &RouteKeys, around: &Surroundings) -> FileRoute {
        FileRoute { name: common.name.clone(), rate: common.rate, folder: around.below(&self.folder) }
    }
}
