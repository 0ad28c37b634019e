//! Measurement of the sink. Ignored by default: it measures.

use super::*;
use ::smpp::frame::{Split, split};
use ::smpp::pdu::{
    Address, Bind, BindMode, Command, DeliverSmResp, Header, SubmitSm, encode, registered_delivery,
};
use ::smpp::status::Status;
use std::time::Instant;

/// CPU seconds of this process's threads whose name begins so.
fn cpu_s(name: &str) -> f64 {
    let mut ticks = 0;
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        let Some((head, fields)) = stat.rsplit_once(')') else { continue };
        if head.split_once('(').is_some_and(|(_, thread)| thread.starts_with(name)) {
            ticks += fields
                .split_whitespace()
                .skip(11)
                .take(2)
                .map(|field| field.parse::<u64>().unwrap())
                .sum::<u64>();
        }
    }
    ticks as f64 / 100.0
}

#[test]
#[ignore = "measures: cargo test --profile perf -p sim -- --ignored --nocapture"]
fn a_sink_takes_a_million_submissions_in_half_a_cpu_second() {
    const COUNT: u64 = 4_000_000;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("smsc")
        .enable_all()
        .build()
        .unwrap();
    for (name, count, keep, cpu_max) in [
        ("sink", Counting::Off, 0, 0.5),
        ("counting", Counting::Texts, 0, 0.5),
        ("keeping", Counting::Texts, 1_000, 1.0),
    ] {
        let options = SmscOptions { count, keep, ..SmscOptions::sink() };
        let smsc = runtime.block_on(async { runtime.spawn(Smsc::start(options)).await.unwrap().unwrap() });
        let before = cpu_s("smsc");
        let begin = Instant::now();
        blast(smsc.address(), COUNT);
        let (wall, cpu) = (begin.elapsed().as_secs_f64(), cpu_s("smsc") - before);
        let millions = COUNT as f64 / 1e6;
        println!("{name}: {:.2} million/s, {:.3} CPU s per million", millions / wall, cpu / millions);
        assert_eq!(smsc.stats().accepted, COUNT);
        assert!(cpu / millions <= cpu_max && millions / wall >= 1.0);
    }
}

#[test]
#[ignore = "measures: cargo test --profile perf -p sim -- --ignored --nocapture"]
fn receipts_cost_little_beside_what_is_measured() {
    const COUNT: u64 = 500_000;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("rcpt")
        .enable_all()
        .build()
        .unwrap();
    let options = SmscOptions { receipts: Receipts::default(), ..SmscOptions::sink() };
    let smsc = runtime.block_on(async { runtime.spawn(Smsc::start(options)).await.unwrap().unwrap() });
    let address = smsc.address();
    let receiver = std::thread::spawn(move || confirm(address, COUNT));
    let begin = Instant::now();
    blast(address, COUNT);
    receiver.join().unwrap();
    let (wall, cpu) = (begin.elapsed().as_secs_f64(), cpu_s("rcpt"));
    let millions = COUNT as f64 / 1e6;
    println!("with receipts: {:.2} million/s, {:.3} CPU s per million", millions / wall, cpu / millions);
    assert!(cpu / millions <= 3.0);
}

/// Confirms so many receipts.
fn confirm(address: std::net::SocketAddr, count: u64) {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let mut out = Vec::new();
    let bind = Bind { mode: BindMode::Receiver, system_id: b"load", ..Bind::default() };
    encode(&bind, Status::ROK, 1, &mut out).unwrap();
    let (mut input, mut filled, mut confirmed) = (vec![0; 1 << 20], 0, 0);
    while confirmed < count {
        stream.write_all(&out).unwrap();
        out.clear();
        filled += stream.read(&mut input[filled..]).unwrap();
        let mut at = 0;
        while let Ok(Split::Pdu(pdu)) = split(&input[at..filled], 70_000) {
            at += pdu.len();
            let header = Header::parse(pdu).unwrap();
            if header.command == Command::DELIVER_SM {
                encode(&DeliverSmResp::default(), Status::ROK, header.sequence, &mut out).unwrap();
                confirmed += 1;
            }
        }
        input.copy_within(at..filled, 0);
        filled -= at;
    }
    stream.write_all(&out).unwrap();
}

/// Submits as fast as the peer reads, in batches of 500, and counts the answers.
fn blast(address: std::net::SocketAddr, count: u64) {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let mut out = Vec::new();
    let bind = Bind { mode: BindMode::Transmitter, system_id: b"load", ..Bind::default() };
    encode(&bind, Status::ROK, 1, &mut out).unwrap();
    stream.write_all(&out).unwrap();
    let mut reader = stream.try_clone().unwrap();
    let answers = std::thread::spawn(move || {
        let (mut input, mut filled, mut answered) = (vec![0; 1 << 20], 0, 0);
        // One more for the bind.
        while answered <= count {
            filled += reader.read(&mut input[filled..]).unwrap();
            let mut at = 0;
            while let Ok(Split::Pdu(pdu)) = split(&input[at..filled], 70_000) {
                assert_eq!(Header::parse(pdu).unwrap().status, Status::ROK);
                at += pdu.len();
                answered += 1;
            }
            input.copy_within(at..filled, 0);
            filled -= at;
        }
    });
    let mut sequence = 1;
    while sequence <= count {
        out.clear();
        for _ in 0..500.min(count + 1 - sequence) {
            let number = format!("46740{:06}", sequence % 1_000_000);
            let submit = SubmitSm {
                destination: Address::international(number.as_bytes()),
                registered_delivery: registered_delivery::FINAL,
                short_message: b"Fire at the harbour. Close windows.",
                ..SubmitSm::default()
            };
            encode(&submit, Status::ROK, sequence as u32 + 1, &mut out).unwrap();
            sequence += 1;
        }
        stream.write_all(&out).unwrap();
    }
    answers.join().unwrap();
}
