//! The connection is lost after every octet, in either direction: no verdict may be wrong.

use super::model::{Did, Model};
use super::*;
use std::collections::BTreeMap;

/// Where a run is cut.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// So many octets can be written.
    written: u64,
    /// So many of those reach the server.
    delivered: u64,
    /// So many octets of the server reach us.
    received: usize,
    /// Octets written at a time.
    piece: usize,
}

const NO_CUT: Cut = Cut { written: u64::MAX, delivered: u64::MAX, received: usize::MAX, piece: usize::MAX };

struct Run {
    verdicts: BTreeMap<u64, Verdict>,
    did: BTreeMap<String, Did>,
    /// Places behind each message's end, if it was written.
    ended: BTreeMap<u64, bool>,
    written: u64,
    received: usize,
}

/// Runs all transactions over one connection that is lost where `cut` says.
fn run(names: &[&str], window: usize, (pipelining, chunking): (bool, bool), cut: Cut) -> Run {
    let now = Instant::now();
    let (mut client, mut model) = (SmtpClient::new(options(window), now), Model::new(pipelining, chunking));
    let mut left =
        names.iter().enumerate().map(|(id, name)| transaction(id as u64, name)).collect::<Vec<_>>();
    left.reverse();
    let mut run = Run {
        verdicts: BTreeMap::new(),
        did: BTreeMap::new(),
        ended: BTreeMap::new(),
        written: 0,
        received: 0,
    };
    let mut wire = Vec::new();
    'connection: loop {
        while let Some(event) = client.poll_event() {
            match event {
                SmtpClientEvent::Done { id, verdict } => {
                    assert!(run.verdicts.insert(id, verdict).is_none(), "a second verdict")
                }
                SmtpClientEvent::Closed(_) => break 'connection,
                _ => {}
            }
        }
        while client.room() > 0 && !left.is_empty() {
            client.submit(now, left.pop().unwrap());
        }
        if left.is_empty() && client.is_idle() {
            client.quit(now);
        }
        // Write, up to the cut.
        let most = (cut.written - run.written).min(cut.piece as u64) as usize;
        let octets = client.poll_transmit();
        let octets = octets[..octets.len().min(most)].to_vec();
        let stuck = octets.is_empty() && !client.poll_transmit().is_empty();
        wire.extend_from_slice(&octets);
        run.written += octets.len() as u64;
        client.handle_input(now, Input::Sent(octets.len()));
        model.receive(
            &octets[..octets
                .len()
                .min(cut.delivered.saturating_sub(run.written - octets.len() as u64) as usize)],
        );
        // Read, up to the cut.
        let received: Vec<u8> = model.output.drain(..).take(cut.received - run.received).collect();
        run.received += received.len();
        let progress = !octets.is_empty() || !received.is_empty();
        client.handle_input(now, Input::Octets(&received));
        if stuck || !progress {
            client.handle_input(now, Input::Lost("cut"));
        }
    }
    for id in 0..names.len() as u64 {
        run.ended.insert(id, end_is_on(&wire, id, chunking && pipelining && window > 1));
    }
    run.did = model.did;
    run
}

/// The message's whole end is among these octets.
fn end_is_on(wire: &[u8], id: u64, chunks: bool) -> bool {
    let text = String::from_utf8_lossy(wire);
    let Some(at) = text.find(&format!("Subject: {id}\r\n")) else { return false };
    text[at..].contains(if chunks { "body\r\n" } else { "\r\n.\r\n" })
}

fn check(names: &[&str], run: &Run, context: &str) {
    assert_eq!(
        run.verdicts.len() + not_submitted(names, run),
        names.len(),
        "a verdict is missing: {context}"
    );
    for (id, verdict) in &run.verdicts {
        let name = names[*id as usize];
        let did = run.did.get(name);
        let fits = match verdict {
            Verdict::Accepted { queue_id, .. } => did == Some(&Did::Took) && queue_id == name,
            Verdict::Refused { .. } => did == Some(&Did::Refused),
            Verdict::Unknown { .. } => run.ended[id],
            Verdict::NotTried { .. } => did != Some(&Did::Took) && !run.ended[id],
        };
        assert!(
            fits,
            "{name}: {verdict:?}, but the server {did:?}, end written: {}; {context}",
            run.ended[id]
        );
    }
}

