//! Problems of a configuration: all of them, each with its line and column.

use std::fmt;

/// Limit of a list of problems; those beyond it are counted.
const PROBLEMS_MAX: usize = 1_000;

/// Where something was set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In the file, counted from 1; columns in characters.
    File {
        /// Line.
        line: usize,
        /// Column.
        column: usize,
    },
    /// In the environment.
    Environment(String),
    /// Nowhere: it is missing.
    Nowhere,
}

/// Something wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsProblem {
    /// Where.
    pub place: Place,
    /// Such as `route[0].rate`; empty for what is wrong with the file as such.
    pub field: String,
    /// In words.
    pub reason: String,
}

/// All problems of a config in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems {
    file: String,
    known_paths: Vec<String>,
    list: Vec<SettingsProblem>,
    more: usize,
}

impl Problems {
    /// None yet.
    pub fn new(file: impl Into<String>) -> Problems {
        Problems { file: file.into(), known_paths: Vec::new(), list: Vec::new(), more: 0 }
    }

    /// With the paths of all keys ([`crate::Outline::paths`]): an unknown key then names the section that has
    /// one of that name.
    pub fn with_known_paths(self, known_paths: Vec<String>) -> Problems {
        Problems { known_paths, ..self }
    }

    /// A known path that ends with this key.
    pub(crate) fn path_of(&self, key: &str) -> Option<&str> {
        let ends = |path: &&String| path.rsplit('.').next() == Some(key);
        self.known_paths.iter().find(ends).map(String::as_str)
    }

    /// Adds one.
    pub fn add(&mut self, place: Place, field: &str, reason: impl Into<String>) {
        if self.list.len() < PROBLEMS_MAX {
            self.list.push(SettingsProblem { place, field: field.to_owned(), reason: reason.into() });
        } else {
            self.more += 1;
        }
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// In the order of their places.
    pub fn list(&self) -> &[SettingsProblem] {
        &self.list
    }

    /// The file they are about.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Sorts them by place.
    pub fn sort(&mut self) {
        self.list.sort_by(|a, b| (&a.place, &a.field).cmp(&(&b.place, &b.field)));
    }

    /// Where one of them is, as `campanile.toml:12:3`.
    pub fn place(&self, problem: &SettingsProblem) -> String {
        match &problem.place {
            Place::File { line, column } => format!("{}:{line}:{column}", self.file),
            Place::Environment(name) => format!("environment {name}"),
            Place::Nowhere => self.file.clone(),
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.list.iter().enumerate() {
            let end = if number == 0 { "" } else { "\n" };
            let colon = if problem.field.is_empty() { "" } else { ": " };
            write!(f, "{end}{}: {}{colon}{}", self.place(problem), problem.field, problem.reason)?;
        }
        if self.more > 0 {
            write!(f, "\nand {} more", self.more)?;
        }
        Ok(())
    }
}
impl std::error::Error for Problems {}
