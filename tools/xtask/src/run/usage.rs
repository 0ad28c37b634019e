//! Processor time of processes, read from `/proc` (proc(5)).

use std::fs;

/// Linux tells times to programs in hundredths of a second, whatever the kernel's own tick.
const TICKS_PER_SECOND: f64 = 100.0;
/// Fields behind the name in parentheses: state is the first of them.
const STATE: usize = 0;
const TIMES: [usize; 4] = [11, 12, 13, 14];

/// A child that has ended and was not waited for yet, or is not there.
pub fn is_over(pid: u32) -> bool {
    fields(&pid.to_string()).is_none_or(|fields| matches!(fields[STATE].as_str(), "Z" | "X"))
}

/// Seconds of user and system time of a process and of all children that it waited for.
pub fn of_process(pid: u32) -> f64 {
    fields(&pid.to_string()).map_or(0.0, |fields| seconds(&fields, &TIMES))
}

/// Seconds of user and system time of all children that this process waited for, and theirs.
pub fn of_children() -> f64 {
    fields("self").map_or(0.0, |fields| seconds(&fields, &TIMES[2..]))
}

fn seconds(fields: &[String], of: &[usize]) -> f64 {
    let ticks = of.iter().filter_map(|at| fields.get(*at)?.parse::<f64>().ok());
    ticks.sum::<f64>() / TICKS_PER_SECOND
}

fn fields(process: &str) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name may hold spaces and parentheses.
    let (_, rest) = stat.rsplit_once(") ")?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}
