//! How fast the log on disk takes records: `cargo run --profile perf -p bus --example commit [DIR]`.

use bus::embedded::{Embedded, Fsync, Options};
use bus::{Bus, Topic};
use std::sync::Arc;
use std::time::{Duration, Instant};

const RECORD: [u8; 200] = [b'r'; 200];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "target/bench-bus".to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    println!(
        "{:<44} {:>12} {:>10} {:>9} {:>12}",
        "what", "records/s", "appends/s", "sync p50", "of W/latency"
    );
    for (name, fsync) in [
        ("always", Fsync::Always),
        ("interval 5 ms", Fsync::Interval(Duration::from_millis(5))),
        ("os", Fsync::Os),
    ] {
        for (waiters, batch) in [(1, 1000), (4, 1000), (1, 1), (64, 1), (256, 1)] {
            let path = format!("{dir}/{name}-{waiters}-{batch}");
            let bus = Embedded::open(&path, Options { fsync, ..Options::default() })?;
            let topic = bus.topic("bench")?;
            let (appends, took) = runtime.block_on(load(topic.clone(), waiters, batch));
            let per_s = appends as f64 / took.as_secs_f64();
            let sync_us = bus.sync_us_p50();
            let share = per_s * sync_us as f64 / 1e6 / waiters as f64;
            println!(
                "{:<44} {:>12.0} {:>10.0} {:>6} us {:>12.2}",
                format!("{name}: {waiters} waiters, {batch} to an append"),
                per_s * batch as f64,
                per_s,
                sync_us,
                share
            );
            if batch > 1 {
                let begun = Instant::now();
                let count = replay(&*topic)?;
                println!("{:<44} {:>12.0}", "   read back", count as f64 / begun.elapsed().as_secs_f64());
            }
            drop(bus);
            std::fs::remove_dir_all(&path)?;
        }
    }
    Ok(())
}

async fn load(topic: Arc<dyn Topic>, waiters: usize, batch: usize) -> (u64, Duration) {
    let begun = Instant::now();
    let tasks: Vec<_> = (0..waiters)
        .map(|_| {
            let topic = topic.clone();
            tokio::spawn(async move {
                let records = vec![&RECORD[..]; batch];
                let mut appends = 0;
                while begun.elapsed() < Duration::from_secs(2) {
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

fn replay(topic: &dyn Topic) -> Result<u64, bus::BusError> {
    let mut from = topic.low();
    loop {
        let records = topic.read(from, usize::MAX, 1 << 20)?;
        match records.last() {
            Some(last) => from = last.index + 1,
            None => return Ok(from),
        }
    }
}
