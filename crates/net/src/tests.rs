use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::*;

const LONG: Duration = Duration::from_secs(10);

/// A machine whose messages are lines. Its output limit is small, so that tests reach it.
#[derive(Default)]
struct Lines {
    input: Vec<u8>,
    events: VecDeque<Vec<u8>>,
    output: Vec<u8>,
    largest_output: usize,
    tick: Option<Instant>,
    ticks: usize,
    eof: bool,
    /// So many octets of output are handed out at a time; 0: all.
    piece: usize,
}

const LINES_OUTPUT_MAX: usize = 64 * 1024;

impl Lines {
    fn say(&mut self, line: &[u8]) {
        self.output.extend_from_slice(line);
        self.output.push(b'\n');
        self.largest_output = self.largest_output.max(self.output.len());
    }
}

impl Machine for Lines {
    type Event<'a> = Vec<u8>;
    fn handle_input(&mut self, _now: Instant, input: &[u8]) {
        self.input.extend_from_slice(input);
        let whole = self.input.iter().rposition(|&octet| octet == b'\n').map_or(0, |last| last + 1);
        let lines: Vec<u8> = self.input.drain(..whole).collect();
        self.events.extend(
            lines.split_inclusive(|&octet| octet == b'\n').map(|line| line[..line.len() - 1].to_vec()),
        );
    }
    fn handle_timeout(&mut self, _now: Instant) {
        self.tick = None;
        self.ticks += 1;
    }
    fn handle_eof(&mut self, _now: Instant) {
        self.eof = true;
    }
    fn poll_transmit(&mut self, output: &mut Vec<u8>) {
        let octets = if self.piece == 0 { self.output.len() } else { self.piece.min(self.output.len()) };
        output.extend(self.output.drain(..octets));
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.tick
    }
    fn poll_event(&mut self) -> Option<Vec<u8>> {
        self.events.pop_front()
    }
    fn wants_input(&self) -> bool {
        self.output.len() < LINES_OUTPUT_MAX
    }
    fn is_finished(&self) -> bool {
        false
    }
}

/// Echoes lines until it hears `bye`.
#[derive(Default)]
struct Echo {
    answers: VecDeque<Vec<u8>>,
    wrote: usize,
    bye: bool,
}

impl Worker<Lines> for Echo {
    fn handle(&mut self, event: Vec<u8>, _now: Instant) {
        self.bye |= event == b"bye";
        self.answers.push_back(event);
    }
    fn fill(&mut self, machine: &mut Lines, _now: Instant, _writable: bool) {
        for answer in self.answers.drain(..) {
            machine.say(&answer);
        }
    }
    fn wrote(&mut self, _now: Instant) {
        self.wrote += 1;
    }
    fn is_finished(&self) -> bool {
        self.bye
    }
}

async fn echo(stream: Stream) -> (DriveEnd, Echo, Lines) {
    let (mut link, mut machine, mut worker) = (Link::new(stream), Lines::default(), Echo::default());
    let end = drive(&mut link, &mut machine, &mut worker).await;
    (end, worker, machine)
}

async fn pair() -> (Stream, Stream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (accepted, connected) = tokio::join!(listener.accept(), connect(&address, None, LONG));
    (Stream::plain(accepted.unwrap().0).unwrap(), connected.unwrap())
}

async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(LONG, future).await.expect("in time")
}

#[tokio::test]
async fn every_socket_sends_small_messages_at_once() {
    let listener = Listener::bind("127.0.0.1:0", ListenerLimits::of(10)).await.unwrap();
    let address = listener.address().unwrap().to_string();
    let (tell, mut told) = mpsc::unbounded_channel();
    let cores = Cores::from_handles(Vec::new());
    let serve = listener.serve(&cores, None, move |stream, _, _| {
        let tell = tell.clone();
        async move { tell.send(stream.tcp().unwrap().nodelay().unwrap()).unwrap() }
    });
    let connected = async {
        let stream = connect(&address, None, LONG).await.unwrap();
        (stream.tcp().unwrap().nodelay().unwrap(), told.recv().await.unwrap())
    };
    tokio::select! {
        () = serve => unreachable!("it accepts for ever"),
        (ours, theirs) = within(connected) => assert!(ours && theirs),
    }
}

#[tokio::test]
async fn many_messages_read_together_are_answered_by_one_write() {
    let (ours, mut peer) = pair().await;
    peer.write_all(&b"0123456789\n".repeat(1_000)).await.unwrap();
    let served = tokio::spawn(echo(ours));
    let mut back = vec![0; 11_000];
    within(peer.read_exact(&mut back)).await.unwrap();
    assert_eq!(back, b"0123456789\n".repeat(1_000));
    peer.write_all(b"bye\n").await.unwrap();
    let mut rest = Vec::new();
    within(peer.read_to_end(&mut rest)).await.unwrap();
    assert_eq!(rest, b"bye\n", "the last words are written before the connection ends");
    let (end, worker, machine) = served.await.unwrap();
    assert!(matches!(end, DriveEnd::Finished), "{end:?}");
    assert!(machine.eof && worker.wrote <= 10, "{} writes", worker.wrote);
}

