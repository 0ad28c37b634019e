//! The embedded bus as the suite over every bus has it: a crash leaves what the operating system was handed.

use super::{Embedded, Options};
use crate::Bus;
use crate::conformance::{TestBus, conform};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

struct Folder {
    dir: tempfile::TempDir,
    state: Mutex<GroupState>,
}

struct GroupState {
    crashes: u32,
    bus: Arc<Embedded>,
}

impl Folder {
    fn new() -> Folder {
        let dir = tempfile::tempdir().unwrap();
        let bus = open(&dir.path().join("0"));
        Folder { dir, state: Mutex::new(GroupState { crashes: 0, bus }) }
    }

    fn path(&self, crashes: u32) -> PathBuf {
        self.dir.path().join(crashes.to_string())
    }
}

fn open(folder: &Path) -> Arc<Embedded> {
    let options = Options { file_octets_max: 32 * 1024, ..Options::default() };
    Arc::new(Embedded::open(folder, options).unwrap())
}

impl TestBus for Folder {
    fn bus(&self) -> Arc<dyn Bus> {
        self.state.lock().unwrap().bus.clone()
    }

    /// The process that comes after finds a copy of the files; the one before never closes them.
    fn crash(&self) {
        let mut state = self.state.lock().unwrap();
        let from = self.path(state.crashes);
        state.crashes += 1;
        let to = self.path(state.crashes);
        super::tests::copy(&from, &to);
        state.bus = open(&to);
    }
}

conform!(Folder::new());
