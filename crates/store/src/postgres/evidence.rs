use super::error::Trouble;
use super::link::{PgLink, get};
use super::{Postgres, Work, as_i64, as_limit, as_u64};
use crate::evidence::{PAGES_FORGOTTEN, PAGES_REMOVED};
use crate::{Evidence, EvidenceDraft, EvidenceHead, EvidenceKind, EvidencePage, NewEvidence, StoreError};
use futures_util::future::BoxFuture;
use records::{AlertNo, Timestamp};
use tokio_postgres::Row;

const WITHOUT: &str = "SELECT alerts.no FROM alerts LEFT JOIN evidence ON evidence.alert = alerts.no \
     WHERE final_at >= $1 AND final_at <= $2 AND intake_from IS NULL \
     AND coalesce(evidence.version, 0) = 0 ORDER BY final_at, alerts.no LIMIT $3";
const CHANGED: &str = "SELECT alert FROM evidence WHERE changed > built AND version > 0 AND made <= $1 \
     ORDER BY made LIMIT $2";
const BEGIN: &str = "INSERT INTO evidence (alert, account, version) \
     SELECT no, account, 0 FROM alerts WHERE no = $1 AND final_at IS NOT NULL ON CONFLICT (alert) DO NOTHING";
const BEGUN: &str = "SELECT version, erased, changed FROM evidence WHERE alert = $1";
const PUT: &str = "INSERT INTO evidence_pages \
     (alert, account, version, page, first_endpoint, last_endpoint, answers, root, leaves) \
     SELECT alert, account, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::bytea, $8::bytea \
     FROM evidence WHERE alert = $1 \
     ON CONFLICT (alert, version, page) DO UPDATE SET first_endpoint = excluded.first_endpoint, \
     last_endpoint = excluded.last_endpoint, answers = excluded.answers, root = excluded.root, \
     leaves = excluded.leaves";
const FINISH: &str = "UPDATE evidence SET version = $2, built = $4, made = $5, header = $6, audit = $7, stamp = NULL \
     WHERE alert = $1 AND version + 1 = $2 AND erased = $3";
const IS_FINISHED: &str = "SELECT 1 FROM evidence WHERE alert = $1 AND version = $2 AND header = $3";
const ROOTS: &str = "SELECT root FROM evidence_pages WHERE alert = $1 AND version = $2 ORDER BY page";
const PAGE: &str = "SELECT root, leaves FROM evidence_pages WHERE alert = $1 AND version = $2 AND page = $3";
const STAMP: &str = "UPDATE evidence SET stamp = $3 WHERE alert = $1 AND version = $2";
const NOTE: &str = "UPDATE evidence SET changed = changed + 1 WHERE alert = ANY($1)";
const NOTE_ERASURE: &str = "UPDATE evidence SET erased = erased + 1 WHERE alert = $1";
const OF_ENDPOINTS: &str = "SELECT version, page, root, leaves FROM evidence_pages \
     WHERE alert = $1 AND first_endpoint <= $3 AND last_endpoint >= $2 FOR UPDATE";
const WITH_ANSWERS: &str = "SELECT version, page, root, leaves FROM evidence_pages \
     WHERE alert = $1 AND answers = 1 ORDER BY version, page LIMIT $2 FOR UPDATE";
const REWRITE: &str =
    "UPDATE evidence_pages SET leaves = $4, answers = $5 WHERE alert = $1 AND version = $2 AND page = $3";
const REMOVE: &str = "DELETE FROM evidence_pages WHERE (alert, version, page) IN \
     (SELECT alert, version, page FROM evidence_pages WHERE alert = $1 AND version <> $2 LIMIT $3)";

/// The columns of a head, in the order `head` reads them.
macro_rules! heads {
    ($rest:literal) => {
        concat!("SELECT alert, version, made, header, audit, stamp FROM evidence ", $rest)
    };
}