#[tokio::test]
async fn a_machine_that_hands_its_output_out_in_pieces_is_asked_until_nothing_is_left() {
    let (ours, mut peer) = pair().await;
    let served = tokio::spawn(async move {
        let mut machine = Lines { piece: 100, ..Lines::default() };
        drive(&mut Link::new(ours), &mut machine, &mut Echo::default()).await
    });
    peer.write_all(&b"0123456789\n".repeat(1_000)).await.unwrap();
    let mut back = vec![0; 11_000];
    // The peer says nothing more before it has all.
    within(peer.read_exact(&mut back)).await.unwrap();
    assert_eq!(back, b"0123456789\n".repeat(1_000));
    peer.write_all(&[&b"x".repeat(1_000)[..], b"\nbye\n"].concat()).await.unwrap();
    let mut rest = Vec::new();
    within(peer.read_to_end(&mut rest)).await.unwrap();
    assert_eq!(rest.len(), 1_000 + 1 + 4, "the last words are whole");
    assert!(matches!(within(served).await.unwrap(), DriveEnd::Finished));
}

#[tokio::test]
async fn a_peer_that_does_not_read_is_not_read_from() {
    let (ours, mut peer) = pair().await;
    let served = tokio::spawn(echo(ours));
    let line = [&[b'x'; 1_000][..], b"\n"].concat();
    // Until the buffers of both directions are full: then a write waits.
    let mut written = 0;
    while let Ok(result) = tokio::time::timeout(Duration::from_millis(200), peer.write_all(&line)).await {
        result.unwrap();
        written += 1;
        assert!(written < 100_000, "it reads without end");
    }
    drop(peer);
    let (_, worker, machine) = within(served).await.unwrap();
    assert!(worker.answers.is_empty(), "{} answers wait in the worker", worker.answers.len());
    assert!(
        machine.largest_output <= LINES_OUTPUT_MAX + 300 * 1024,
        "{} octets waited",
        machine.largest_output
    );
}

#[tokio::test]
async fn what_came_before_the_peer_closed_is_handled() {
    let (ours, mut peer) = pair().await;
    peer.write_all(b"one\ntwo\nthr").await.unwrap();
    peer.shutdown().await.unwrap();
    let (end, worker, machine) = within(echo(ours)).await;
    assert!(matches!(end, DriveEnd::PeerClosed), "{end:?}");
    assert!(machine.eof && machine.input == b"thr");
    let mut back = String::new();
    let _ = within(peer.read_to_string(&mut back)).await;
    assert_eq!((back.as_str(), worker.answers.len()), ("one\ntwo\n", 0));
}

/// Ticks when the machine's timer or its own deadline comes, or when it is woken.
struct Ticker {
    wake: Arc<tokio::sync::Notify>,
    deadline: Option<Instant>,
    fills: Arc<AtomicUsize>,
    done_after: usize,
}

impl Worker<Lines> for Ticker {
    fn handle(&mut self, _event: Vec<u8>, _now: Instant) {}
    fn fill(&mut self, machine: &mut Lines, now: Instant, _writable: bool) {
        match self.fills.fetch_add(1, Ordering::SeqCst) {
            0 => machine.tick = Some(now + Duration::from_millis(20)),
            1 => self.deadline = Some(now + Duration::from_millis(20)),
            _ => self.deadline = None,
        }
    }
    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }
    fn woken(&mut self) -> impl Future<Output = ()> + Send {
        self.wake.notified()
    }
    fn is_finished(&self) -> bool {
        self.fills.load(Ordering::SeqCst) >= self.done_after
    }
}

#[tokio::test]
async fn the_machines_timer_the_workers_deadline_and_a_signal_each_turn_the_loop() {
    let (ours, _peer) = pair().await;
    let (wake, fills) = (Arc::new(tokio::sync::Notify::new()), Arc::new(AtomicUsize::new(0)));
    let mut worker =
        Ticker { wake: Arc::clone(&wake), deadline: None, fills: Arc::clone(&fills), done_after: 4 };
    let (mut link, mut machine) = (Link::new(ours), Lines::default());
    let begun = Instant::now();
    let signal = async {
        while fills.load(Ordering::SeqCst) < 3 {
            tokio::task::yield_now().await;
        }
        assert!(begun.elapsed() >= Duration::from_millis(40), "two timers of 20 ms");
        wake.notify_one();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        end = within(drive(&mut link, &mut machine, &mut worker)) => {
            assert!(matches!(end, DriveEnd::Finished));
        }
        () = signal => {}
    }
    assert_eq!((machine.ticks, fills.load(Ordering::SeqCst)), (1, 4));
}

struct Pki {
    dir: tempfile::TempDir,
}

