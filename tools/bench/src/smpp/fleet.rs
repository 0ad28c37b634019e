//! Many routes in one server, each to a simulated carrier of its own; all carriers live in one process beside
//! it. The server writes down each of its writes, and each carrier what came when.

use super::new_folder;
use super::windows::Stamp;
use crate::deployment::{Api, PartProcess, ServerProcess, Usage};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Country code of all numbers.
const COUNTRY: &str = "+467";
/// Digits behind it that say the route.
const ROUTE_DIGITS: usize = 3;
/// Digits behind those that say the message.
const OWN_DIGITS: usize = 5;
/// Routes at most.
pub(super) const ROUTES_MAX: usize = 10usize.pow(ROUTE_DIGITS as u32);
/// Messages of a route at most.
pub(super) const MESSAGES_MAX: u64 = 10u64.pow(OWN_DIGITS as u32);
/// Half the messages of a second can be under way, and at least these.
const WINDOW_MIN: f64 = 10.0;
const ASK_EVERY: Duration = Duration::from_millis(50);

/// What it is made of.
#[derive(Debug, Clone)]
pub(super) struct FleetPlan {
    pub(super) program: PathBuf,
    pub(super) folder: Option<PathBuf>,
    pub(super) fsync: String,
    pub(super) routes: usize,
    /// Messages a second of each.
    pub(super) rate: f64,
    /// Each route has numbers of its own; otherwise any takes any.
    pub(super) own_numbers: bool,
    /// Messages that each carrier remembers.
    pub(super) keep: u64,
}

pub(super) struct Fleet {
    server: ServerProcess,
    carriers: PartProcess,
    stamps: PathBuf,
    routes: usize,
    _folder: TempDir,
}

impl Fleet {
    /// # Errors
    /// What does not come up, in words.
    pub(super) async fn open(plan: &FleetPlan) -> Result<Fleet, String> {
        let folder = new_folder(plan.folder.as_ref())?;
        let (count, keep) = (plan.routes.to_string(), plan.keep.to_string());
        let arguments = ["carriers", "--count", &count, "--keep", &keep];
        let carriers = PartProcess::start(&arguments).await?;
        let stamps = folder.path().join("stamps");
        let config = config(plan, carriers.addresses());
        let server = ServerProcess::start(&plan.program, folder.path(), &config, Some(&stamps)).await?;
        Ok(Fleet { server, carriers, stamps, routes: plan.routes, _folder: folder })
    }

    /// A client of the server.
    pub(super) fn api(&self) -> Result<Api, String> {
        self.server.api()
    }

    /// What the server and the carriers have used so far.
    pub(super) fn usage(&self) -> (Usage, Usage) {
        (self.server.usage(), self.carriers.usage())
    }

    /// All writes so far, of each route, in the order of time. A write's moment is the instant after it.
    ///
    /// # Errors
    /// The server's notes are not there, or something else.
    pub(super) fn writes(&self) -> Result<Vec<Vec<Stamp>>, String> {
        let notes = match std::fs::read_to_string(&self.stamps) {
            Ok(notes) => notes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(format!("the server's write stamps: {error}")),
        };
        writes(&notes, self.routes)
    }

