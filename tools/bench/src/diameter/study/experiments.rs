//! Experiments of the published study, with its findings.

use super::job::{Job, Pin, Work};
use super::queues::QueueKind;
use super::{Allocator, Experiment, How, StudyOptions, Trial};
use crate::deployment::{Placement, own_cpus};
use crate::diameter::{Amount, DiameterOptions, Transport};

/// What the study did so often.
const MESSAGES: f64 = 10_000_000.0;
const ALLOCATIONS: f64 = 1_000_000_000.0;
const REQUESTS: f64 = 3_000_000.0;
/// Turns of what the study gives no number for, before they are divided.
const LOCKINGS: f64 = 100_000_000.0;
const COPIES: f64 = 100_000_000.0;
/// Its threads.
const THREADS: [usize; 3] = [8, 16, 32];
/// Threads of the study's queue in our runs: it had 20 for each of 50 connections.
const QUEUE_THREADS: usize = 32;
/// Threads of the smaller experiments.
const LOCK_THREADS: [usize; 2] = [2, 8];
const HANDLERS: usize = 8;
/// Octets of a request of the bench, and of one that is long.
const COPIED_OCTETS: [usize; 2] = [316, 4_096];
const COPIERS: [usize; 2] = [1, 2];
/// Connections of the study, and requests in flight on all of them together.
const CONNECTIONS: usize = 50;
const IN_FLIGHT: usize = 3_200;

/// An experiment before it is run.
pub(super) struct Plan {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) notes: Vec<String>,
    pub(super) trials: Vec<Trial>,
}

pub(super) fn plan(experiment: Experiment, options: &StudyOptions) -> Result<Plan, String> {
    Ok(match experiment {
        Experiment::Allocator => allocator(options),
        Experiment::Queue => queue(options),
        Experiment::Sharing => sharing(options),
        Experiment::Affinity => affinity(options)?,
        Experiment::Copy => copy(options),
        Experiment::Transport => transport(options, net::probe_sctp().map_err(|error| error.to_string())),
    })
}

fn scale_note(options: &StudyOptions, counts: &str) -> String {
    if options.time_scale > 1.0 {
        format!("Counts are divided by {}: {counts}.", options.time_scale)
    } else {
        format!("Counts: {counts}.")
    }
}

/// The server under the study's load.
fn server(options: &StudyOptions, placement: Placement) -> How {
    How::Server(Box::new(DiameterOptions {
        connections: CONNECTIONS,
        window: IN_FLIGHT / CONNECTIONS,
        amount: Amount::Of(options.scaled(REQUESTS)),
        placement,
        ..options.server.clone()
    }))
}

fn trial(part: impl Into<String>, variant: impl Into<String>, published: &'static str, how: How) -> Trial {
    Trial { part: part.into(), variant: variant.into(), published, how }
}

/// With each allocator, or why not.
fn with_each(
    options: &StudyOptions,
    part: &str,
    published: impl Fn(Allocator) -> &'static str,
    how: impl Fn(Placement) -> How,
) -> Vec<Trial> {
    let one = |allocator: Allocator| {
        let how = options.with_allocator(allocator).map_or_else(How::Gap, &how);
        trial(part, allocator.name(), published(allocator), how)
    };
    Allocator::ALL.into_iter().map(one).collect()
}

fn allocator(options: &StudyOptions) -> Plan {
    let in_server = |allocator: Allocator| if allocator == Allocator::Tcmalloc { "up to +300 %" } else { "" };
    let none = |_| "";
    let mut trials = with_each(options, "server", in_server, |placement| server(options, placement));
    for (name, work, published) in [
        ("handling, memory for each AVP", Work::HandlingPerAvp, MESSAGES),
        ("handling, in place as ours", Work::HandlingInPlace, MESSAGES),
        ("allocation of 400 octets", Work::Allocation, ALLOCATIONS),
    ] {
        for threads in THREADS {
            let job = Job { work, threads, count: options.scaled(published), pin: Pin::Free };
            let how = |placement| How::Alone(job.clone(), placement);
            trials.extend(with_each(options, &format!("{name}, {threads} threads"), none, how));
        }
    }
    let counts = format!(
        "{} requests to the server, {} messages handled, {} allocations",
        options.scaled(REQUESTS),
        options.scaled(MESSAGES),
        options.scaled(ALLOCATIONS)
    );
    Plan {
        name: "diameter-allocator",
        title: "Allocators, rate over that of glibc",
        notes: vec![
            "The program sets no allocator of its own: the same program runs with each by LD_PRELOAD, and whether it was loaded is looked at.".to_owned(),
            "Published of the work alone: TCMalloc on 8 cores 28 s with 8 threads and 8 s with 32; Hoard 2.3x glibc at 8 threads on 8 cores, 30 % worse on one.".to_owned(),
            scale_note(options, &counts),
        ],
        trials,
    }
}

