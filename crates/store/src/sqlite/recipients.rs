use super::visible::{self, Visible, walk};
use super::{Sqlite, Tx, account_no, as_limit, as_u64, attributes, revisions, staging};
use crate::attributes::FoundAttributes;
use crate::{DirectoryRevision, EncodedPeople, ImportNo, Recipients, StoreError, search};
use futures_util::future::BoxFuture;
use records::{Recipient, Timestamp};
use rusqlite::Connection;

/// A put of more rows (recipients, and groups they name) goes the way of an import, so that an alert need not
/// wait for it.
const PUT_ROWS_MAX: usize = 512;
/// Recipients handed to a scan's callback at a time.
const SCAN_ROWS: usize = 1_024;

impl Recipients for Sqlite {
    fn directory_revision<'a>(
        &'a self,
        account: &'a str,
    ) -> BoxFuture<'a, Result<DirectoryRevision, StoreError>> {
        Box::pin(async move {
            let account = account.to_owned();
            self.read(move |connection| revisions::of(connection, &account)).await
        })
    }

    fn put_recipients<'a>(
        &'a self,
        account: &'a str,
        recipients: Vec<Recipient>,
    ) -> BoxFuture<'a, Result<Vec<u64>, StoreError>> {
        Box::pin(async move {
            if recipients.iter().map(|recipient| 1 + recipient.groups.len()).sum::<usize>() > PUT_ROWS_MAX {
                return staging::put_many(self, account, recipients).await;
            }
            let account = account.to_owned();
            let rows: Vec<RecipientRow> = recipients.iter().map(RecipientRow::of).collect();
            let attributes = FoundAttributes::of(&recipients);
            self.write(move |tx| put(tx, &account, &rows, &attributes)).await
        })
    }

    fn replace_recipient<'a>(
        &'a self,
        account: &'a str,
        recipient: Recipient,
        version: u64,
    ) -> BoxFuture<'a, Result<Option<u64>, StoreError>> {
        Box::pin(async move {
            let account = account.to_owned();
            let row = RecipientRow::of(&recipient);
            let attributes = FoundAttributes::of(std::slice::from_ref(&recipient));
            let replace = move |tx: &Tx<'_>| {
                let no = tx.account(&account)?;
                let visible = visible::load(tx, no)?;
                match visible::find(tx, &visible, no, &row.id)? {
                    Some((now, _)) if as_u64(now) == version => {
                        Ok(put(tx, &account, std::slice::from_ref(&row), &attributes)?.pop())
                    }
                    _ => Ok(None),
                }
            };
            self.write(replace).await
        })
    }

    fn recipient<'a>(
        &'a self,
        account: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<(Recipient, u64)>, StoreError>> {
        Box::pin(async move {
            let (account, id) = (account.to_owned(), id.to_owned());
            let find = move |connection: &rusqlite::Connection| {
                let Some(no) = account_no(connection, &account)? else { return Ok(None) };
                let visible = visible::load(connection, no)?;
                let found = visible::find(connection, &visible, no, &id)?;
                found.map(|(version, body)| Ok((Recipient::decode(&body)?, as_u64(version)))).transpose()
            };
            self.read(find).await
        })
    }

    fn recipients_by_ids<'a>(
        &'a self,
        account: &'a str,
        ids: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Recipient>, StoreError>> {
        Box::pin(async move {
            let (account, ids) = (account.to_owned(), ids.to_vec());
            let find = move |connection: &rusqlite::Connection| {
                let Some(no) = account_no(connection, &account)? else { return Ok(Vec::new()) };
                let visible = visible::load(connection, no)?;
                let mut found = Vec::with_capacity(ids.len());
                for id in &ids {
                    if let Some((_, body)) = visible::find(connection, &visible, no, id)? {
                        found.push(Recipient::decode(&body)?);
                    }
                }
                Ok(found)
            };
            self.read(find).await
        })
    }

    fn recipients_after<'a>(
        &'a self,
        account: &'a str,
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Recipient>, StoreError>> {
        Box::pin(async move {
            let (account, after) = (account.to_owned(), after.to_owned());
            let page = move |connection: &rusqlite::Connection| {
                let mut page = Vec::new();
                if let Some(no) = account_no(connection, &account)?
                    && limit > 0
                {
                    walk(connection, no, &after, &mut |found| {
                        page.push(Recipient::decode(found.body)?);
                        Ok(page.len() < limit)
                    })?;
                }
                Ok(page)
            };
            self.read(page).await
        })
    }

    fn members_after<'a>(
        &'a self,
        account: &'a str,
        groups: &'a [String],
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        Box::pin(async move {
            let (account, groups, after) = (account.to_owned(), groups.to_vec(), after.to_owned());
            let find = move |connection: &rusqlite::Connection| {
                let Some(no) = account_no(connection, &account)? else { return Ok(Vec::new()) };
                let visible = visible::load(connection, no)?;
                let mut ids = Vec::new();
                for group in &groups {
                    members(connection, &visible, no, group, &after, limit, &mut ids)?;
                }
                ids.sort_unstable();
                ids.dedup();
                ids.truncate(limit);
                Ok(ids)
            };
            self.read(find).await
        })
    }

    fn delete_recipient<'a>(
        &'a self,
        account: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let (account, id) = (account.to_owned(), id.to_owned());
            let delete = move |tx: &Tx<'_>| {
                let Some(no) = account_no(tx, &account)? else { return Ok(false) };
                let visible = visible::load(tx, no)?;
                let removed = remove_visible(tx, &visible, no, &id)?;
                if removed {
                    revisions::note_people(tx, no)?;
                }
                Ok(removed)
            };
            self.write(delete).await
        })
    }

    fn recipient_count<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            let account = account.to_owned();
            let count = move |connection: &rusqlite::Connection| {
                let Some(no) = account_no(connection, &account)? else { return Ok(0) };
                count(connection, no)
            };
            self.read(count).await
        })
    }

    fn attribute_witnesses<'a>(
        &'a self,
        account: &'a str,
        names: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, StoreError>> {
        Box::pin(async move {
            let (account, names) = (account.to_owned(), names.to_vec());
            self.read(move |connection| attributes::witnesses(connection, &account, names)).await
        })
    }

    fn note_attributes<'a>(
        &'a self,
        account: &'a str,
        witnesses: Vec<(String, String)>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let account = account.to_owned();
            self.write(move |tx| attributes::replace(tx, &account, &witnesses)).await
        })
    }

    fn attribute_names<'a>(
        &'a self,
        account: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        Box::pin(async move {
            let account = account.to_owned();
            self.read(move |connection| attributes::names(connection, &account, limit)).await
        })
    }

    fn scan_recipients(
        &self,
        account: &str,
        each: &mut dyn FnMut(&[Recipient]) -> bool,
    ) -> Result<(), StoreError> {
        self.readers.here(|connection| scan(connection, account, false, &mut |slice, _| each(slice)))
    }

    fn scan_encoded_recipients(
        &self,
        account: &str,
        each: &mut dyn FnMut(&[Recipient], &EncodedPeople) -> bool,
    ) -> Result<(), StoreError> {
        self.readers.here(|connection| scan(connection, account, true, each))
    }

    fn begin_import<'a>(
        &'a self,
        account: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<ImportNo, StoreError>> {
        Box::pin(staging::begin(self, account, now))
    }

    fn stage<'a>(&'a self, import: ImportNo, rows: Vec<Recipient>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(staging::stage(self, import, rows))
    }

    fn publish_import(&self, import: ImportNo) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { Ok(staging::publish(self, import).await?.0) })
    }

    fn import_progress(&self, import: ImportNo) -> Option<(u64, u64)> {
        self.staging.progress(import)
    }

    fn abandon_import(&self, import: ImportNo) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(staging::abandon(self, import))
    }
}