    /// Waits until each route has written so many messages, over all its time.
    ///
    /// # Errors
    /// It takes longer than `within`.
    pub(super) async fn until(
        &self,
        what: &str,
        within: Duration,
        is_enough: impl Fn(&[u64]) -> bool,
    ) -> Result<(), String> {
        let begin = Instant::now();
        loop {
            let counts: Vec<u64> = self.writes()?.iter().map(|stamps| total(stamps)).collect();
            if is_enough(&counts) {
                return Ok(());
            }
            if begin.elapsed() > within {
                let begun = counts.iter().filter(|count| **count > 0).count();
                return Err(format!(
                    "{what} did not come in {} s: {begun} routes have written, {} messages in all",
                    within.as_secs(),
                    counts.iter().sum::<u64>()
                ));
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
    }

    /// What came to each carrier, in the order of time.
    ///
    /// # Errors
    /// The carriers are gone.
    pub(super) async fn taken(&mut self) -> Result<Vec<Vec<Stamp>>, String> {
        let moments: Vec<Vec<u64>> = self.carriers.ask().await?;
        let stamps = |mut moments: Vec<u64>| {
            moments.sort_unstable();
            moments.into_iter().map(|at_us| Stamp { at_ns: at_us * 1_000, messages: 1 }).collect()
        };
        Ok(moments.into_iter().map(stamps).collect())
    }
}

pub(super) fn total(stamps: &[Stamp]) -> u64 {
    stamps.iter().map(|stamp| stamp.messages).sum()
}

/// The number of a route's message.
pub(super) fn phone_number(route: usize, message: u64) -> String {
    format!("{COUNTRY}{route:0ROUTE_DIGITS$}{message:0width$}", width = OWN_DIGITS)
}

fn name(route: usize) -> String {
    format!("c{route:0ROUTE_DIGITS$}")
}

fn config(plan: &FleetPlan, carriers: &[String]) -> String {
    let window = (plan.rate / 2.0).max(WINDOW_MIN).ceil().min(500.0);
    let mut config = format!("[bus]\nfsync = \"{}\"\n", plan.fsync);
    for (route, address) in carriers.iter().enumerate() {
        let prefixes = match plan.own_numbers {
            true => format!("prefixes = [\"{COUNTRY}{route:0ROUTE_DIGITS$}\"]\n"),
            false => String::new(),
        };
        config += &format!(
            "[[route]]\nname = \"{}\"\nchannel = \"sms\"\nmode = \"live\"\nrate = {:?}\naddress = \"{address}\"\n\
             system_id = \"bench\"\npassword = \"bench\"\nwindow = {window}\n{prefixes}",
            name(route),
            plan.rate,
        );
    }
    config
}

/// Lines of route, messages, and the nanoseconds before and after the write; the last may not be whole yet.
fn writes(notes: &str, routes: usize) -> Result<Vec<Vec<Stamp>>, String> {
    let mut writes = vec![Vec::new(); routes];
    for line in notes.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let (route, stamp) = write(line).ok_or_else(|| format!("{line:?} is no write stamp"))?;
        writes.get_mut(route).ok_or_else(|| format!("{line:?} names no route of ours"))?.push(stamp);
    }
    // Several sessions may note theirs in another order.
    writes.iter_mut().for_each(|stamps| stamps.sort_by_key(|stamp| stamp.at_ns));
    Ok(writes)
}

fn write(line: &str) -> Option<(usize, Stamp)> {
    let mut fields = line.split(' ');
    let route = fields.next()?.strip_prefix('c')?.parse().ok()?;
    let messages = fields.next()?.parse().ok()?;
    let at_ns = fields.nth(1)?.parse().ok()?;
    Some((route, Stamp { at_ns, messages }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_stamps_are_read_by_route_and_half_a_line_waits() {
        let notes = "c000 1 5 9\nc002 3 10 30\nc002 1 12 20\nc001 1 4";
        let stamp = |at_ns, messages| Stamp { at_ns, messages };
        assert_eq!(writes(notes, 3).unwrap(), [vec![stamp(9, 1)], vec![], vec![stamp(20, 1), stamp(30, 3)]]);
        assert_eq!(total(&writes(notes, 3).unwrap()[2]), 4);
        assert!(writes("c003 1 5 9\n", 3).is_err() && writes("x\n", 3).is_err());
        assert!(writes("c000 1 5\n", 3).is_err());
    }

    #[test]
    fn each_route_has_its_carrier_and_its_numbers() {
        let plan = FleetPlan {
            program: "x".into(),
            folder: None,
            fsync: "os".to_owned(),
            routes: 2,
            rate: 5.0,
            own_numbers: true,
            keep: 1,
        };
        let carriers = ["127.0.0.1:1".to_owned(), "127.0.0.1:2".to_owned()];
        let config: toml::Table = config(&plan, &carriers).parse().unwrap();
        assert_eq!(config["route"][1]["name"].as_str(), Some("c001"));
        assert_eq!(config["route"][1]["rate"].as_float(), Some(5.0));
        let prefix = config["route"][1]["prefixes"][0].as_str().unwrap();
        assert!(phone_number(1, 77).starts_with(prefix) && phone_number(1, 77) == "+46700100077");
    }
}
