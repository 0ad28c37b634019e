use super::error::Trouble;
use super::link::{Params, PgLink, get};
use super::{
    Postgres, Work, account_locked, account_no, as_i64, as_limit, as_u64, attributes, revisions, scan,
    staging,
};
use crate::attributes::FoundAttributes;
use crate::visible::{ListedImport, Visible};
use crate::{DirectoryRevision, ImportNo, Recipients, StoreError, search};
use futures_util::future::BoxFuture;
use records::{Recipient, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

/// A put of more rows (recipients, and groups they name) goes the way of an import, so that the account is
/// not locked for long.
const PUT_ROWS_MAX: usize = 512;
/// Rows read at a time while a page is filled.
const READ_ROWS_MAX: usize = 2_048;
/// Ids looked up at a time.
const IDS_MAX: usize = 2_000;

/// One statement sees one moment. Which version is seen: see [`crate::visible`].
macro_rules! seen {
    ($columns:literal, $of:literal, $rest:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM recipients LEFT JOIN imports ON imports.generation = recipients.generation \
             WHERE recipients.account = $1 AND ",
            $of,
            " AND coalesce(imports.state, 1) = 1 ",
            $rest
        )
    };
}

/// Whoever looks at the body sees whether it is empty: then an import took the person away.
const FIND: &str = seen!(
    "recipients.version, body",
    "recipients.id = $2",
    "ORDER BY coalesce(imports.rank, 0) DESC LIMIT 1"
);
const FIND_MANY: &str = seen!(
    "DISTINCT ON (recipients.id) recipients.id, body",
    "recipients.id = ANY($2)",
    "ORDER BY recipients.id, coalesce(imports.rank, 0) DESC"
);
const COUNT: &str = concat!(
    "SELECT count(*) FROM (",
    seen!(
        "DISTINCT ON (recipients.id) octet_length(body) AS octets",
        "true",
        "ORDER BY recipients.id, coalesce(imports.rank, 0) DESC"
    ),
    ") AS best WHERE octets > 0"
);
const COUNT_PLAIN: &str = "SELECT count(*) FROM recipients WHERE account = $1";
const IMPORTS: &str =
    "SELECT generation, state::bigint, rank, undo_until IS NOT NULL FROM imports WHERE account = $1";
const PAGE: &str = "SELECT id, generation, body FROM recipients WHERE account = $1 AND (id, generation) > ($2, $3) \
     ORDER BY id, generation LIMIT $4";
/// Of each group the first few ids whose version is the one that is seen.
const MEMBERS: &str = "SELECT DISTINCT found.id FROM unnest($2::text[]) AS named, LATERAL \
     (SELECT members.id FROM memberships AS members \
      WHERE members.account = $1 AND members.grp = named AND members.id > $3 AND members.generation = \
       (SELECT recipients.generation FROM recipients LEFT JOIN imports ON imports.generation = recipients.generation \
        WHERE recipients.account = $1 AND recipients.id = members.id AND coalesce(imports.state, 1) = 1 \
        ORDER BY coalesce(imports.rank, 0) DESC LIMIT 1) \
      ORDER BY members.id LIMIT $4) AS found ORDER BY found.id LIMIT $4";
/// Rows of a staged import stay: it will be published later than this.
const REMOVE: &str = "WITH gone AS (DELETE FROM recipients WHERE account = $1 AND id = ANY($2) AND NOT EXISTS \
      (SELECT FROM imports WHERE imports.generation = recipients.generation AND imports.state <> 1) \
      RETURNING id, generation, groups), \
     named AS (DELETE FROM memberships USING \
      (SELECT id, generation, unnest(groups) AS grp FROM gone) AS gone \
      WHERE memberships.account = $1 AND memberships.grp = gone.grp AND memberships.id = gone.id \
      AND memberships.generation = gone.generation) \
     SELECT count(*) FROM gone";
const VERSIONS: &str = "SELECT nextval('versions') FROM generate_series(1, $1)";
const COPY_RECIPIENTS: &str =
    "COPY recipients (account, id, generation, version, groups, body) FROM STDIN (FORMAT binary)";
const COPY_MEMBERSHIPS: &str = "COPY memberships (account, grp, id, generation) FROM STDIN (FORMAT binary)";

