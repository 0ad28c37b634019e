//! How many addresses of one platform's host are fetched a second: a callback for each of its messages, over connections that
//! stay open, against a server in a process of its own that answers at once.
//!
//! `cargo run --profile perf -p gateway --example notice_rate -- [notices] [always|os]`

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bus::embedded::{Fsync, Options};
use gateway::GatewayContext;
use gateway::notice::NoticeSettings;
use net::{Cores, Listener, Stream};
use records::{NOTICES, Notice, NoticeVerb, Timestamp};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Notices appended together.
const AT_ONCE: usize = 500;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == "server") {
        return server();
    }
    let notices = args.first().and_then(|arg| arg.parse().ok()).unwrap_or(50_000);
    let fsync = if args.get(1).is_some_and(|arg| arg == "always") { Fsync::Always } else { Fsync::Os };
    let mut server = Command::new(std::env::current_exe().expect("this program"))
        .arg("server")
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut address = String::new();
    BufReader::new(server.stdout.take().expect("its output")).read_line(&mut address).expect("its address");
    measure(address.trim(), notices, fsync);
    server.kill().expect("the server ends");
    server.wait().expect("it has ended");
}

fn wall() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros() as i64)
}

fn measure(address: &str, notices: usize, fsync: Fsync) {
    let dir = std::env::var_os("BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
    let dir = dir.join(format!("notice_rate-{}", std::process::id()));
    let bus = bus::embedded::open(&dir, Options { fsync, ..Options::default() }).expect("a bus");
    let world =
        GatewayContext::new(Arc::clone(&bus), Arc::new(wall), Arc::new(Cores::new(1).expect("a core")));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let topic = bus.topic(NOTICES).expect("a topic");
        for first in (0..notices).step_by(AT_ONCE) {
            let records: Vec<Vec<u8>> = (first..notices.min(first + AT_ONCE))
                .map(|number| notice(address, number).encode())
                .collect();
            let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
            topic.append(&records).await.expect("appended");
        }
        let settings = NoticeSettings {
            secrets: vec!["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into()],
            ..Default::default()
        };
        let begun = Instant::now();
        let running = gateway::notice::start(settings, &world).expect("a gateway");
        let group = bus.group(NOTICES, "notice").expect("a group");
        while group.low_water() < notices as u64 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        println!("{notices} callbacks: {:.0}/s", notices as f64 / begun.elapsed().as_secs_f64());
        running.stop().await;
    });
    drop((world, bus));
    std::fs::remove_dir_all(&dir).expect("the folder goes");
}

fn notice(address: &str, number: usize) -> Notice {
    Notice {
        id: String::new(),
        alert: None,
        verb: NoticeVerb::Fetch,
        url: format!(
            "http://{address}/dlr?id={number}&status=1&to=%2B46701740605&text=id%3A{number}%20stat%3ADELIVRD"
        ),
        content_type: String::new(),
        body: String::new(),
        at: wall(),
        expires: wall().plus_s(3_600),
    }
}

/// Answers every request with 202.
fn server() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = Listener::bind("127.0.0.1:0", 1_000).await.expect("a port");
        println!("{}", listener.address().expect("an address"));
        listener.serve(&Cores::from_handles(Vec::new()), None, |stream, _| answer(stream)).await;
    });
}

async fn answer(mut stream: Stream) {
    let mut octets = Vec::new();
    while stream.read_buf(&mut octets).await.is_ok_and(|count| count > 0) {
        while let Some(end) = octets.windows(4).position(|window| window == b"\r\n\r\n") {
            octets.drain(..end + 4);
            if stream.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").await.is_err() {
                return;
            }
        }
    }
}
