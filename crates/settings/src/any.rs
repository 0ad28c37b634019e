//! Sections whose types differ, for lists of them.

use crate::format::{Section, Table};
use crate::outline::Outline;
use crate::problem::Problems;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// The type of a section as data: its keys, its documentation, its reader. A list of these is a registry.
#[derive(Debug, Clone, Copy)]
pub struct SectionType {
    /// Its keys, in the order of their declaration.
    pub keys: &'static [&'static str],
    outline: fn() -> Outline,
    read: fn(&Table<'_>, &mut Problems) -> AnySection,
}

impl SectionType {
    /// The type `S`.
    pub const fn of<S: Section + fmt::Debug + PartialEq + Send + Sync + 'static>() -> SectionType {
        SectionType {
            keys: S::KEYS,
            outline: S::outline,
            read: |table, problems| AnySection::new(S::read_keys(table, problems)),
        }
    }

    /// Its documentation.
    pub fn outline(&self) -> Outline {
        (self.outline)()
    }

    /// Reads its keys; those that are none of its own are passed over ([`Section::read_keys`]).
    pub fn read_keys(&self, table: &Table<'_>, problems: &mut Problems) -> AnySection {
        (self.read)(table, problems)
    }
}

/// A section of some type. A clone shares it; equal are sections of the same type with equal values.
#[derive(Clone)]
pub struct AnySection(Arc<dyn Erased>);

impl AnySection {
    /// Hides the type of a section.
    pub fn new<S: fmt::Debug + PartialEq + Send + Sync + 'static>(section: S) -> AnySection {
        AnySection(Arc::new(section))
    }

    /// The section, if it is of the type `S`.
    pub fn get<S: 'static>(&self) -> Option<&S> {
        self.0.as_any().downcast_ref()
    }
}

trait Erased: fmt::Debug + Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn equals(&self, other: &dyn Any) -> bool;
}

impl<S: fmt::Debug + PartialEq + Send + Sync + 'static> Erased for S {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<S>().is_some_and(|other| self == other)
    }
}

impl PartialEq for AnySection {
    fn eq(&self, other: &AnySection) -> bool {
        self.0.equals(other.0.as_any())
    }
}

impl fmt::Debug for AnySection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
