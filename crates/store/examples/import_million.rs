//! Measures the store: an import while alerts arrive, a scan, a fold.
//!
//! ```text
//! cargo run --profile perf -p store --example import_million -- [ROWS] [sorted|shuffled] [again] [job] [postgres]
//! ```
//!
//! With `job` it is looked at first: all new, committed, all unchanged, undone.
//!
//! With `postgres` it is the store on a PostgreSQL of its own, which syncs as a server does; its folder is in
//! TMPDIR.

use channels::Defaults;
use records::{
    Alert, AlertId, AlertNo, AlertRequest, AlertState, AudienceEntry, Delivery, DeliveryState, EndpointNo,
    Mode, OnUnknown, Origin, Priority, Reason, Strategy, Terminal, Texts, Timestamp,
};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store::import::{ImportFormat, ImportReader};
use store::{
    Accepted, Expected, ImportDocument, ImportNo, ImportStep, NewDocument, SharedStore, postgres, sqlite,
};

const ACCOUNT: &str = "default";
const ALERT_EVERY: Duration = Duration::from_millis(5);
const FOLD_ROWS: u32 = 20_000;
const PIECE_OCTETS: usize = 64 * 1024;
const STAGE_ROWS: usize = 2_000;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rows: u64 = 1_000_000;
    let (mut shuffled, mut again, mut is_job, mut on_server) = (false, false, false, false);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "sorted" => shuffled = false,
            "shuffled" => shuffled = true,
            "again" => again = true,
            "job" => is_job = true,
            "postgres" => on_server = true,
            number => rows = number.parse()?,
        }
    }
    let folder = tempfile::tempdir_in(std::env::var("TMPDIR").unwrap_or_else(|_| ".".to_owned()))?;
    let file = folder.path().join("bench.db");
    let server = on_server
        .then(|| servers::postgres::PostgresServer::start_with(&["fsync=on", "full_page_writes=on"]));
    let store = match &server {
        Some(server) => postgres::open(&server.create_database(), &postgres::PostgresOptions::default())?,
        None => sqlite::open(&file, &sqlite::SqliteOptions::default())?,
    };
    if is_job {
        jobs(&store, rows, shuffled).await?;
        return Ok(store.close().await?);
    }
    import(&store, rows, shuffled).await?;
    count(&store).await?;
    if !on_server {
        report_files(&file);
    }
    scan(&store)?;
    if again {
        import(&store, rows, shuffled).await?;
        scan(&store)?;
    }
    fold(&store, u32::try_from(rows)?).await?;
    let closing = Instant::now();
    store.close().await?;
    println!("close {:.1} s; peak memory {} MB", closing.elapsed().as_secs_f64(), peak_mb());
    Ok(())
}

