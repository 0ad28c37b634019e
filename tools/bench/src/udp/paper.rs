//! The published experiments on the multi-threaded sender, run again, and those it left open.

mod course;
mod quality;
mod sweep;
mod threads;

use super::{UdpOptions, iperf};
use crate::measured::Measured;
use plot::{Curve, Scale};

/// A published run is taken to last so long, seconds: no length is told.
const LASTS_S: f64 = 10.0;
/// The rate that the published runs asked for.
const ASKED: &str = "10G";
/// Payload that fits into an Ethernet frame of 1,500 octets: what most runs use.
const MSS: u16 = 1472;

/// How they are run.
#[derive(Debug, Clone)]
pub(crate) struct PaperOptions {
    /// Sockets of the receiver.
    pub(crate) sockets: usize,
    pub(crate) time_scale: f64,
    /// Rounds of the runs whose middle counts: pacing.
    pub(crate) rounds: usize,
}

impl PaperOptions {
    fn seconds(&self) -> f64 {
        LASTS_S / self.time_scale
    }

    /// One run, of one thread with the published rate.
    fn one(&self) -> UdpOptions {
        let seconds = self.seconds();
        UdpOptions {
            rate: ASKED.to_owned(),
            mss: MSS,
            sockets: self.sockets,
            seconds,
            ..UdpOptions::default()
        }
    }
}

/// A table with its figure.
pub(crate) struct Section {
    /// Of its files.
    pub(crate) name: &'static str,
    pub(crate) title: String,
    pub(crate) head: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) axes: [&'static str; 2],
    pub(crate) curves: Vec<Curve>,
}

impl Section {
    /// All of them are level from 0 on.
    pub(crate) const SCALE: Scale = Scale::Linear;
}

/// All tables.
pub(crate) struct Paper {
    pub(crate) sections: Vec<Section>,
    pub(crate) measured: Vec<Measured>,
    /// What there is to say besides.
    pub(crate) notes: Vec<String>,
}

/// Runs all of it.
///
/// # Errors
/// What does not come up or breaks, in words.
pub(crate) async fn run(options: &PaperOptions) -> Result<Paper, String> {
    let mut paper = Paper { sections: Vec::new(), measured: Vec::new(), notes: Vec::new() };
    let has_iperf = iperf::version().await.is_some();
    if !has_iperf {
        paper.notes.push(iperf::MISSING.to_owned());
    }
    threads::run(options, &mut paper).await?;
    sweep::run(options, &mut paper).await?;
    course::run(options, &mut paper).await?;
    quality::run(options, has_iperf, &mut paper).await?;
    Ok(paper)
}

/// Processors that this process may use.
fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
