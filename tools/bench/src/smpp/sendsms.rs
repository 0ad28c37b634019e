//! The gateway end to end: HTTP `sendsms` over keep-alive connections, to submit_sm at a bare sink.

use super::SmppOptions;
use super::generator::GeneratorResult;
use super::record::{NumberedMessage, SOURCE};
use super::rig::{PLATFORM, Rig};
use crate::deployment::{Probe, Usage, now_us};
use crate::measured::Measured;
use net::Cores;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What an accepted message is answered with (CONTRACT: the platform's old way).
const ACCEPTED: &[u8] = b"0: Accepted for delivery";
/// An answer's head and body together are not longer.
const ANSWER_OCTETS_MAX: usize = 16 * 1024;
/// An answer takes at most so long.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Runs it.
///
/// # Errors
/// What did not work, in words.
pub(super) async fn run(options: &SmppOptions) -> Result<Measured, String> {
    let mut rig = Rig::open(options).await?;
    let address = rig.server.address().to_owned();
    let describe = |error: std::io::Error| format!("fdatasync: {error}");
    let usage = |rig: &Rig| {
        let (own, sink) = (Usage::of(std::process::id()).unwrap_or_default(), rig.sink.usage());
        (rig.server.usage(), own.cpu_s + sink.cpu_s)
    };
    let probe = Probe::start(rig.folder()).map_err(describe)?;
    let (before, begin_us) = (usage(&rig), now_us());
    let (seen, first_refusal) = load(options, &address).await?;
    let fdatasync_us = probe.p50_us().map_err(describe)?;
    let totals = rig.arrived(&seen.sums).await?;
    let after = usage(&rig);
    let mut measured = judged(options.measured("smpp-gateway"), &seen, first_refusal);
    let seconds = totals.last_us.saturating_sub(begin_us) as f64 / 1e6;
    let millions = seen.sums.count.max(1) as f64 / 1e6;
    let accepted_per_s = measured.rate_per_s;
    measured.rate_per_s = totals.sums.count as f64 / seconds.max(1e-6);
    measured.cpu_s_per_million.server = Some((after.0.cpu_s - before.0.cpu_s) / millions);
    measured.cpu_s_per_million.load = Some((after.1 - before.1) / millions);
    measured.peak_rss_mb = Some(after.0.peak_rss as f64 / 1e6);
    measured.fdatasync_p50_us = Some(fdatasync_us);
    measured.errors += seen.sums.differs(&totals.sums) + totals.unreadable;
    let ratio = of_the_disk(accepted_per_s, options.connections, fdatasync_us);
    Ok(measured
        .with("fsync", options.fsync.as_str())
        .and("seconds", seconds)
        .and("accepted_per_s", accepted_per_s)
        .and("share_of_connections_per_fdatasync", ratio))
}

/// The rate as a share of N/s: what N requests at a time can be at most that each wait for one fdatasync, if
/// nothing else took time and one fdatasync served all of them.
fn of_the_disk(rate: f64, connections: usize, fdatasync_us: u64) -> f64 {
    rate / (connections as f64 / (fdatasync_us.max(1) as f64 / 1e6))
}

/// `sendsms` of a server that runs already, by its answers alone.
///
/// # Errors
/// What did not work, in words.
pub(super) async fn elsewhere(options: &SmppOptions) -> Result<Measured, String> {
    let address = options.server.as_ref().map_or("", |peer| &peer.address);
    let address = address.trim_start_matches("http://").trim_end_matches('/');
    let (seen, first_refusal) = load(options, address).await?;
    Ok(judged(options.measured("smpp-gateway").with("server", address), &seen, first_refusal))
}

fn judged(mut measured: Measured, seen: &GeneratorResult, first_refusal: Option<String>) -> Measured {
    measured.rate_per_s = seen.sums.count as f64 / seen.took.as_secs_f64().max(1e-6);
    measured.p50_us = seen.times.percentile_us(0.5);
    measured.p99_us = seen.times.percentile_us(0.99);
    measured.errors = seen.refused;
    measured = measured.and("messages", seen.sums.count);
    if let Some(refusal) = first_refusal {
        measured = measured.and("first_refusal", refusal);
    }
    measured
}

/// All connections on one thread: it is the server that should have the machine.
async fn load(options: &SmppOptions, address: &str) -> Result<(GeneratorResult, Option<String>), String> {
    let known = options.server.as_ref().map(|peer| (peer.system_id.clone(), peer.password.clone()));
    let (username, password) = known.unwrap_or_else(|| (PLATFORM.to_owned(), PLATFORM.to_owned()));
    let front = format!("GET /cgi-bin/sendsms?username={username}&password={password}&from={SOURCE}&to=");
    let cores = Cores::new(1).map_err(|error| format!("no thread for connections: {error}"))?;
    let begin = Instant::now();
    let clients = (0..options.connections).map(|place| {
        let (next, end) = options.amount.numbers(place as u64, options.connections as u64);
        let client = SendsmsClient {
            begin,
            until: options.amount.time(),
            next,
            end,
            front: front.clone(),
            address: address.to_owned(),
            seen: GeneratorResult::new(),
            first_refusal: None,
        };
        cores.spawn_on(0, client.run())
    });
    let (mut seen, mut first_refusal) = (GeneratorResult::new(), None);
    for client in clients.collect::<Vec<_>>() {
        let one = client.await.map_err(|error| error.to_string())??;
        seen.merge(one.seen);
        first_refusal = first_refusal.or(one.first_refusal);
    }
    tokio::task::spawn_blocking(move || drop(cores)).await.map_err(|error| error.to_string())?;
    Ok((seen, first_refusal))
}

/// One connection with one request in flight.
struct SendsmsClient {
    begin: Instant,
    until: Option<Duration>,
    next: u64,
    end: u64,
    front: String,
    address: String,
    seen: GeneratorResult,
    first_refusal: Option<String>,
}

impl SendsmsClient {
    async fn run(mut self) -> Result<SendsmsClient, String> {
        let connection = self.connection().await;
        connection.map_err(|error| format!("sendsms at {}: {error}", self.address))?;
        self.seen.took = self.begin.elapsed();
        Ok(self)
    }

    async fn connection(&mut self) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let (mut request, mut input) = (Vec::new(), vec![0; ANSWER_OCTETS_MAX]);
        let mut words = NumberedMessage::new(self.next);
        while self.next < self.end && self.until.is_none_or(|until| self.begin.elapsed() < until) {
            words.say(self.next);
            self.request(&words, &mut request);
            let asked = Instant::now();
            stream.write_all(&request).await?;
            let answer = tokio::time::timeout(ANSWER_MAX, answer(&mut stream, &mut input)).await;
            let (status, body) = answer.map_err(|_| std::io::Error::other("it does not answer"))??;
            self.seen.times.add(asked.elapsed().as_nanos() as u64);
            if status == 202 && input[body.clone()].starts_with(ACCEPTED) {
                self.seen.sums.add(self.next);
            } else {
                self.seen.refused += 1;
                let said = String::from_utf8_lossy(&input[body]);
                self.first_refusal.get_or_insert_with(|| format!("{status} {said}"));
            }
            self.next += 1;
        }
        Ok(())
    }

    fn request(&self, words: &NumberedMessage, request: &mut Vec<u8>) {
        request.clear();
        request.extend_from_slice(self.front.as_bytes());
        request.extend_from_slice(&words.address);
        request.extend_from_slice(b"&text=");
        // The texts have letters, digits, full stops and spaces.
        request.extend(words.text.iter().map(|octet| if *octet == b' ' { b'+' } else { *octet }));
        request.extend_from_slice(b" HTTP/1.1\r\nHost: ");
        request.extend_from_slice(self.address.as_bytes());
        request.extend_from_slice(b"\r\n\r\n");
    }
}

