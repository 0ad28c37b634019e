//! Example measures the rate at which the log on disk takes records:
//! `cargo run --profile perf -p bus --example commit [DIR] [SECONDS]`.
//!
//! `share` is what group commit is measured by: appends a second over N/s, with N clients that wait, each
//! with one append at a time, and s the mean time of a sync in the same seconds. A disk with a cache of its
//! own syncs in whatever time others leave it, so there are runs with a floor under that time too.

use bus::embedded::{Embedded, Fsync, Options};
use bus::{Bus, Durability, Topic, TopicSettings};
use std::sync::Arc;
use std::time::{Duration, Instant};

const RECORD: [u8; 200] = [b'r'; 200];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let dir = args.next().unwrap_or_else(|| "target/bench-bus".to_owned());
    let seconds: u64 = args.next().map_or(Ok(2), |seconds| seconds.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    let run = |name: &str, slowed: Duration, durability, waiters: usize, batch: usize| {
        let path = format!("{dir}/{}-{waiters}-{batch}", name.replace(' ', "-"));
        let options = Options { fsync: Fsync::Os, ..Options::default() };
        let bus = Embedded::open_slowed(&path, options, slowed)?;
        let retention = bus::Retention { octets: Some(256 << 20), ..bus::Retention::default() };
        let settings = TopicSettings { durability: Some(durability), retention, ..TopicSettings::default() };
        let topic = bus.topic_with("bench", &settings)?;
        let (appends, took) = runtime.block_on(load(topic, waiters, batch, seconds));
        let per_s = appends as f64 / took.as_secs_f64();
        let sync_us = bus.sync_us_mean();
        let share = per_s * sync_us as f64 / 1e6 / waiters as f64;
        println!(
            "{name:<16} {waiters:>7} {batch:>6} {:>12.0} {per_s:>10.0} {sync_us:>9} {share:>6.2}",
            per_s * batch as f64
        );
        drop(bus);
        std::fs::remove_dir_all(&path)?;
        Ok::<(), Box<dyn std::error::Error>>(())
    };
    println!(
        "{:<16} {:>7} {:>6} {:>12} {:>10} {:>9} {:>6}",
        "durability", "waiters", "batch", "records/s", "appends/s", "sync/us", "share"
    );
    for (name, durability) in [("memory", Durability::Memory), ("os", Durability::Os)] {
        for (waiters, batch) in [(1, 1), (64, 1), (1, 64), (1, 1000)] {
            run(name, Duration::ZERO, durability, waiters, batch)?;
        }
    }
    for floor_us in [0, 1_000, 5_000, 20_000] {
        for (waiters, batch) in [(1, 1), (64, 1), (256, 1)] {
            let name = format!("disk >= {floor_us} us");
            run(&name, Duration::from_micros(floor_us), Durability::Disk, waiters, batch)?;
        }
    }
    Ok(())
}

async fn load(topic: Arc<dyn Topic>, waiters: usize, batch: usize, seconds: u64) -> (u64, Duration) {
    let begun = Instant::now();
    let tasks: Vec<_> = (0..waiters)
        .map(|_| {
            let topic = topic.clone();
            tokio::spawn(async move {
                let records = vec![&RECORD[..]; batch];
                let mut appends = 0;
                while begun.elapsed() < Duration::from_secs(seconds) {
                    topic.append(&records).await.expect("the disk takes it");
                    appends += 1;
                }
                appends
            })
        })
        .collect();
    let mut appends = 0;
    for task in tasks {
        appends += task.await.expect("no appender panics");
    }
    (appends, begun.elapsed())
}