/// A recipient as stored.
pub(super) struct RecipientRow {
    pub(super) id: String,
    /// Groups and search terms that are to be written with it.
    pub(super) names: Vec<String>,
    pub(super) body: Vec<u8>,
}

impl RecipientRow {
    pub(super) fn of(recipient: &Recipient) -> RecipientRow {
        RecipientRow { id: recipient.id.clone(), names: search::names(recipient), body: recipient.encode() }
    }
}

/// Puts rows in place of whatever is visible under their ids, and notes the names of their attributes.
/// Goes through an account's recipients, in slices; `with_records`: each slice as it is encoded too.
fn scan(
    connection: &Connection,
    account: &str,
    with_records: bool,
    each: &mut dyn FnMut(&[Recipient], &EncodedPeople) -> bool,
) -> Result<(), StoreError> {
    let Some(no) = account_no(connection, account)? else { return Ok(()) };
    let (mut slice, mut encoded) = (Vec::with_capacity(SCAN_ROWS), EncodedPeople::default());
    let mut go_on = true;
    walk(connection, no, "", &mut |found| {
        let recipient = Recipient::decode(found.body)?;
        if with_records {
            encoded.push(found.body, &recipient);
        }
        slice.push(recipient);
        if slice.len() == SCAN_ROWS {
            go_on = each(&slice, &encoded);
            slice.clear();
            encoded.clear();
        }
        Ok(go_on)
    })?;
    if go_on && !slice.is_empty() {
        each(&slice, &encoded);
    }
    Ok(())
}

