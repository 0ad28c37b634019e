//! Measurement of a mail route; run by hand:
//! `cargo test --profile perf -p gateway mail::tests::speed -- --ignored --nocapture --test-threads 1`.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// A sink that answers as soon as it can, and counts ends of data. On a thread and a runtime of its own.
fn sink(chunking: bool) -> (String, Arc<AtomicUsize>) {
    let taken = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&taken);
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap().to_string()).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                tokio::spawn(swallow(stream, chunking, Arc::clone(&counter)));
            }
        });
    });
    (told.recv().unwrap(), taken)
}

async fn swallow(mut stream: tokio::net::TcpStream, chunking: bool, taken: Arc<AtomicUsize>) {
    let (mut input, mut output, mut buffer) = (Vec::new(), b"220 sink\r\n".to_vec(), vec![0; 65_536]);
    let mut in_data = false;
    loop {
        if stream.write_all(&output).await.is_err() {
            return;
        }
        output.clear();
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => input.extend_from_slice(&buffer[..read]),
            _ => return,
        }
        let mut at = 0;
        while let Some(end) = input[at..].iter().position(|&octet| octet == b'\n') {
            let line = &input[at..at + end + 1];
            let mut next = at + end + 1;
            if in_data {
                if line == b".\r\n" {
                    in_data = false;
                    taken.fetch_add(1, Ordering::Relaxed);
                    output.extend_from_slice(b"250 2.0.0 queued as 1\r\n");
                }
            } else if line.starts_with(b"BDAT ") {
                let size =
                    String::from_utf8_lossy(&line[5..]).split(' ').next().unwrap().parse::<usize>().unwrap();
                if input.len() < next + size {
                    break;
                }
                next += size;
                taken.fetch_add(1, Ordering::Relaxed);
                output.extend_from_slice(b"250 2.0.0 queued as 1\r\n");
            } else {
                in_data = line.starts_with(b"DATA");
                output.extend_from_slice(match line[0] {
                    b'E' if chunking => b"250-sink\r\n250-CHUNKING\r\n250 PIPELINING\r\n",
                    b'E' => b"250-sink\r\n250 PIPELINING\r\n",
                    b'D' => b"354 go\r\n",
                    _ => &b"250 ok\r\n"[..],
                });
            }
            at = next;
        }
        input.drain(..at);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures"]
async fn a_route_against_a_bare_sink() {
    const MAILS: usize = 100_000;
    const SEGMENT: usize = 500;
    for (chunking, sessions, fsync) in [
        (false, 1, Fsync::Os),
        (false, 1, Fsync::Always),
        (true, 1, Fsync::Always),
        (false, 4, Fsync::Always),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let bus =
            bus::embedded::open(dir.path().join("bus"), Options { fsync, ..Options::default() }).unwrap();
        let context = GatewayContext::new(Arc::clone(&bus), Arc::new(wall), Arc::new(Cores::new(1).unwrap()));
        let test_route = TestRoute { dir, bus, context };
        let (address, taken) = sink(chunking);
        let names = people(SEGMENT);
        for number in 0..MAILS / SEGMENT {
            let mut segment = segment(&names);
            for entry in &mut segment.entries {
                entry.endpoint.0 += (number * SEGMENT) as u32;
            }
            segment.bodies = vec![Arc::new(Body::Content(Content {
                subject: Some("Storm".into()),
                ..Content::of_text("Stay in. ".repeat(50))
            }))];
            test_route.append(&segment).await;
        }
        let begun = Instant::now();
        let config = MailRoute {
            address,
            sessions,
            window: 50,
            name: ROUTE.to_owned(),
            from: "a@city.test".to_owned(),
            ..MailRoute::default()
        };
        let running = test_route.start(config);
        while taken.load(Ordering::Relaxed) < MAILS {
            assert!(begun.elapsed() < Duration::from_secs(120));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let rate = MAILS as f64 / begun.elapsed().as_secs_f64();
        println!(
            "chunking {chunking}, sessions {sessions}, fsync {fsync:?}: {rate:.0} mails/s, sync p50 {} us",
            test_route.bus.sync_us_p50()
        );
        running.stop().await;
    }
}
