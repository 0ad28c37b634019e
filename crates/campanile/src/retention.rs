//! Retention: what is past its time is removed, finished alerts exported first; people who were to be
//! forgotten of alerts that have ended since are.

use crate::server::wall_clock;
use crate::setup::{Retention, Setup};
use engine::{Engine, ForgetElsewhere, Privacy, report};
use records::{Alert, EndpointNo, Timestamp};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::SharedStore;
use tokio::io::AsyncWriteExt;

/// How often it is looked for what is old enough.
const LOOK_EVERY: Duration = Duration::from_secs(600);
/// Alerts handled in one look.
const AT_ONCE: usize = 100;
/// Alerts whose answers lose their texts in one look.
const ANSWERED_AT_ONCE: usize = 1_000;
/// Deliveries exported in one piece.
const PAGE: usize = 5_000;
const DAY_S: i64 = 86_400;

/// Runs until it is aborted.
pub async fn keep(setup: Setup, store: SharedStore, engine: Engine) {
    loop {
        let now = wall_clock();
        forget_media(&setup, &store).await;
        remove_old_exports(&setup, now).await;
        // Of several processes one does it.
        if engine.leader() == engine::Leader::Here {
            look_at_all(&setup, &store, &engine, now).await;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Attachments that no alert can need any more.
async fn forget_media(setup: &Setup, store: &SharedStore) {
    match store::sweep_attachments(store, &setup.media, wall_clock()).await {
        Ok(0) => {}
        Ok(files) => tracing::info!(files, "attachments past their time were removed"),
        Err(error) => tracing::warn!(error, "attachments past their time could not be removed"),
    }
}

/// Forgets people in exported files, where there are any.
pub fn forget_elsewhere(retention: &Retention, data: &Path) -> Option<ForgetElsewhere> {
    retention.export_dir.as_ref().map(|folder| crate::exports::forget_in(data.join(folder)))
}

/// What is that old was there before this; nothing: it is kept for ever.
fn before(now: Timestamp, days: u32) -> Option<Timestamp> {
    (days > 0).then(|| now.plus_s(-i64::from(days) * DAY_S))
}

async fn look_at_all(setup: &Setup, store: &SharedStore, engine: &Engine, now: Timestamp) {
    let retention = &setup.retention;
    let elsewhere = forget_elsewhere(retention, &setup.data);
    if let Err(error) = Privacy::of(engine).erase_noted(elsewhere.as_ref()).await {
        tracing::error!(%error, "people could not be forgotten of alerts that have ended; it is tried again");
    }
    if let Some(before) = before(now, retention.days)
        && let Err(error) = look(&setup.data, retention, store, engine, before).await
    {
        tracing::error!(error, "old alerts could not be exported or removed: they stay, and are tried again");
    }
    if let Err(error) = forget_words(retention, store, now).await {
        tracing::error!(%error, "old answers could not be removed; it is tried again");
    }
}

/// Texts of answers past their time.
async fn forget_words(
    retention: &Retention,
    store: &SharedStore,
    now: Timestamp,
) -> Result<(), store::StoreError> {
    if let Some(before) = before(now, retention.answers) {
        let alerts = store.forget_answers_before(before, ANSWERED_AT_ONCE).await?.len();
        if alerts > 0 {
            tracing::info!(alerts, "texts of answers past their time were removed");
        }
    }
    Ok(())
}

/// Exported files of this process past their time.
async fn remove_old_exports(setup: &Setup, now: Timestamp) {
    let retention = setup.retention.clone();
    let exports = retention.export_dir.as_ref().map(|folder| setup.data.join(folder));
    let removed = tokio::task::spawn_blocking(move || match (exports, before(now, retention.exports)) {
        (Some(folder), Some(before)) => remove_exports(&folder, before),
        _ => Ok(0),
    });
    match removed.await.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
        Ok(0) => {}
        Ok(exports) => tracing::info!(exports, "exported files past their time were removed"),
        Err(error) => tracing::warn!(%error, "exported files past their time could not be removed"),
    }
}

/// Gives how many files were removed.
fn remove_exports(folder: &Path, before: Timestamp) -> std::io::Result<usize> {
    let mut removed = 0;
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let is_export = matches!(entry.path().extension().and_then(|end| end.to_str()), Some("csv" | "json"));
        let metadata = entry.metadata()?;
        if is_export && metadata.is_file() && metadata.modified()? < as_system_time(before) {
            std::fs::remove_file(entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

fn as_system_time(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(u64::try_from(at.0).unwrap_or(0))
}

async fn look(
    data: &Path,
    retention: &Retention,
    store: &SharedStore,
    engine: &Engine,
    before: Timestamp,
) -> Result<(), String> {
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

/// `ID.json` with the report, `ID.csv` with every delivery; the CSV first, so that a JSON file means a whole
/// export.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::RunningServer;
    use crate::setup::{ConfiguredRoute, Simulator};
    use gateway::Secret;
    use gateway::sms::SmsRoute;
    use records::{AlertState, AudienceEntry, Mode, Route};

    /// Longer than the test's one message takes.
    const PATIENCE: Duration = Duration::from_secs(30);

    fn setup(data: &Path) -> Setup {
        let sms = SmsRoute {
            name: "sim".to_owned(),
            system_id: "us".to_owned(),
            password: Secret::from("x"),
            ..SmsRoute::default()
        };
        let route = Route {
            name: "sim".to_owned(),
            channel: channels::SMS,
            mode: Mode::Live,
            rate: 0.0,
            simulated: true,
            prefixes: Vec::new(),
            senders: Vec::new(),
            accounts: Vec::new(),
            weight: 1,
            cost: 0,
            priority: 0,
            validity_s: 0,
            receipts: true,
            window: 0,
            shares: None,
        };
        Setup {
            media: store::media::Media::at(&data.join("media")),
            smpp: None,
            topics: None,
            ledger: None,
            external: None,
            diameter: None,
            platforms: Vec::new(),
            parties: Vec::new(),
            data: data.to_owned(),
            kept: crate::setup::StoragePlace::Here {
                database: "db".into(),
                bus: "bus".into(),
                fsync: bus::embedded::Fsync::Os,
            },
            http: None,
            smtp: None,
            routes: vec![ConfiguredRoute {
                route,
                settings: gateway::AnyRoute::new(sms),
                simulator: Some(Simulator::default()),
                address: None,
                lines: std::collections::BTreeMap::new(),
            }],
            sources: crate::setup::SourceSetup::default(),
            defaults: channels::Defaults::default(),
            engine: engine::Settings::default(),
            callbacks: crate::setup::CallbackSetup::default(),
            retention: Retention::default(),
        }
    }

    fn request() -> records::AlertRequest {
        records::AlertRequest {
            headline: None,
            text: Some("Old news".to_owned()),
            texts: records::Texts::default(),
            audience: vec![AudienceEntry {
                to: "sms:+46701740605".to_owned(),
                strategy: None,
                expires: None,
            }],
            exclude: Vec::new(),
            channels: Vec::new(),
            strategy: records::Strategy::All,
            require_answer: false,
            choices: Vec::new(),
            terminal: records::Terminal::Delivered,
            not_before: None,
            expires: wall_clock().plus_s(60),
            priority: records::Priority::Routine,
            on_unknown: records::OnUnknown::Hold,
            callback: None,
            sender: None,
            mode: Mode::Live,
            participants_only: false,
            answer_rules: records::AnswerRules::default(),
            follows: None,
            flash: false,
            resources: Vec::new(),
            attachments: Vec::new(),
            area: None,
        }
    }

    async fn finished(server: &RunningServer, alert: &Alert) {
        let begun = std::time::Instant::now();
        loop {
            let stored = server.store.alert_by_no(alert.no).await.unwrap().unwrap();
            if stored.state == AlertState::Done {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "the alert is still {:?}", stored.state);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn alerts_past_their_retention_are_exported_and_then_removed() {
        let dir = tempfile::tempdir().unwrap();
        let server = RunningServer::open(setup(dir.path()), None).await.unwrap();
        let draft = engine::Draft {
            account: "default".to_owned(),
            token: "t".to_owned(),
            authors: Vec::new(),
            request: request(),
            origin: records::Origin::Api,
            key: None,
            wait_solved: false,
            note: None,
        };
        let alert = server.engine.submit(draft).await.unwrap().alert;
        finished(&server, &alert).await;
        let retention = Retention { days: 1, export_dir: Some("old".into()), ..Retention::default() };
        let look_at = async |now: Timestamp| {
            let before = before(now, retention.days).unwrap();
            look(dir.path(), &retention, &server.store, &server.engine, before).await.unwrap();
        };
        look_at(wall_clock()).await;
        assert!(server.store.alert_by_no(alert.no).await.unwrap().is_some(), "it is not old enough");
        look_at(wall_clock().plus_s(DAY_S + 60)).await;
        assert!(server.store.alert_by_no(alert.no).await.unwrap().is_none(), "it is gone");
        let old = dir.path().join("old");
        let rows = std::fs::read_to_string(old.join(format!("{}.csv", alert.id))).unwrap();
        assert!(rows.contains("+46701740605") && rows.contains("delivered"), "{rows}");
        let report = std::fs::read_to_string(old.join(format!("{}.json", alert.id))).unwrap();
        assert!(report.contains("\"delivered\":1"), "{report}");
        server.close().await;
    }

    #[test]
    fn nothing_is_old_where_days_are_0() {
        let now = Timestamp(10 * DAY_S * 1_000_000);
        assert_eq!(before(now, 0), None);
        assert_eq!(before(now, 3), Some(Timestamp(7 * DAY_S * 1_000_000)));
    }

    #[test]
    fn exported_files_go_by_the_time_they_were_written() {
        let dir = tempfile::tempdir().unwrap();
        let written = Timestamp(1_800_000_000_000_000);
        let old = |path: &str| {
            let file = std::fs::File::create(dir.path().join(path)).unwrap();
            file.set_modified(as_system_time(written)).unwrap();
        };
        let names = ["1.csv", "1.json", "notes.txt"];
        names.into_iter().for_each(old);
        for (now, exports) in [(written, 0), (written.plus_s(1), 2), (written.plus_s(2), 0)] {
            assert_eq!(remove_exports(dir.path(), now).unwrap(), exports, "{now:?}");
        }
        assert!(dir.path().join("notes.txt").exists(), "it is no export");
        assert_eq!(remove_exports(&dir.path().join("none"), written).unwrap(), 0);
    }
}
