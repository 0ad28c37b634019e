//! A sender and a receiver over real sockets.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use pace::{PacingRule, Profile};
use paced_udp::PacedUdpError;
use paced_udp::control::{Control, ask};
use paced_udp::receiver::{BUFFER, Ended, GapBin, ReceiveOptions, Receiver, StreamReport, Until};
use paced_udp::sender::{Scaling, SendOptions, Sender, SenderSummary};
use paced_udp::socket::Rung;
use paced_udp::wire::{Key, StreamRefusal};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

fn receiving(until: Until) -> ReceiveOptions {
    ReceiveOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        key: Key::NONE,
        sockets: (1, 1),
        buffer: (BUFFER, BUFFER),
        joins: true,
        into: None,
        streams_max: 4,
        until,
    }
}

fn sending(to: SocketAddr, profile: &str) -> SendOptions {
    SendOptions {
        to,
        mss: 1472,
        profile: Profile::parse(profile, |_| Err("no files here".to_owned())).unwrap(),
        rule: PacingRule::default(),
        threads: (1, 1),
        crewing: Scaling::Fixed,
        burst_max: None,
        rung_max: None,
        lasts: Some(Duration::from_millis(500)),
        key: Key::NONE,
        file: None,
        ceiling: None,
    }
}

fn run(receiving: ReceiveOptions, send: impl FnOnce(&mut SendOptions)) -> (SenderSummary, StreamReport) {
    let (receiver, _) = Receiver::start(receiving).unwrap();
    let mut options = sending(receiver.local, "20M");
    send(&mut options);
    let (sender, _) = Sender::start(options).unwrap();
    let summary = sender.join().unwrap();
    let mut reports = receiver.join().unwrap();
    assert_eq!(reports.len(), 1);
    (summary, reports.remove(0))
}

#[test]
fn every_packet_is_accounted_for_on_every_rung() {
    for rung in [Rung::Send, Rung::Sendmmsg, Rung::Gso] {
        let (summary, report) = run(receiving(Until::Streams(1)), |options| {
            options.rung_max = Some(rung);
            options.profile = Profile::constant(200e6).unwrap();
        });
        assert!(summary.sent > 0);
        assert_eq!(summary.asked, summary.sent + summary.not_sent, "{rung:?}");
        assert_eq!(summary.sent, summary.received + summary.lost_socket + summary.lost_path, "{rung:?}");
        assert_eq!((report.packets, report.sent), (summary.received, Some(summary.sent)), "{rung:?}");
        assert_eq!((report.duplicates, report.reordered, report.ended), (0, 0, Ended::Bye), "{rung:?}");
    }
}

#[test]
fn several_sockets_share_what_one_thread_sends_and_lose_nothing_of_the_count() {
    let (summary, report) = run(ReceiveOptions { sockets: (3, 3), ..receiving(Until::Streams(1)) }, |_| {});
    assert_eq!(report.packets, summary.received);
    assert_eq!(report.sockets.iter().map(|part| part.packets).sum::<u64>(), report.packets);
    let gaps = |bins: &[GapBin]| bins.iter().map(|GapBin(.., gaps)| gaps).sum::<u64>();
    for part in &report.sockets {
        assert_eq!(gaps(&part.gaps), part.packets.saturating_sub(1), "a gap between each two at one socket");
    }
    assert_eq!(gaps(&report.gaps), report.sockets.iter().map(|part| gaps(&part.gaps)).sum::<u64>());
    assert!(report.sockets.len() == 3 && gaps(&report.gaps) > 0, "{report:?}");
    assert_eq!(summary.sent, summary.received + summary.lost_socket + summary.lost_path);
}