fn put(
    tx: &Tx<'_>,
    account: &str,
    rows: &[RecipientRow],
    attributes: &[(String, String)],
) -> Result<Vec<u64>, StoreError> {
    let no = tx.account(account)?;
    let visible = visible::load(tx, no)?;
    let last = tx.raise_version(rows.len())?;
    let first = last - as_limit(rows.len()) + 1;
    for (row, version) in rows.iter().zip(first..) {
        remove_visible(tx, &visible, no, &row.id)?;
        insert(tx, no, 0, version, row)?;
    }
    attributes.iter().try_for_each(|noted| attributes::note(tx, no, noted))?;
    revisions::note_people(tx, no)?;
    Ok((first..=last).map(as_u64).collect())
}

/// Adds a version that is not there yet.
fn insert(
    tx: &Tx<'_>,
    account: i64,
    generation: i64,
    version: i64,
    row: &RecipientRow,
) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT INTO recipients (account, id, generation, version, body) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((account, &row.id, generation, version, &row.body))?;
    row.names.iter().try_for_each(|name| insert_membership(tx, account, generation, name, &row.id))
}

/// Notes that a version of a recipient names a group or has a search term; once if it does so twice.
pub(super) fn insert_membership(
    tx: &Connection,
    account: i64,
    generation: i64,
    group: &str,
    id: &str,
) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT OR IGNORE INTO memberships (account, grp, id, generation) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute((account, group, id, generation))?;
    Ok(())
}

/// Removes every visible version of an id. True if there was one. Rows of a staged import stay: it will be
/// published later than this.
fn remove_visible(tx: &Tx<'_>, visible: &Visible, account: i64, id: &str) -> Result<bool, StoreError> {
    let mut removed = false;
    for version in versions(tx, account, id)? {
        if visible.rank(version.generation).is_some() {
            remove(tx, account, id, &version)?;
            removed = true;
        }
    }
    Ok(removed)
}

/// A version of a recipient, as far as it is needed to remove it.
pub(super) struct StoredVersion {
    pub(super) generation: i64,
    /// Groups and search terms.
    names: Vec<String>,
    /// It says that its import takes the person away.
    pub(super) is_gone: bool,
}

impl StoredVersion {
    pub(super) fn read(generation: i64, body: &[u8]) -> Result<StoredVersion, StoreError> {
        let is_gone = body.is_empty();
        let names = if is_gone { Vec::new() } else { search::names(&Recipient::decode(body)?) };
        Ok(StoredVersion { generation, names, is_gone })
    }
}

