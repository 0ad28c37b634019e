//! Progress of what takes longer than two seconds: a line on a terminal, a line each some seconds elsewhere.

use indicatif::ProgressBar;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Nothing is shown before.
const QUIET: Duration = Duration::from_secs(2);
/// Between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

pub(super) struct Progress {
    begun: Instant,
    bar: Option<ProgressBar>,
    line: Option<Instant>,
}

impl Progress {
    pub(super) fn new() -> Progress {
        let bar = std::io::stderr().is_terminal().then(ProgressBar::new_spinner);
        Progress { begun: Instant::now(), bar, line: None }
    }

    /// So many of these are copied.
    pub(super) fn tell(&mut self, what: &str, done: u64) {
        let now = Instant::now();
        if now.duration_since(self.begun) < QUIET {
            return;
        }
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{what}: {done}"));
            bar.tick();
        } else if self.line.is_none_or(|line| now.duration_since(line) >= LINE_EVERY) {
            self.line = Some(now);
            eprintln!("{what}: {done} so far");
        }
    }

    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
