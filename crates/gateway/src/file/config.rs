//! Settings of a file route: its folder, and its rate.

use crate::context::RouteProblem;
use crate::route_loop::{ChangeScope, RouteSettings};
use crate::worker::TURN_MAX;
use std::path::PathBuf;
use std::time::Duration;

/// One `[[route]]` of channel `file`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FileRoute {
    /// The route's name.
    pub name: String,
    /// Messages per second; 0 is unlimited.
    pub rate: f64,
    /// Folder of the files.
    pub folder: PathBuf,
}

impl RouteSettings for FileRoute {
    fn name(&self) -> &str {
        &self.name
    }

    fn problems(&self) -> Vec<RouteProblem> {
        let mut problems = Vec::new();
        let mut check = |field: &'static str, wrong: bool, reason: String| {
            if wrong {
                problems.push(RouteProblem { field, reason });
            }
        };
        check("name", self.name.is_empty(), "is needed".to_owned());
        let rate = self.rate;
        check("rate", !rate.is_finite() || rate < 0.0, format!("{rate} is not a rate"));
        let folder = &self.folder;
        check("folder", folder.is_file(), format!("{} is a file, not a folder", folder.display()));
        problems
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn slots(&self) -> u32 {
        TURN_MAX as u32
    }

    fn down_after(&self) -> Duration {
        DOWN_AFTER
    }

    fn step_to(&self, to: &FileRoute) -> ChangeScope {
        if self == to { ChangeScope::None } else { ChangeScope::InPlace }
    }
}

/// Its session is this process: it does not go down, but a stop.
const DOWN_AFTER: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_key_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let good = FileRoute { name: "archive".to_owned(), rate: 0.0, folder: folder.path().join("new") };
        assert_eq!(good.problems(), vec![]);
        for (field, route) in [
            ("name", FileRoute { name: String::new(), ..good.clone() }),
            ("rate", FileRoute { rate: f64::NAN, ..good.clone() }),
            ("folder", FileRoute { folder: file, ..good.clone() }),
        ] {
            let fields: Vec<_> = route.problems().into_iter().map(|problem| problem.field).collect();
            assert_eq!(fields, [field]);
        }
    }
}