/// Imports that are looked at first.
async fn jobs(store: &SharedStore, rows: u64, shuffled: bool) -> Result<(), Box<dyn std::error::Error>> {
    let document = || ImportDocument {
        account: ACCOUNT.to_owned(),
        document: NewDocument { id: "job".to_owned(), lookup: None, due: None, body: "{}".to_owned() },
        expected: Expected::Any,
        now: Timestamp(0),
    };
    let mut committed = None;
    for round in ["all new", "all unchanged"] {
        let begun = Instant::now();
        let import = store.begin_import(ACCOUNT, Timestamp(0)).await?;
        stage(store, import, rows, shuffled).await?;
        let read = begun.elapsed().as_secs_f64();
        let counts = store.prepare_import(import, None).await?;
        store.step_import(import, ImportStep::Hold, document()).await?;
        let prepared = begun.elapsed().as_secs_f64();
        println!(
            "dry run, {round}: {prepared:.1} s (read {read:.1} s); {counts:?}; peak memory {} MB",
            peak_mb()
        );
        let begun = Instant::now();
        let step = ImportStep::Commit { undo_until: Timestamp(1) };
        store.step_import(import, step, document()).await?;
        println!("commit: {:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
        committed = committed.or(Some(import));
    }
    let begun = Instant::now();
    let found = store.people_by_term(ACCOUNT, "ann", 10_000).await?.len();
    println!("search: {found} people in {:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
    if let Some(import) = committed {
        let begun = Instant::now();
        store.step_import(import, ImportStep::Undo, document()).await?;
        println!(
            "undo: {:.1} ms; {} people left",
            begun.elapsed().as_secs_f64() * 1e3,
            store.recipient_count(ACCOUNT).await?
        );
    }
    Ok(())
}

async fn import(store: &SharedStore, rows: u64, shuffled: bool) -> Result<(), Box<dyn std::error::Error>> {
    let stop = Arc::new(AtomicBool::new(false));
    let alerts = tokio::spawn(accept_alerts(Arc::clone(store), Arc::clone(&stop)));
    let begun = Instant::now();
    let import = store.begin_import(ACCOUNT, Timestamp(0)).await?;
    stage(store, import, rows, shuffled).await?;
    let staged_in = begun.elapsed();
    let imported = store.publish_import(import).await?;
    let took = begun.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    let mut waits = alerts.await?;
    waits.sort_unstable();
    let at = |share: f64| waits.get((waits.len() as f64 * share) as usize).map_or(0, |wait| wait.as_micros());
    let name = if shuffled { "shuffled" } else { "sorted" };
    println!(
        "import {name}: {} rows in {took:.1} s ({:.0} rows/s; read {:.1} s, written {:.1} s); peak memory {} MB",
        imported,
        rows as f64 / took,
        staged_in.as_secs_f64(),
        took - staged_in.as_secs_f64(),
        peak_mb()
    );
    println!(
        "  {} alerts meanwhile: p50 {} us, p99 {} us, p99.9 {} us, worst {} us",
        waits.len(),
        at(0.5),
        at(0.99),
        at(0.999),
        waits.last().map_or(0, Duration::as_micros)
    );
    Ok(())
}

/// Reads a file of people, and stages them.
async fn stage(
    store: &SharedStore,
    import: ImportNo,
    rows: u64,
    shuffled: bool,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut reader = ImportReader::new(ImportFormat::Csv, Defaults::default());
    let mut out = Vec::new();
    let mut text = String::from("id,name,language,time_zone,groups,sms,mail,lat,lon,floor,role\n");
    for n in 0..rows {
        line(&mut text, n, shuffled);
        if text.len() >= PIECE_OCTETS || n + 1 == rows {
            reader.feed(text.as_bytes(), &mut out);
            text.clear();
        }
        if out.len() >= STAGE_ROWS || n + 1 == rows {
            let people = out.drain(..).collect::<Result<_, _>>().map_err(|problem| problem.to_string())?;
            store.stage(import, people).await?;
        }
    }
    reader.finish(&mut out);
    Ok(())
}

fn line(text: &mut String, n: u64, shuffled: bool) {
    // A multiplicative permutation of 2^40 numbers: ids in no order, none twice.
    let id = if shuffled { n.wrapping_mul(0x9e_3779_b97f_4a7d) & 0xff_ffff_ffff } else { n };
    let _ = writeln!(
        text,
        "p{id:012},Ann Example {n},sv,Europe/Stockholm,staff;team-{},+4670{:07},ann.{n}@example.se,{:.4},{:.4},{},nurse",
        n % 100,
        n % 10_000_000,
        59.0 + (n % 1000) as f64 / 1e4,
        18.0 + (n % 777) as f64 / 1e4,
        n % 9,
    );
}

/// How long each of a steady stream of alerts waits for its number.
async fn accept_alerts(store: SharedStore, stop: Arc<AtomicBool>) -> Vec<Duration> {
    let mut waits = Vec::new();
    let mut every = tokio::time::interval(ALERT_EVERY);
    while !stop.load(Ordering::Relaxed) {
        every.tick().await;
        let asked = Instant::now();
        match store.accept_alert(alert(), None).await {
            Ok(Accepted::New(_)) => waits.push(asked.elapsed()),
            other => println!("an alert was not accepted: {other:?}"),
        }
    }
    waits
}

fn scan(store: &SharedStore) -> Result<(), Box<dyn std::error::Error>> {
    let begun = Instant::now();
    let (mut count, mut devices) = (0_u64, 0_usize);
    store.scan_recipients(ACCOUNT, &mut |slice| {
        count += slice.len() as u64;
        devices += slice.iter().map(|person| person.devices.len()).sum::<usize>();
        true
    })?;
    let us = begun.elapsed().as_secs_f64() * 1e6;
    println!(
        "scan: {count} recipients, {devices} devices, {:.2} us each; peak memory {} MB",
        us / count as f64,
        peak_mb()
    );
    Ok(())
}

async fn fold(store: &SharedStore, rows: u32) -> Result<(), Box<dyn std::error::Error>> {
    let Accepted::New(alert) = store.accept_alert(alert(), None).await? else {
        return Err("no alert".into());
    };
    for round in ["new", "changed"] {
        let begun = Instant::now();
        for first in (0..rows).step_by(FOLD_ROWS as usize) {
            let deliveries = (first..rows.min(first + FOLD_ROWS)).map(|n| delivery(alert.no, n)).collect();
            store.fold(deliveries, u64::from(first)).await?;
        }
        let us = begun.elapsed().as_secs_f64() * 1e6;
        println!("fold: {rows} {round} deliveries, {:.2} us each", us / f64::from(rows));
    }
    let begun = Instant::now();
    let mut count = 0_u64;
    store.scan_deliveries(alert.no, &mut |slice| {
        count += slice.len() as u64;
        true
    })?;
    println!("scan: {count} deliveries, {:.2} us each", begun.elapsed().as_secs_f64() * 1e6 / count as f64);
    Ok(())
}

async fn count(store: &SharedStore) -> Result<(), Box<dyn std::error::Error>> {
    let begun = Instant::now();
    let count = store.recipient_count(ACCOUNT).await?;
    println!("count: {count} in {:.0} ms", begun.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

fn report_files(file: &std::path::Path) {
    let mb = |path: &std::path::Path| std::fs::metadata(path).map_or(0, |meta| meta.len() / 1_000_000);
    println!("files: {} MB database, {} MB log", mb(file), mb(&file.with_extension("db-wal")));
}

fn alert() -> Alert {
    let now = Timestamp(1_800_000_000_000_000);
    let to = AudienceEntry { to: "group:staff".to_owned(), strategy: None, expires: None };
    Alert {
        no: AlertNo(0),
        id: AlertId(uuid::Uuid::now_v7()),
        account: ACCOUNT.to_owned(),
        token: "t".to_owned(),
        created: now,
        state: AlertState::Accepted,
        version: 1,
        request: AlertRequest {
            headline: None,
            text: Some("Smoke in the north wing. Close the windows and stay inside.".to_owned()),
            texts: Texts::default(),
            audience: vec![to],
            exclude: Vec::new(),
            channels: Vec::new(),
            strategy: Strategy::All,
            require_answer: false,
            choices: Vec::new(),
            terminal: Terminal::Accepted,
            not_before: None,
            expires: now.plus_s(86_400),
            priority: Priority::Emergency,
            on_unknown: OnUnknown::Resend,
            callback: None,
            sender: None,
            mode: Mode::Live,
            flash: false,
            resources: Vec::new(),
            attachments: Vec::new(),
            area: None,
            participants_only: false,
            answer_rules: records::AnswerRules::default(),
            follows: None,
        },
        origin: Origin::Api,
        note: String::new(),
        approval: None,
    }
}

fn delivery(alert: AlertNo, n: u32) -> Delivery {
    let at = Timestamp(1_800_000_000_000_000 + i64::from(n));
    Delivery {
        alert,
        endpoint: EndpointNo(n),
        state: DeliveryState::Accepted,
        attempts: 1,
        last_attempt: 1,
        parts: 1,
        parts_accepted: 1,
        parts_delivered: 0,
        route: Some("carrier-1".to_owned()),
        reason: Reason::None,
        detail: String::new(),
        submitted: Some(at),
        accepted: Some(at.plus_us(40_000)),
        delivered: None,
        due: None,
        answer: None,
    }
}

/// The most memory this process ever had resident (Linux: VmHWM).
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).map_or(0, |kb| kb / 1_024)
}
