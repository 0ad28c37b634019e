//! One site alone: a QUIC stream against a push, 100 MB each. Ignored for its size; run it optimised, with
//! `cargo test --profile perf -p cast --lib -- --ignored --nocapture speed`.

#[path = "../../tests/relay/mod.rs"]
mod relay;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;

use super::{ReceiveOptions, Receiving, SendOptions, Site, SiteKey, link, send};
use relay::{Relay, Weather};

const SIZE: u64 = 100_000_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// Octets that a QUIC stream brings to a file, and the time from the first one sent.
async fn by_stream(file: &Path, into: &Path, near: SocketAddr, far: SocketAddr) -> (u64, Duration) {
    let listener = link::listen(far).unwrap();
    let path = into.to_owned();
    let receiving = tokio::spawn(async move {
        let connection = listener.accept().await.unwrap().await.unwrap();
        let (mut answer, mut stream) = connection.accept_bi().await.unwrap();
        let mut file = std::fs::File::create(path).unwrap();
        let mut hasher = blake3::Hasher::new();
        while let Some(chunk) = stream.read_chunk(1 << 18, true).await.unwrap() {
            hasher.update(&chunk.bytes);
            std::io::Write::write_all(&mut file, &chunk.bytes).unwrap();
        }
        answer.write_all(hasher.finalize().as_bytes()).await.unwrap();
        answer.finish().unwrap();
        connection.closed().await;
    });
    let connection =
        link::reach(false).unwrap().connect(near, link::CERTIFICATE_NAME).unwrap().await.unwrap();
    let (mut stream, mut answer) = connection.open_bi().await.unwrap();
    let mut file = tokio::fs::File::open(file).await.unwrap();
    let (start, mut sent, mut octets) = (Instant::now(), 0, vec![0; 1 << 18]);
    let sending = async {
        loop {
            match file.read(&mut octets).await.unwrap() {
                0 => break,
                len => stream.write_all(&octets[..len]).await.unwrap(),
            }
            sent += octets.len() as u64;
        }
        stream.finish().unwrap();
        answer.read_to_end(64).await.unwrap();
    };
    let whole = timeout(PATIENCE, sending).await.is_ok();
    let took = start.elapsed();
    connection.close(0u8.into(), b"");
    receiving.abort();
    (if whole { SIZE } else { sent }, took)
}

/// The same by a push at a rate.
async fn by_push(
    file: &Path,
    into: &Path,
    near: SocketAddr,
    far: SocketAddr,
    data: u16,
    rate: u64,
) -> (u64, Duration) {
    let key = SiteKey::new([1; 32]);
    let receiving = Receiving::bind(ReceiveOptions {
        listen: far,
        data_port: data,
        interface: None,
        into: into.to_owned(),
        key,
        signers: Vec::new(),
        size_max: SIZE,
        keep_free: 0,
        overwrite: true,
        sync: false,
        once: true,
        arrived: None,
    });
    let receiving = tokio::spawn(receiving.unwrap().run(unbounded_channel().0));
    let site = Site { name: "site".into(), address: near, key };
    let options = SendOptions {
        file: file.to_owned(),
        name: Some("pushed".into()),
        sites: vec![site],
        signing_key: [2; 32],
        rate,
        group: None,
        interface: None,
        hops: 1,
        deadline: Some(PATIENCE),
        give_up: PATIENCE,
    };
    let report = send(options, unbounded_channel().0).await.unwrap();
    receiving.abort();
    let site = &report.sites[0];
    (u64::from(site.blocks - site.left) * SIZE / u64::from(site.blocks), site.took.unwrap())
}

fn told(how: &str, (octets, took): (u64, Duration)) {
    let mbit = octets as f64 * 8.0 / took.as_secs_f64() / 1e6;
    println!("{how}: {octets} octets in {:.2} s, {mbit:.0} Mbit/s", took.as_secs_f64());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "100 MB; run it optimised"]
async fn speed_of_one_site_by_a_stream_and_by_a_push() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, vec![0xA5; SIZE as usize]).unwrap();
    let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let outside = |port| SocketAddr::from((Ipv4Addr::new(127, 0, 9, 1), port));
    told("stream, loopback", by_stream(&file, &folder.path().join("a"), local(7300), local(7300)).await);
    for rate in [1, 2, 3, 5] {
        let pushed = by_push(
            &file,
            folder.path(),
            local(7310 + rate),
            local(7310 + rate),
            0,
            u64::from(rate) * 1_000_000_000,
        );
        told(&format!("push at {rate} Gbit/s, loopback"), pushed.await);
    }
    for loss in [0.0, 0.01] {
        let weather = Weather { loss, delay: Duration::from_millis(50), seed: 4 };
        let relays = [7302, 7303, 7304].map(|port| Relay::start(outside(port), local(port), weather));
        let streamed = by_stream(&file, &folder.path().join("b"), outside(7302), local(7302)).await;
        told(&format!("stream, loss {loss}, 50 ms each way"), streamed);
        let pushed = by_push(&file, folder.path(), outside(7303), local(7303), 7304, 200_000_000).await;
        told(&format!("push at 200 Mbit/s, loss {loss}, 50 ms each way"), pushed);
        drop(relays);
    }
}
