//! Load of the machine: processors in use, and time taken by the hypervisor.

use std::time::{Duration, Instant};

/// A tick of `/proc/stat` in seconds: `USER_HZ` is 100 on every Linux that programs can see (proc(5)).
const TICK_S: f64 = 0.01;

/// Ticks since the machine began.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Ticks {
    used: u64,
    stolen: u64,
}

/// Looks at it now and then.
#[derive(Debug)]
pub(crate) struct HostWatch {
    before: Option<(Instant, Ticks)>,
    cpus: u32,
}

impl HostWatch {
    /// `threads_max`: the bound on threads, which counts as processors that may be used.
    pub(crate) fn new(threads_max: usize) -> HostWatch {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from).min(threads_max);
        HostWatch { before: read(), cpus: u32::try_from(cpus).unwrap_or(u32::MAX) }
    }

    /// Since the last look, in processors' worth; `ours`: what our threads used of it.
    pub(crate) fn look(&mut self, ours: Duration) -> pace::sender_scaler::Host {
        let now = read();
        let mut host = pace::sender_scaler::Host { cpus: self.cpus, steal: 0.0, others: 0.0 };
        if let (Some((began, before)), Some((at, after))) = (self.before, now) {
            let span = at.saturating_duration_since(began).as_secs_f64().max(TICK_S);
            let worth = |ticks: u64| ticks as f64 * TICK_S / span;
            host.steal = worth(after.stolen.saturating_sub(before.stolen));
            let used = worth(after.used.saturating_sub(before.used));
            host.others = (used - ours.as_secs_f64() / span).max(0.0);
        }
        self.before = now;
        host
    }
}

fn read() -> Option<(Instant, Ticks)> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    Some((Instant::now(), ticks(stat.lines().next()?)?))
}

/// The first line: `cpu user nice system idle iowait irq softirq steal guest guest_nice`. Guests are counted
/// in user already.
fn ticks(line: &str) -> Option<Ticks> {
    let mut fields = line.split_ascii_whitespace();
    (fields.next()? == "cpu").then_some(())?;
    let numbers: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    let [user, nice, system, _, _, irq, softirq, stolen, ..] = numbers[..] else { return None };
    Some(Ticks { used: user + nice + system + irq + softirq, stolen })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_and_what_is_stolen_are_told_apart() {
        let line = "cpu  10 20 30 4000 500 6 7 8 3 1";
        assert_eq!(ticks(line), Some(Ticks { used: 73, stolen: 8 }));
        assert_eq!(ticks("cpu0 1 2 3"), None);
        assert_eq!(ticks("cpu 1 2 3 4 5 6 7"), None, "a kernel that knows no steal");
    }

    #[test]
    fn this_machine_can_be_looked_at() {
        let mut watch = HostWatch::new(1);
        let host = watch.look(Duration::ZERO);
        assert_eq!(host.cpus, 1);
        assert!(host.others >= 0.0 && host.steal >= 0.0);
    }
}
