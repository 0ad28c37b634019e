use super::privacy::overwriting;
use super::{Sqlite, Tx, as_i64, as_limit, as_u64};
use crate::evidence::{PAGES_FORGOTTEN, PAGES_REMOVED};
use crate::{Evidence, EvidenceDraft, EvidenceHead, EvidenceKind, EvidencePage, NewEvidence, StoreError};
use futures_util::future::BoxFuture;
use records::{AlertNo, EndpointNo, Timestamp};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};

const HEAD: &str = "SELECT alert, version, made, header, audit, stamp FROM evidence";

impl Evidence for Sqlite {
    fn alerts_without_evidence(
        &self,
        from: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AlertNo>, StoreError>> {
        let list = move |connection: &Connection| {
            let sql = "SELECT alerts.no FROM alerts LEFT JOIN evidence ON evidence.alert = alerts.no \
                 WHERE final_at >= ?1 AND final_at <= ?2 AND intake_from IS NULL \
                 AND coalesce(evidence.version, 0) = 0 ORDER BY final_at, alerts.no LIMIT ?3";
            numbers(connection, sql, (from.0, until.0, as_limit(limit)))
        };
        Box::pin(self.read(list))
    }

    fn changed_evidence(
        &self,
        made_until: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AlertNo>, StoreError>> {
        let list = move |connection: &Connection| {
            let sql = "SELECT alert FROM evidence WHERE changed > built AND version > 0 AND made <= ?1 \
                 ORDER BY made LIMIT ?2";
            numbers(connection, sql, (made_until.0, as_limit(limit)))
        };
        Box::pin(self.read(list))
    }

    fn begin_evidence(&self, no: AlertNo) -> BoxFuture<'_, Result<Option<EvidenceDraft>, StoreError>> {
        let begin = move |tx: &Tx<'_>| {
            tx.prepare_cached(
                "INSERT OR IGNORE INTO evidence (alert, account, version) \
                 SELECT no, account, 0 FROM alerts WHERE no = ?1 AND final_at IS NOT NULL",
            )?
            .execute([as_i64(no.0)])?;
            let mut select =
                tx.prepare_cached("SELECT version, erased, changed FROM evidence WHERE alert = ?1")?;
            let found = select.query_row([as_i64(no.0)], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
            });
            // Of an alert that ended before there was evidence, the version is -1.
            let begun = found.optional()?.filter(|(version, ..)| *version >= 0);
            Ok(begun.map(|(version, erased, changed)| EvidenceDraft {
                alert: no,
                version: u32::try_from(version + 1).unwrap_or(u32::MAX),
                erased: as_u64(erased),
                changed: as_u64(changed),
            }))
        };
        Box::pin(self.write(begin))
    }

    fn put_evidence_page(
        &self,
        draft: EvidenceDraft,
        page: EvidencePage,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let octets = page.encode();
        let put = move |tx: &Tx<'_>| {
            let (first, last) = page.endpoints();
            tx.prepare_cached(
                "INSERT OR REPLACE INTO evidence_pages \
                 (alert, account, version, page, first_endpoint, last_endpoint, answers, root, leaves) \
                 SELECT alert, account, ?2, ?3, ?4, ?5, ?6, ?7, ?8 FROM evidence WHERE alert = ?1",
            )?
            .execute(params![
                as_i64(draft.alert.0),
                draft.version,
                page.page,
                first,
                last,
                page.has_answers(),
                page.root,
                octets
            ])?;
            Ok(())
        };
        Box::pin(self.write(put))
    }

    fn finish_evidence(&self, evidence: NewEvidence) -> BoxFuture<'_, Result<bool, StoreError>> {
        let finish = move |tx: &Tx<'_>| {
            let NewEvidence { draft, made, header, audit } = &evidence;
            let changed = tx
                .prepare_cached(
                    "UPDATE evidence SET version = ?2, built = ?4, made = ?5, header = ?6, audit = ?7, stamp = NULL \
                     WHERE alert = ?1 AND version = ?2 - 1 AND erased = ?3",
                )?
                .execute(params![
                    as_i64(draft.alert.0),
                    draft.version,
                    as_i64(draft.erased),
                    as_i64(draft.changed),
                    made.0,
                    header,
                    as_i64(*audit)
                ])?;
            Ok(changed > 0)
        };
        Box::pin(self.write(finish))
    }

    fn sweep_evidence(&self, no: AlertNo) -> BoxFuture<'_, Result<bool, StoreError>> {
        let sweep = move |tx: &Tx<'_>| {
            let mut select = tx.prepare_cached("SELECT version FROM evidence WHERE alert = ?1")?;
            let kept: Option<i64> = select.query_row([as_i64(no.0)], |row| row.get(0)).optional()?;
            overwriting(tx, || remove_some(tx, as_i64(no.0), Some(kept.unwrap_or(0))))
        };
        Box::pin(self.write(sweep))
    }

    fn evidence(&self, no: AlertNo) -> BoxFuture<'_, Result<Option<EvidenceHead>, StoreError>> {
        let find = move |connection: &Connection| {
            let sql = format!("{HEAD} WHERE alert = ?1 AND version > 0");
            let mut select = connection.prepare_cached(&sql)?;
            Ok(select.query_row([as_i64(no.0)], head).optional()?)
        };
        Box::pin(self.read(find))
    }

    fn evidence_roots(&self, no: AlertNo, version: u32) -> BoxFuture<'_, Result<Vec<[u8; 32]>, StoreError>> {
        let list = move |connection: &Connection| {
            let sql = "SELECT root FROM evidence_pages WHERE alert = ?1 AND version = ?2 ORDER BY page";
            let mut select = connection.prepare_cached(sql)?;
            let rows = select.query_map((as_i64(no.0), version), |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        };
        Box::pin(self.read(list))
    }

    fn evidence_page(
        &self,
        no: AlertNo,
        version: u32,
        page: u32,
    ) -> BoxFuture<'_, Result<Option<EvidencePage>, StoreError>> {
        let find = move |connection: &Connection| {
            let sql =
                "SELECT root, leaves FROM evidence_pages WHERE alert = ?1 AND version = ?2 AND page = ?3";
            let mut select = connection.prepare_cached(sql)?;
            let found = select.query_row((as_i64(no.0), version, page), |row| {
                Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?))
            });
            found.optional()?.map(|(root, leaves)| EvidencePage::decode(page, &root, &leaves)).transpose()
        };
        Box::pin(self.read(find))
    }

    fn unstamped_evidence(
        &self,
        since: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<EvidenceHead>, StoreError>> {
        let list = move |connection: &Connection| {
            let sql = format!(
                "{HEAD} WHERE stamp IS NULL AND version > 0 AND made >= ?1 ORDER BY made, alert LIMIT ?2"
            );
            let mut select = connection.prepare_cached(&sql)?;
            let rows = select.query_map((since.0, as_limit(limit)), head)?;
            Ok(rows.collect::<Result<_, _>>()?)
        };
        Box::pin(self.read(list))
    }

    fn stamp_evidence(
        &self,
        no: AlertNo,
        version: u32,
        token: Vec<u8>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let stamp = move |tx: &Tx<'_>| {
            tx.prepare_cached("UPDATE evidence SET stamp = ?3 WHERE alert = ?1 AND version = ?2")?
                .execute((as_i64(no.0), version, &token))?;
            Ok(())
        };
        Box::pin(self.write(stamp))
    }
}