impl Evidence for Postgres {
    fn alerts_without_evidence(
        &self,
        from: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AlertNo>, StoreError>> {
        let list = Work::new((from.0, until.0, as_limit(limit)), |link, (from, until, limit)| {
            Box::pin(
                async move { link.all(WITHOUT, &[from, until, limit]).await?.iter().map(number).collect() },
            )
        });
        Box::pin(self.read(list))
    }

    fn changed_evidence(
        &self,
        made_until: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AlertNo>, StoreError>> {
        let list = Work::new((made_until.0, as_limit(limit)), |link, (until, limit)| {
            Box::pin(async move { link.all(CHANGED, &[until, limit]).await?.iter().map(number).collect() })
        });
        Box::pin(self.read(list))
    }

    fn begin_evidence(&self, no: AlertNo) -> BoxFuture<'_, Result<Option<EvidenceDraft>, StoreError>> {
        let begin = Work::new(no, |link, no| Box::pin(begin(link, *no)));
        Box::pin(self.write(begin.again()))
    }

    fn put_evidence_page(
        &self,
        draft: EvidenceDraft,
        page: EvidencePage,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let put = Work::new((draft, page), |link, (draft, page)| {
            Box::pin(async move {
                let (alert, version) = (as_i64(draft.alert.0), i64::from(draft.version));
                let (first, last) = page.endpoints();
                let (number, first, last) = (i64::from(page.page), i64::from(first), i64::from(last));
                let (answers, root, leaves) =
                    (i64::from(page.has_answers()), page.root.as_slice(), page.encode());
                let row: super::link::Params<'_> =
                    &[&alert, &version, &number, &first, &last, &answers, &root, &leaves];
                link.execute(PUT, row).await?;
                Ok(())
            })
        });
        Box::pin(self.write(put.again()))
    }

    fn finish_evidence(&self, evidence: NewEvidence) -> BoxFuture<'_, Result<bool, StoreError>> {
        let finish = Work::new(evidence, |link, evidence| Box::pin(finish(link, evidence)));
        Box::pin(self.write(finish.again()))
    }

    fn sweep_evidence(&self, no: AlertNo) -> BoxFuture<'_, Result<bool, StoreError>> {
        let sweep = Work::new(as_i64(no.0), |link, no| {
            Box::pin(async move {
                let row = link.one(BEGUN, &[no]).await?;
                let kept = row.map(|row| get::<i64>(&row, 0)).transpose()?;
                remove_some(link, *no, Some(kept.unwrap_or(0))).await
            })
        });
        Box::pin(self.write(sweep.again()))
    }

    fn evidence(&self, no: AlertNo) -> BoxFuture<'_, Result<Option<EvidenceHead>, StoreError>> {
        let find = Work::new(as_i64(no.0), |link, no| {
            Box::pin(async move {
                let row = link.one(heads!("WHERE alert = $1 AND version > 0"), &[no]).await?;
                row.as_ref().map(head).transpose()
            })
        });
        Box::pin(self.read(find))
    }

    fn evidence_roots(&self, no: AlertNo, version: u32) -> BoxFuture<'_, Result<Vec<[u8; 32]>, StoreError>> {
        let list = Work::new((as_i64(no.0), i64::from(version)), |link, (no, version)| {
            Box::pin(async move {
                let root = |row: &Row| -> Result<[u8; 32], Trouble> {
                    let damaged = |_| StoreError::Damaged { what: "the head of a page".to_owned() };
                    Ok(get::<&[u8]>(row, 0)?.try_into().map_err(damaged)?)
                };
                link.all(ROOTS, &[no, version]).await?.iter().map(root).collect()
            })
        });
        Box::pin(self.read(list))
    }

    fn evidence_page(
        &self,
        no: AlertNo,
        version: u32,
        page: u32,
    ) -> BoxFuture<'_, Result<Option<EvidencePage>, StoreError>> {
        let find = Work::new((as_i64(no.0), i64::from(version), page), |link, (no, version, page)| {
            Box::pin(async move {
                let row = link.one(PAGE, &[no, version, &i64::from(*page)]).await?;
                let Some(row) = row else { return Ok(None) };
                Ok(Some(EvidencePage::decode(*page, get(&row, 0)?, get(&row, 1)?)?))
            })
        });
        Box::pin(self.read(find))
    }

    fn unstamped_evidence(
        &self,
        since: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<EvidenceHead>, StoreError>> {
        let list = Work::new((since.0, as_limit(limit)), |link, (since, limit)| {
            Box::pin(async move {
                let sql = heads!(
                    "WHERE stamp IS NULL AND version > 0 AND made >= $1 ORDER BY made, alert LIMIT $2"
                );
                link.all(sql, &[since, limit]).await?.iter().map(head).collect()
            })
        });
        Box::pin(self.read(list))
    }

    fn stamp_evidence(
        &self,
        no: AlertNo,
        version: u32,
        token: Vec<u8>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let args = (as_i64(no.0), i64::from(version), token);
        let stamp = Work::new(args, |link, (no, version, token)| {
            Box::pin(async move { Ok(_ = link.execute(STAMP, &[no, version, token]).await?) })
        });
        Box::pin(self.write(stamp.again()))
    }
}

fn number(row: &Row) -> Result<AlertNo, Trouble> {
    Ok(AlertNo(as_u64(get(row, 0)?)))
}