#[test]
fn a_receiver_enlarges_a_buffer_that_is_too_small_and_says_why() {
    let receiving = ReceiveOptions { buffer: (4096, 8 << 20), ..receiving(Until::Stopped) };
    let (receiver, _) = Receiver::start(receiving).unwrap();
    let first = receiver.buffer.octets;
    let options = SendOptions { lasts: None, ..sending(receiver.local, "400M") };
    let (sender, helm) = Sender::start(options).unwrap();
    let told = std::iter::from_fn(|| receiver.view())
        .take(300)
        .find(|view| view.reason.is_some_and(|reason| reason.contains("larger buffer")));
    let told = told.expect("bursts of several packets do not fit into so little");
    assert!(told.buffer > first && told.buffer_asked >= 2 * 4096, "{told:?}");
    assert!(told.overflowed > 0 && told.sockets.len() == 1, "{told:?}");
    helm.stop();
    let summary = sender.join().unwrap();
    assert_eq!(summary.sent, summary.received + summary.lost_socket + summary.lost_path);
    assert_eq!(receiver.end().unwrap()[0].packets, summary.received);
}

#[test]
fn a_file_arrives_beside_the_pace() {
    let folder = tempfile::tempdir().unwrap();
    let (from, into) = (folder.path().join("from"), folder.path().join("into"));
    let whole: Vec<u8> = (0..1_000_000_u32).map(|at| (at * 7 % 251) as u8).collect();
    std::fs::write(&from, &whole).unwrap();
    let receiving = ReceiveOptions { into: Some(into.clone()), ..receiving(Until::Streams(1)) };
    let (summary, report) = run(receiving, |options| {
        options.profile = Profile::constant(100e6).unwrap();
        options.lasts = None;
        options.file = Some(from.clone());
        options.threads = (2, 2);
    });
    assert_eq!(summary.received, summary.sent, "loopback at 100 Mbit/s loses nothing");
    assert_eq!(report.unwritten, 0);
    assert_eq!(std::fs::read(into).unwrap(), whole);
}

#[test]
fn what_a_parked_thread_holds_of_a_file_is_sent_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let (from, into) = (folder.path().join("from"), folder.path().join("into"));
    let whole: Vec<u8> = (0..2_000_000_u32).map(|at| (at * 11 % 253) as u8).collect();
    std::fs::write(&from, &whole).unwrap();
    let receiving = ReceiveOptions { into: Some(into.clone()), ..receiving(Until::Streams(1)) };
    let (summary, _) = run(receiving, |options| {
        options.profile = Profile::constant(20e6).unwrap();
        options.lasts = None;
        options.file = Some(from.clone());
        // Two begin; at this rate one is parked at the first decisions, in the middle of its part.
        options.threads = (2, 2);
        options.crewing = Scaling::Learned;
    });
    assert_eq!(summary.received, summary.sent);
    assert!(std::fs::read(into).unwrap() == whole);
}

#[test]
fn the_rate_can_be_changed_and_the_sender_stopped_while_it_runs() {
    let (receiver, _) = Receiver::start(receiving(Until::Streams(1))).unwrap();
    let options = SendOptions { lasts: None, ceiling: Some(1e9), ..sending(receiver.local, "1M") };
    let (sender, helm) = Sender::start(options).unwrap();
    assert!(helm.set_rate(2e9).unwrap_err().contains("allows"));
    assert!(helm.set_rate(1.0).unwrap_err().contains("possible"));
    helm.set_rate(50e6).unwrap();
    while sender.view().unwrap().asked < 40e6 {}
    helm.set_rate(0.0).unwrap();
    while sender.view().unwrap().asked > 0.0 {}
    helm.stop();
    let summary = sender.join().unwrap();
    assert!(summary.sent > 0);
    assert_eq!(receiver.join().unwrap()[0].packets, summary.received);
}

#[test]
fn nothing_is_sent_to_whoever_has_not_agreed() {
    let deaf = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = deaf.local_addr().unwrap();
    let Err(PacedUdpError::NoAnswer { .. }) = Sender::start(sending(to, "1M")).map(|_| ()) else {
        panic!("nobody answered")
    };
    deaf.set_nonblocking(true).unwrap();
    let mut datagram = [0; 2048];
    while let Ok(length) = deaf.recv(&mut datagram) {
        assert_eq!((length, datagram[1]), (paced_udp::wire::MESSAGE, 1), "hellos alone");
    }
    let elsewhere = sending(([192, 0, 2, 1], 4810).into(), "1M");
    let Err(PacedUdpError::NeedsKey { .. }) = Sender::start(elsewhere).map(|_| ()) else { panic!("no key") };
}

