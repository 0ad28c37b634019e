//! `campanile udp receive`.

use super::super::{Failure, Outcome, print};
use super::args::Receive;
use super::{key, on_interrupt, shown};
use cast::receiver::{ReceiveOptions, Receiver, StreamReport, Until, View};
use std::time::Duration;

/// A line about each stream this often.
const SAYS: Duration = Duration::from_secs(1);

pub(super) fn receive(args: &Receive) -> Outcome {
    let failed = |error: cast::CastError| Failure::Failed(error.to_string());
    let buffer = args.buffer.checked_mul(1 << 20).filter(|octets| *octets <= 1 << 30);
    let buffer = buffer
        .ok_or_else(|| Failure::Usage(format!("--buffer {}: up to 1024 MiB are possible", args.buffer)))?;
    let options = ReceiveOptions {
        listen: args.listen,
        key: key(args.shared.key_file.as_deref())?,
        sockets: args.sockets,
        buffer,
        joins: !args.no_gro,
        into: args.file.clone(),
        streams_max: 64,
        until: args.streams.map_or(Until::Stopped, Until::Streams),
    };
    let (receiver, stop) = Receiver::start(options).map_err(failed)?;
    begin(args, &receiver)?;
    on_interrupt(move || stop.stop());
    let mut said = 0.0;
    while let Some(view) = receiver.view() {
        show(args, &view, &mut said)?;
    }
    let reports = receiver.join().map_err(failed)?;
    if let Some(out) = &args.shared.out {
        write(out, &reports).map_err(Failure::Failed)?;
    }
    for report in &reports {
        match args.shared.format.is_json() {
            true => print(&format!("{}\n", serde_json::json!({ "stream": report })))?,
            false => print(&shown::stream(report))?,
        }
    }
    Ok(())
}

fn begin(args: &Receive, receiver: &Receiver) -> Outcome {
    let buffer = receiver.buffer;
    if args.shared.format.is_json() {
        let begun = serde_json::json!({"listening": {
            "address": receiver.local, "sockets": args.sockets, "joins": receiver.joins,
            "buffer": buffer.octets, "buffer_asked": buffer.asked,
        }});
        return print(&format!("{begun}\n"));
    }
    print(&format!("Receiving on {}.\n", receiver.local))?;
    if args.shared.key_file.is_none() && !receiver.local.ip().is_loopback() {
        eprintln!("Without --key-file only senders on this machine are let in.");
    }
    if buffer.is_short() {
        eprintln!(
            "The socket's buffer has {} of {} octets: at high rates packets may be lost here. More: {}",
            shown::count(buffer.octets as u64),
            shown::count(buffer.asked as u64),
            buffer.setting()
        );
    }
    Ok(())
}

fn show(args: &Receive, view: &View, said: &mut f64) -> Outcome {
    if args.shared.format.is_json() {
        return print(&format!("{}\n", serde_json::json!({ "view": view })));
    }
    if view.at_s < *said + SAYS.as_secs_f64() {
        return Ok(());
    }
    *said = view.at_s;
    for stream in view.streams.iter().filter(|stream| stream.rate_now > 0.0) {
        print(&format!(
            "{:>6.1} s  {}  {}  lost {}  late {}  gaps {:.1} us half, {:.1} us 99 of 100  jitter {:.1} us\n",
            view.at_s,
            stream.from,
            shown::rate(stream.rate_now),
            shown::count(stream.lost_socket + stream.lost_path),
            shown::count(stream.reordered),
            stream.gap_p50_us,
            stream.gap_p99_us,
            stream.jitter_us,
        ))?;
    }
    Ok(())
}

fn write(out: &std::path::Path, reports: &[StreamReport]) -> Result<(), String> {
    let said = |error: std::io::Error| format!("--out {}: {error}", out.display());
    std::fs::create_dir_all(out).map_err(said)?;
    let mut rows = String::from(
        "from,mss,seconds,packets,octets,rate,sent,not_sent,lost_socket,lost_path,duplicates,reordered,jitter_us,gap_p50_us,gap_p99_us,gaps_near,worst_ms\n",
    );
    for report in reports {
        let or_empty = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        rows += &format!(
            "{},{},{:.6},{},{},{:.0},{},{},{},{},{},{},{:.3},{:.3},{:.3},{:.5},{:.4}\n",
            report.from,
            report.mss,
            report.seconds,
            report.packets,
            report.octets,
            report.rate,
            or_empty(report.sent),
            or_empty(report.not_sent),
            report.lost_socket,
            report.lost_path,
            report.duplicates,
            report.reordered,
            report.jitter_us,
            report.gap_p50_us,
            report.gap_p99_us,
            report.gaps_near,
            report.worst_ms,
        );
    }
    std::fs::write(out.join("udp-receive.csv"), rows).map_err(said)
}
