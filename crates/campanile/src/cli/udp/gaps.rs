//! Gaps between packets at the receiver: as CSV, as a picture, and as a page for the browser.

use super::page::html;
use super::shown;
use paced_udp::receiver::{GapBin, StreamReport};
use plot::{self, Curve, Scale};
use std::collections::BTreeMap;
use std::path::Path;

/// Points of the picture in each doubling of the gap.
const POINTS_PER_DOUBLING: f64 = 8.0;

/// Writes udp-receive-gaps.csv and .svg and udp-receive.html into `out`, which is there.
pub(super) fn write(out: &Path, reports: &[StreamReport]) -> Result<(), String> {
    let describe = |error: std::io::Error| format!("--out {}: {error}", out.display());
    std::fs::write(out.join("udp-receive-gaps.csv"), rows(reports)).map_err(describe)?;
    let picture = out.join("udp-receive-gaps.svg");
    let title = "Gaps between packets at the receiver";
    plot::draw(&picture, title, ["gap, microseconds", "gaps"], Scale::Logarithmic, &curves(reports))?;
    let svg = std::fs::read_to_string(&picture).map_err(describe)?;
    let summary: String = reports.iter().map(shown::stream).collect();
    std::fs::write(out.join("udp-receive.html"), html(title, &svg, &summary)).map_err(describe)
}

/// Each stream's gaps, and where it came to several sockets those of each.
fn histograms(reports: &[StreamReport]) -> impl Iterator<Item = (&StreamReport, String, &[GapBin])> {
    reports.iter().flat_map(|report| {
        let each = report.sockets.iter().map(|part| (part.socket.to_string(), &part.gaps[..]));
        let all = std::iter::once(("all".to_owned(), &report.gaps[..]));
        all.chain(each).map(move |(socket, gaps)| (report, socket, gaps))
    })
}

fn rows(reports: &[StreamReport]) -> String {
    let mut rows = String::from("from,socket,gap_from_ns,gap_to_ns,gaps\n");
    for (report, socket, gaps) in histograms(reports) {
        for GapBin(from_ns, to_ns, gaps) in gaps {
            rows += &format!("{},{socket},{from_ns},{to_ns},{gaps}\n", report.from);
        }
    }
    rows
}

fn curves(reports: &[StreamReport]) -> Vec<Curve> {
    let curve = |(report, socket, gaps): (&StreamReport, String, &[GapBin])| Curve {
        name: if socket == "all" { report.from.to_string() } else { format!("at socket {socket}") },
        points: points(gaps),
    };
    histograms(reports).map(curve).collect()
}

/// Gaps of about one length together: microseconds and how many. Gaps of joined packets, which came at one
/// moment, stand at a nanosecond.
fn points(gaps: &[GapBin]) -> Vec<(f64, f64)> {
    let mut points: BTreeMap<i64, f64> = BTreeMap::new();
    for GapBin(from_ns, _, gaps) in gaps {
        let place = ((*from_ns).max(1) as f64).log2() * POINTS_PER_DOUBLING;
        *points.entry(place.floor() as i64).or_default() += *gaps as f64;
    }
    let us = |place: i64| (place as f64 / POINTS_PER_DOUBLING).exp2() / 1e3;
    points.into_iter().map(|(place, gaps)| (us(place), gaps)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_all_gaps_however_they_are_put_together() {
        let gaps =
            [GapBin(0, 0, 5), GapBin(1_000, 1_000, 2), GapBin(1_001, 1_001, 3), GapBin(2_000, 2_001, 7)];
        let points = points(&gaps);
        assert_eq!(points.iter().map(|(_, gaps)| gaps).sum::<f64>(), 17.0);
        assert_eq!(points.len(), 3, "{points:?}");
        assert!((points[1].0 - 1.0).abs() < 0.1 && (points[2].0 - 2.0).abs() < 0.2, "{points:?}");
    }
}