#[test]
fn another_key_is_refused_in_words() {
    let key = Key::from_words("the key of the receiver").unwrap();
    let (receiver, _) = Receiver::start(ReceiveOptions { key, ..receiving(Until::Stopped) }).unwrap();
    for key in [Key::NONE, Key::from_words("the key of somebody else").unwrap()] {
        let options = SendOptions { key, ..sending(receiver.local, "1M") };
        match Sender::start(options).map(|_| ()) {
            Err(PacedUdpError::Refused { why: StreamRefusal::Key, .. } | PacedUdpError::NoAnswer { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(receiver.end().unwrap().is_empty());
}

#[test]
fn a_receiver_that_goes_away_ends_the_sender() {
    let (receiver, _) = Receiver::start(receiving(Until::Stopped)).unwrap();
    let (sender, _) = Sender::start(SendOptions { lasts: None, ..sending(receiver.local, "10M") }).unwrap();
    sender.view().unwrap();
    receiver.end().unwrap();
    let Err(PacedUdpError::Silent { .. }) = sender.join() else { panic!("it went on") };
}

#[test]
fn options_out_of_bounds_are_named() {
    let to = ([127, 0, 0, 1], 9).into();
    let wrong: [(&str, SendOptions); 3] = [
        ("mss", SendOptions { mss: 40, ..sending(to, "1M") }),
        ("threads", SendOptions { threads: (2, 1), ..sending(to, "1M") }),
        ("rate", SendOptions { ceiling: Some(1e3), ..sending(to, "1M") }),
    ];
    for (expected, options) in wrong {
        let Err(PacedUdpError::Option { name, .. }) = Sender::start(options).map(|_| ()) else {
            panic!("{expected}")
        };
        assert_eq!(name, expected);
    }
    for (expected, options) in [
        ("sockets", ReceiveOptions { sockets: (0, 1), ..receiving(Until::Stopped) }),
        ("sockets", ReceiveOptions { sockets: (1, 17), ..receiving(Until::Stopped) }),
        ("buffer", ReceiveOptions { buffer: (2, 1), ..receiving(Until::Stopped) }),
    ] {
        let Err(PacedUdpError::Option { name, .. }) = Receiver::start(options).map(|_| ()) else {
            panic!("{expected}")
        };
        assert_eq!(name, expected);
    }
}

#[test]
fn junk_neither_ends_a_receiver_nor_counts() {
    let (receiver, _) = Receiver::start(receiving(Until::Streams(1))).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for length in [0, 1, 39, 40, 160, 1472] {
        for fill in [0, 0xC5, 0xFF] {
            socket.send_to(&vec![fill; length], receiver.local).unwrap();
        }
    }
    let (sender, _) = Sender::start(sending(receiver.local, "20M")).unwrap();
    let summary = sender.join().unwrap();
    assert_eq!(receiver.join().unwrap()[0].packets, summary.received);
}

#[test]
fn a_running_sender_is_steered_by_its_control_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control");
    let (receiver, _) = Receiver::start(receiving(Until::Streams(1))).unwrap();
    let options = SendOptions { lasts: None, ceiling: Some(1e9), ..sending(receiver.local, "1M") };
    let (sender, helm) = Sender::start(options).unwrap();
    let control = Control::open(&path, helm).unwrap();
    assert_eq!(ask(&path, "rate 40M"), Ok("ok".to_owned()));
    let view = loop {
        let view = sender.view().unwrap();
        if view.asked > 39e6 {
            break view;
        }
    };
    control.show(&view);
    let told: serde_json::Value = serde_json::from_str(&ask(&path, "view").unwrap()).unwrap();
    assert!(told["asked"].as_f64().unwrap() > 39e6);
    for (line, expected) in
        [("rate 2G", "allows"), ("rate much", "rate"), ("faster", "possible"), ("rate", "rate")]
    {
        assert!(ask(&path, line).unwrap_err().contains(expected), "{line}");
    }
    assert_eq!(ask(&path, "stop"), Ok("ok".to_owned()));
    sender.join().unwrap();
    receiver.join().unwrap();
    drop(control);
    assert!(ask(&path, "view").unwrap_err().contains("running"));
}
