//! Search terms among the memberships: see [`crate::search`].

use super::error::Trouble;
use super::link::{Params, PgLink, get};
use super::{account_no, as_limit};
use crate::search;
use records::Recipient;

/// Of the first terms that begin so, those of the version that is seen.
const BY_TERM: &str = "SELECT DISTINCT found.id FROM \
     (SELECT id, generation FROM memberships WHERE account = $1 AND grp >= $2 AND grp < $3 \
      ORDER BY grp, id LIMIT $4) AS found WHERE found.generation = \
     (SELECT recipients.generation FROM recipients LEFT JOIN imports ON imports.generation = recipients.generation \
      WHERE recipients.account = $1 AND recipients.id = found.id AND coalesce(imports.state, 1) = 1 \
      ORDER BY coalesce(imports.rank, 0) DESC LIMIT 1) ORDER BY found.id";
/// Rows read at a time when terms are written for those who are there.
const FILL_ROWS: i64 = 2_048;
const PAGE: &str = "SELECT account, id, generation, body FROM recipients \
     WHERE (account, id, generation) > ($1, $2, $3) ORDER BY account, id, generation LIMIT $4";
const FILL: &str = "INSERT INTO memberships (account, grp, id, generation) \
     SELECT * FROM unnest($1::int[], $2::text[], $3::text[], $4::bigint[]) ON CONFLICT DO NOTHING";
const FILL_NAMES: &str = "UPDATE recipients SET groups = recipients.groups || found.terms FROM \
     (SELECT account, id, generation, array_agg(term) AS terms \
      FROM unnest($1::int[], $2::text[], $3::text[], $4::bigint[]) AS one (account, term, id, generation) \
      GROUP BY account, id, generation) AS found \
     WHERE recipients.account = found.account AND recipients.id = found.id \
     AND recipients.generation = found.generation";

/// Ids of people of whom a search term begins so; of the first `limit` terms.
pub(super) async fn by_term(
    link: &PgLink,
    account: &str,
    prefix: &str,
    limit: usize,
) -> Result<Vec<String>, Trouble> {
    let Some(no) = account_no(link, account).await? else { return Ok(Vec::new()) };
    let (from, until) = search::range(prefix);
    let params: Params<'_> = &[&no, &from, &until, &as_limit(limit)];
    link.all(BY_TERM, params).await?.iter().map(|row| get(row, 0)).collect()
}

/// Terms to be written, column by column.
#[derive(Default)]
struct Terms {
    accounts: Vec<i32>,
    terms: Vec<String>,
    ids: Vec<String>,
    generations: Vec<i64>,
}

/// Writes the terms of all who are there, of whatever version, in the transaction of the migration.
pub(super) async fn fill(link: &PgLink) -> Result<(), Trouble> {
    let (mut account, mut id, mut generation) = (i32::MIN, String::new(), i64::MIN);
    loop {
        let rows = link.all(PAGE, &[&account, &id, &generation, &FILL_ROWS]).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        let mut found = Terms::default();
        for row in &rows {
            for term in search::terms(&Recipient::decode(get(row, 3)?)?) {
                found.accounts.push(get(row, 0)?);
                found.terms.push(term);
                found.ids.push(get(row, 1)?);
                found.generations.push(get(row, 2)?);
            }
        }
        let params: Params<'_> = &[&found.accounts, &found.terms, &found.ids, &found.generations];
        link.execute(FILL, params).await?;
        link.execute(FILL_NAMES, params).await?;
        (account, id, generation) = (get(last, 0)?, get(last, 1)?, get(last, 2)?);
    }
}
