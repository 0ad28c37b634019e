//! Pushes a file:
//! `push FILE RATE_MBIT SITE… [group=ADDRESS:PORT] [interface=NAME] [deadline=SECONDS] [give-up=SECONDS]`.
//! Tells what happens, each with its second, and at the end each site's goodput, in payload bits from when it
//! was there until its receipt. For trials: a fixed key.

use std::time::{Duration, Instant};

use paced_udp::push::{SendOptions, Site, SiteKey, SiteOutcome, send};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, rate, rest @ ..] = arguments.as_slice() else {
        return Err(
            "usage: push FILE RATE_MBIT SITE… [group=ADDRESS:PORT] [interface=NAME] [deadline=S]".into()
        );
    };
    let given = |name: &str| rest.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let seconds = |text: &str| text.parse().map(Duration::from_secs);
    let site = |text: &String| {
        let address = text.parse()?;
        Ok(Site { name: text.clone(), address, key: SiteKey::new([7; 32]) })
    };
    let sites: Result<Vec<Site>, std::net::AddrParseError> =
        rest.iter().filter(|word| !word.contains('=')).map(site).collect();
    let options = SendOptions {
        file: file.into(),
        name: None,
        sites: sites?,
        signing_key: [9; 32],
        rate: rate.parse::<u64>()? * 1_000_000,
        group: given("group").map(str::parse).transpose()?,
        interface: given("interface").map(str::parse).transpose()?,
        hops: 4,
        deadline: given("deadline").map(seconds).transpose()?,
        give_up: given("give-up").map_or(Ok(Duration::from_secs(30)), seconds)?,
    };
    let asked = options.rate as f64;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let begun = Instant::now();
    let telling = tokio::spawn(async move {
        while let Some(word) = told.recv().await {
            println!("{:.3} {word:?}", begun.elapsed().as_secs_f64());
        }
    });
    let report = send(options, tell).await?;
    telling.await?;
    for site in &report.sites {
        let took = site.took.unwrap_or_default().as_secs_f64();
        let goodput = if site.outcome == SiteOutcome::Done { report.size as f64 * 8.0 / took } else { 0.0 };
        let (mbit, part) = (goodput / 1e6, goodput / asked * 100.0);
        println!(
            "{}: {:?}, {took:.3} s, {mbit:.2} Mbit/s, {part:.1} %, {} of {} blocks lack",
            site.name, site.outcome, site.left, site.blocks
        );
    }
    println!("{:?}", report.sent);
    Ok(())
}
