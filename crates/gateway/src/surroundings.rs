//! Surroundings of a route: facts of other sections that its settings are made of, each under its own type.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is known beside the keys of a route. A channel asks for the facts it knows the types of; the
/// composition root, which has read the other sections, puts them in.
#[derive(Default)]
pub struct Surroundings {
    data: PathBuf,
    facts: BTreeMap<TypeId, Box<dyn Any + Send + Sync>>,
}

impl Surroundings {
    /// With nothing but the data folder, which relative paths are below.
    pub fn new(data: &Path) -> Surroundings {
        Surroundings { data: data.to_owned(), facts: BTreeMap::new() }
    }

    /// Adds a fact; of each type there is one, the last.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, fact: T) -> Surroundings {
        self.facts.insert(TypeId::of::<T>(), Box::new(fact));
        self
    }

    /// The fact of a type, if somebody knows it.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.facts.get(&TypeId::of::<T>()).and_then(|fact| fact.downcast_ref())
    }

    /// A file of the configuration, below the data folder if its path is relative.
    pub fn below(&self, file: &Path) -> PathBuf {
        self.data.join(file)
    }
}
