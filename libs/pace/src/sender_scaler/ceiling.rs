//! Bottleneck of a rate that is not reached.

use super::{Ceiling, Host, Sum};

/// Of the CPUs, what others have to use to be a reason.
const OTHERS_PART: f64 = 0.1;
/// Of the CPUs, what is used in all where none is left.
const FULL_PART: f64 = 0.85;
/// Of their busy time, what our threads have on a CPU, or wait for one, if nothing else holds them up.
const RUNNING_PART: f64 = 0.7;

/// Why less was sent than asked for, though no more can be done. In this order: what the socket refuses; what
/// others use, where nothing is left; threads that are busy, and neither have a CPU nor wait for one, are
/// held up by the socket; else the CPU. Who waits for a CPU lacks just that, also where the scheduler merely
/// keeps two of our threads on one.
pub(super) fn ceiling(sum: &Sum, host: &Host) -> Ceiling {
    let cpus = f64::from(host.cpus.max(1));
    let ours = if sum.wall_s > 0.0 { sum.cpu_s / sum.wall_s } else { 0.0 };
    let others = host.steal.max(0.0) + host.others.max(0.0);
    if sum.is_refused() {
        Ceiling::Socket
    } else if others > cpus * OTHERS_PART && ours + others > cpus * FULL_PART {
        Ceiling::HostsOtherWork
    } else if sum.cpu_s + sum.ready_s < sum.busy_s * RUNNING_PART {
        Ceiling::Socket
    } else {
        Ceiling::Cpu
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shortfall_has_its_reason() {
        let sum = Sum { threads: 4, wall_s: 0.1, busy_s: 0.4, cpu_s: 0.39, sent: 9e4, ..Sum::default() };
        let host = Host { cpus: 4, steal: 0.0, others: 0.1 };
        for (what, sum, host, expected) in [
            ("four threads on four CPUs", sum, host, Ceiling::Cpu),
            ("refused", Sum { errors: 1e4, ..sum }, host, Ceiling::Socket),
            ("a few refused", Sum { errors: 10.0, ..sum }, host, Ceiling::Cpu),
            ("blocked in the call", Sum { cpu_s: 0.1, ..sum }, host, Ceiling::Socket),
            ("blocked, and one waits", Sum { cpu_s: 0.1, ready_s: 0.1, ..sum }, host, Ceiling::Socket),
            ("two threads on each of two CPUs", Sum { cpu_s: 0.2, ready_s: 0.19, ..sum }, host, Ceiling::Cpu),
            (
                "waiting for others",
                Sum { cpu_s: 0.2, ready_s: 0.19, ..sum },
                Host { others: 2.0, ..host },
                Ceiling::HostsOtherWork,
            ),
            ("stress", Sum { cpu_s: 0.2, ..sum }, Host { others: 2.0, ..host }, Ceiling::HostsOtherWork),
            ("stolen", Sum { cpu_s: 0.3, ..sum }, Host { steal: 1.0, ..host }, Ceiling::HostsOtherWork),
            ("others beside, and room left", sum, Host { cpus: 12, others: 2.0, steal: 0.0 }, Ceiling::Cpu),
        ] {
            assert_eq!(ceiling(&sum, &host), expected, "{what}");
        }
    }
}