fn head(row: &Row) -> Result<EvidenceHead, Trouble> {
    let (version, stamp): (i64, Option<&[u8]>) = (get(row, 1)?, get(row, 5)?);
    Ok(EvidenceHead {
        alert: number(row)?,
        version: u32::try_from(version).unwrap_or(u32::MAX),
        made: Timestamp(get(row, 2)?),
        header: get(row, 3)?,
        audit: as_u64(get(row, 4)?),
        stamp: stamp.map(<[u8]>::to_vec),
    })
}

async fn begin(link: &PgLink, no: AlertNo) -> Result<Option<EvidenceDraft>, Trouble> {
    let alert = as_i64(no.0);
    link.execute(BEGIN, &[&alert]).await?;
    let Some(row) = link.one(BEGUN, &[&alert]).await? else { return Ok(None) };
    let (version, erased, changed): (i64, i64, i64) = (get(&row, 0)?, get(&row, 1)?, get(&row, 2)?);
    // Of an alert that ended before there was evidence, the version is -1.
    let Some(version) = u32::try_from(version + 1).ok().filter(|version| *version > 0) else {
        return Ok(None);
    };
    Ok(Some(EvidenceDraft { alert: no, version, erased: as_u64(erased), changed: as_u64(changed) }))
}

async fn finish(link: &PgLink, evidence: &NewEvidence) -> Result<bool, Trouble> {
    let NewEvidence { draft, made, header, audit } = evidence;
    let (alert, version) = (as_i64(draft.alert.0), i64::from(draft.version));
    let (erased, changed, audit) = (as_i64(draft.erased), as_i64(draft.changed), as_i64(*audit));
    let row: super::link::Params<'_> = &[&alert, &version, &erased, &changed, &made.0, header, &audit];
    if link.execute(FINISH, row).await? > 0 {
        return Ok(true);
    }
    // Done a second time it was done the first time.
    Ok(link.one(IS_FINISHED, &[&alert, &version, header]).await?.is_some())
}

/// Deliveries of these alerts were written.
pub(super) async fn note_changes(link: &PgLink, mut alerts: Vec<i64>) -> Result<(), Trouble> {
    if alerts.is_empty() {
        return Ok(());
    }
    alerts.sort_unstable();
    link.execute(NOTE, &[&alerts]).await?;
    Ok(())
}

/// Forgets the salts of these endpoints, in all versions: nobody can try what their leaves said.
pub(super) async fn forget(link: &PgLink, alert: i64, endpoints: &[i64]) -> Result<(), Trouble> {
    let Some((first, last)) = endpoints.iter().min().zip(endpoints.iter().max()) else { return Ok(()) };
    link.execute(NOTE_ERASURE, &[&alert]).await?;
    let rows = link.all(OF_ENDPOINTS, &[&alert, first, last]).await?;
    rewrite(link, alert, &rows, |page| {
        page.forget(|leaf| {
            leaf.kind != EvidenceKind::Alert && endpoints.contains(&i64::from(leaf.endpoint.0))
        });
    })
    .await
}

/// Forgets the salts of some answers; false: there was none.
pub(super) async fn forget_answers(link: &PgLink, alert: i64) -> Result<bool, Trouble> {
    let rows = link.all(WITH_ANSWERS, &[&alert, &as_limit(PAGES_FORGOTTEN)]).await?;
    let forget = |page: &mut EvidencePage| page.forget(|leaf| leaf.kind == EvidenceKind::Answer);
    rewrite(link, alert, &rows, forget).await?;
    Ok(!rows.is_empty())
}

async fn rewrite(
    link: &PgLink,
    alert: i64,
    rows: &[Row],
    change: impl Fn(&mut EvidencePage),
) -> Result<(), Trouble> {
    for row in rows {
        let (version, number): (i64, i64) = (get(row, 0)?, get(row, 1)?);
        let place = u32::try_from(number).unwrap_or(u32::MAX);
        let mut page = EvidencePage::decode(place, get(row, 2)?, get(row, 3)?)?;
        change(&mut page);
        let (leaves, answers) = (page.encode(), i64::from(page.has_answers()));
        link.execute(REWRITE, &[&alert, &version, &number, &leaves, &answers]).await?;
    }
    Ok(())
}

/// Removes some pages of an alert, but for those of a version. False if there was none.
pub(super) async fn remove_some(link: &PgLink, alert: i64, but: Option<i64>) -> Result<bool, Trouble> {
    let removed = link.execute(REMOVE, &[&alert, &but.unwrap_or(-1), &as_limit(PAGES_REMOVED)]).await?;
    Ok(removed > 0)
}
