//! Pushes over real sockets, through relays that lose and delay.
#![allow(clippy::unwrap_used)] // a test's helpers are tests

mod relay;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

use paced_udp::push::{
    Interface, PushProgress, PushReport, ReceiveOptions, Received, Receiving, SendOptions, Site, SiteKey,
    SiteOutcome, public_key, send,
};
use relay::{Relay, Weather};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::block_in_place;

const KEY: [u8; 32] = [7; 32];
const SIGNING: [u8; 32] = [9; 32];

fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A file of a size, and where it is.
fn file(folder: &TempDir, size: usize) -> (PathBuf, Vec<u8>) {
    let mut state = 1u64;
    let octets: Vec<u8> = (0..size)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect();
    let path = folder.path().join("file.bin");
    fs::write(&path, &octets).unwrap();
    (path, octets)
}

fn receiving(into: &Path) -> ReceiveOptions {
    ReceiveOptions {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        data_port: 0,
        interface: Some(Interface::Address(Ipv4Addr::LOCALHOST)),
        into: into.to_owned(),
        key: SiteKey::new(KEY),
        signers: vec![public_key(&SIGNING)],
        size_max: 100_000_000,
        keep_free: 0,
        overwrite: false,
        sync: false,
        once: false,
        arrived: None,
    }
}

fn sending(file: &Path, sites: &[SocketAddr]) -> SendOptions {
    let site =
        |address: &SocketAddr| Site { name: address.to_string(), address: *address, key: SiteKey::new(KEY) };
    SendOptions {
        file: file.to_owned(),
        name: None,
        sites: sites.iter().map(site).collect(),
        signing_key: SIGNING,
        rate: 20_000_000,
        group: None,
        interface: Some(Interface::Address(Ipv4Addr::LOCALHOST)),
        hops: 0,
        deadline: Some(Duration::from_secs(60)),
        give_up: Duration::from_secs(20),
    }
}

/// A receiver at work on a runtime of its own, until it is dropped.
struct Receiver {
    address: SocketAddr,
    folder: Option<TempDir>,
    runtime: Option<Runtime>,
    told: UnboundedReceiver<Received>,
}

impl Receiver {
    fn start_in(folder: TempDir, change: impl FnOnce(&mut ReceiveOptions)) -> Self {
        let mut options = receiving(folder.path());
        change(&mut options);
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let receiving = runtime.block_on(async { Receiving::bind(options).unwrap() });
        let address = receiving.address().unwrap();
        let (tell, told) = unbounded_channel();
        runtime.spawn(receiving.run(tell));
        Self { address, folder: Some(folder), runtime: Some(runtime), told }
    }

    fn has(&self, octets: &[u8]) -> bool {
        let folder = self.folder.as_ref().unwrap();
        fs::read(folder.path().join("file.bin")).is_ok_and(|there| there == octets)
    }