impl Pki {
    fn new() -> Pki {
        let dir = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(vec!["smsc.test".to_owned()]).unwrap();
        std::fs::write(dir.path().join("cert.pem"), made.cert.pem()).unwrap();
        std::fs::write(dir.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        Pki { dir }
    }
    fn server(&self) -> TlsServer {
        let settings = TlsServerSettings {
            cert_file: self.dir.path().join("cert.pem"),
            key_file: self.dir.path().join("key.pem"),
        };
        TlsServer::new(&settings).unwrap()
    }
    fn client(&self, trusting: bool, name: Option<&str>) -> TlsClient {
        let ca_file = trusting.then(|| self.dir.path().join("cert.pem"));
        TlsClient::new(&TlsClientSettings { ca_file, server_name: name.map(str::to_owned) }).unwrap()
    }
}

#[tokio::test]
async fn tls_trusts_the_given_authority_and_the_right_name_only() {
    let pki = Pki::new();
    let listener = Listener::bind("127.0.0.1:0", ListenerLimits::of(10)).await.unwrap();
    let address = listener.address().unwrap().to_string();
    let cores = Cores::from_handles(Vec::new());
    let serve = listener.serve(&cores, Some(pki.server()), |stream, _, _| async move {
        echo(stream).await;
    });
    let cases = [(true, Some("smsc.test"), true), (false, Some("smsc.test"), false), (true, None, false)];
    let talk = async {
        for (trusting, name, works) in cases {
            let connected = connect(&address, Some(&pki.client(trusting, name)), LONG).await;
            assert_eq!(connected.is_ok(), works, "trusting {trusting}, name {name:?}: {:?}", connected.err());
            let Ok(mut stream) = connected else { continue };
            let text = b"line over tls\n".repeat(10_000);
            stream.write_all(&text).await.unwrap();
            stream.flush().await.unwrap();
            let mut back = vec![0; text.len()];
            stream.read_exact(&mut back).await.unwrap();
            assert_eq!(back, text);
        }
    };
    tokio::select! {
        () = serve => unreachable!("it accepts for ever"),
        () = within(talk) => {}
    }
}

#[test]
fn tls_settings_name_the_file_that_is_wrong() {
    let pki = Pki::new();
    let missing = pki.dir.path().join("none.pem");
    let client = TlsClient::new(&TlsClientSettings { ca_file: Some(missing.clone()), server_name: None });
    assert!(client.err().unwrap().to_string().starts_with("ca_file: "));
    let named = TlsClient::new(&TlsClientSettings { ca_file: None, server_name: Some("no name".to_owned()) });
    assert!(named.err().unwrap().to_string().starts_with("server_name: "));
    let key_file = pki.dir.path().join("cert.pem");
    let server = TlsServer::new(&TlsServerSettings { cert_file: key_file.clone(), key_file });
    assert!(server.err().unwrap().to_string().starts_with("tls_key: "));
}

#[tokio::test]
async fn a_connection_over_the_limit_is_closed_or_takes_the_place_of_a_waiting_one() {
    let listener = Listener::bind("127.0.0.1:0", ListenerLimits::of(1)).await.unwrap();
    let address = listener.address().unwrap();
    let cores = Cores::from_handles(Vec::new());
    let serve = listener.serve(&cores, None, |stream, _, place| async move {
        tokio::select! {
            () = echo_with(stream, &place) => {}
            () = place.sent_out() => {}
        }
    });
    let talk = async {
        let mut first = TcpStream::connect(address).await.unwrap();
        let mut octets = [0; 2];
        first.write_all(b"1\n").await.unwrap();
        first.read_exact(&mut octets).await.unwrap();
        let mut second = TcpStream::connect(address).await.unwrap();
        assert_eq!(second.read(&mut octets).await.unwrap_or(0), 0, "the first is busy and keeps its place");
        // The end of a request: it waits for the next one.
        first.write_all(b"0\n").await.unwrap();
        first.read_exact(&mut octets).await.unwrap();
        let mut third = loop {
            let mut third = TcpStream::connect(address).await.unwrap();
            let _ = third.write_all(b"3\n").await;
            if third.read_exact(&mut octets).await.is_ok() {
                break third;
            }
        };
        assert_eq!(&octets, b"3\n");
        assert_eq!(first.read(&mut octets).await.unwrap_or(0), 0, "the first made room");
        third.write_all(b"4\n").await.unwrap();
    };
    tokio::select! {
        () = serve => unreachable!("it accepts for ever"),
        () = within(talk) => {}
    }
}

/// Sends back what comes. A line with 0 ends a request, any other begins one.
async fn echo_with(stream: Stream, place: &ConnectionPlace) {
    let Stream::Plain(mut tcp) = stream else { unreachable!("no TLS here") };
    let mut octets = [0; 2];
    while tcp.read_exact(&mut octets).await.is_ok() {
        if octets[0] == b'0' {
            place.set_waiting();
        } else {
            place.set_busy();
        }
        if tcp.write_all(&octets).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn a_failed_connection_says_where_to_and_why() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let error = connect(&address, None, LONG).await.unwrap_err().to_string();
    assert!(error.contains(&address) && error.contains("refused"), "{error}");
}
