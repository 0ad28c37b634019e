//! Stories of hostile platforms: the rest goes on, and memory stays.

use crate::fixtures::{SOON, carrier, number};
use futures_util::future::join_all;
use it::wire::{self, Pdu, Wire};
use it::{Server, eventually, free_port, smpp_client, smpp_door, sms_route, within};
use sim::smsc::Smsc;
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// More than anything here may cost.
const MEMORY_MAX: u64 = 64 * MIB;

struct Platform {
    carrier: Smsc,
    server: Server,
    port: u16,
    good: Wire,
    sequence: u32,
    before: u64,
}

impl Platform {
    async fn begin() -> Platform {
        let (carrier, port) = (carrier().await, free_port());
        let config = [
            smpp_door(port) + "session_init = \"4s\"\n",
            smpp_client("good", ""),
            smpp_client("bad", ""),
            sms_route("carrier", carrier.address(), ""),
        ];
        let server = Server::start(&config.concat()).await;
        let good = Wire::bound(port, wire::BIND_TRANSCEIVER, "good").await.unwrap();
        let mut world = Platform { carrier, server, port, good, sequence: 1, before: 0 };
        world.goes_on().await;
        world.before = world.resident();
        world
    }

    /// Somebody else's message is taken, sent and receipted, by the session of before.
    async fn goes_on(&mut self) {
        self.sequence += 1;
        let text = format!("still here {}", self.sequence);
        let to = number(0);
        let submission = Pdu::submit(self.sequence, "71700", to.trim_start_matches('+'), &text);
        self.good.write(&submission.encode()).await.unwrap();
        let answered = async {
            loop {
                let pdu = self.good.next().await.unwrap();
                if pdu.command == wire::ENQUIRE_LINK {
                    let answer = Pdu::request(wire::ENQUIRE_LINK | wire::RESPONSE, pdu.sequence, Vec::new());
                    self.good.write(&answer.encode()).await.unwrap();
                    continue;
                }
                if pdu.command != wire::DELIVER_SM {
                    assert_eq!((pdu.command, pdu.status), (wire::SUBMIT_SM | wire::RESPONSE, 0));
                    continue;
                }
                let answer = Pdu::request(wire::DELIVER_SM | wire::RESPONSE, pdu.sequence, vec![0]);
                self.good.write(&answer.encode()).await.unwrap();
                break;
            }
        };
        within("somebody else is served", SOON, answered).await;
        assert_eq!(self.carrier.accepted(&to, &text), 1);
    }

    /// Octets of the process that are in memory.
    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.pid().unwrap())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }

    #[track_caller]
    fn assert_memory_stays(&self) {
        let now = self.resident();
        assert!(now < self.before + MEMORY_MAX, "{} MiB, then {} MiB", self.before / MIB, now / MIB);
    }
}

#[tokio::test]
async fn what_is_no_smpp_is_shown_the_door_and_a_length_is_not_believed() {
    let mut world = Platform::begin().await;
    let header =
        |length: u32| [length.to_be_bytes(), 4u32.to_be_bytes(), [0; 4], 1u32.to_be_bytes()].concat();
    let cases: [(&str, Vec<u8>); 6] = [
        ("HTTP", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec()),
        ("TLS", [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".as_slice(), &[7; 600]].concat()),
        ("4 GiB", header(u32::MAX)),
        ("a length of 0", header(0)),
        ("a length of 15", header(15)),
        (
            "a submission before any bind, again and again",
            Pdu::submit(1, "1", "2", "x").encode().repeat(2_000),
        ),
    ];
    for (what, octets) in cases {
        let mut wire = Wire::connect(world.port).await.unwrap();
        // The door may be shut before all is said.
        let _ = wire.write(&octets).await;
        let heard = within(what, SOON, wire.until_the_end()).await;
        assert!(heard.iter().all(|pdu| pdu.status != 0), "{what}: {heard:?}");
        world.goes_on().await;
    }
    // Bound, it is no better: what follows such a length cannot be found.
    let mut wire = Wire::bound(world.port, wire::BIND_TRANSCEIVER, "bad").await.unwrap();
    wire.write(&header(u32::MAX)).await.unwrap();
    let heard = within("4 GiB of who is bound", SOON, wire.until_the_end()).await;
    assert!(heard.iter().all(|pdu| pdu.status != 0), "{heard:?}");
    world.goes_on().await;
    world.assert_memory_stays();
}

#[tokio::test]
async fn three_hundred_that_never_bind_and_one_that_never_reads_disturb_nobody() {
    const IDLE: usize = 300;
    let mut world = Platform::begin().await;
    let port = world.port;
    let idle = join_all((0..IDLE).map(|_| Wire::connect(port))).await;
    assert!(idle.iter().all(Result::is_ok));
    let mut deaf = Wire::bound(port, wire::BIND_TRANSCEIVER, "bad").await.unwrap();
    // Nobody reads the answers: what waits for the reader is bounded, so that some time nothing more is
    // taken.
    let writing = tokio::spawn(async move {
        const QUESTIONS: u32 = 10_000;
        for batch in 0..300 {
            let question =
                |place| Pdu::request(wire::ENQUIRE_LINK, 2 + batch * QUESTIONS + place, Vec::new()).encode();
            let octets: Vec<u8> = (0..QUESTIONS).flat_map(question).collect();
            let taken = tokio::time::timeout(Duration::from_secs(2), deaf.write(&octets)).await;
            if !matches!(taken, Ok(Ok(()))) {
                return (deaf, batch * QUESTIONS);
            }
        }
        panic!("3,000,000 questions were taken of somebody who reads nothing");
    });
    while !writing.is_finished() {
        world.goes_on().await;
    }
    let (deaf, questions) = writing.await.unwrap();
    println!("{questions} questions of the deaf one were read");
    world.goes_on().await;
    world.assert_memory_stays();
    drop(deaf);

    // Whoever never binds is sent away within the time that the config allows.
    let ends = idle.into_iter().map(|wire| async {
        let mut wire = wire.unwrap();
        wire.until_the_end().await
    });
    within("all that never bound are gone", SOON, join_all(ends)).await;
    world.goes_on().await;
    eventually("memory is free again", SOON, async || {
        let now = world.resident();
        if now < world.before + MEMORY_MAX { Ok(()) } else { Err(now / MIB) }
    })
    .await;
}