    /// Ends it as a kill would: nothing is said to anybody.
    fn kill(mut self) -> TempDir {
        self.runtime.take().unwrap().shutdown_timeout(Duration::from_secs(2));
        self.folder.take().unwrap()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn started(change: impl FnOnce(&mut ReceiveOptions)) -> Receiver {
    block_in_place(|| Receiver::start_in(tempfile::tempdir().unwrap(), change))
}

async fn push(options: SendOptions) -> PushReport {
    send(options, unbounded_channel().0).await.unwrap()
}

fn outcome(report: &PushReport) -> &SiteOutcome {
    &report.sites[0].outcome
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_comes_identical_to_one_site() {
    let from = tempfile::tempdir().unwrap();
    for size in [0, 1, 1408, 262_144, 1_000_003] {
        let (path, octets) = file(&from, size);
        let receiver = started(|_| {});
        let report = push(sending(&path, &[receiver.address])).await;
        assert_eq!(outcome(&report), &SiteOutcome::Done, "{size}");
        assert!(receiver.has(&octets), "{size}");
        assert_eq!(report.whole, *blake3::hash(&octets).as_bytes());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_comes_identical_through_loss_and_delay_to_three_sites() {
    let from = tempfile::tempdir().unwrap();
    let (path, octets) = file(&from, 2_000_000);
    let (mut receivers, mut relays, mut sites) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..3u8 {
        let data_port = free_port();
        let receiver = started(|options| options.data_port = data_port);
        let weather = Weather { loss: 0.05, delay: Duration::from_millis(20), seed: 3 + u64::from(number) };
        let outside = Ipv4Addr::new(127, 0, 1, 1 + number);
        for port in [receiver.address.port(), data_port] {
            relays.push(Relay::start((outside, port).into(), (Ipv4Addr::LOCALHOST, port).into(), weather));
        }
        sites.push((outside, receiver.address.port()).into());
        receivers.push(receiver);
    }
    let report = push(sending(&path, &sites)).await;
    for (site, receiver) in report.sites.iter().zip(&receivers) {
        assert_eq!(site.outcome, SiteOutcome::Done);
        assert!(receiver.has(&octets));
    }
    assert!(report.sent.repairs > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_five_gets_each_symbol_from_one_stream() {
    let from = tempfile::tempdir().unwrap();
    let (path, octets) = file(&from, 1_500_000);
    let receivers: Vec<Receiver> = (0..5).map(|_| started(|_| {})).collect();
    let sites: Vec<SocketAddr> = receivers.iter().map(|receiver| receiver.address).collect();
    let mut options = sending(&path, &sites);
    options.group = Some(format!("239.77.2.2:{}", free_port()).parse().unwrap());
    let report = push(options).await;
    assert!(report.sites.iter().all(|site| site.outcome == SiteOutcome::Done), "{report:?}");
    assert!(receivers.iter().all(|receiver| receiver.has(&octets)));
    // Sites join one after the other, so that the first blocks may go out again; five streams they are not.
    let symbols = octets.len().div_ceil(1408) as u64;
    assert!(report.sent.sources < symbols * 2, "{:?} of {symbols}", report.sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_joiner_and_a_killed_receiver_finish_too() {
    let from = tempfile::tempdir().unwrap();
    let (path, octets) = file(&from, 4_000_000);
    let mut first = started(|_| {});
    let (first_at, late_at) = (first.address, SocketAddr::from((Ipv4Addr::LOCALHOST, free_port())));
    let mut options = sending(&path, &[first_at, late_at]);
    options.group = Some(format!("239.77.3.3:{}", free_port()).parse().unwrap());
    let (tell, mut told) = unbounded_channel();
    let pushing = tokio::spawn(send(options, tell));
    // A second of four million octets at 20 Mbit/s: some blocks are there, not all.
    loop {
        match told.recv().await.unwrap() {
            PushProgress::Going { site: 0, left, blocks } if left < blocks => break,
            _ => {}
        }
    }
    assert!(matches!(first.told.recv().await, Some(Received::Coming { has: 0, .. })));
    let folder = block_in_place(|| first.kill());
    let late = started(|options| options.listen = late_at);
    let mut first = block_in_place(|| Receiver::start_in(folder, |options| options.listen = first_at));
    let report = pushing.await.unwrap().unwrap();
    assert!(report.sites.iter().all(|site| site.outcome == SiteOutcome::Done), "{report:?}");
    assert!(first.has(&octets) && late.has(&octets));
    let resumed = loop {
        if let Received::Coming { has, .. } = first.told.recv().await.unwrap() {
            break has;
        }
    };
    assert!(resumed > 0, "it began anew");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_is_told_in_words_and_nothing_is_sent() {
    type Change = fn(&mut ReceiveOptions);
    let cases: [(Change, &str); 5] = [
        (|options| options.key = SiteKey::new([8; 32]), "key"),
        (|options| options.signers = vec![public_key(&[1; 32])], "signer"),
        (|options| options.size_max = 10, "takes 10 at most"),
        (|options| options.keep_free = u64::MAX / 2, "octets free"),
        (|options| fs::write(options.into.join("file.bin"), "mine").unwrap(), "another file"),
    ];
    let from = tempfile::tempdir().unwrap();
    let (path, _) = file(&from, 100_000);
    for (change, expected) in cases {
        let receiver = started(change);
        let report = push(sending(&path, &[receiver.address])).await;
        let (SiteOutcome::Refused(words) | SiteOutcome::NoRoom(words)) = outcome(&report) else {
            panic!("{expected}: {report:?}")
        };
        assert!(words.contains(expected), "{words}");
        assert_eq!(report.sent.sources, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_is_not_there_is_given_up() {
    let from = tempfile::tempdir().unwrap();
    let (path, _) = file(&from, 100_000);
    let nobody = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut options = sending(&path, &[nobody.local_addr().unwrap()]);
    options.give_up = Duration::from_secs(1);
    let report = push(options).await;
    assert!(matches!(outcome(&report), SiteOutcome::Away(_)), "{report:?}");
    assert_eq!((report.sites[0].took, report.sent.sources), (None, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_deadline_it_is_told_how_far_each_site_is() {
    let from = tempfile::tempdir().unwrap();
    let (path, _) = file(&from, 4_000_000);
    let receiver = started(|_| {});
    let mut options = sending(&path, &[receiver.address]);
    options.deadline = Some(Duration::from_millis(800));
    let report = push(options).await;
    let site = &report.sites[0];
    assert_eq!(site.outcome, SiteOutcome::Late);
    assert!(site.left > 0 && site.left < site.blocks && site.took.is_some(), "{site:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_dies_is_sent_nothing_more() {
    let from = tempfile::tempdir().unwrap();
    let (path, octets) = file(&from, 10_000_000);
    let receiver = started(|_| {});
    let mut options = sending(&path, &[receiver.address]);
    options.give_up = Duration::from_secs(1);
    let (tell, mut told) = unbounded_channel();
    let pushing = tokio::spawn(send(options, tell));
    while !matches!(told.recv().await.unwrap(), PushProgress::Going { .. }) {}
    drop(block_in_place(|| receiver.kill()));
    let report = pushing.await.unwrap().unwrap();
    assert!(matches!(outcome(&report), SiteOutcome::Away(_)), "{report:?}");
    assert!(report.sent.sources < octets.len() as u64 / 1408, "{:?}", report.sent);
}
