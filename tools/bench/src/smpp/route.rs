//! The client as the server has it: the whole gateway of an SMS route, from segments on the bus to the
//! carrier's answers on record.

use super::record::{NumberedMessage, Sums, number_of};
use super::sink::Totals;
use super::{Amount, SmppOptions};
use crate::deployment::{PartProcess, Usage, fdatasync_p50_us, now_us};
use crate::measured::Measured;
use bus::Bus;
use bus::embedded::{Fsync, Options};
use gateway::GatewayContext;
use gateway::sms::SmsRoute;
use net::Cores;
use records::{
    AlertId, AlertNo, AttemptResult, Body, EndpointNo, Entry, Lane, OUTCOMES, Outcome, Segment, Timestamp,
    decode_outcomes, segment_topic,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROUTE: &str = "carrier";
const SEGMENT_ENTRIES: u64 = 5_000;
/// Without a count, so many are made ready for each second …
const READY_PER_S: f64 = 300_000.0;
/// … or for each place in all windows, whichever is less: a round trip takes longer than 20 us.
const READY_PER_PLACE_S: f64 = 50_000.0;
/// But not more than these.
const READY_MAX: u64 = 1_000_000;
/// Outcomes are read this often: not record's work is measured, but the gateway's.
const READ_EVERY: Duration = Duration::from_millis(50);
const RECORDS_MAX: usize = 100_000;
const READ_OCTETS: usize = 64 << 20;
/// No answer of the carrier for so long: it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs it against a bare sink.
///
/// # Errors
/// What did not work, in words.
pub(super) async fn run(options: &SmppOptions) -> Result<Measured, String> {
    let folder = options.folder()?;
    let bus = bus::embedded::open(
        folder.path().join("bus"),
        Options { fsync: fsync(&options.fsync)?, ..Options::default() },
    )
    .map_err(|error| error.to_string())?;
    let mut sink = PartProcess::start(&["sink"]).await?;
    let count = ready(options);
    append(&*bus, count).await?;
    let fdatasync_us = fdatasync_p50_us(folder.path()).map_err(|error| format!("fdatasync: {error}"))?;
    let cores = Arc::new(Cores::new(1).map_err(|error| format!("no thread for connections: {error}"))?);
    let world = GatewayContext::new(Arc::clone(&bus), Arc::new(now), cores);
    let route = SmsRoute {
        name: ROUTE.to_owned(),
        address: sink.address().to_owned(),
        sessions: options.connections as u32,
        window: options.window as u32,
        ..SmsRoute::default()
    };
    let me = std::process::id();
    let before = (Usage::of(me).unwrap_or_default(), sink.usage());
    let begin = Instant::now();
    let running = gateway::sms::start(route, &world)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))?;
    let accepted = read(&*bus, count, options.amount.time(), begin).await?;
    let seconds = begin.elapsed().as_secs_f64();
    let after = (Usage::of(me).unwrap_or_default(), sink.usage());
    // What is under way may still be answered: it is in the sink's totals, and in ours once the route has
    // stopped.
    running.stop().await;
    let mut all = accepted;
    all.more(&*bus)?;
    let totals: Totals = sink.ask().await?;
    let mut measured = options.measured("smpp-client-route").with("fsync", options.fsync.as_str());
    let millions = accepted_millions(&accepted);
    measured.rate_per_s = accepted.sums.count as f64 / seconds;
    measured.cpu_s_per_million.server = Some((after.0.cpu_s - before.0.cpu_s) / millions);
    measured.cpu_s_per_million.load = Some((after.1.cpu_s - before.1.cpu_s) / millions);
    measured.errors = all.sums.differs(&totals.sums) + all.others + totals.unreadable;
    measured.peak_rss_mb = Some(after.0.peak_rss as f64 / 1e6);
    measured.fdatasync_p50_us = Some(fdatasync_us);
    Ok(measured
        .and("messages", accepted.sums.count)
        .and("seconds", seconds)
        .and("bus_sync_p50_us", bus.sync_us_p50()))
}

fn accepted_millions(accepted: &AcceptedTotals) -> f64 {
    accepted.sums.count.max(1) as f64 / 1e6
}

/// How many messages are made ready.
fn ready(options: &SmppOptions) -> u64 {
    let places = (options.window * options.connections) as f64;
    match options.amount {
        Amount::Of(count) => count,
        Amount::For(time) => {
            let per_s = READY_PER_S.min(READY_PER_PLACE_S * places);
            ((per_s * time.as_secs_f64()) as u64).clamp(1, READY_MAX)
        }
    }
}

