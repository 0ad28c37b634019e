//! Transfer of a SQLite database into an empty PostgreSQL database: every table, column by column of the same
//! name, in one transaction. A mark says that a transfer has begun and not ended; a server refuses the
//! database until then.

use super::PostgresOptions;
use super::error::Trouble;
use super::link::{Links, PgLink, Pool, get, lend};
use super::url::PgServer;
use crate::{LedgerIdentity, NewLedgerBlock, StoreError};
use deadpool::managed::Object;
use records::Recipient;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::Duration;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

/// Rows written in one COPY, and octets of ledger blocks.
const ROWS_AT_ONCE: usize = 2_000;
const OCTETS_AT_ONCE: usize = 4 << 20;
/// A statement may take so long: emptying, or counting a large table.
const STATEMENT_MAX: Duration = Duration::from_secs(3_600);
/// The mark, among the counters.
const MARK: &str = "INSERT INTO counters (name, value) VALUES ('transfer', 1) ON CONFLICT (name) DO NOTHING";
const MARKED: &str = "SELECT 1 FROM counters WHERE name = 'transfer'";
const UNMARK: &str = "DELETE FROM counters WHERE name = 'transfer'";
/// A transfer writes for minutes, and reads beside it.
const SESSION: &str =
    "SET idle_in_transaction_session_timeout = 0; SET statement_timeout = 0; SET enable_seqscan = on";
const COLUMNS: &str = "SELECT c.relname::text, a.attname::text, a.atttypid::oid, a.attidentity::text \
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = current_schema() AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped \
     ORDER BY c.relname, a.attnum";
/// Tables of a server alone: what it is, how far its form is, who leads.
const OWN_TABLES: [&str; 4] = ["campanile", "house", "counters", "leases"];
/// Tables that have rows as soon as the audit trail has begun, which it does when a database is made.
const BEGUN_TABLES: [&str; 4] = ["accounts", "audit_fields", "audit_head", "audit_links"];
const AUDITED: &str = "SELECT count(*) FROM audit_links WHERE verb <> 'audit.begin'";
/// Tables of SQLite whose rows are not copied: those of `sender_opt_outs` are among `opt_outs`, and triggers
/// fill `directory_revisions`.
const WITHOUT_NAMESAKE: [&str; 6] =
    ["house", "counters", "leases", "sqlite_sequence", "sender_opt_outs", "directory_revisions"];
/// Columns that SQLite has in another way, by an expression of its own.
const EXPRESSIONS: [(&str, &str, &str); 3] = [
    ("recipients", "groups", "body"),
    ("opt_outs", "sender", "sender"),
    ("idempotency_keys", "alert", "(SELECT alerts.id FROM alerts WHERE alerts.no = idempotency_keys.alert)"),
];
/// Columns that PostgreSQL fills by itself.
const BY_DEFAULT: [(&str, &str); 1] = [("imports", "seen")];
/// Rows that are read instead of a table's own.
const SOURCES: [(&str, &str); 2] = [
    (
        "opt_outs",
        "(SELECT account, channel, address, '' AS sender, at FROM opt_outs \
         UNION ALL SELECT account, channel, address, sender, at FROM sender_opt_outs)",
    ),
    ("idempotency_keys", "idempotency_keys WHERE alert IN (SELECT no FROM alerts)"),
];

/// A ledger's logs, block by block, as they are to stand in the database.
pub trait LedgerSource {
    /// What was drawn when it was made.
    fn identity(&self) -> LedgerIdentity;
    /// Where its logs begin.
    fn first(&self) -> u64;
    /// The next blocks of a log, of about so many octets; none at its end. Marks are not looked at.
    ///
    /// # Errors
    /// In words: the log cannot be read.
    fn next(&mut self, shard: u32, octets: usize) -> Result<Vec<NewLedgerBlock>, String>;
}

/// What a database is found to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetState {
    /// Nothing is in it.
    Empty,
    /// A transfer into it was begun and has not ended.
    Unfinished,
    /// Something is in this table.
    Taken(String),
}

/// Rows of a table on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableCount {
    /// Its name.
    pub table: String,
    /// In SQLite.
    pub from: u64,
    /// In PostgreSQL.
    pub to: u64,
}

/// The database that is filled.
pub struct Target {
    link: Object<Links>,
    _pool: Pool,
}

struct Column {
    table: String,
    name: String,
    kind: Type,
    is_identity: bool,
}

