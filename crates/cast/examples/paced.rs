//! Sends and receives over loopback, and prints what came of it:
//! `cargo run --profile perf -p cast --example paced -- RATE [MSS] [SECONDS] [THREADS]`.

use cast::receiver::{BUFFER, ReceiveOptions, Receiver, Until};
use cast::sender::{Crewing, SendOptions, Sender};
use cast::wire::Key;
use pace::{Profile, Rule};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, otherwise: u64| args.get(at).map_or(Ok(otherwise), |text| text.parse());
    let profile = Profile::parse(args.first().map_or("100M", String::as_str), |path| {
        std::fs::read_to_string(path).map_err(|error| error.to_string())
    })?;
    let receiving = ReceiveOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        key: Key::NONE,
        sockets: (1, 1),
        buffer: (BUFFER, BUFFER),
        joins: true,
        into: None,
        streams_max: 1,
        until: Until::Streams(1),
    };
    let (receiver, _) = Receiver::start(receiving)?;
    let threads = number(3, 1)? as usize;
    let options = SendOptions {
        to: receiver.local,
        mss: number(1, 1472)? as u16,
        profile,
        rule: Rule::default(),
        threads: (threads.max(1), if threads == 0 { 2 } else { threads }),
        crewing: if threads == 0 { Crewing::Learned } else { Crewing::Fixed },
        burst_max: None,
        rung_max: None,
        lasts: Some(Duration::from_secs(number(2, 10)?)),
        key: Key::NONE,
        file: None,
        ceiling: None,
    };
    let (sender, _) = Sender::start(options)?;
    println!("{:#?}", sender.join()?);
    let cpu_s = std::iter::from_fn(|| receiver.view()).last().map_or(0.0, |view| view.cpu_s);
    let reports = receiver.join()?;
    println!("{reports:#?}");
    let packets: u64 = reports.iter().map(|report| report.packets).sum();
    println!("receiver: {:.1} ns of processor a packet", cpu_s * 1e9 / packets.max(1) as f64);
    Ok(())
}
