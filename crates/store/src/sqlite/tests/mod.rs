//! The conformance cases over SQLite, and what only SQLite can be asked.

mod own;

use super::{SqliteOptions, open};
use crate::{SharedStore, conformance};
use tempfile::TempDir;

/// A test for each conformance case, on a fresh store, twice: what imports left behind is swept up beside it,
/// or never.
macro_rules! cases {
    ($module:ident: $($case:ident,)*) => {
        mod $module {
            $(#[tokio::test]
            async fn $case() {
                for sweep in [true, false] {
                    let (_folder, store) = super::fresh(&super::SqliteOptions { sweep, ..super::SqliteOptions::default() });
                    super::conformance::$module::$case(&*store).await;
                    store.close().await.unwrap();
                }
            })*
        }
    };
}

conformance::all_cases!(cases);

#[tokio::test]
async fn attributes_are_known_while_somebody_has_a_value() {
    for sweep in [true, false] {
        let (_folder, store) = fresh(&SqliteOptions { sweep, ..SqliteOptions::default() });
        conformance::recipients::an_attribute_is_known_while_somebody_has_a_value(store.clone()).await;
        let (_folder, store) = fresh(&SqliteOptions { sweep, ..SqliteOptions::default() });
        conformance::recipients::attributes_of_an_import_are_known_once_it_is_published(store.clone()).await;
    }
}

#[tokio::test]
async fn a_reader_sees_an_import_whole_or_not_at_all() {
    for sweep in [true, false] {
        let (_folder, store) = fresh(&SqliteOptions { sweep, ..SqliteOptions::default() });
        conformance::imports::a_reader_sees_an_import_whole_or_not_at_all(store.clone()).await;
    }
}

fn fresh(options: &SqliteOptions) -> (TempDir, SharedStore) {
    let folder = folder();
    let store = open(&folder.path().join("test.db"), options).unwrap();
    (folder, store)
}

/// In memory where that is to be had: a sync costs nothing there, and tests of order do not need one that
/// costs.
fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}