impl Recipients for Postgres {
    fn directory_revision<'a>(
        &'a self,
        account: &'a str,
    ) -> BoxFuture<'a, Result<DirectoryRevision, StoreError>> {
        let of = Work::new(account.to_owned(), |link, account| Box::pin(revisions::of(link, account)));
        Box::pin(self.read(of))
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
            let rows: Vec<Person> = recipients.iter().map(Person::of).collect();
            let args = (account.to_owned(), rows, FoundAttributes::of(&recipients));
            let put = Work::new(args, |link, (account, rows, noted)| {
                Box::pin(async move {
                    let no = account_locked(link, account).await?;
                    attributes::note(link, no, noted).await?;
                    put(link, no, rows).await
                })
            });
            self.write(put.again()).await
        })
    }

    fn replace_recipient<'a>(
        &'a self,
        account: &'a str,
        recipient: Recipient,
        version: u64,
    ) -> BoxFuture<'a, Result<Option<u64>, StoreError>> {
        let noted = FoundAttributes::of(std::slice::from_ref(&recipient));
        let args = (account.to_owned(), [Person::of(&recipient)], noted, as_i64(version));
        let replace = Work::new(args, |link, (account, row, noted, version)| {
            Box::pin(async move {
                let no = account_locked(link, account).await?;
                let now = link.one(FIND, &[&no, &row[0].id]).await?;
                let now = now.map(|row| Ok::<_, Trouble>((get(&row, 0)?, get::<&[u8]>(&row, 1)?.is_empty())));
                let now: Option<i64> =
                    now.transpose()?.filter(|(_, is_gone)| !is_gone).map(|(version, _)| version);
                if now != Some(*version) {
                    return Ok(None);
                }
                attributes::note(link, no, noted).await?;
                Ok(put(link, no, row).await?.pop())
            })
        });
        Box::pin(self.write(replace))
    }

    fn recipient<'a>(
        &'a self,
        account: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<(Recipient, u64)>, StoreError>> {
        let find = Work::new((account.to_owned(), id.to_owned()), |link, (account, id)| {
            Box::pin(async move {
                let Some(no) = account_no(link, account).await? else { return Ok(None) };
                let Some(row) = link.one(FIND, &[&no, id]).await? else { return Ok(None) };
                let body: &[u8] = get(&row, 1)?;
                if body.is_empty() {
                    return Ok(None);
                }
                Ok(Some((Recipient::decode(body)?, as_u64(get(&row, 0)?))))
            })
        });
        Box::pin(self.read(find))
    }

    fn recipients_by_ids<'a>(
        &'a self,
        account: &'a str,
        ids: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Recipient>, StoreError>> {
        let find = Work::new((account.to_owned(), ids.to_vec()), |link, (account, ids)| {
            Box::pin(by_ids(link, account, ids))
        });
        Box::pin(self.snapshot(find))
    }

    fn recipients_after<'a>(
        &'a self,
        account: &'a str,
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Recipient>, StoreError>> {
        let page =
            Work::new((account.to_owned(), after.to_owned(), limit), |link, (account, after, limit)| {
                Box::pin(async move {
                    let Some(no) = account_no(link, account).await? else { return Ok(Vec::new()) };
                    page(link, no, after, *limit).await
                })
            });
        Box::pin(self.snapshot(page))
    }

    fn members_after<'a>(
        &'a self,
        account: &'a str,
        groups: &'a [String],
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        let args = (account.to_owned(), groups.to_vec(), after.to_owned(), as_limit(limit));
        let find = Work::new(args, |link, (account, groups, after, limit)| {
            Box::pin(async move {
                let Some(no) = account_no(link, account).await? else { return Ok(Vec::new()) };
                members(link, no, groups, after, *limit).await
            })
        });
        Box::pin(self.read(find))
    }

    fn delete_recipient<'a>(
        &'a self,
        account: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let delete = Work::new((account.to_owned(), id.to_owned()), |link, (account, id)| {
            Box::pin(async move {
                let Some(no) = account_no(link, account).await? else { return Ok(false) };
                super::lock_account(link, no).await?;
                let removed = remove(link, no, &[id]).await?;
                if removed {
                    revisions::note_people(link, no).await?;
                }
                Ok(removed)
            })
        });
        Box::pin(self.write(delete))
    }

    fn recipient_count<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        let count = Work::new(account.to_owned(), |link, account| {
            Box::pin(async move {
                let Some(no) = account_no(link, account).await? else { return Ok(0) };
                let plain = imports(link, no).await?.is_plain();
                let row = link.one(if plain { COUNT_PLAIN } else { COUNT }, &[&no]).await?;
                Ok(row.map(|row| get(&row, 0)).transpose()?.map_or(0, as_u64))
            })
        });
        Box::pin(self.snapshot(count))
    }

    fn attribute_witnesses<'a>(
        &'a self,
        account: &'a str,
        names: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, StoreError>> {
        let find = Work::new((account.to_owned(), names.to_vec()), |link, (account, names)| {
            Box::pin(attributes::witnesses(link, account, names))
        });
        Box::pin(self.read(find))
    }

    fn note_attributes<'a>(
        &'a self,
        account: &'a str,
        witnesses: Vec<(String, String)>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let note = Work::new((account.to_owned(), witnesses), |link, (account, witnesses)| {
            Box::pin(attributes::replace(link, account, witnesses))
        });
        Box::pin(self.write(note.again()))
    }

    fn attribute_names<'a>(
        &'a self,
        account: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        let find = Work::new((account.to_owned(), limit), |link, (account, limit)| {
            Box::pin(attributes::names(link, account, *limit))
        });
        Box::pin(self.read(find))
    }

    fn scan_recipients(
        &self,
        account: &str,
        each: &mut dyn FnMut(&[Recipient]) -> bool,
    ) -> Result<(), StoreError> {
        scan::run(self, scan::Recipients::of(account), each)
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
pub(super) struct Person {
    pub(super) id: String,
    /// Groups and search terms, each once: the column `groups`.
    pub(super) names: Vec<String>,
    /// Empty: the import takes the person away.
    pub(super) body: Vec<u8>,
}

impl Person {
    pub(super) fn of(recipient: &Recipient) -> Person {
        Person { id: recipient.id.clone(), names: search::names(recipient), body: recipient.encode() }
    }
}

/// Puts rows in place of whatever is visible under their ids; the account is locked. Of two with one id the
/// later stays.
async fn put(link: &PgLink, account: i32, rows: &[Person]) -> Result<Vec<u64>, Trouble> {
    let count = i32::try_from(rows.len()).unwrap_or(i32::MAX);
    let versions = link.all(VERSIONS, &[&count]).await?;
    let versions = versions.iter().map(|row| get(row, 0)).collect::<Result<Vec<i64>, _>>()?;
    let ids: Vec<&String> = rows.iter().map(|row| &row.id).collect();
    remove(link, account, &ids).await?;
    let mut taken = FxHashSet::default();
    let last = rows.iter().zip(&versions).rev().filter(|(row, _)| taken.insert(&row.id));
    let last: Vec<(&Person, i64)> = last.map(|(row, version)| (row, *version)).collect();
    copy(link, account, 0, &last).await?;
    let mut named: Vec<(&String, &String)> = Vec::new();
    for (row, _) in &last {
        named.extend(row.names.iter().map(|name| (name, &row.id)));
    }
    copy_memberships(link, account, 0, &named).await?;
    revisions::note_people(link, account).await?;
    Ok(versions.into_iter().map(as_u64).collect())
}

/// Adds versions that are not there yet.
pub(super) async fn copy(
    link: &PgLink,
    account: i32,
    generation: i64,
    rows: &[(&Person, i64)],
) -> Result<(), Trouble> {
    let types = [Type::INT4, Type::TEXT, Type::INT8, Type::INT8, Type::TEXT_ARRAY, Type::BYTEA];
    let rows = rows.iter().map(|(row, version)| {
        let columns: [&(dyn ToSql + Sync); 6] =
            [&account, &row.id, &generation, version, &row.names, &row.body];
        columns
    });
    link.copy(COPY_RECIPIENTS, types, rows).await?;
    Ok(())
}

/// Notes which versions of recipients name which groups: group and id of each.
pub(super) async fn copy_memberships(
    link: &PgLink,
    account: i32,
    generation: i64,
    rows: &[(&String, &String)],
) -> Result<(), Trouble> {
    let types = [Type::INT4, Type::TEXT, Type::TEXT, Type::INT8];
    let rows = rows.iter().map(|(group, id)| {
        let columns: [&(dyn ToSql + Sync); 4] = [&account, group, id, &generation];
        columns
    });
    link.copy(COPY_MEMBERSHIPS, types, rows).await?;
    Ok(())
}

/// Removes every visible version of the ids. True if there was one.
async fn remove(link: &PgLink, account: i32, ids: &[&String]) -> Result<bool, Trouble> {
    let params: Params<'_> = &[&account, &ids];
    let gone = link.one(REMOVE, params).await?;
    Ok(gone.map(|row| get::<i64>(&row, 0)).transpose()?.is_some_and(|gone| gone > 0))
}

/// What must be known of an account's imports.
pub(super) async fn imports(link: &PgLink, account: i32) -> Result<Visible, Trouble> {
    let rows = link.all(IMPORTS, &[&account]).await?;
    let listed = rows.iter().map(|row| {
        let (generation, state, rank) = (get(row, 0)?, get(row, 1)?, get(row, 2)?);
        Ok(ListedImport { generation, state, rank, is_undoable: get(row, 3)? })
    });
    Ok(Visible::new(listed.collect::<Result<_, Trouble>>()?))
}

/// Ids in key order whose visible version names one of the groups.
pub(super) async fn members(
    link: &PgLink,
    account: i32,
    groups: &[String],
    after: &str,
    limit: i64,
) -> Result<Vec<String>, Trouble> {
    let params: Params<'_> = &[&account, &groups, &after, &limit];
    link.all(MEMBERS, params).await?.iter().map(|row| get(row, 0)).collect()
}

/// A page of recipients in key order, in the moment that the transaction sees.
pub(super) async fn page(
    link: &PgLink,
    account: i32,
    after: &str,
    limit: usize,
) -> Result<Vec<Recipient>, Trouble> {
    let mut page = Vec::new();
    let mut walk = Walk::begin(link, account, after).await?;
    while page.len() < limit {
        let rows = (limit - page.len() + 1).min(READ_ROWS_MAX);
        let Some(found) = walk.next(link, rows).await? else { break };
        page.extend(found);
    }
    page.truncate(limit);
    Ok(page)
}

async fn by_ids(link: &PgLink, account: &str, ids: &[String]) -> Result<Vec<Recipient>, Trouble> {
    let Some(no) = account_no(link, account).await? else { return Ok(Vec::new()) };
    let mut found = Vec::with_capacity(ids.len());
    for ids in ids.chunks(IDS_MAX) {
        let params: Params<'_> = &[&no, &ids];
        let rows = link.all(FIND_MANY, params).await?;
        let bodies = rows.iter().map(|row| Ok((get::<&str>(row, 0)?, get::<&[u8]>(row, 1)?)));
        let bodies = bodies.collect::<Result<FxHashMap<_, _>, Trouble>>()?;
        for body in ids.iter().filter_map(|id| bodies.get(id.as_str())).filter(|body| !body.is_empty()) {
            found.push(Recipient::decode(body)?);
        }
    }
    Ok(found)
}

/// A walk over an account's recipients in key order, in the moment its transaction sees.
#[derive(Clone)]
pub(super) struct Walk {
    account: i32,
    visible: Visible,
    /// The last row read; nothing: all were.
    at: Option<(String, i64)>,
    /// The best version so far of the id at hand, with its rank.
    best: Option<(i64, String, Vec<u8>)>,
}

impl Walk {
    pub(super) async fn begin(link: &PgLink, account: i32, after: &str) -> Result<Walk, Trouble> {
        let visible = imports(link, account).await?;
        Ok(Walk { account, visible, at: Some((after.to_owned(), i64::MAX)), best: None })
    }

    /// Reads up to `limit` rows more; there may be fewer recipients in them. Nothing: there are no more.
    pub(super) async fn next(
        &mut self,
        link: &PgLink,
        limit: usize,
    ) -> Result<Option<Vec<Recipient>>, Trouble> {
        let Some((id, generation)) = &self.at else { return Ok(None) };
        let rows = link.all(PAGE, &[&self.account, id, generation, &as_limit(limit)]).await?;
        let mut found = Vec::with_capacity(rows.len());
        for row in &rows {
            self.take(row, &mut found)?;
        }
        self.at = match rows.last() {
            Some(last) if rows.len() == limit => Some((get(last, 0)?, get(last, 1)?)),
            _ => None,
        };
        if self.at.is_none() {
            self.give(&mut found)?;
        }
        Ok(Some(found))
    }

    fn take(&mut self, row: &Row, found: &mut Vec<Recipient>) -> Result<(), Trouble> {
        let (id, generation, body): (&str, i64, &[u8]) = (get(row, 0)?, get(row, 1)?, get(row, 2)?);
        if self.visible.is_plain() {
            found.push(Recipient::decode(body)?);
            return Ok(());
        }
        if self.best.as_ref().is_some_and(|(_, best, _)| best != id) {
            self.give(found)?;
        }
        if let Some(rank) = self.visible.rank(generation)
            && self.best.as_ref().is_none_or(|(best, ..)| *best < rank)
        {
            self.best = Some((rank, id.to_owned(), body.to_vec()));
        }
        Ok(())
    }

    fn give(&mut self, found: &mut Vec<Recipient>) -> Result<(), Trouble> {
        if let Some((_, _, body)) = self.best.take().filter(|(.., body)| !body.is_empty()) {
            found.push(Recipient::decode(&body)?);
        }
        Ok(())
    }
}
