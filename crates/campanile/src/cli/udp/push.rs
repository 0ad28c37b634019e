//! `campanile udp push`, and `campanile udp receive --into`.

use super::super::{Failure, Outcome, print};
use super::args::{Push, Receive};
use super::shown;
use gateway::edge::archive::unpack;
use pace::parse_bit_rate;
use paced_udp::push::{
    Arrived, PushProgress, PushReport, ReceiveOptions, Received, Receiving, SendOptions, Site, SiteKey,
    SiteOutcome,
};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::unbounded_channel;

/// A site's progress is said at most so often.
const SAYS: Duration = Duration::from_secs(1);
/// Octets of a MiB.
const MIB: u64 = 1 << 20;

fn block_on<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(work))
}

/// The key of a file, for pushes; on one machine none is needed.
fn site_key(file: Option<&Path>, addresses: &[SocketAddr]) -> Result<SiteKey, Failure> {
    if file.is_none() && !addresses.iter().all(|address| address.ip().is_loopback()) {
        return Err(Failure::Usage(
            "--key-file: needed where not all is on this machine; both sides get the same".to_owned(),
        ));
    }
    Ok(SiteKey::of(&super::key(file)?))
}

/// Takes pushed files.
pub(super) fn take(args: &Receive, folder: &Path) -> Outcome {
    let signers: Result<Vec<[u8; 32]>, Failure> =
        args.pushed.signer.iter().map(|text| hex(text, "--signer")).collect();
    let options = ReceiveOptions {
        listen: args.listen,
        data_port: 0,
        interface: args.pushed.interface.clone(),
        into: folder.to_owned(),
        key: site_key(args.shared.key_file.as_deref(), &[args.listen])?,
        signers: signers?,
        size_max: args.pushed.size_max.saturating_mul(MIB),
        keep_free: args.pushed.keep_free.saturating_mul(MIB),
        overwrite: args.pushed.overwrite,
        sync: true,
        once: args.pushed.once,
        arrived: args.pushed.unpack.then(|| Arrived(Arc::new(|path| unpack(path).map(|_| ())))),
    };
    let is_json = args.shared.format.is_json();
    block_on(async {
        let failed = |error: std::io::Error| Failure::Failed(format!("{}: {error}", args.listen));
        let receiving = Receiving::bind(options).map_err(failed)?;
        match is_json {
            true => print(&format!("{}\n", json!({"listening": {"address": args.listen, "into": folder}})))?,
            false => print(&format!("Taking pushed files on {} into {}.\n", args.listen, folder.display()))?,
        }
        let (tell, mut told) = unbounded_channel();
        let task = tokio::spawn(receiving.run(tell));
        loop {
            tokio::select! {
                received = told.recv() => match received {
                    Some(received) => print(&said_received(&received, is_json))?,
                    None => break,
                },
                _ = tokio::signal::ctrl_c() => return Ok(()),
            }
        }
        task.await.map_err(|_| Failure::Failed("the receiver panicked".to_owned()))
    })??;
    Ok(())
}

fn said_received(received: &Received, is_json: bool) -> String {
    let (object, words) = match received {
        Received::Coming { from, name, size, has, blocks } => (
            json!({"coming": {"from": from, "name": name, "size": size, "has": has, "blocks": blocks}}),
            format!(
                "{name} is coming from {from}: {} octets, {has} of {blocks} blocks are here already.",
                shown::count(*size)
            ),
        ),
        Received::Finished { name } => (json!({"finished": {"name": name}}), format!("{name} is here.")),
        Received::Ended { from, words } => (
            json!({"ended": {"from": from, "why": words}}),
            format!("A push from {from} ended without a file: {words}."),
        ),
    };
    if is_json { format!("{object}\n") } else { format!("{words}\n") }
}

/// Pushes.
pub(super) fn push(args: &Push) -> Outcome {
    let options = options(args)?;
    let is_json = args.format.is_json();
    let signer: String = paced_udp::push::public_key(&options.signing_key)
        .iter()
        .map(|octet| format!("{octet:02x}"))
        .collect();
    if !is_json {
        print(&format!("Signed by {signer}.\n"))?;
    }
    if let Some(path) = paced_udp::push::short_path(&options) {
        let (mtu, octets) = (path.mtu, path.payload);
        if is_json {
            print(&format!("{}\n", json!({"short_packets": {"mtu": mtu, "octets": octets}})))?;
        } else {
            print(&format!("The path has an MTU of {mtu}: packets have at most {octets} octets.\n"))?;
        }
    }
    let names: Vec<String> = options.sites.iter().map(|site| site.name.clone()).collect();
    let report = block_on(async {
        let (tell, mut told) = unbounded_channel();
        let saying = tokio::spawn(async move {
            let mut screen = PushScreen { names, is_json, last: Vec::new() };
            while let Some(progress) = told.recv().await {
                // Who stops reading has seen enough; the push goes on.
                let _ = print(&screen.line(&progress));
            }
        });
        let report = paced_udp::push::send(options, tell).await;
        let _ = saying.await;
        report
    })?;
    let report = report.map_err(|error| Failure::Failed(format!("{}: {error}", args.file.display())))?;
    tell_end(&report, is_json)
}

