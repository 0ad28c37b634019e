//! Figures of paced traffic as people read them.

use paced_udp::receiver::StreamReport;
use paced_udp::sender::{SenderSummary, View};
use std::fmt::Write;

/// Bits a second.
pub fn rate(bits: f64) -> String {
    match bits {
        bits if bits >= 1e9 => format!("{:.3} Gbit/s", bits / 1e9),
        bits if bits >= 1e6 => format!("{:.2} Mbit/s", bits / 1e6),
        bits if bits >= 1e3 => format!("{:.1} kbit/s", bits / 1e3),
        bits => format!("{bits:.0} bit/s"),
    }
}

/// A count with its thousands apart.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn part(of: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { of as f64 * 100.0 / all as f64 }
}

/// One line of how a sender is doing.
pub fn line(view: &View) -> String {
    let mut line = format!(
        "{:>6.1} s  asked {}  sent {}  received {}  threads {}  burst {} ({})  late {:.1} us  not sent {}  lost {}",
        view.at_s,
        rate(view.asked),
        rate(view.sent),
        rate(view.received),
        view.threads,
        view.burst,
        rung(view),
        view.lag_us,
        count(view.not_sent),
        count(view.lost_socket + view.lost_path),
    );
    if let Some(why) = view.ceiling {
        let _ = write!(line, "  limit: {why}");
    }
    line
}

/// The rung in use.
pub fn rung(view: &View) -> &'static str {
    match view.rung {
        paced_udp::socket::Rung::Send => "send",
        paced_udp::socket::Rung::Sendmmsg => "sendmmsg",
        paced_udp::socket::Rung::Gso => "GSO",
    }
}

/// What came of a sender's work.
pub fn summary(summary: &SenderSummary) -> String {
    let lost = summary.lost_socket + summary.lost_path;
    let mut out = format!(
        "asked     {}  ({} packets in {:.2} s)\nsent      {}  ({}; {} not sent: {:.3} %)\nreceived  {}  ({}; {} lost: {:.3} %)\n",
        rate(summary.rate_asked),
        count(summary.asked),
        summary.seconds,
        rate(summary.rate_sent),
        count(summary.sent),
        count(summary.not_sent),
        part(summary.not_sent, summary.asked),
        rate(summary.rate_received),
        count(summary.received),
        count(lost),
        part(lost, summary.sent),
    );
    if lost > 0 {
        let _ = writeln!(
            out,
            "lost      {} at the receiver's socket, {} on the path",
            count(summary.lost_socket),
            count(summary.lost_path)
        );
    }
    let _ = writeln!(
        out,
        "late      {:.1} us in the mean (deviation {:.1}, worst {:.0})\nthreads   {:.2} thread-seconds, {} at most, {:.2} s of processor",
        summary.lag_us,
        summary.lag_sd_us,
        summary.lag_max_us,
        summary.thread_seconds,
        summary.threads_max,
        summary.cpu_s
    );
    let errors = [
        ("no room in the device's queue", summary.no_buffers),
        ("no room in the socket", summary.again),
        ("no receiver on that port (ICMP)", summary.refused),
        ("the file was not ready", summary.starved),
    ];
    for (name, times) in errors.iter().filter(|(_, times)| *times > 0) {
        let _ = writeln!(out, "met       {name}: {} times, tried again", count(*times));
    }
    let (has, asked) = summary.receiver_buffer;
    if has < asked && summary.lost_socket > 0 {
        let _ = writeln!(
            out,
            "hint      the receiver's buffer has {} of {} octets; there: sysctl -w net.core.rmem_max={asked}",
            count(has),
            count(asked)
        );
    }
    out
}

/// What came of a stream.
pub fn stream(report: &StreamReport) -> String {
    let lost = report.lost_socket + report.lost_path;
    let sent = report.sent.unwrap_or(report.packets + lost);
    let mut out = format!(
        "{}: {}  ({} packets of {} octets in {:.2} s)\n  lost       {} of {}: {:.3} % ({} at our socket, {} on the path)",
        report.from,
        rate(report.rate),
        count(report.packets),
        report.mss,
        report.seconds,
        count(lost),
        count(sent),
        part(lost, sent),
        count(report.lost_socket),
        count(report.lost_path),
    );
    if let Some(not_sent) = report.not_sent.filter(|not_sent| *not_sent > 0) {
        let _ = write!(out, "; {} more were asked for and not sent", count(not_sent));
    }
    let _ = writeln!(
        out,
        "\n  order      {} came again, {} came late by {} at most\n  gaps       {:.1} us half, {:.1} us 99 of 100, {:.0} us longest; {:.1} % within a fifth of ideal\n  worst ms   {:.2} times the rate\n  jitter     {:.1} us   one way {:.0} us half, {:.0} us 99 of 100 (by both clocks)",
        count(report.duplicates),
        count(report.reordered),
        report.reordering_extent,
        report.gap_p50_us,
        report.gap_p99_us,
        report.gap_max_us,
        report.gaps_near * 100.0,
        report.worst_ms,
        report.jitter_us,
        report.delay_p50_us,
        report.delay_p99_us,
    );
    for part in &report.sockets {
        let _ = writeln!(
            out,
            "  socket {}   {} packets; gaps {:.1} us half, {:.1} us 99 of 100, {:.0} us longest, {:.1} % near; jitter {:.1} us",
            part.socket,
            count(part.packets),
            part.gap_p50_us,
            part.gap_p99_us,
            part.gap_max_us,
            part.gaps_near * 100.0,
            part.jitter_us,
        );
    }
    if report.unwritten > 0 {
        let _ = writeln!(
            out,
            "  file       {} octets came and could not be written in time",
            count(report.unwritten)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_counts_have_units_and_thousands() {
        assert_eq!(rate(9_981_000_000.0), "9.981 Gbit/s");
        assert_eq!(rate(100e6), "100.00 Mbit/s");
        assert_eq!(rate(999.0), "999 bit/s");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(0), "0");
        assert_eq!(part(0, 0), 0.0);
    }
}