fn queue(options: &StudyOptions) -> Plan {
    let kinds = [
        (QueueKind::VectorUnderLock, "vector, drained under the lock", "no gain from 4 to 8 processors"),
        (QueueKind::ListUnderLock, "list, drained under the lock", "worse"),
        (
            QueueKind::ListTaken,
            "list, drained without the lock",
            "up to +150 % with TCMalloc; slower with glibc",
        ),
    ];
    let mut trials = Vec::new();
    for allocator in Allocator::ALL {
        for (kind, variant, published) in kinds {
            let (work, count) = (Work::Queue(kind), options.scaled(REQUESTS));
            let job = Job { work, threads: QUEUE_THREADS, count, pin: Pin::Free };
            let how = options.with_allocator(allocator);
            let how = how.map_or_else(How::Gap, |placement| How::Alone(job.clone(), placement));
            trials.push(trial(allocator.name(), variant, published, how));
        }
    }
    Plan {
        name: "diameter-queue",
        title: "Record queues, rate over that of the vector",
        notes: vec![
            format!("{QUEUE_THREADS} threads handle messages, with memory for each AVP, and queue their records; one drains them into XML. At most 65,536 wait."),
            "Our server has no such queue: a record is an entry of the ledger's log, and each connection gives its batch to the shard's thread.".to_owned(),
            scale_note(options, &format!("{} records", options.scaled(REQUESTS))),
        ],
        trials,
    }
}

fn sharing(options: &StudyOptions) -> Plan {
    let mut trials = Vec::new();
    for threads in LOCK_THREADS.into_iter().chain(THREADS.into_iter().skip(1)) {
        for (padded, variant, published) in [
            (false, "one cache line", "spread 300 %"),
            (true, "two cache lines", "about 2x; spread 50 %; in the server 1 %"),
        ] {
            let job = Job {
                work: Work::Locks { padded },
                threads,
                count: options.scaled(LOCKINGS),
                pin: Pin::Free,
            };
            let how = How::Alone(job, Placement::default());
            trials.push(trial(format!("{threads} threads"), variant, published, how));
        }
    }
    Plan {
        name: "diameter-sharing",
        title: "Two locks, rate over that in one cache line",
        notes: vec![
            "Half of the threads have one lock and half the other, so that with 2 threads no thread waits for a lock. The locks are the standard library's.".to_owned(),
            "Our server has nothing to move apart: a request takes no lock.".to_owned(),
            scale_note(options, &format!("{} times a lock is taken", options.scaled(LOCKINGS))),
        ],
        trials,
    }
}

fn affinity(options: &StudyOptions) -> Result<Plan, String> {
    let cpus = own_cpus().map_err(|error| format!("the processors: {error}"))?;
    let one = "slightly worse on 2 and 4 processors, better on 8";
    let at = |cpus: &[usize], each_thread| Placement { cpus: cpus.to_vec(), each_thread, preload: None };
    let mut trials = vec![
        trial("server", "free", "", server(options, Placement::default())),
        trial("server", "each thread on one", one, server(options, at(&cpus, true))),
        trial("server", "all on a set", "no effect", server(options, at(&cpus, false))),
        trial("server", "all on one", "", server(options, at(&cpus[..1], false))),
    ];
    for (pin, variant, published) in [
        (Pin::Free, "free", ""),
        (Pin::One, "each thread on one", one),
        (Pin::Set, "all on a set", "no effect"),
    ] {
        let (work, count) = (Work::HandlingInPlace, options.scaled(MESSAGES));
        let job = Job { work, threads: HANDLERS, count, pin };
        let part = format!("handling, {HANDLERS} threads");
        trials.push(trial(part, variant, published, How::Alone(job, Placement::default())));
    }
    let counts = format!(
        "{} requests to the server, {} messages handled",
        options.scaled(REQUESTS),
        options.scaled(MESSAGES)
    );
    Ok(Plan {
        name: "diameter-affinity",
        title: "Affinity, rate over that of free threads",
        notes: vec![
            "In our server all requests of a connection are served by one thread, so that binding threads binds connections as the study did.".to_owned(),
            format!("The set is all {} processors of this process; the load is never bound.", cpus.len()),
            scale_note(options, &counts),
        ],
        trials,
    })
}