fn numbers(connection: &Connection, sql: &str, params: impl Params) -> Result<Vec<AlertNo>, StoreError> {
    let mut select = connection.prepare_cached(sql)?;
    let rows = select.query_map(params, |row| Ok(AlertNo(as_u64(row.get(0)?))))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn head(row: &Row<'_>) -> rusqlite::Result<EvidenceHead> {
    Ok(EvidenceHead {
        alert: AlertNo(as_u64(row.get(0)?)),
        version: row.get(1)?,
        made: Timestamp(row.get(2)?),
        header: row.get(3)?,
        audit: as_u64(row.get(4)?),
        stamp: row.get(5)?,
    })
}

/// Deliveries of these alerts were written.
pub(super) fn note_changes(tx: &Tx<'_>, alerts: impl Iterator<Item = AlertNo>) -> Result<(), StoreError> {
    let mut note = tx.prepare_cached("UPDATE evidence SET changed = changed + 1 WHERE alert = ?1")?;
    for alert in alerts {
        note.execute([as_i64(alert.0)])?;
    }
    Ok(())
}

/// Forgets the salts of these endpoints, in all versions: nobody can try what their leaves said.
pub(super) fn forget(tx: &Tx<'_>, alert: AlertNo, endpoints: &[EndpointNo]) -> Result<(), StoreError> {
    let alert = as_i64(alert.0);
    let Some((first, last)) = endpoints.iter().min().zip(endpoints.iter().max()) else { return Ok(()) };
    tx.prepare_cached("UPDATE evidence SET erased = erased + 1 WHERE alert = ?1")?.execute([alert])?;
    let sql = "SELECT version, page, root, leaves FROM evidence_pages \
         WHERE alert = ?1 AND first_endpoint <= ?3 AND last_endpoint >= ?2";
    rewrite(tx, alert, sql, (alert, first.0, last.0), |page| {
        page.forget(|leaf| leaf.kind != EvidenceKind::Alert && endpoints.contains(&leaf.endpoint));
    })?;
    Ok(())
}

/// Forgets the salts of some answers; false: there was none.
pub(super) fn forget_answers(tx: &Tx<'_>, alert: i64) -> Result<bool, StoreError> {
    let sql = "SELECT version, page, root, leaves FROM evidence_pages \
         WHERE alert = ?1 AND answers = 1 ORDER BY version, page LIMIT ?2";
    rewrite(tx, alert, sql, (alert, as_limit(PAGES_FORGOTTEN)), |page| {
        page.forget(|leaf| leaf.kind == EvidenceKind::Answer);
    })
}

/// Changes the pages that a query gives; false: it gave none.
fn rewrite(
    tx: &Tx<'_>,
    alert: i64,
    sql: &str,
    params: impl Params,
    change: impl Fn(&mut EvidencePage),
) -> Result<bool, StoreError> {
    let mut select = tx.prepare_cached(sql)?;
    let rows = select.query_map(params, |row| {
        Ok((
            row.get::<_, i64>(0)?,
            row.get::<_, u32>(1)?,
            row.get::<_, Vec<u8>>(2)?,
            row.get::<_, Vec<u8>>(3)?,
        ))
    })?;
    let found = rows.collect::<Result<Vec<_>, _>>()?;
    let mut put = tx.prepare_cached(
        "UPDATE evidence_pages SET leaves = ?4, answers = ?5 WHERE alert = ?1 AND version = ?2 AND page = ?3",
    )?;
    for (version, number, root, leaves) in &found {
        let mut page = EvidencePage::decode(*number, root, leaves)?;
        change(&mut page);
        put.execute((alert, version, number, page.encode(), page.has_answers()))?;
    }
    Ok(!found.is_empty())
}

/// Removes some pages of an alert, but for those of a version. False if there was none.
pub(super) fn remove_some(tx: &Tx<'_>, alert: i64, but: Option<i64>) -> Result<bool, StoreError> {
    let removed = tx
        .prepare_cached(
            "DELETE FROM evidence_pages WHERE rowid IN \
             (SELECT rowid FROM evidence_pages WHERE alert = ?1 AND version <> ?2 LIMIT ?3)",
        )?
        .execute((alert, but.unwrap_or(-1), as_limit(PAGES_REMOVED)))?;
    Ok(removed > 0)
}
