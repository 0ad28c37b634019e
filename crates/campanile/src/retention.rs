//! Retention: finished alerts are exported, then removed, by age.

use crate::server::wall_clock;
use crate::setup::{Retention, Setup};
use engine::{Engine, report};
use records::{Alert, EndpointNo};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use store::SharedStore;
use tokio::io::AsyncWriteExt;

/// How often it is looked for what is old enough.
const LOOK_EVERY: Duration = Duration::from_secs(600);
/// Alerts handled in one look.
const AT_ONCE: usize = 100;
/// Deliveries exported in one piece.
const PAGE: usize = 5_000;
const DAY_S: i64 = 86_400;
/// An alert lasts 40 days at most; a day more for what is retried at its end.
const MEDIA_KEPT: Duration = Duration::from_secs(41 * 86_400);

/// Runs until it is aborted.
pub async fn keep(setup: Setup, store: SharedStore, engine: Engine) {
    loop {
        forget_media(&setup).await;
        if setup.retention.days == 0 {
            tokio::time::sleep(LOOK_EVERY).await;
            continue;
        }
        // Of several processes one does it.
        if engine.leader() == engine::Leader::Here
            && let Err(error) = look(&setup.data, &setup.retention, &store, &engine).await
        {
            tracing::error!(
                error,
                "old alerts could not be exported or removed: they stay, and are tried again"
            );
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Attachments that no alert can need any more.
async fn forget_media(setup: &Setup) {
    let media = setup.media.clone();
    let before = SystemTime::now() - MEDIA_KEPT;
    let removed = tokio::task::spawn_blocking(move || media.remove_before(before)).await;
    match removed.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
        Ok(0) => {}
        Ok(files) => tracing::info!(files, "attachments past their time were removed"),
        Err(error) => tracing::warn!(%error, "attachments past their time could not be removed"),
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
            }],
            cap_senders: Vec::new(),
            defaults: channels::Defaults::default(),
            engine: engine::Settings::default(),
            webhook_secret: None,
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
            request: request(),
            origin: records::Origin::Api,
            key: None,
            wait_solved: false,
        };
        let alert = server.engine.submit(draft).await.unwrap().alert;
        finished(&server, &alert).await;
        let young = Retention { days: 1, export_dir: Some("old".into()) };
        look(dir.path(), &young, &server.store, &server.engine).await.unwrap();
        assert!(server.store.alert_by_no(alert.no).await.unwrap().is_some(), "it is not old enough");
        let retention = Retention { days: 0, ..young };
        look(dir.path(), &retention, &server.store, &server.engine).await.unwrap();
        assert!(server.store.alert_by_no(alert.no).await.unwrap().is_none(), "it is gone");
        let old = dir.path().join("old");
        let rows = std::fs::read_to_string(old.join(format!("{}.csv", alert.id))).unwrap();
        assert!(rows.contains("+46701740605") && rows.contains("delivered"), "{rows}");
        let report = std::fs::read_to_string(old.join(format!("{}.json", alert.id))).unwrap();
        assert!(report.contains("\"delivered\":1"), "{report}");
        server.close().await;
    }
}
