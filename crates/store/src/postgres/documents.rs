use super::error::Trouble;
use super::link::{Params, PgLink, get};
use super::{Postgres, Work, account_locked, account_no, as_i64, as_limit, as_u64, kept};
use crate::documents::{is_expected, within_limits};
use crate::{Document, DocumentKind, DocumentWritten, Documents, Expected, NewDocument, StoreError};
use futures_util::future::BoxFuture;
use records::Timestamp;
use tokio_postgres::Row;

const BY_ID: &str = "SELECT id, version, changed, lookup, due, body FROM documents \
     WHERE account = $1 AND kind = $2 AND id = $3";
const BY_LOOKUP: &str = "SELECT id, version, changed, lookup, due, body FROM documents \
     WHERE account = $1 AND kind = $2 AND lookup = $3";
const PAGE: &str = "SELECT id, version, changed, lookup, due, body FROM documents \
     WHERE account = $1 AND kind = $2 AND id > $3 ORDER BY id LIMIT $4";
const DUE: &str = "SELECT documents.id, version, changed, lookup, due, body, accounts.id FROM documents \
     JOIN accounts ON accounts.no = documents.account \
     WHERE kind = $1 AND due IS NOT NULL AND due <= $2 ORDER BY due LIMIT $3";
const PUT: &str = "INSERT INTO documents (account, kind, id, version, changed, lookup, due, body) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (account, kind, id) DO UPDATE SET \
     version = excluded.version, changed = excluded.changed, lookup = excluded.lookup, due = excluded.due, \
     body = excluded.body";

impl Documents for Postgres {
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
            let document = NewDocument {
                id: kept(&document.id),
                lookup: document.lookup.as_deref().map(kept),
                body: kept(&document.body),
                ..document
            };
            let args = (account.to_owned(), kind, document, expected, now.0);
            let put = Work::new(args, |link, (account, kind, document, expected, now)| {
                Box::pin(put(link, account, *kind, document, *expected, *now))
            });
            self.write(put).await
        })
    }

    fn document<'a>(
        &'a self,
        account: &'a str,
        kind: DocumentKind,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, StoreError>> {
        let find = Work::new((account.to_owned(), kind, kept(id)), |link, (account, kind, id)| {
            Box::pin(one(link, BY_ID, account, *kind, id))
        });
        Box::pin(self.read(find))
    }

    fn document_by<'a>(
        &'a self,
        account: &'a str,
        kind: DocumentKind,
        lookup: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, StoreError>> {
        let find = Work::new((account.to_owned(), kind, kept(lookup)), |link, (account, kind, lookup)| {
            Box::pin(one(link, BY_LOOKUP, account, *kind, lookup))
        });
        Box::pin(self.read(find))
    }

    fn documents_after<'a>(
        &'a self,
        account: &'a str,
        kind: DocumentKind,
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Document>, StoreError>> {
        let args = (account.to_owned(), kind, kept(after), as_limit(limit));
        let page = Work::new(args, |link, (account, kind, after, limit)| {
            Box::pin(async move {
                let Some(no) = account_no(link, account).await? else { return Ok(Vec::new()) };
                let rows = link.all(PAGE, &[&no, &kind.name(), after, limit]).await?;
                rows.iter().map(document).collect()
            })
        });
        Box::pin(self.read(page))
    }

    fn count_documents<'a>(
        &'a self,
        account: &'a str,
        kind: DocumentKind,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        let count = Work::new((account.to_owned(), kind), |link, (account, kind)| {
            Box::pin(async move {
                let Some(no) = account_no(link, account).await? else { return Ok(0) };
                let sql = "SELECT count(*) FROM documents WHERE account = $1 AND kind = $2";
                let row = link.one(sql, &[&no, &kind.name()]).await?;
                let count: Option<i64> = row.map(|row| get(&row, 0)).transpose()?;
                Ok(as_u64(count.unwrap_or(0)))
            })
        });
        Box::pin(self.read(count))
    }

    fn delete_document<'a>(
        &'a self,
        account: &'a str,
        kind: DocumentKind,
        id: &'a str,
        expected: Expected,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let args = (account.to_owned(), kind, kept(id), expected);
        let delete = Work::new(args, |link, (account, kind, id, expected)| {
            Box::pin(async move {
                let no = account_locked(link, account).await?;
                let Some(stands) = one(link, BY_ID, account, *kind, id).await? else { return Ok(false) };
                if !is_expected(*expected, Some(stands.version)) {
                    return Ok(false);
                }
                let sql = "DELETE FROM documents WHERE account = $1 AND kind = $2 AND id = $3";
                Ok(link.execute(sql, &[&no, &kind.name(), id]).await? > 0)
            })
        });
        Box::pin(self.write(delete))
    }

    fn due_documents(
        &self,
        kind: DocumentKind,
        until: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(String, Document)>, StoreError>> {
        let due = Work::new((kind, until.0, as_limit(limit)), |link, (kind, until, limit)| {
            Box::pin(async move {
                let rows = link.all(DUE, &[&kind.name(), until, limit]).await?;
                rows.iter().map(|row| Ok((get(row, 6)?, document(row)?))).collect()
            })
        });
        Box::pin(self.read(due))
    }
}

pub(super) async fn put(
    link: &PgLink,
    account: &str,
    kind: DocumentKind,
    document: &NewDocument,
    expected: Expected,
    now: i64,
) -> Result<DocumentWritten, Trouble> {
    let no = account_locked(link, account).await?;
    let stands = one(link, BY_ID, account, kind, &document.id).await?;
    if !is_expected(expected, stands.as_ref().map(|stands| stands.version)) {
        return Ok(DocumentWritten::Conflict(stands.map(Box::new)));
    }
    if let Some(lookup) = &document.lookup
        && one(link, BY_LOOKUP, account, kind, lookup).await?.is_some_and(|other| other.id != document.id)
    {
        return Ok(DocumentWritten::LookupTaken);
    }
    let version = stands.map_or(0, |stands| stands.version) + 1;
    let due = document.due.map(|due| due.0);
    let params: Params<'_> =
        &[&no, &kind.name(), &document.id, &as_i64(version), &now, &document.lookup, &due, &document.body];
    link.execute(PUT, params).await?;
    Ok(DocumentWritten::Done(version))
}

async fn one(
    link: &PgLink,
    sql: &'static str,
    account: &str,
    kind: DocumentKind,
    key: &str,
) -> Result<Option<Document>, Trouble> {
    let Some(no) = account_no(link, account).await? else { return Ok(None) };
    let row = link.one(sql, &[&no, &kind.name(), &key]).await?;
    row.as_ref().map(document).transpose()
}

fn document(row: &Row) -> Result<Document, Trouble> {
    Ok(Document {
        id: get(row, 0)?,
        version: as_u64(get(row, 1)?),
        changed: Timestamp(get(row, 2)?),
        lookup: get(row, 3)?,
        due: get::<Option<i64>>(row, 4)?.map(Timestamp),
        body: get(row, 5)?,
    })
}