impl Target {
    /// Connects, and brings the database to this program's form.
    ///
    /// # Errors
    /// As [`super::open`].
    pub async fn open(url: &str, options: &PostgresOptions) -> Result<Target, StoreError> {
        let server = PgServer::parse(url, options)?;
        let pool = Links { server, statement_timeout: STATEMENT_MAX }.pool(1)?;
        let link = lend(&pool).await.map_err(plain)?;
        let migrated = async {
            link.simple(SESSION).await?;
            link.simple("BEGIN").await?;
            super::migrate::migrate(&link).await?;
            link.simple("COMMIT").await
        };
        migrated.await.map_err(plain)?;
        Ok(Target { link, _pool: pool })
    }

    /// Which database it is.
    ///
    /// # Errors
    /// The server's.
    pub async fn house(&self) -> Result<Uuid, StoreError> {
        let row = self.link.one("SELECT id FROM house", &[]).await.map_err(plain)?;
        let row = row.ok_or_else(|| StoreError::Damaged { what: "the house has no id".to_owned() })?;
        get(&row, 0).map_err(plain)
    }

    /// Whether it may be filled.
    ///
    /// # Errors
    /// The server's.
    pub async fn state(&self) -> Result<TargetState, StoreError> {
        if self.link.one(MARKED, &[]).await.map_err(plain)?.is_some() {
            return Ok(TargetState::Unfinished);
        }
        let is_new = self.link.number(AUDITED).await.map_err(plain)? == 0;
        for table in self.tables().await? {
            let is_begun = is_new && BEGUN_TABLES.contains(&&*table);
            if !is_begun && self.count(&table).await? > 0 {
                return Ok(TargetState::Taken(table));
            }
        }
        Ok(TargetState::Empty)
    }

    /// Marks it, and takes away what an unfinished transfer left.
    ///
    /// # Errors
    /// The server's.
    pub async fn begin(&self) -> Result<(), StoreError> {
        let tables = self.tables().await?.join(", ");
        let begin = format!("BEGIN; {MARK}; TRUNCATE {tables} RESTART IDENTITY; COMMIT");
        self.link.simple(&begin).await.map_err(plain)
    }

