//! The allocators of the study, and where this system has them. The program sets no allocator of its own, so
//! that a library which is loaded before the C library stands in for its malloc in the same program.

use std::path::{Path, PathBuf};

/// Where distributions put libraries.
const FOLDERS: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/lib64",
];

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allocator {
    Glibc,
    Tcmalloc,
    Mimalloc,
    Jemalloc,
}

impl Allocator {
    /// The first is what the others are compared with.
    pub(super) const ALL: [Allocator; 4] =
        [Allocator::Glibc, Allocator::Tcmalloc, Allocator::Mimalloc, Allocator::Jemalloc];

    pub(super) fn name(self) -> &'static str {
        match self {
            Allocator::Glibc => "glibc",
            Allocator::Tcmalloc => "TCMalloc",
            Allocator::Mimalloc => "mimalloc",
            Allocator::Jemalloc => "jemalloc",
        }
    }

    /// The Debian package that has it.
    fn package(self) -> &'static str {
        match self {
            Allocator::Glibc => "libc6",
            Allocator::Tcmalloc => "libtcmalloc-minimal4",
            Allocator::Mimalloc => "libmimalloc2.0",
            Allocator::Jemalloc => "libjemalloc2",
        }
    }

    fn files(self) -> &'static [&'static str] {
        match self {
            Allocator::Glibc => &[],
            Allocator::Tcmalloc => &["libtcmalloc_minimal.so.4"],
            Allocator::Mimalloc => &["libmimalloc.so.2.0", "libmimalloc.so.2"],
            Allocator::Jemalloc => &["libjemalloc.so.2"],
        }
    }

    /// What is loaded for it: nothing for the C library's own. `more` is looked into first.
    ///
    /// # Errors
    /// It is not on this system, with the package that has it.
    pub(super) fn library(self, more: Option<&Path>) -> Result<Option<PathBuf>, String> {
        if self == Allocator::Glibc {
            return Ok(None);
        }
        let folders = more.into_iter().chain(FOLDERS.iter().map(Path::new));
        let mut paths = folders.flat_map(|folder| self.files().iter().map(move |file| folder.join(file)));
        match paths.find(|path| path.is_file()) {
            Some(path) => std::path::absolute(path).map(Some).map_err(|error| error.to_string()),
            None => Err(format!("not on this system: install {}", self.package())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_found_in_the_folder_that_is_named_and_a_missing_one_names_its_package() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("libmimalloc.so.2"), b"").unwrap();
        let found = Allocator::Mimalloc.library(Some(folder.path())).unwrap().unwrap();
        assert_eq!(found, folder.path().join("libmimalloc.so.2"));
        assert_eq!(Allocator::Glibc.library(Some(folder.path())), Ok(None));
        for allocator in Allocator::ALL {
            if let Err(said) = allocator.library(None) {
                assert!(said.contains("install lib") && allocator != Allocator::Glibc, "{said}");
            }
        }
    }
}
