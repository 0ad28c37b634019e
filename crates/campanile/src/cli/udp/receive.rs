//! `campanile udp receive`.

use super::super::{Failure, Outcome, print};
use super::args::Receive;
use super::{gaps, key, on_interrupt, range, shown};
use paced_udp::receiver::{BUFFER_MAX, ReceiveOptions, Receiver, SOCKETS_MAX, StreamReport, Until, View};
use std::time::Duration;

/// A line about each stream this often.
const SAYS: Duration = Duration::from_secs(1);

pub(super) fn receive(args: &Receive) -> Outcome {
    let failed = |error: paced_udp::PacedUdpError| Failure::Failed(error.to_string());
    let options = ReceiveOptions {
        listen: args.listen,
        key: key(args.shared.key_file.as_deref())?,
        sockets: sockets(args.sockets.as_deref())
            .map_err(|why| Failure::Usage(format!("--sockets: {why}")))?,
        buffer: buffer(&args.buffer).map_err(|why| Failure::Usage(format!("--buffer: {why}")))?,
        joins: !args.no_gro,
        into: args.file.clone(),
        streams_max: 64,
        until: args.streams.map_or(Until::Stopped, Until::Streams),
    };
    let (receiver, stop) = Receiver::start(options).map_err(failed)?;
    begin(args, &receiver)?;
    on_interrupt(move || stop.stop());
    let mut shown_s = 0.0;
    while let Some(view) = receiver.view() {
        show(args, &view, &mut shown_s)?;
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

/// First and most.
fn sockets(text: Option<&str>) -> Result<(usize, usize), String> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from).min(SOCKETS_MAX);
    text.map_or(Ok((1, processors)), |text| range(text).map(|(sockets, _)| sockets))
}

/// First and most, in octets.
fn buffer(mib: &str) -> Result<(usize, usize), String> {
    let ((first, most), _) = range(mib)?;
    let octets = |mib: usize| mib.checked_mul(1 << 20).filter(|octets| *octets <= BUFFER_MAX);
    octets(first)
        .zip(octets(most))
        .ok_or_else(|| format!("{mib}: up to {} MiB are possible", BUFFER_MAX >> 20))
}

fn begin(args: &Receive, receiver: &Receiver) -> Outcome {
    let buffer = receiver.buffer;
    if args.shared.format.is_json() {
        let begun = serde_json::json!({"listening": {
            "address": receiver.local, "joins": receiver.joins,
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

fn show(args: &Receive, view: &View, shown_s: &mut f64) -> Outcome {
    if args.shared.format.is_json() {
        return print(&format!("{}\n", serde_json::json!({ "view": view })));
    }
    tell_changes(view)?;
    if view.at_s < *shown_s + SAYS.as_secs_f64() {
        return Ok(());
    }
    *shown_s = view.at_s;
    for stream in view.streams.iter().filter(|stream| stream.rate_now > 0.0) {
        print(&format!(
            "{:>6.1} s  {}  {}  lost {}  late {}  gaps {:.1} us half, {:.1} us 99 of 100  jitter {:.1} us{}\n",
            view.at_s,
            stream.from,
            shown::rate(stream.rate_now),
            shown::count(stream.lost_socket + stream.lost_path),
            shown::count(stream.reordered),
            stream.gap_p50_us,
            stream.gap_p99_us,
            stream.jitter_us,
            view.ceiling.map_or(String::new(), |why| format!("  limit: {why}")),
        ))?;
    }
    Ok(())
}

/// What the receiver changed of itself, at once.
fn tell_changes(view: &View) -> Outcome {
    let Some(reason) = view.reason else { return Ok(()) };
    let at_work = view.sockets.iter().filter(|socket| !socket.parked).count();
    print(&format!(
        "{:>6.1} s  {reason}  (sockets {at_work}, buffer {} of {} octets, joining {})\n",
        view.at_s,
        shown::count(view.buffer as u64),
        shown::count(view.buffer_asked as u64),
        if view.joins { "on" } else { "off" },
    ))
}

fn write(out: &std::path::Path, reports: &[StreamReport]) -> Result<(), String> {
    let describe = |error: std::io::Error| format!("--out {}: {error}", out.display());
    std::fs::create_dir_all(out).map_err(describe)?;
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
    std::fs::write(out.join("udp-receive.csv"), rows).map_err(describe)?;
    gaps::write(out, reports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_and_buffers_are_fixed_or_kept_between_two() {
        assert_eq!(sockets(Some("3")), Ok((3, 3)));
        assert_eq!(sockets(Some("1..4")), Ok((1, 4)));
        assert_eq!(sockets(None).unwrap().0, 1);
        assert_eq!(buffer("32..256"), Ok((32 << 20, 256 << 20)));
        assert_eq!(buffer("8"), Ok((8 << 20, 8 << 20)));
        assert!(buffer("1..2000").unwrap_err().contains("1024"));
        assert!(buffer("much").unwrap_err().contains("FIRST..MOST"));
    }
}