/// Reads one answer: its status, and where in `input` its body is.
async fn answer(stream: &mut TcpStream, input: &mut [u8]) -> std::io::Result<(u16, std::ops::Range<usize>)> {
    let mut filled = 0;
    loop {
        let read = stream.read(&mut input[filled..]).await?;
        if read == 0 {
            return Err(std::io::Error::other("it closed the connection"));
        }
        filled += read;
        match whole(&input[..filled]) {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => {}
            Err(why) => return Err(std::io::Error::other(why)),
        }
    }
}

/// An answer with a content-length, once it is whole.
fn whole(input: &[u8]) -> Result<Option<(u16, std::ops::Range<usize>)>, &'static str> {
    let Some(end) = input.windows(4).position(|octets| octets == b"\r\n\r\n") else { return Ok(None) };
    let head = std::str::from_utf8(&input[..end]).map_err(|_| "its head is no text")?;
    let status = head.get(9..12).and_then(|status| status.parse().ok()).ok_or("it has no status")?;
    let length = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let body = end + 4..end + 4 + length.ok_or("its answer has no content-length")?;
    match body.end {
        end if end <= input.len() => Ok(Some((status, body))),
        end if end <= ANSWER_OCTETS_MAX => Ok(None),
        _ => Err("its answer is too long"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_once_it_is_whole() {
        let text = b"HTTP/1.1 202 Accepted\r\nContent-Type: text/plain\r\nContent-length: 24\r\n\r\n0: Accepted for delivery";
        for end in 0..text.len() {
            assert_eq!(whole(&text[..end]), Ok(None), "{end}");
        }
        let (status, body) = whole(text).unwrap().unwrap();
        assert_eq!((status, &text[body]), (202, ACCEPTED));
        assert!(whole(b"HTTP/1.1 202 Accepted\r\n\r\n").is_err());
        assert!(whole(b"nonsense\r\n\r\n").is_err());
        assert!(whole(b"HTTP/1.1 202 Accepted\r\ncontent-length: 99999999\r\n\r\n").is_err());
    }

    #[test]
    fn the_disk_s_share_is_one_where_every_connection_waits_for_one_sync() {
        assert!((of_the_disk(100_000.0, 20, 200) - 1.0).abs() < 1e-9);
        assert!((of_the_disk(448_000.0, 256, 400) - 0.7).abs() < 1e-9);
    }

    #[tokio::test]
    async fn what_is_refused_is_counted_and_told() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut input = vec![0; 4_096];
            for answer in [
                "202 A\r\ncontent-length: 24\r\n\r\n0: Accepted for delivery",
                "403 F\r\nContent-Length: 2\r\n\r\nNo",
            ] {
                let read = stream.read(&mut input).await.unwrap();
                let request = String::from_utf8_lossy(&input[..read]);
                assert!(
                    request.starts_with("GET /cgi-bin/sendsms?username=a&password=b&from=Campanile&to=467")
                );
                stream.write_all(format!("HTTP/1.1 {answer}").as_bytes()).await.unwrap();
            }
        });
        let peer = super::super::Peer { address, system_id: "a".to_owned(), password: "b".to_owned() };
        let options = SmppOptions {
            connections: 1,
            amount: super::super::Amount::Of(2),
            server: Some(peer),
            ..SmppOptions::new("x".into(), super::super::Side::Gateway)
        };
        let measured = elsewhere(&options).await.unwrap();
        assert_eq!((measured.errors, measured.number("messages")), (1, Some(1.0)));
        assert_eq!(measured.more["first_refusal"], "403 No");
    }
}