async fn append(bus: &dyn Bus, count: u64) -> Result<(), String> {
    let topic = bus.topic(&segment_topic(ROUTE, Lane::Routine)).map_err(|error| error.to_string())?;
    for first in (0..count).step_by(SEGMENT_ENTRIES as usize) {
        let segment = segment(first, SEGMENT_ENTRIES.min(count - first)).encode();
        topic.append(&[&segment]).await.map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn segment(first: u64, count: u64) -> Segment {
    Segment {
        alert: AlertNo(1),
        alert_id: AlertId(uuid::Uuid::nil()),
        account: "bench".to_owned(),
        route: ROUTE.to_owned(),
        lane: Lane::Routine,
        outcomes_from: 0,
        expires: now().plus_s(86_400),
        sender: None,
        flash: false,
        receipt: false,
        answer: false,
        choices: Vec::new(),
        emergency: false,
        bodies: Vec::new(),
        entries: (first..first + count).map(entry).collect(),
    }
}

/// Each has a text of its own.
fn entry(number: u64) -> Entry {
    let words = NumberedMessage::new(number);
    Entry {
        endpoint: EndpointNo(number as u32),
        attempt: 1,
        address: words.phone_number(),
        body: 0,
        own: Some(Box::new(Body::of_text(words.text()))),
        expires: None,
        link: None,
    }
}

/// What is on record.
#[derive(Debug, Clone, Copy, Default)]
struct AcceptedTotals {
    sums: Sums,
    /// Not accepted, or with another's id.
    others: u64,
    from: u64,
}

impl AcceptedTotals {
    /// Takes what was recorded since; says whether there was something.
    fn more(&mut self, bus: &dyn Bus) -> Result<bool, String> {
        let topic = bus.topic(OUTCOMES).map_err(|error| error.to_string())?;
        let records = topic.read(self.from, RECORDS_MAX, READ_OCTETS).map_err(|error| error.to_string())?;
        for record in &records {
            self.from = record.index + 1;
            let outcomes = decode_outcomes(&record.octets).map_err(|error| error.to_string())?;
            outcomes.iter().for_each(|outcome| self.take(outcome));
        }
        Ok(!records.is_empty())
    }

    fn take(&mut self, outcome: &Outcome) {
        let Outcome::Attempt { of, result, .. } = outcome else { return };
        let number = u64::from(of.endpoint.0);
        match result {
            AttemptResult::Accepted { id, .. } if number_of(id.as_bytes(), id.as_bytes()) == Some(number) => {
                self.sums.add(number);
            }
            // Given back when the route stopped: it was never written.
            AttemptResult::NotTried { .. } => {}
            _ => self.others += 1,
        }
    }
}

/// Reads outcomes until all are accepted, or the time is over.
async fn read(
    bus: &dyn Bus,
    count: u64,
    time: Option<Duration>,
    begin: Instant,
) -> Result<AcceptedTotals, String> {
    let mut accepted = AcceptedTotals::default();
    let mut heard = Instant::now();
    while accepted.sums.count + accepted.others < count && time.is_none_or(|time| begin.elapsed() < time) {
        tokio::time::sleep(READ_EVERY).await;
        if accepted.more(bus)? {
            heard = Instant::now();
        } else if heard.elapsed() > PATIENCE {
            return Err(format!("of {count} messages only {} are accepted", accepted.sums.count));
        }
    }
    Ok(accepted)
}

fn now() -> Timestamp {
    Timestamp(now_us() as i64)
}

/// `[bus] fsync`.
pub(super) fn fsync(text: &str) -> Result<Fsync, String> {
    let interval = text.strip_prefix("interval:").and_then(|interval| interval.strip_suffix("ms"));
    match (text, interval.map(str::parse)) {
        ("always", _) => Ok(Fsync::Always),
        ("os", _) => Ok(Fsync::Os),
        (_, Some(Ok(ms))) => Ok(Fsync::Interval(Duration::from_millis(ms))),
        _ => Err(format!("--fsync: {text:?} is none of always, interval:5ms, os")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::AttemptRef;

    #[test]
    fn fsync_is_said_as_in_the_config() {
        assert_eq!(fsync("always"), Ok(Fsync::Always));
        assert_eq!(fsync("interval:5ms"), Ok(Fsync::Interval(Duration::from_millis(5))));
        assert_eq!(fsync("os"), Ok(Fsync::Os));
        assert!(fsync("interval:5").is_err() && fsync("never").is_err());
    }

    #[test]
    fn only_what_the_carrier_took_under_its_own_id_is_accepted() {
        let outcome = |number, id: &str| Outcome::Attempt {
            of: AttemptRef { alert: AlertNo(1), endpoint: EndpointNo(number), attempt: 1, part: 1, parts: 1 },
            route: ROUTE.to_owned(),
            at: Timestamp(0),
            result: AttemptResult::Accepted { keys: Vec::new(), id: id.to_owned() },
        };
        let mut accepted = AcceptedTotals::default();
        for (number, id) in [(7, "0000046700000007"), (8, "0000046700000007"), (9, "x")] {
            accepted.take(&outcome(number, id));
        }
        assert_eq!((accepted.sums.count, accepted.others), (1, 2));
    }

    #[test]
    fn as_many_are_made_ready_as_a_run_can_use() {
        let options = |window, amount| SmppOptions {
            window,
            amount,
            ..SmppOptions::new("x".into(), super::super::Side::Client)
        };
        for (window, amount, expected) in [
            (500, Amount::Of(7), 7),
            (1, Amount::For(Duration::from_secs(2)), 100_000),
            (500, Amount::For(Duration::from_secs(2)), 600_000),
            (500, Amount::For(Duration::from_secs(60)), READY_MAX),
        ] {
            assert_eq!(ready(&options(window, amount)), expected);
        }
    }
}