fn options(args: &Push) -> Result<SendOptions, Failure> {
    let mut sites = Vec::new();
    for text in &args.to {
        let (name, address) = text.split_once('=').unwrap_or((text, text));
        let address = settings::socket_address(address).map_err(|why| {
            Failure::Usage(format!("--to: {why}; ADDRESS:PORT or NAME=ADDRESS:PORT is needed"))
        })?;
        sites.push((name.to_owned(), address));
    }
    let addresses: Vec<SocketAddr> = sites.iter().map(|(_, address)| *address).collect();
    let key = site_key(args.key_file.as_deref(), &addresses)?;
    let signing_key = match &args.signing_key {
        Some(file) => {
            let describe =
                |error: std::io::Error| Failure::Failed(format!("--signing-key {}: {error}", file.display()));
            hex(std::fs::read_to_string(file).map_err(describe)?.trim(), "--signing-key")?
        }
        None => paced_udp::push::fresh_signing_key(),
    };
    let rate = parse_bit_rate(&args.rate).map_err(|error| Failure::Usage(format!("--rate: {error}")))?;
    Ok(SendOptions {
        file: args.file.clone(),
        name: args.name.clone(),
        sites: sites.into_iter().map(|(name, address)| Site { name, address, key }).collect(),
        signing_key,
        rate: rate as u64,
        group: args.group,
        interface: args.interface.clone(),
        hops: args.hops,
        deadline: args.deadline.map(Duration::from_secs),
        give_up: Duration::from_secs(args.give_up),
    })
}

fn hex(text: &str, name: &str) -> Result<[u8; 32], Failure> {
    let octet = |at: usize| text.get(at * 2..at * 2 + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let octets: Option<Vec<u8>> = (0..32).map(octet).collect();
    octets
        .filter(|_| text.len() == 64)
        .and_then(|octets| octets.try_into().ok())
        .ok_or_else(|| Failure::Usage(format!("{name}: 64 hexadecimal digits are needed")))
}

/// What is said while it goes on.
struct PushScreen {
    names: Vec<String>,
    is_json: bool,
    last: Vec<Option<Instant>>,
}

impl PushScreen {
    fn line(&mut self, progress: &PushProgress) -> String {
        let name = |site: &usize| self.names.get(*site).map_or("?", String::as_str);
        let (object, words): (Value, String) = match progress {
            // The report at the end says it.
            PushProgress::Ended { .. } => return String::new(),
            PushProgress::Joined { site, has, blocks } => (
                json!({"joined": {"site": name(site), "has": has, "blocks": blocks}}),
                format!("{}: is there, with {has} of {blocks} blocks", name(site)),
            ),
            PushProgress::Going { site, left, blocks } => {
                let line = (
                    json!({"going": {"site": name(site), "left": left, "blocks": blocks}}),
                    format!("{}: {} of {blocks} blocks", name(site), blocks - left),
                );
                if !self.is_json && !self.is_due(*site) {
                    return String::new();
                }
                line
            }
            PushProgress::Away { site, words } => (
                json!({"away": {"site": name(site), "why": words}}),
                format!("{}: away ({words}); trying again", name(site)),
            ),
        };
        if self.is_json { format!("{object}\n") } else { format!("{words}\n") }
    }

    fn is_due(&mut self, site: usize) -> bool {
        if self.last.len() <= site {
            self.last.resize(site + 1, None);
        }
        let now = Instant::now();
        let due = self.last[site].is_none_or(|last| now - last >= SAYS);
        if due {
            self.last[site] = Some(now);
        }
        due
    }
}

fn tell_end(report: &PushReport, is_json: bool) -> Outcome {
    let mut missing = 0;
    for site in &report.sites {
        let seconds = site.took.map(|took| took.as_secs_f64());
        let (state, why) = match &site.outcome {
            SiteOutcome::Done => ("done", None),
            SiteOutcome::Refused(why) | SiteOutcome::NoRoom(why) => ("refused", Some(why.clone())),
            SiteOutcome::Away(why) => ("away", Some(why.clone())),
            SiteOutcome::Late if seconds.is_none() => {
                ("late", Some("it was not there until the deadline".to_owned()))
            }
            SiteOutcome::Late => ("late", Some("the deadline came first".to_owned())),
        };
        missing += u32::from(site.outcome != SiteOutcome::Done);
        let goodput =
            seconds.filter(|seconds| *seconds > 0.0).map(|seconds| report.size as f64 * 8.0 / seconds);
        if is_json {
            let line = json!({"site": {"name": site.name, "state": state, "why": why, "seconds": seconds,
                "goodput": goodput.filter(|_| why.is_none()), "left": site.left, "blocks": site.blocks}});
            print(&format!("{line}\n"))?;
            continue;
        }
        let words = match (why, goodput) {
            (Some(why), _) => format!("{state}: {why}; {} of {} blocks lack", site.left, site.blocks),
            (None, Some(goodput)) => {
                format!("done, {:.2} s, {}", seconds.unwrap_or_default(), shown::rate(goodput))
            }
            (None, None) => "done".to_owned(),
        };
        print(&format!("{}: {words}\n", site.name))?;
    }
    match missing {
        0 => Ok(()),
        missing => {
            Err(Failure::Failed(format!("{missing} of {} sites do not have the file", report.sites.len())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_hexadecimal_have_64_digits() {
        assert!(matches!(hex(&"0f".repeat(32), "--signer"), Ok(octets) if octets == [15; 32]));
        for wrong in ["", "0f", &"0g".repeat(32), &"0f".repeat(33)] {
            assert!(matches!(hex(wrong, "--signer"), Err(Failure::Usage(why)) if why.contains("--signer")));
        }
    }

    #[test]
    fn without_a_key_everything_is_on_this_machine() {
        assert!(site_key(None, &[([127, 0, 0, 1], 1).into()]).is_ok());
        assert!(site_key(None, &[([192, 0, 2, 1], 1).into()]).is_err());
    }
}
