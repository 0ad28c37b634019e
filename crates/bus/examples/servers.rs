//! Example measures the rate at which a nats-server takes records:
//! `cargo run --profile perf -p bus --example servers URL [REPLICAS]`. It leaves its topics under the prefix
//! `measure`.

use bus::nats::{NatsOptions, open};
use bus::{Bus, Topic};
use std::sync::Arc;
use std::time::{Duration, Instant};

const RECORD: [u8; 200] = [b'r'; 200];
const LASTS: Duration = Duration::from_secs(3);
const LEASE: Duration = Duration::from_secs(30);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let url = args.next().ok_or("which servers? nats://HOST:PORT")?;
    let replicas = args.next().map_or(Ok(1), |count| count.parse())?;
    let bus = open(&url, NatsOptions { replicas, prefix: "measure".to_owned(), ..NatsOptions::default() })?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    println!("{:<36} {:>12} {:>10} {:>9}", "what", "records/s", "appends/s", "p50");
    for (waiters, batch) in [(1, 1), (16, 1), (256, 1), (1, 10), (1, 100), (1, 1000), (4, 1000)] {
        let name = format!("t{waiters}-{batch}");
        bus.remove(&name)?;
        let topic = bus.topic(&name)?;
        let (appends, took) = runtime.block_on(load(topic.clone(), waiters, batch));
        let per_s = appends as f64 / took.as_secs_f64();
        println!(
            "{:<36} {:>12.0} {:>10.0} {:>6} us",
            format!("{waiters} waiters, {batch} to an append"),
            per_s * batch as f64,
            per_s,
            bus.sync_us_p50()
        );
    }
    let topic = bus.topic("t4-1000")?;
    let begun = Instant::now();
    let mut next = 0;
    loop {
        let records = topic.read(next, 1_000, 1 << 20)?;
        let Some(last) = records.last() else { break };
        next = last.index + 1;
    }
    println!("{:<36} {:>12.0}", "read back", next as f64 / begun.elapsed().as_secs_f64());
    let (count, took) = runtime.block_on(consume(&*bus, "t4-1000"))?;
    println!("{:<36} {:>12.0}", "taken and acknowledged by a group", count as f64 / took.as_secs_f64());
    Ok(())
}

async fn load(topic: Arc<dyn Topic>, waiters: usize, batch: usize) -> (u64, Duration) {
    let begun = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..waiters {
        let topic = topic.clone();
        tasks.spawn(async move {
            let records = vec![&RECORD[..]; batch];
            let mut appends = 0;
            while begun.elapsed() < LASTS && topic.append(&records).await.is_ok() {
                appends += 1;
            }
            appends
        });
    }
    let appends = tasks.join_all().await.into_iter().sum();
    (appends, begun.elapsed())
}

async fn consume(bus: &dyn Bus, topic: &str) -> Result<(u64, Duration), bus::BusError> {
    let group = bus.group(topic, "g")?;
    let begun = Instant::now();
    let mut count = 0;
    while begun.elapsed() < LASTS {
        for leased in group.take(256, LEASE)? {
            group.ack(leased.record.index)?;
            count += 1;
        }
        if tokio::time::timeout(LASTS, group.ready()).await.is_err() {
            break;
        }
    }
    Ok((count, begun.elapsed()))
}
