use super::{Sqlite, Tx, account_no, as_limit, as_u64};
use crate::documents::within_limits;
use crate::{Document, DocumentKind, DocumentWritten, Documents, Expected, NewDocument, StoreError};
use futures_util::future::BoxFuture;
use records::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row};

const BY_ID: &str = "SELECT id, version, changed, lookup, due, body FROM documents \
     WHERE account = ?1 AND kind = ?2 AND id = ?3";
const BY_LOOKUP: &str = "SELECT id, version, changed, lookup, due, body FROM documents \
     WHERE account = ?1 AND kind = ?2 AND lookup = ?3";
const PAGE: &str = "SELECT id, version, changed, lookup, due, body FROM documents \
     WHERE account = ?1 AND kind = ?2 AND id > ?3 ORDER BY id LIMIT ?4";
const DUE: &str = "SELECT documents.id, version, changed, lookup, due, body, accounts.id FROM documents \
     JOIN accounts ON accounts.no = documents.account \
     WHERE kind = ?1 AND due IS NOT NULL AND due <= ?2 ORDER BY due LIMIT ?3";
const PUT: &str = "INSERT OR REPLACE INTO documents (account, kind, id, version, changed, lookup, due, body) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

impl Documents for Sqlite {
    fn put_document<'a>(
        &'a self,
        account: &'a str,
        kind: DocumentKind,
        document: NewDocument,
        expected: Expected,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<DocumentWritten, StoreError>> {
        Box::pin(async move {
            within_limits(&document)?;
            let account = account.to_owned();
            self.write(move |tx| put(tx, &account, kind, &document, expected, now)).await
        })
    }

    fn document<'a>(
        &'a self,
        account: &'a str,
        kind: DocumentKind,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, StoreError>> {
        let (account, id) = (account.to_owned(), id.to_owned());
        Box::pin(self.read(move |connection| one(connection, BY_ID, &account, kind, &id)))
    }

    fn document_by<'a>(
        &'a self,
        account: &'a str,
        kind: DocumentKind,
        lookup: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, StoreError>> {
        let (account, lookup) = (account.to_owned(), lookup.to_owned());
        Box::pin(self.read(move |connection| one(connection, BY_LOOKUP, &account, kind, &lookup)))
    }

    fn documents_after<'a>(
        &'a self,
        account: &'a str,
        kind: DocumentKind,
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Document>, StoreError>> {
        let (account, after) = (account.to_owned(), after.to_owned());
        let page = move |connection: &Connection| {
            let Some(account) = account_no(connection, &account)? else { return Ok(Vec::new()) };
            let mut select = connection.prepare_cached(PAGE)?;
            let rows = select.query_map((account, kind.name(), &after, as_limit(limit)), document)?;
            Ok(rows.collect::<Result<Vec<_>, _>>()?)
        };
        Box::pin(self.read(page))
    }

    fn count_documents<'a>(
        &'a self,
        account: &'a str,
        kind: DocumentKind,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        let account = account.to_owned();
        let count = move |connection: &Connection| {
            let Some(account) = account_no(connection, &account)? else { return Ok(0) };
            let sql = "SELECT count(*) FROM documents WHERE account = ?1 AND kind = ?2";
            let mut count = connection.prepare_cached(sql)?;
            Ok(as_u64(count.query_row((account, kind.name()), |row| row.get(0))?))
        };
        Box::pin(self.read(count))
    }

    fn delete_document<'a>(
        &'a self,
        account: &'a str,
        kind: DocumentKind,
        id: &'a str,
        expected: Expected,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (account, id) = (account.to_owned(), id.to_owned());
        let delete = move |tx: &Tx<'_>| {
            let stands = one(tx, BY_ID, &account, kind, &id)?;
            let (Some(stands), Some(no)) = (stands, account_no(tx, &account)?) else { return Ok(false) };
            if !crate::documents::is_expected(expected, Some(stands.version)) {
                return Ok(false);
            }
            let sql = "DELETE FROM documents WHERE account = ?1 AND kind = ?2 AND id = ?3";
            Ok(tx.prepare_cached(sql)?.execute((no, kind.name(), &id))? > 0)
        };
        Box::pin(self.write(delete))
    }

    fn due_documents(
        &self,
        kind: DocumentKind,
        until: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(String, Document)>, StoreError>> {
        let due = move |connection: &Connection| {
            let mut select = connection.prepare_cached(DUE)?;
            let rows = select.query_map((kind.name(), until.0, as_limit(limit)), |row| {
                Ok((row.get(6)?, document(row)?))
            })?;
            Ok(rows.collect::<Result<Vec<_>, _>>()?)
        };
        Box::pin(self.read(due))
    }
}

pub(super) fn put(
    tx: &Tx<'_>,
    account: &str,
    kind: DocumentKind,
    document: &NewDocument,
    expected: Expected,
    now: Timestamp,
) -> Result<DocumentWritten, StoreError> {
    let stands = one(tx, BY_ID, account, kind, &document.id)?;
    if !crate::documents::is_expected(expected, stands.as_ref().map(|stands| stands.version)) {
        return Ok(DocumentWritten::Conflict(stands.map(Box::new)));
    }
    if let Some(lookup) = &document.lookup
        && one(tx, BY_LOOKUP, account, kind, lookup)?.is_some_and(|other| other.id != document.id)
    {
        return Ok(DocumentWritten::LookupTaken);
    }
    let version = stands.map_or(0, |stands| stands.version) + 1;
    tx.prepare_cached(PUT)?.execute((
        tx.account(account)?,
        kind.name(),
        &document.id,
        i64::try_from(version).unwrap_or(i64::MAX),
        now.0,
        &document.lookup,
        document.due.map(|due| due.0),
        &document.body,
    ))?;
    Ok(DocumentWritten::Done(version))
}

fn one(
    connection: &Connection,
    sql: &str,
    account: &str,
    kind: DocumentKind,
    key: &str,
) -> Result<Option<Document>, StoreError> {
    let Some(account) = account_no(connection, account)? else { return Ok(None) };
    let mut select = connection.prepare_cached(sql)?;
    Ok(select.query_row((account, kind.name(), key), document).optional()?)
}

fn document(row: &Row<'_>) -> rusqlite::Result<Document> {
    Ok(Document {
        id: row.get(0)?,
        version: as_u64(row.get(1)?),
        changed: Timestamp(row.get(2)?),
        lookup: row.get(3)?,
        due: row.get::<_, Option<i64>>(4)?.map(Timestamp),
        body: row.get(5)?,
    })
}