/// All versions of an id.
pub(super) fn versions(tx: &Tx<'_>, account: i64, id: &str) -> Result<Vec<StoredVersion>, StoreError> {
    let mut select =
        tx.prepare_cached("SELECT generation, body FROM recipients WHERE account = ?1 AND id = ?2")?;
    let mut rows = select.query((account, id))?;
    let mut versions = Vec::new();
    while let Some(row) = rows.next()? {
        versions.push(StoredVersion::read(row.get(0)?, visible::blob(row, 1)?)?);
    }
    Ok(versions)
}

/// Removes one version.
pub(super) fn remove(tx: &Tx<'_>, account: i64, id: &str, version: &StoredVersion) -> Result<(), StoreError> {
    let StoredVersion { generation, names, .. } = version;
    tx.prepare_cached("DELETE FROM recipients WHERE account = ?1 AND id = ?2 AND generation = ?3")?
        .execute((account, id, generation))?;
    if !names.is_empty() {
        let mut delete = tx.prepare_cached(
            "DELETE FROM memberships WHERE account = ?1 AND grp = ?2 AND id = ?3 AND generation = ?4",
        )?;
        for name in names {
            delete.execute((account, name, id, generation))?;
        }
    }
    Ok(())
}

fn count(connection: &rusqlite::Connection, account: i64) -> Result<u64, StoreError> {
    if visible::load(connection, account)?.is_plain() {
        let mut count = connection.prepare_cached("SELECT count(*) FROM recipients WHERE account = ?1")?;
        return Ok(as_u64(count.query_row([account], |row| row.get(0))?));
    }
    let mut number = 0;
    walk(connection, account, "", &mut |_| {
        number += 1;
        Ok(true)
    })?;
    Ok(number)
}

/// Adds up to `limit` ids whose visible version names the group.
pub(super) fn members(
    connection: &rusqlite::Connection,
    visible: &Visible,
    account: i64,
    group: &str,
    after: &str,
    limit: usize,
    ids: &mut Vec<String>,
) -> Result<(), StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT id, generation FROM memberships WHERE account = ?1 AND grp = ?2 AND id > ?3 ORDER BY id, generation",
    )?;
    let mut rows = select.query((account, group, after))?;
    let mut found = 0;
    while found < limit
        && let Some(row) = rows.next()?
    {
        let id = visible::text(row, 0)?;
        if visible.is_plain() || visible::winner(connection, visible, account, id)? == Some(row.get(1)?) {
            ids.push(id.to_owned());
            found += 1;
        }
    }
    Ok(())
}

/// Ids of people of whom a search term begins so; of the first `limit` terms.
pub(super) fn by_term(
    connection: &Connection,
    account: i64,
    prefix: &str,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    let visible = visible::load(connection, account)?;
    let (from, until) = search::range(prefix);
    let mut select = connection.prepare_cached(
        "SELECT id, generation FROM memberships WHERE account = ?1 AND grp >= ?2 AND grp < ?3 \
         ORDER BY grp, id LIMIT ?4",
    )?;
    let mut rows = select.query((account, from, until, as_limit(limit)))?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next()? {
        let id = visible::text(row, 0)?;
        if visible.is_plain() || visible::winner(connection, &visible, account, id)? == Some(row.get(1)?) {
            ids.push(id.to_owned());
        }
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Writes the search terms of all who are there, of whatever version, in the transaction of the migration.
pub(super) fn fill_terms(connection: &Connection) -> Result<(), StoreError> {
    let mut select = connection.prepare("SELECT account, id, generation, body FROM recipients")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (account, generation): (i64, i64) = (row.get(0)?, row.get(2)?);
        let id = visible::text(row, 1)?;
        for term in search::terms(&Recipient::decode(visible::blob(row, 3)?)?) {
            insert_membership(connection, account, generation, &term, id)?;
        }
    }
    Ok(())
}