/// Transactions that never came to the machine: it had no room before the connection was lost.
fn not_submitted(names: &[&str], run: &Run) -> usize {
    (0..names.len() as u64).filter(|id| !run.verdicts.contains_key(id) && !run.ended[id]).count()
}

const NAMES: [&str; 9] = ["a", "rcpt1", "b", "data1", "c", "dot1", "rcpt2", "d", "e"];
const SERVERS: [(usize, (bool, bool)); 5] =
    [(20, (false, false)), (20, (true, false)), (1, (true, true)), (3, (true, true)), (20, (true, true))];

#[test]
fn every_server_gives_every_transaction_its_verdict() {
    for (window, server) in SERVERS {
        for piece in [usize::MAX, 1, 7, 100] {
            let run = run(&NAMES, window, server, Cut { piece, ..NO_CUT });
            check(&NAMES, &run, &format!("window {window}, server {server:?}, pieces of {piece}"));
            let accepted = run.verdicts.values().filter(|v| matches!(v, Verdict::Accepted { .. })).count();
            let refused = run.verdicts.values().filter(|v| matches!(v, Verdict::Refused { .. })).count();
            // With BDAT there is no DATA to refuse: data1 gets through.
            let chunks = window > 1 && server.1;
            assert_eq!(
                (accepted, refused),
                if chunks { (6, 3) } else { (5, 4) },
                "window {window}, server {server:?}"
            );
        }
    }
}

#[test]
fn no_cut_of_what_we_write_makes_a_verdict_wrong() {
    for (window, server) in SERVERS {
        let whole = run(&NAMES, window, server, NO_CUT).written;
        for written in 0..=whole {
            for delivered in [written, written.saturating_sub(1), written / 2] {
                let cut = Cut { written, delivered, ..NO_CUT };
                check(
                    &NAMES,
                    &run(&NAMES, window, server, cut),
                    &format!("window {window}, server {server:?}, {cut:?}"),
                );
            }
        }
    }
}

#[test]
fn no_cut_of_what_we_receive_makes_a_verdict_wrong() {
    for (window, server) in SERVERS {
        let whole = run(&NAMES, window, server, NO_CUT).received;
        for received in 0..=whole {
            let cut = Cut { received, ..NO_CUT };
            check(
                &NAMES,
                &run(&NAMES, window, server, cut),
                &format!("window {window}, server {server:?}, {cut:?}"),
            );
        }
    }
}

#[test]
fn a_server_that_closes_in_the_middle_leaves_no_unknown() {
    let names = ["a", "close1", "b", "c"];
    for (window, server) in SERVERS {
        let run = run(&names, window, server, NO_CUT);
        assert!(matches!(run.verdicts[&1], Verdict::Refused { permanent: false, .. }), "{server:?}");
        for (id, verdict) in run.verdicts {
            assert!(!matches!(verdict, Verdict::Unknown { .. }), "{id}: {verdict:?} of {server:?}");
        }
    }
}

#[test]
fn at_most_the_window_is_unknown() {
    for (window, server, most) in [(20, (false, false), 1), (20, (true, false), 1), (3, (true, true), 3)] {
        let whole = run(&NAMES, window, server, NO_CUT).received;
        let worst = (0..=whole)
            .map(|received| {
                let run = run(&NAMES, window, server, Cut { received, ..NO_CUT });
                run.verdicts.values().filter(|verdict| matches!(verdict, Verdict::Unknown { .. })).count()
            })
            .max();
        assert_eq!(worst, Some(most), "window {window}, server {server:?}");
    }
}