    /// Copies everything in one transaction: all of it or nothing. `told` hears of each table and its rows so
    /// far.
    ///
    /// # Errors
    /// Those of both sides; a table or column that has no place here.
    pub async fn fill(
        &self,
        from: &Path,
        ledger: Option<&mut dyn LedgerSource>,
        told: &mut dyn FnMut(&str, u64),
    ) -> Result<Vec<TableCount>, StoreError> {
        let source = Connection::open_with_flags(from, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let columns = self.columns().await?;
        self.link.simple("BEGIN").await.map_err(plain)?;
        let mut counts = Vec::new();
        for table in transferred(&source, &columns)? {
            let own: Vec<&Column> = columns.iter().filter(|column| column.table == table).collect();
            let copied = self.copy_table(&source, &table, &own, told).await?;
            counts.push(TableCount { to: self.count(&table).await?, from: copied, table });
        }
        self.set_counters(&source, &columns).await?;
        if let Some(ledger) = ledger {
            self.copy_ledger(ledger, told).await?;
        }
        self.link.simple("COMMIT").await.map_err(plain)?;
        if let Some(unlike) = counts.iter().find(|count| count.from != count.to) {
            let what = format!("{} has {} rows of {}", unlike.table, unlike.to, unlike.from);
            return Err(StoreError::Damaged { what });
        }
        Ok(counts)
    }

    /// Takes the mark away: from now on servers open the database.
    ///
    /// # Errors
    /// The server's.
    pub async fn finish(&self) -> Result<(), StoreError> {
        self.link.simple(UNMARK).await.map_err(plain)
    }

    /// All tables that a transfer fills.
    async fn tables(&self) -> Result<Vec<String>, StoreError> {
        let mut tables: Vec<String> = self.columns().await?.into_iter().map(|column| column.table).collect();
        tables.dedup();
        tables.retain(|table| !OWN_TABLES.contains(&&**table));
        Ok(tables)
    }

    async fn columns(&self) -> Result<Vec<Column>, StoreError> {
        let rows = self.link.all(COLUMNS, &[]).await.map_err(plain)?;
        let column = |row: &tokio_postgres::Row| -> Result<Column, Trouble> {
            let oid: u32 = get(row, 2)?;
            let (table, name): (String, String) = (get(row, 0)?, get(row, 1)?);
            let unknown =
                || StoreError::Damaged { what: format!("column {table}.{name} has an unknown type") };
            let kind = Type::from_oid(oid).ok_or_else(unknown)?;
            let identity: String = get(row, 3)?;
            Ok(Column { kind, is_identity: !identity.is_empty(), table, name })
        };
        rows.iter().map(column).collect::<Result<_, _>>().map_err(plain)
    }

    async fn count(&self, table: &str) -> Result<u64, StoreError> {
        let count = self.link.number(&format!("SELECT count(*) FROM {table}")).await.map_err(plain)?;
        Ok(super::as_u64(count))
    }

    async fn copy_table(
        &self,
        source: &Connection,
        table: &str,
        columns: &[&Column],
        told: &mut dyn FnMut(&str, u64),
    ) -> Result<u64, StoreError> {
        let filled: Vec<&Column> =
            columns.iter().copied().filter(|column| !BY_DEFAULT.contains(&(table, &*column.name))).collect();
        let expressions: Vec<&str> = filled.iter().map(|column| expression(table, &column.name)).collect();
        let rows_of = SOURCES.iter().find(|(of, _)| *of == table).map_or(table, |(_, rows)| rows);
        let select = format!("SELECT {} FROM {rows_of}", expressions.join(", "));
        let names: Vec<&str> = filled.iter().map(|column| &*column.name).collect();
        let copy = format!("COPY {table} ({}) FROM STDIN (FORMAT binary)", names.join(", "));
        let types: Vec<Type> = filled.iter().map(|column| column.kind.clone()).collect();
        let mut statement = source.prepare(&select)?;
        let mut rows = statement.query([])?;
        let (mut copied, mut chunk) = (0, Vec::new());
        loop {
            let row = rows.next()?;
            let is_over = row.is_none();
            if let Some(row) = row {
                let cells = filled.iter().enumerate();
                let cells =
                    cells.map(|(i, column)| cell(row.get_ref(i)?, column)).collect::<Result<Vec<_>, _>>();
                chunk.push(cells?);
            }
            if chunk.len() >= ROWS_AT_ONCE || (is_over && !chunk.is_empty()) {
                copied += chunk.len() as u64;
                self.link.copy_cells(&copy, &types, std::mem::take(&mut chunk)).await.map_err(plain)?;
                told(table, copied);
            }
            if is_over {
                return Ok(copied);
            }
        }
    }

    /// What gives out numbers goes on where SQLite's was.
    async fn set_counters(&self, source: &Connection, columns: &[Column]) -> Result<(), StoreError> {
        let last = |table: &str| {
            let asked = source.query_row("SELECT seq FROM sqlite_sequence WHERE name = ?1", [table], |row| {
                row.get::<_, i64>(0)
            });
            match asked {
                Err(rusqlite::Error::QueryReturnedNoRows) => Ok(0),
                other => other,
            }
        };
        let mut set = format!("UPDATE counters SET value = {} WHERE name = 'alert'", last("alerts")?);
        let version: i64 =
            source.query_row("SELECT value FROM counters WHERE name = 'version'", [], |row| row.get(0))?;
        set += &format!("; SELECT setval('versions', {}, true)", version.max(1));
        for column in columns.iter().filter(|column| column.is_identity) {
            let (table, name) = (&column.table, &column.name);
            set += &format!(
                "; SELECT setval(pg_get_serial_sequence('{table}', '{name}'), greatest({}, 1, \
                 (SELECT coalesce(max({name}), 0) FROM {table})), true)",
                last(table)?
            );
        }
        self.link.simple(&set).await.map_err(plain)
    }

    async fn copy_ledger(
        &self,
        ledger: &mut dyn LedgerSource,
        told: &mut dyn FnMut(&str, u64),
    ) -> Result<(), StoreError> {
        const BLOCKS: &str =
            "COPY ledger_blocks (shard, position, at, mark, octets) FROM STDIN (FORMAT binary)";
        let LedgerIdentity { key, shards } = ledger.identity();
        let identity = format!(
            "INSERT INTO ledger (key_0, key_1, shards) VALUES ({}, {}, {shards})",
            key[0].cast_signed(),
            key[1].cast_signed()
        );
        self.link.simple(&identity).await.map_err(plain)?;
        let types = [Type::INT4, Type::INT8, Type::INT8, Type::UUID, Type::BYTEA];
        let mut copied = 0;
        for shard in 0..shards {
            let mut head = ledger.first();
            loop {
                let damaged = |why| StoreError::Damaged { what: format!("the ledger: {why}") };
                let blocks = ledger.next(shard, OCTETS_AT_ONCE).map_err(damaged)?;
                let Some(last) = blocks.last() else { break };
                head = last.position + last.octets.len() as u64;
                copied += blocks.len() as u64;
                let rows = blocks.into_iter().map(block_cells).collect();
                self.link.copy_cells(BLOCKS, &types, rows).await.map_err(plain)?;
                told("ledger_blocks", copied);
            }
            let head = format!("INSERT INTO ledger_shards (shard, head) VALUES ({shard}, {head})");
            self.link.simple(&head).await.map_err(plain)?;
        }
        Ok(())
    }
}

/// What a database says that a transfer has not ended.
pub(super) async fn refuse_unfinished(link: &PgLink) -> Result<(), Trouble> {
    if link.one(MARKED, &[]).await?.is_none() {
        return Ok(());
    }
    let why = "the database holds a migration that has not ended: run campanile migrate again, to its end";
    Err(StoreError::Conflict { why: why.to_owned() }.into())
}

/// Tables of SQLite, in the order they are copied. Every one of them, and every column, has its place.
fn transferred(source: &Connection, columns: &[Column]) -> Result<Vec<String>, StoreError> {
    let mut select = source.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
    let all = select.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    let mut tables = Vec::new();
    for table in all.into_iter().filter(|table| !WITHOUT_NAMESAKE.contains(&&**table)) {
        let own = source.prepare(&format!("SELECT * FROM {table} LIMIT 0"))?;
        let homeless =
            own.column_names().into_iter().find(|name| !has(columns, &table, name)).map(str::to_owned);
        if let Some(name) = homeless {
            let what = format!("{table}.{name} has no place in PostgreSQL");
            return Err(StoreError::Damaged { what });
        }
        tables.push(table);
    }
    Ok(tables)
}

fn has(columns: &[Column], table: &str, name: &str) -> bool {
    columns.iter().any(|column| column.table == table && column.name == name)
}

fn expression<'a>(table: &str, column: &'a str) -> &'a str {
    EXPRESSIONS.iter().find(|(of, name, _)| (*of, *name) == (table, column)).map_or(column, |(.., sql)| sql)
}

