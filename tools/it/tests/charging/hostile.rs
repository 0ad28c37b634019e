//! Hostile clients: after each of them others are served, and the program lives.

use super::{ANN, Ocs, PATIENCE};
use diameter::avp::{AvpFlags, AvpName};
use diameter::dictionary::avp;
use diameter::header::CommandFlags;
use it::credit::{CreditClient, Draft, EVENT, UPDATE, avp_octets, cer, requested, subscriber, used};
use it::eventually;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A story with somebody beside the hostile one, who is served at its end.
struct Siege {
    ocs: Ocs,
    bystander: CreditClient,
}

impl Siege {
    async fn begin(charging: &str) -> Siege {
        let ocs = Ocs::start("", charging).await;
        ocs.fund(ANN, 1_000_000).await;
        let bystander = ocs.client("bystander.client.test");
        let mut siege = Siege { ocs, bystander };
        siege.holds();
        siege
    }

    fn hostile(&self) -> CreditClient {
        self.ocs.client("hostile.client.test")
    }

    /// Others are served, on a connection that was there and on a new one.
    #[track_caller]
    fn holds(&mut self) {
        self.bystander.works(ANN);
        self.ocs.client("newcomer.client.test").works(ANN);
        assert!(self.ocs.server.is_alive());
    }
}