fn copy(options: &StudyOptions) -> Plan {
    let mut trials = Vec::new();
    for octets in COPIED_OCTETS {
        // Long messages in proportion, so that each takes about as long.
        let count = options.scaled(COPIES * COPIED_OCTETS[0] as f64 / octets as f64);
        for threads in COPIERS {
            for (by_octet, variant, published) in [
                (true, "by octet", ""),
                (false, "by block", "+10 % in the server up to 4 processors, not at 8"),
            ] {
                let job = Job { work: Work::Copy { by_octet, octets }, threads, count, pin: Pin::Free };
                let part = format!("{octets} octets, {threads} threads");
                trials.push(trial(part, variant, published, How::Alone(job, Placement::default())));
            }
        }
    }
    Plan {
        name: "diameter-copy",
        title: "Copying a message, rate over that of a loop by octet",
        notes: vec![
            "The loop is kept a loop (black_box): a compiler of today makes a block of it otherwise. Our server copies by block only, so that there is nothing to switch in it.".to_owned(),
            scale_note(options, &format!("{} copies of {} octets", options.scaled(COPIES), COPIED_OCTETS[0])),
        ],
        trials,
    }
}

/// `sctp`: whether this kernel has it, or why not.
fn transport(options: &StudyOptions, sctp: Result<(), String>) -> Plan {
    let mut trials = Vec::new();
    let mut transports = vec![(Transport::Tcp, "TCP", ""), (Transport::Tls, "TLS 1.3 over TCP", "")];
    if sctp.is_ok() {
        transports.push((Transport::Sctp, "SCTP", "slower than TCP"));
    }
    for (transport, variant, published) in transports {
        for (connections, name) in [(CONNECTIONS, "fifty connections"), (1, "one hot connection")] {
            let how = How::Server(Box::new(DiameterOptions {
                connections,
                window: IN_FLIGHT / connections,
                amount: Amount::Of(options.scaled(REQUESTS)),
                transport,
                ..options.server.clone()
            }));
            trials.push(trial("server", format!("{variant}, {name}"), published, how));
        }
    }
    if let Err(why) = sctp {
        let gap = format!("{why}; the guest of tools/it/tests/charging/sctp.rs has one and measures both");
        trials.push(trial("server", "SCTP", "slower than TCP", How::Gap(gap)));
    }
    Plan {
        name: "diameter-transport",
        title: "Transports, rate over that of fifty TCP connections",
        notes: vec![
            format!(
                "{IN_FLIGHT} requests in flight in each run. One connection is one thread's of the server and one thread's of the load."
            ),
            scale_note(options, &format!("{} requests", options.scaled(REQUESTS))),
        ],
        trials,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variants(sctp: Result<(), String>) -> Vec<(String, Option<String>)> {
        let server = DiameterOptions {
            program: "campanile".into(),
            folder: None,
            server: None,
            fsync: "always".to_owned(),
            connections: 0,
            window: 0,
            pattern: crate::diameter::Pattern::Event,
            accounts: 1,
            threads: 1,
            amount: Amount::Of(1),
            transport: Transport::Tcp,
            floor: false,
            rounds: 1,
            rate: None,
            placement: Placement::default(),
            load_cpus: Vec::new(),
        };
        let options = StudyOptions { server, time_scale: 10.0, libraries: None, rounds: 1 };
        let plan = transport(&options, sctp);
        let gap = |how: How| if let How::Gap(why) = how { Some(why) } else { None };
        plan.trials.into_iter().map(|trial| (trial.variant, gap(trial.how))).collect()
    }

    #[test]
    fn sctp_is_measured_where_the_kernel_has_it_and_a_gap_with_its_reason_where_not() {
        let with = variants(Ok(()));
        let of_sctp = |variants: &[(String, Option<String>)]| {
            variants.iter().filter(|(name, _)| name.starts_with("SCTP")).cloned().collect::<Vec<_>>()
        };
        assert_eq!(
            of_sctp(&with),
            [("SCTP, fifty connections".to_owned(), None), ("SCTP, one hot connection".to_owned(), None)]
        );
        let without = variants(Err("this kernel has no SCTP".to_owned()));
        let [(_, Some(why))] = &of_sctp(&without)[..] else { panic!("{without:?}") };
        assert!(why.starts_with("this kernel has no SCTP; ") && why.contains("guest"), "{why}");
    }
}
