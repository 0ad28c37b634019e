//! Retention: finished alerts are exported, then removed, by age.

use crate::house::wall_clock;
use crate::setup::{Retention, Setup};
use engine::{Engine, report};
use records::{Alert, EndpointNo};
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::SharedStore;
use tokio::io::AsyncWriteExt;

/// How often it is looked for what is old enough.
const LOOK_EVERY: Duration = Duration::from_secs(600);
/// Alerts handled in one look.
const AT_ONCE: usize = 100;
/// Deliveries exported in one piece.
const PAGE: usize = 5_000;
const DAY_S: i64 = 86_400;

/// Runs until it is aborted.
pub async fn keep(setup: Setup, store: SharedStore, engine: Engine) {
    if setup.retention.days == 0 {
        return;
    }
    loop {
        if let Err(error) = look(&setup.data, &setup.retention, &store, &engine).await {
            tracing::error!(error, "old alerts are kept: they could not be exported or removed");
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn look(
    data: &Path,
    retention: &Retention,
    store: &SharedStore,
    engine: &Engine,
) -> Result<(), String> {
    let before = wall_clock().plus_s(-i64::from(retention.days) * DAY_S);
    if let Some(dir) = &retention.export_dir {
        let dir = data.join(dir);
        let old = store.final_alerts_before(before, AT_ONCE).await.map_err(|error| error.to_string())?;
        for alert in &old {
            export(&dir, alert, engine).await?;
        }
        if old.is_empty() {
            return Ok(());
        }
    }
    let removed = store.remove_alerts_before(before, AT_ONCE).await.map_err(|error| error.to_string())?;
    if !removed.is_empty() {
        tracing::info!(alerts = removed.len(), "alerts past their retention were removed");
    }
    Ok(())
}

/// `ID.json` with the report, `ID.csv` with every delivery; the CSV first, so that a JSON file means a whole export.
async fn export(dir: &Path, alert: &Alert, engine: &Engine) -> Result<(), String> {
    let says = |error: std::io::Error| format!("exporting to {}: {error}", dir.display());
    tokio::fs::create_dir_all(dir).await.map_err(says)?;
    let finished: PathBuf = dir.join(format!("{}.json", alert.id));
    if tokio::fs::try_exists(&finished).await.map_err(says)? {
        return Ok(());
    }
    let mut rows = tokio::fs::File::create(dir.join(format!("{}.csv", alert.id))).await.map_err(says)?;
    rows.write_all(report::csv_header().as_bytes()).await.map_err(says)?;
    let mut from = Some(EndpointNo(0));
    while let Some(at) = from {
        let page = engine.deliveries(&alert.account, alert.id, None, at, PAGE).await;
        let (page, next) = page.map_err(|error| error.to_string())?;
        rows.write_all(report::csv_rows(&page).as_bytes()).await.map_err(says)?;
        from = next;
    }
    rows.sync_all().await.map_err(says)?;
    let summary = engine.report(&alert.account, alert.id).await.map_err(|error| error.to_string())?;
    tokio::fs::write(finished, report::json(&summary, None)).await.map_err(says)
}