type Cell = Box<dyn ToSql + Sync + Send>;

fn block_cells(block: NewLedgerBlock) -> Vec<Cell> {
    vec![
        Box::new(block.shard.cast_signed()),
        Box::new(super::as_i64(block.position)),
        Box::new(super::as_i64(block.at_us)),
        Box::new(Uuid::now_v7()),
        Box::new(block.octets),
    ]
}

/// A value of SQLite as one of the column's type.
fn cell(value: ValueRef<'_>, column: &Column) -> Result<Cell, StoreError> {
    let Column { table, name, .. } = column;
    let unfit = || StoreError::Damaged { what: format!("{table}.{name}: {value:?} is no {}", column.kind) };
    let number = |value: ValueRef<'_>| value.as_i64_or_null().map_err(|_| unfit());
    let octets = |value: ValueRef<'_>| {
        value.as_bytes_or_null().map(|some| some.map(<[u8]>::to_vec)).map_err(|_| unfit())
    };
    let text =
        |value: ValueRef<'_>| value.as_str_or_null().map(|some| some.map(super::kept)).map_err(|_| unfit());
    Ok(match column.kind {
        Type::INT2 => Box::new(number(value)?.map(i16::try_from).transpose().map_err(|_| unfit())?),
        Type::INT4 => Box::new(number(value)?.map(i32::try_from).transpose().map_err(|_| unfit())?),
        Type::INT8 => Box::new(number(value)?),
        Type::BOOL => Box::new(number(value)?.map(|number| number != 0)),
        Type::TEXT => Box::new(text(value)?),
        Type::BYTEA => Box::new(octets(value)?),
        Type::UUID => {
            let octets = octets(value)?;
            Box::new(octets.map(|octets| Uuid::from_slice(&octets)).transpose().map_err(|_| unfit())?)
        }
        Type::TEXT_ARRAY if (&**table, &**name) == ("recipients", "groups") => {
            let body = octets(value)?.ok_or_else(unfit)?;
            // Where an import takes somebody away, nobody is named.
            let names = |body: &[u8]| Ok::<_, StoreError>(crate::search::names(&Recipient::decode(body)?));
            Box::new(if body.is_empty() { Vec::new() } else { names(&body)? })
        }
        _ => return Err(unfit()),
    })
}

/// One connection is not tried again: what failed is told.
fn plain(trouble: Trouble) -> StoreError {
    match trouble {
        Trouble::Refused(error) => error,
        Trouble::Lost(why) | Trouble::Undone(why) => StoreError::Unreachable { why },
    }
}