/// Groups of one name, each in the one before.
fn nested(name: AvpName, groups: usize) -> Vec<u8> {
    let mut octets = Vec::with_capacity(groups * 8);
    for group in 0..groups {
        octets.extend_from_slice(&name.code.to_be_bytes());
        octets.extend_from_slice(&(((groups - group) * 8) as u32 | 0x4000_0000).to_be_bytes());
    }
    octets
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lengths_that_lie_cost_the_link_and_nothing_else() {
    let mut siege = Siege::begin("").await;
    for length in [0_u32, 7, 16, 19, 21, 0xFF_FFFC, 0xFF_FFFF] {
        // Before capabilities, nobody is told anything.
        let mut stranger = CreditClient::connect(siege.ocs.port, "stranger.test");
        let mut header = cer("stranger.test").octets()[..20].to_vec();
        header[1..4].copy_from_slice(&length.to_be_bytes()[1..]);
        stranger.send(&header);
        assert!(stranger.is_closed().is_empty(), "{length}");
        // Behind them, 5015 and the end.
        let mut hostile = siege.hostile();
        let mut header = hostile.debit(ANN, 1).octets()[..20].to_vec();
        header[1..4].copy_from_slice(&length.to_be_bytes()[1..]);
        hostile.send(&header);
        let said = hostile.is_closed();
        assert_eq!(said.len(), 1, "{length}");
        assert_eq!(said[0].code(), 5015, "{length}");
        assert!(said[0].message().header.flags.is_error());
        siege.holds();
    }
    // What is announced within the limit, and never comes, costs others nothing.
    let mut waiting = Vec::new();
    for place in 0..50 {
        let mut hostile = siege.ocs.client(&format!("h{place}.client.test"));
        hostile.send(&[1, 0x0F, 0xFF, 0xFC, 0xC0, 0, 1, 16]);
        waiting.push(hostile);
    }
    siege.holds();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_in_groups_and_avps_that_lie_are_answered_and_the_link_is_kept() {
    let mut siege = Siege::begin("").await;
    let mut hostile = siege.hostile();
    for groups in [17, 1_000, 60_000] {
        for name in [avp::PROXY_INFO, avp::FAILED_AVP, avp::SERVICE_INFORMATION, AvpName::ietf(60_606)] {
            let request = hostile.debit(ANN, 1).with_octets(&nested(name, groups)).octets();
            hostile.send(&request);
            let answer = hostile.answer();
            let code = answer.code();
            assert!((3_000..6_000).contains(&code), "{groups} of {name}: {code}");
            hostile.works(ANN);
        }
    }
    for length in [0, 7, 8, 11, 13, 1_000, 0xFF_FFFF] {
        let lie = avp_octets(avp::CC_REQUEST_NUMBER, AvpFlags::MANDATORY, length, &[0; 4]);
        let request = hostile.debit(ANN, 1).with_octets(&lie).octets();
        hostile.send(&request);
        let code = hostile.answer().code();
        assert!([5014, 5009].contains(&code), "{length}: {code}");
        hostile.works(ANN);
    }
    siege.holds();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_octet_at_a_time_is_a_message_like_any_other_and_one_a_second_costs_nothing() {
    let mut siege = Siege::begin("").await;
    let port = siege.ocs.port;
    let mut slow = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let octets = cer("slow.test").octets();
    let dripping = std::thread::spawn(move || {
        // Cut off once its time to introduce itself is over.
        for octet in octets {
            if slow.write_all(&[octet]).is_err() {
                return true;
            }
            std::thread::sleep(Duration::from_secs(1));
        }
        false
    });
    let mut fragments = CreditClient::connect(port, "fragments.client.test");
    let greeting = cer("fragments.client.test").octets();
    let request = fragments.debit(ANN, 1).octets();
    for octets in [greeting, request] {
        for octet in &octets {
            fragments.send(std::slice::from_ref(octet));
        }
        let answer = fragments.answer();
        answer.assert_answers(&octets);
        assert_eq!(answer.code(), 2001);
    }
    siege.holds();
    assert!(dripping.join().unwrap());
    siege.holds();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_connections_that_never_introduce_themselves_leave_room_for_others() {
    const CONNECTIONS: usize = 10_000;
    raise_open_files_limit();
    let mut siege = Siege::begin("").await;
    let port = siege.ocs.port;
    let mut silent = Vec::with_capacity(CONNECTIONS);
    while silent.len() < CONNECTIONS {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => silent.push(stream),
            Err(error) => panic!("connection {}: {error}", silent.len()),
        }
        if silent.len() % 1_000 == 0 {
            siege.holds();
        }
    }
    siege.holds();
    // And none of them may stay for ever.
    for stream in [&silent[0], &silent[CONNECTIONS / 2], &silent[CONNECTIONS - 1]] {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut stream = stream;
        match stream.read(&mut [0; 64]) {
            Ok(0) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            other => panic!("{other:?}"),
        }
    }
    drop(silent);
    siege.holds();
}

/// This process and those that it starts may have so many files open.
fn raise_open_files_limit() {
    const FILES: u64 = 20_000;
    let pid = std::process::id().to_string();
    let prlimit = |more: &[&str]| {
        let done = std::process::Command::new("prlimit").args(["--pid", &pid]).args(more).output().unwrap();
        assert!(done.status.success(), "prlimit {more:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let soft = prlimit(&["--nofile", "--output=SOFT", "--noheadings", "--raw"]);
    if soft.trim().parse::<u64>().is_ok_and(|soft| soft < FILES) {
        prlimit(&[&format!("--nofile={FILES}:")]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_never_reads_is_not_read_from_for_ever() {
    /// Far more than sockets and limits hold of answers.
    const OCTETS: usize = 256 << 20;
    let mut siege = Siege::begin("").await;
    let mut hostile = siege.hostile();
    hostile.stream().set_write_timeout(Some(Duration::from_secs(3))).unwrap();
    let request = hostile.debit(ANN, 1).octets();
    let many: Vec<u8> = request.iter().copied().cycle().take(request.len() * 200).collect();
    let mut written = 0;
    let end = loop {
        match hostile.try_send(&many) {
            Ok(()) => written += many.len(),
            Err(error) => break error.kind(),
        }
        assert!(written < OCTETS, "everything is taken of who reads nothing");
    };
    println!("{written} octets, then {end}");
    assert!(
        [ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::ConnectionReset, ErrorKind::BrokenPipe]
            .contains(&end)
    );
    siege.holds();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_and_amounts_beyond_reason_are_refused_and_move_nothing() {
    let mut siege = Siege::begin("").await;
    let before = siege.ocs.money(ANN).await;
    let mut hostile = siege.hostile();
    let long = "s".repeat(64 * 1024 - 1);
    let request = hostile.debit(ANN, 1).replacing(avp::SESSION_ID, long.as_bytes());
    let answer = hostile.ask(&request);
    assert_eq!((answer.code(), answer.failed()[0].name), (5004, avp::SESSION_ID));
    let request = hostile.debit(&"4".repeat(1_000), 1);
    assert_eq!(hostile.ask(&request).code(), 5004);
    let request = hostile.debit("", 1);
    assert_eq!(hostile.ask(&request).code(), 5004);
    for units in [u64::MAX, i64::MAX as u64 + 1, i64::MAX as u64] {
        let request = hostile.debit(ANN, units);
        let code = hostile.ask(&request).code();
        assert!([4012, 5031].contains(&code), "{units}: {code}");
    }
    for (digits, exponent, code) in [
        (1, i32::MAX, 5004),
        (1, 17, 5004),
        (-1, 0, 5004),
        (i64::MIN, i32::MIN, 5004),
        (-1, i32::MAX, 5004),
        (i64::MAX, -2, 4012),
        (i64::MAX, 0, 5004),
    ] {
        let request = hostile.debit(ANN, 1).without(avp::REQUESTED_SERVICE_UNIT).with(|writer| {
            writer.group(avp::REQUESTED_SERVICE_UNIT, |unit| {
                unit.group(avp::CC_MONEY, |money| {
                    money.group(avp::UNIT_VALUE, |value| {
                        value.i64(avp::VALUE_DIGITS, digits);
                        value.i32(avp::EXPONENT, exponent);
                    });
                });
            });
        });
        assert_eq!(hostile.ask(&request).code(), code, "{digits} with exponent {exponent}");
    }
    assert_eq!(siege.ocs.money(ANN).await, before);
    siege.holds();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sums_of_what_was_used_do_not_overflow_and_what_is_over_is_over() {
    let mut siege = Siege::begin("").await;
    let before = siege.ocs.money(ANN).await;
    let mut hostile = siege.hostile();
    let session = hostile.fresh_session();
    let initial = hostile.initial(&session, ANN, 5);
    assert_eq!(hostile.ask(&initial).code(), 2001);
    let update = hostile.credit(&session, UPDATE, 1).with(|writer| {
        used(writer, u64::MAX);
        used(writer, 1);
        requested(writer, 1);
    });
    assert_eq!(hostile.ask(&update).code(), 5004);
    let update = hostile.credit(&session, UPDATE, 1).with(|writer| {
        used(writer, u64::MAX);
        requested(writer, 1);
    });
    assert_eq!(hostile.ask(&update).code(), 5031);
    // Octets of each direction, whose sum is too much.
    let update = hostile.credit(&session, UPDATE, 2).with(|writer| {
        writer.group(avp::USED_SERVICE_UNIT, |unit| {
            unit.u64(avp::CC_INPUT_OCTETS, u64::MAX);
            unit.u64(avp::CC_OUTPUT_OCTETS, 1);
        });
    });
    assert_eq!(hostile.ask(&update).code(), 5004);
    let mut thief = siege.ocs.client("thief.client.test");
    let theft = thief.credit(&session, UPDATE, 3).with(|writer| {
        subscriber(writer, ANN);
        used(writer, 1_000);
    });
    assert_eq!(thief.ask(&theft).code(), 5002, "another peer's Session-Id");
    let end = hostile.credit(&session, 3, 3);
    assert_eq!(hostile.ask(&end).code(), 2001);
    for kind in [UPDATE, 3] {
        let late = hostile.credit(&session, kind, 4).with(|writer| used(writer, 1));
        assert_eq!(hostile.ask(&late).code(), 5002, "behind the termination");
    }
    assert_eq!(siege.ocs.money(ANN).await, before);
    siege.holds();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noise_and_wrong_grammar_never_end_the_link_while_its_framing_is_sound() {
    let mut siege = Siege::begin("").await;
    let mut hostile = siege.hostile();
    let mut noise = 0x9E37_79B9_7F4A_7C15_u64;
    let mut octet = || {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        noise as u8
    };
    for octets in [0, 1, 2, 7, 50, 1_000, 20_000] {
        for _ in 0..10 {
            let body: Vec<u8> = (0..octets * 4).map(|_| octet()).collect();
            let draft = Draft::request(272, 4).flagged(CommandFlags::PROXIABLE).with_octets(&body);
            let request = hostile.numbered(draft).octets();
            hostile.send(&request);
            let code = hostile.answer().code();
            assert!((3_000..6_000).contains(&code), "{code} to {request:?}");
        }
        hostile.works(ANN);
    }
    // Event-like, of a session kind, without anything that its kind needs.
    let session = hostile.fresh_session();
    for kind in [1, 2, 3, EVENT] {
        let bare = hostile.credit(&session, kind, 0);
        let code = hostile.ask(&bare).code();
        assert!([5005, 5002].contains(&code), "{kind}: {code}");
    }
    hostile.works(ANN);
    siege.holds();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_hot_subscriber_is_served_by_all_at_once_to_the_last_unit() {
    const CLIENTS: usize = 20;
    const EACH: usize = 200;
    const MONEY: i64 = 2_500;
    let mut siege = Siege::begin("").await;
    let hot = "46701740620";
    siege.ocs.fund(hot, MONEY).await;
    let port = siege.ocs.port;
    let asking: Vec<_> = (0..CLIENTS)
        .map(|place| {
            std::thread::spawn(move || {
                let mut client = CreditClient::open(port, &format!("hot{place}.client.test"));
                let octets: Vec<u8> = (0..EACH).flat_map(|_| client.debit(hot, 1).octets()).collect();
                client.send(&octets);
                let codes: Vec<u32> = (0..EACH).map(|_| client.answer().code()).collect();
                assert!(codes.iter().all(|code| [2001, 4012].contains(code)));
                codes.iter().filter(|code| **code == 2001).count()
            })
        })
        .collect();
    let paid: usize = asking.into_iter().map(|asking| asking.join().unwrap()).sum();
    assert_eq!(paid as i64, MONEY);
    assert_eq!(siege.ocs.money(hot).await, (0, 0, MONEY));
    siege.holds();
    eventually("its connections are gone", PATIENCE, async || {
        CreditClient::try_open(port, "hot0.client.test").map(drop)
    })
    .await;
}
