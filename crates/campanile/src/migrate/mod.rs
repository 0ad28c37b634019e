//! Migration of a data folder to PostgreSQL and NATS.
//!
//! SQL and ledger are copied in one transaction, topics beside it; a mark in the database says until the end
//! that it is not usable, and a later run begins anew. The source is only read: its locks are held meanwhile.

mod progress;
mod source;
mod topics;

use crate::keys::Keys;
use crate::message_funds;
use crate::setup::SharedServers;
use crate::storage;
use bus::nats::Filling;
use ledger::audit::Report;
use ledger::shared;
use ledger::transfer::FolderSource;
use progress::Progress;
use source::MigrationSource;
use std::future::Future;
use std::path::PathBuf;
use store::postgres::PostgresOptions;
use store::postgres::transfer::{LedgerSource, TableCount, Target, TargetState};

/// What is migrated, and where to.
pub struct Migration {
    /// The data folder.
    pub data: PathBuf,
    /// The SQLite file.
    pub database: PathBuf,
    /// The folder of the bus.
    pub bus: PathBuf,
    /// The servers.
    pub to: SharedServers,
    /// The ledger too.
    pub with_ledger: bool,
}

/// What became of it.
#[derive(Debug, Default)]
pub struct Migrated {
    /// Rows on both sides.
    pub tables: Vec<TableCount>,
    /// Topics with records, or with an index to go on from.
    pub topics: u64,
    /// The audit of the ledger, the same on both sides.
    pub ledger: Option<Report>,
}

/// The SQLite file and the bus's folder, where no config says otherwise.
pub fn usual_places() -> (PathBuf, PathBuf) {
    ("campanile.db".into(), "bus".into())
}

impl Migration {
    /// Only looks whether it can be done.
    ///
    /// # Errors
    /// In words, with what to do.
    pub fn check(&self) -> Result<Migrated, String> {
        let runtime = runtime()?;
        let source = MigrationSource::open(self)?;
        runtime.block_on(source.check())?;
        self.ledger()?;
        let target = runtime.block_on(self.target())?;
        self.filling(&runtime, &target)?;
        runtime.block_on(source.close());
        Ok(Migrated::default())
    }

    /// Does it.
    ///
    /// # Errors
    /// In words, with what to do: then the other side is not usable, and the folder is as it was.
    pub fn run(&self) -> Result<Migrated, String> {
        let runtime = runtime()?;
        let mut progress = Progress::new();
        let source = MigrationSource::open(self)?;
        runtime.block_on(source.check())?;
        let mut ledger = self.ledger()?;
        let target = runtime.block_on(self.target())?;
        let filling = self.filling(&runtime, &target)?;
        runtime.block_on(target.begin()).map_err(in_store)?;
        filling.clear().map_err(in_bus)?;
        let of_ledger = ledger.as_mut().map(|source| source as &mut dyn LedgerSource);
        let mut told = |table: &str, rows: u64| progress.tell(table, rows);
        let filled = target.fill(&self.database, of_ledger, &mut told);
        let tables = runtime.block_on(filled).map_err(in_store)?;
        let topics = topics::copy(&runtime, &source, &filling, &mut progress)?;
        let audited = ledger.is_some().then(|| self.audit()).transpose()?;
        let house = runtime.block_on(target.house()).map_err(in_store)?;
        let secrets = Keys::octets(&self.data)?;
        runtime.block_on(storage::join(house, &secrets, &filling.bus()))?;
        runtime.block_on(target.finish()).map_err(in_store)?;
        storage::note_migrated(&self.data, &self.destination())
            .map_err(|error| format!("{}: {error}", self.data.display()))?;
        runtime.block_on(source.close());
        progress.end();
        Ok(Migrated { tables, topics, ledger: audited })
    }

    async fn target(&self) -> Result<Target, String> {
        Target::open(self.to.store.reveal(), &self.to.postgres).await.map_err(in_store)
    }

    /// The bus that is filled, where both have nothing in them, or what an unfinished migration left.
    fn filling(&self, runtime: &tokio::runtime::Runtime, target: &Target) -> Result<Filling, String> {
        let state = runtime.block_on(target.state()).map_err(in_store)?;
        if let TargetState::Taken(table) = &state {
            return Err(format!(
                "[store]: the database is not empty (there are rows in {table}): give campanile migrate one of its own, with nothing in it"
            ));
        }
        let filling = Filling::open(&self.to.bus, self.to.nats.clone()).map_err(in_bus)?;
        let streams = filling.streams().map_err(in_bus)?;
        if let (TargetState::Empty, Some(stream)) = (&state, streams.first()) {
            return Err(format!(
                "[bus]: the servers have streams with this prefix already, such as {stream}: use another bus.prefix, or remove them"
            ));
        }
        Ok(filling)
    }

    fn ledger(&self) -> Result<Option<FolderSource>, String> {
        if !self.with_ledger {
            return Ok(None);
        }
        FolderSource::open(&message_funds::folder(&self.data))
            .map_err(|refusal| format!("the ledger: {refusal}"))
    }

    /// Balances and sums on both sides, to the unit.
    fn audit(&self) -> Result<Report, String> {
        let says = |refusal: ledger::Refusal| format!("the ledger: {refusal}");
        let here = ledger::audit(&message_funds::folder(&self.data)).map_err(says)?;
        let options = PostgresOptions { sweep: false, unfinished: true, ..self.to.postgres.clone() };
        let store = store::postgres::open(self.to.store.reveal(), &options).map_err(in_store)?;
        let log = store.ledger_log().ok_or("[store]: this database has no ledger")?;
        let there = shared::read::audit(&log).map_err(says)?;
        let comparable = |report: &Report| Report { torn_octets: 0, ..report.clone() };
        if comparable(&here) != comparable(&there) {
            return Err(format!(
                "the ledger differs: {} accounts with balances {} in the folder, {} with {} in PostgreSQL",
                here.accounts, here.posted, there.accounts, there.posted
            ));
        }
        Ok(there)
    }

    /// Where it went, for people, without secrets.
    fn destination(&self) -> String {
        let place = |url: &str| {
            let rest = url
                .rsplit_once('@')
                .map_or_else(|| url.split("://").last().unwrap_or_default(), |(_, rest)| rest);
            rest.split('?').next().unwrap_or_default().to_owned()
        };
        format!(
            "to PostgreSQL {} and NATS {} (prefix {})",
            place(self.to.store.reveal()),
            place(&self.to.bus),
            self.to.nats.prefix
        )
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    crate::server::choose_cryptography();
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("no threads: {error}"))
}

fn in_store(error: store::StoreError) -> String {
    format!("[store]: {error}")
}

fn in_bus(error: bus::BusError) -> String {
    format!("[bus]: {error}")
}

/// Something on the runtime, from a thread that waits.
fn wait<T>(runtime: &tokio::runtime::Runtime, work: impl Future<Output = T>) -> T {
    runtime.block_on(work)
}
