//! The conformance cases over PostgreSQL, and what only PostgreSQL can be asked.

use super::{PostgresOptions, open};
use crate::{SharedStore, conformance};
use servers::postgres::PostgresServer;

mod away;
mod ledger;
mod own;
mod tls;
mod transfer;

/// A test for each conformance case, on a fresh database. Where versions of recipients matter twice: what
/// imports left behind is swept up beside it, or never.
macro_rules! cases {
    ($module:ident: $($case:ident,)*) => {
        mod $module {
            $(#[tokio::test]
            async fn $case() {
                for sweep in super::sweeps(stringify!($module)) {
                    let store = super::fresh(&super::PostgresOptions { sweep, ..super::PostgresOptions::default() });
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
        let store = fresh(&PostgresOptions { sweep, ..PostgresOptions::default() });
        conformance::recipients::an_attribute_is_known_while_somebody_has_a_value(store.clone()).await;
        let store = fresh(&PostgresOptions { sweep, ..PostgresOptions::default() });
        conformance::recipients::attributes_of_an_import_are_known_once_it_is_published(store.clone()).await;
    }
}

#[tokio::test]
async fn a_reader_sees_an_import_whole_or_not_at_all() {
    for sweep in [true, false] {
        let store = fresh(&PostgresOptions { sweep, ..PostgresOptions::default() });
        conformance::imports::a_reader_sees_an_import_whole_or_not_at_all(store.clone()).await;
    }
}

fn sweeps(module: &str) -> impl Iterator<Item = bool> {
    let matters = ["recipients", "imports", "import_jobs"].contains(&module);
    [true, false].into_iter().filter(move |sweep| matters || *sweep)
}

fn fresh(options: &PostgresOptions) -> SharedStore {
    open(&PostgresServer::shared().create_database(), options).unwrap()
}
