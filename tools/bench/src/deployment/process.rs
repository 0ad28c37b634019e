use std::time::Duration;

/// Linux counts CPU time in hundredths of a second (USER_HZ, part of its ABI).
const TICKS_PER_S: u64 = 100;

/// What a process has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    /// User and system time of all its threads, seconds.
    pub(crate) cpu_s: f64,
    /// The most memory it ever had, octets.
    pub(crate) peak_rss: u64,
}

impl Usage {
    /// What the system says of a process; nothing if it is gone.
    pub(crate) fn of(pid: u32) -> Option<Usage> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        Some(Usage { cpu_s: cpu(&stat)?.as_secs_f64(), peak_rss: peak_rss(&status)? })
    }
}

/// Fields 14 and 15 of proc_pid_stat(5); the name in field 2 may hold spaces and brackets.
fn cpu(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_ascii_whitespace().skip(11).take(2).map(str::parse::<u64>);
    let ticks = times.next()?.ok()? + times.next()?.ok()?;
    Some(Duration::from_millis(ticks * 1_000 / TICKS_PER_S))
}

/// `VmHWM:     1234 kB`.
fn peak_rss(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 9 9 20 0 1 0 1 1 1";
        assert_eq!(cpu(stat), Some(Duration::from_secs(3)));
        assert_eq!(peak_rss("Name:\tx\nVmHWM:\t    1024 kB\n"), Some(1024 * 1024));
        assert_eq!((cpu("7"), peak_rss("Name: x")), (None, None));
    }

    #[test]
    fn this_process_has_used_something() {
        let usage = Usage::of(std::process::id()).unwrap();
        assert!(usage.peak_rss > 1 << 20, "{usage:?}");
        assert_eq!(Usage::of(u32::MAX), None);
    }
}
