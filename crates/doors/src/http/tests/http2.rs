//! HTTP/2 under TLS: chosen by ALPN, with the limits of HTTP/1.1 and its own, against clients that keep to it
//! and against octets of those that do not.

use super::tls::identity;
use super::*;
use crate::http::HttpLimits;
use crate::http::server::HTTP2_STREAMS_MAX as STREAMS_MAX;
use bytes::Bytes;
use h2::client::SendRequest;
use rustls::pki_types::{CertificateDer, ServerName};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Everything is there, or over, well before this.
const PATIENCE: Duration = Duration::from_secs(20);
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Types of frames (RFC 9113, section 6) and codes of errors (section 7).
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM_AND_HEADERS: u8 = 5;
const REFUSED_STREAM: u32 = 7;
const CANCEL: u32 = 8;
const ENHANCE_YOUR_CALM: u32 = 11;

/// A door with TLS, and who trusts it.
struct TlsServer {
    server: TestServer,
    certificate: CertificateDer<'static>,
}

impl TlsServer {
    async fn open() -> TlsServer {
        TlsServer::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut HttpLimits)) -> TlsServer {
        let (tls, certificate) = identity();
        let mut limits = HttpLimits::default();
        change(&mut limits);
        TlsServer { server: TestServer::behind(limits, None, Some(tls), None).await, certificate }
    }

    /// A connection that offers these protocols.
    async fn connect(&self, protocols: &[&[u8]]) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        let stream = TcpStream::connect(self.server.door.address()).await?;
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    async fn client(&self) -> Http2Client {
        self.client_by(&h2::client::Builder::new()).await
    }

    async fn client_by(&self, builder: &h2::client::Builder) -> Http2Client {
        let stream = self.connect(&[b"h2"]).await.unwrap();
        let (requests, connection) = builder.handshake::<_, Bytes>(stream).await.unwrap();
        let base = format!("https://localhost:{}", self.server.door.address().port());
        Http2Client { requests, base, admin: self.server.admin.clone(), ended: tokio::spawn(connection) }
    }

    /// A connection that has begun, for octets by hand.
    async fn raw(&self) -> TlsStream<TcpStream> {
        let mut stream = self.connect(&[b"h2"]).await.unwrap();
        let mut beginning = PREFACE.to_vec();
        beginning.extend(frame(SETTINGS, 0, 0, &[]));
        stream.write_all(&beginning).await.unwrap();
        stream
    }

    /// Others are served.
    async fn is_well(&self) {
        let mut client = self.client().await;
        assert_eq!(client.get("/healthz").await.0, 200);
    }
}

struct Http2Client {
    requests: SendRequest<Bytes>,
    base: String,
    admin: String,
    ended: JoinHandle<Result<(), h2::Error>>,
}

impl Http2Client {
    async fn begin(
        &mut self,
        path: &str,
        more: &[(&str, &str)],
    ) -> Result<h2::client::ResponseFuture, h2::Error> {
        let mut request = axum::http::Request::get(format!("{}{path}", self.base));
        request = request.header("authorization", format!("Bearer {}", self.admin));
        for (name, value) in more {
            request = request.header(*name, *value);
        }
        let requests = tokio::time::timeout(PATIENCE, self.requests.clone().ready()).await;
        let mut requests = requests.expect("there is room")?;
        let (response, _) = requests.send_request(request.body(()).unwrap(), true)?;
        Ok(response)
    }

    async fn get(&mut self, path: &str) -> (u16, String) {
        let response = self.begin(path, &[]).await.unwrap().await.unwrap();
        let status = response.status().as_u16();
        let mut body = response.into_body();
        let mut text = Vec::new();
        while let Some(piece) = body.data().await {
            let piece = piece.unwrap();
            body.flow_control().release_capacity(piece.len()).unwrap();
            text.extend_from_slice(&piece);
        }
        (status, String::from_utf8(text).unwrap())
    }

    /// The connection has ended.
    async fn ended(self) -> Result<(), h2::Error> {
        // Without its handles it would end by itself.
        let Http2Client { requests, ended, .. } = self;
        let ended = tokio::time::timeout(PATIENCE, ended).await.expect("the connection ends");
        drop(requests);
        ended.unwrap()
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
    out
}

/// `GET /healthz` (RFC 7541: indexed method and scheme, literal path and authority).
fn head() -> Vec<u8> {
    let mut block = vec![0x82, 0x87, 0x04, 8];
    block.extend(b"/healthz");
    block.extend([0x01, 9]);
    block.extend(b"localhost");
    block
}

/// The next frame: its type, stream and payload.
async fn next_frame(stream: &mut (impl AsyncReadExt + Unpin)) -> (u8, u32, Vec<u8>) {
    let read = async {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.unwrap();
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        stream.read_exact(&mut payload).await.unwrap();
        (head[3], u32::from_be_bytes(head[5..].try_into().unwrap()), payload)
    };
    tokio::time::timeout(PATIENCE, read).await.expect("a frame")
}

/// Types and payloads of the frames that come until the server closes.
async fn frames(stream: &mut (impl AsyncReadExt + Unpin)) -> Vec<(u8, Vec<u8>)> {
    let mut octets = Vec::new();
    // A connection may be reset over what is still unread.
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut octets)).await.expect("it is closed");
    let (mut rest, mut found) = (octets.as_slice(), Vec::new());
    while rest.len() >= 9 {
        let length = u32::from_be_bytes([0, rest[0], rest[1], rest[2]]) as usize;
        if rest.len() < 9 + length {
            break;
        }
        found.push((rest[3], rest[9..9 + length].to_vec()));
        rest = &rest[9 + length..];
    }
    found
}

/// Why the server says that it ends the connection.
fn reason_of(frames: &[(u8, Vec<u8>)]) -> Option<u32> {
    let (_, payload) = frames.iter().rev().find(|(kind, _)| *kind == GOAWAY)?;
    Some(u32::from_be_bytes(payload[4..8].try_into().unwrap()))
}

#[tokio::test]
async fn alpn_chooses_http_2_and_who_names_nothing_gets_http_1_1() {
    let tls = TlsServer::open().await;
    for (offered, chosen) in [
        (&[b"h2".as_slice(), b"http/1.1"][..], Some(b"h2".as_slice())),
        (&[b"http/1.1", b"h2"], Some(b"h2")),
        (&[b"http/1.1"], Some(b"http/1.1")),
        (&[], None),
    ] {
        let mut stream = tls.connect(offered).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), chosen, "{offered:?}");
        if chosen != Some(b"h2") {
            let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            stream.write_all(request).await.unwrap();
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"HTTP/1.1 200");
        }
    }
    assert!(tls.connect(&[b"spdy/3"]).await.is_err(), "there is no protocol for both");
    tls.server.close().await;
}

#[tokio::test]
async fn without_tls_there_is_no_http_2() {
    let server = TestServer::open().await;
    let mut stream = TcpStream::connect(server.door.address()).await.unwrap();
    let mut octets = PREFACE.to_vec();
    octets.extend(frame(SETTINGS, 0, 0, &[]));
    stream.write_all(&octets).await.unwrap();
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("it is closed");
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 "), "{answer:?}");
    server.close().await;
}

#[tokio::test]
async fn requests_go_on_beside_a_long_stream_of_the_same_connection() {
    let tls = TlsServer::open().await;
    let mut client = tls.client().await;
    let response = client.begin("/api/v1/events", &[]).await.unwrap().await.unwrap();
    assert_eq!((response.status().as_u16(), response.version()), (200, axum::http::Version::HTTP_2));
    let mut events = response.into_body();
    let hello = events.data().await.unwrap().unwrap();
    assert!(hello.starts_with(b"event: hello\ndata: {"), "{hello:?}");
    for _ in 0..200 {
        assert_eq!(client.get("/healthz").await.0, 200);
    }
    let (status, description) = client.get("/openapi.json").await;
    assert_eq!(status, 200);
    assert!(serde_json::from_str::<Value>(&description).is_ok(), "the whole of it, in many pieces");
    let more = tokio::time::timeout(PATIENCE, events.data()).await.expect("it goes on");
    assert!(more.unwrap().unwrap().starts_with(b":"), "the comment of a stream without news");
    tls.server.close().await;
}

#[tokio::test]
async fn a_connection_has_so_many_streams_and_no_more() {
    let tls = TlsServer::open().await;
    let mut client = tls.client().await;
    assert_eq!(client.get("/healthz").await.0, 200);
    assert_eq!(client.requests.current_max_send_streams(), STREAMS_MAX as usize, "it is told so");
    // One that does not listen is refused the next.
    let mut raw = tls.raw().await;
    let mut block = vec![0x82, 0x87, 0x04, 14];
    block.extend(b"/api/v1/events");
    block.extend([0x01, 9]);
    block.extend(b"localhost");
    let token = format!("Bearer {}", tls.server.admin);
    block.extend([0x00, 13]);
    block.extend(b"authorization");
    block.push(u8::try_from(token.len()).unwrap());
    block.extend(token.as_bytes());
    for n in 0..=STREAMS_MAX {
        raw.write_all(&frame(HEADERS, END_STREAM_AND_HEADERS, 2 * n + 1, &block)).await.unwrap();
    }
    loop {
        let (kind, stream, payload) = next_frame(&mut raw).await;
        assert_ne!(kind, GOAWAY, "{payload:?}");
        if kind == RST_STREAM {
            assert_eq!((stream, payload), (2 * STREAMS_MAX + 1, REFUSED_STREAM.to_be_bytes().to_vec()));
            break;
        }
    }
    tls.is_well().await;
    tls.server.close().await;
}

#[tokio::test]
async fn a_head_has_a_limit_and_two_hosts_are_refused() {
    let tls = TlsServer::open().await;
    let mut client = tls.client().await;
    let long = "x".repeat(70_000);
    for (more, status) in
        [(&[("host", "localhost-of-another")][..], 400), (&[("x-long", long.as_str())], 431), (&[], 200)]
    {
        let response = client.begin("/healthz", more).await.unwrap().await.unwrap();
        assert_eq!(response.status().as_u16(), status);
    }
    tls.server.close().await;
}

#[tokio::test]
async fn streams_that_are_opened_and_reset_without_end_end_the_connection() {
    let tls = TlsServer::open().await;
    let stream = tls.raw().await;
    let mut octets = Vec::new();
    for n in 0..20_000_u32 {
        let number = 2 * n + 1;
        octets.extend(frame(HEADERS, END_STREAM_AND_HEADERS, number, &head()));
        octets.extend(frame(RST_STREAM, 0, number, &CANCEL.to_be_bytes()));
    }
    let (mut reads, mut writes) = tokio::io::split(stream);
    let writing = tokio::spawn(async move { _ = writes.write_all(&octets).await });
    let found = frames(&mut reads).await;
    assert_eq!(reason_of(&found), Some(ENHANCE_YOUR_CALM), "{} frames", found.len());
    writing.abort();
    tls.is_well().await;
    tls.server.close().await;
}

#[tokio::test]
async fn a_head_that_goes_on_without_end_ends_the_connection() {
    let tls = TlsServer::open().await;
    let stream = tls.raw().await;
    let (mut reads, mut writes) = tokio::io::split(stream);
    let writing = tokio::spawn(async move {
        let mut sent = writes.write_all(&frame(HEADERS, 1, 1, &head())).await;
        // A literal that is never indexed, again and again.
        let more = frame(CONTINUATION, 0, 1, &b"\x10\x01a\x01b".repeat(3_000));
        while sent.is_ok() {
            sent = writes.write_all(&more).await;
        }
    });
    let found = frames(&mut reads).await;
    assert!(reason_of(&found).is_some_and(|reason| reason != 0), "{found:?}");
    tokio::time::timeout(PATIENCE, writing).await.expect("nobody reads on").unwrap();
    tls.is_well().await;
    tls.server.close().await;
}

#[tokio::test]
async fn who_floods_and_does_not_read_is_cut_off_and_others_are_served() {
    let tls = TlsServer::with(|limits| limits.write_stall = Duration::from_secs(1)).await;
    for flood in [frame(PING, 0, 0, &[7; 8]), frame(SETTINGS, 0, 0, &[])] {
        let mut stream = tls.raw().await;
        let octets = flood.repeat(10_000);
        let flooding = tokio::spawn(async move { while stream.write_all(&octets).await.is_ok() {} });
        tls.is_well().await;
        tokio::time::timeout(PATIENCE, flooding).await.expect("it is cut off").unwrap();
    }
    tls.server.close().await;
}

#[tokio::test]
async fn a_connection_without_a_request_is_closed_and_one_with_a_stream_is_not() {
    let tls = TlsServer::with(|limits| limits.head_timeout = Duration::from_secs(1)).await;
    let mut silent = tls.connect(&[b"h2"]).await.unwrap();
    let mut half = tls.raw().await;
    half.write_all(&frame(HEADERS, 1, 1, &head())).await.unwrap();
    let idle = tls.client().await;
    let mut busy = tls.client().await;
    let mut events = busy.begin("/api/v1/events", &[]).await.unwrap().await.unwrap().into_body();
    frames(&mut silent).await;
    assert_eq!(reason_of(&frames(&mut half).await), Some(0), "in order");
    // The client that keeps to it agrees at once.
    _ = idle.ended().await;
    for _ in 0..2 {
        let event = tokio::time::timeout(PATIENCE, events.data()).await.expect("it goes on");
        assert!(event.unwrap().is_ok());
    }
    assert_eq!(busy.get("/healthz").await.0, 200);
    tls.server.close().await;
}

#[tokio::test]
async fn a_stream_that_is_not_read_ends_its_connection() {
    let tls = TlsServer::with(|limits| limits.write_stall = Duration::from_secs(1)).await;
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(100);
    let mut client = tls.client_by(&builder).await;
    let response = client.begin("/openapi.json", &[]).await.unwrap().await.unwrap();
    assert_eq!(response.status(), 200);
    let mut body = response.into_body();
    assert_eq!(body.data().await.unwrap().unwrap().len(), 100, "no more, as it is not read");
    assert!(client.ended().await.is_err(), "without a farewell");
    tls.is_well().await;
    tls.server.close().await;
}

#[tokio::test]
async fn a_door_that_stops_says_goodbye_and_lets_requests_end() {
    let tls = TlsServer::open().await;
    let mut client = tls.client().await;
    let mut events = client.begin("/api/v1/events", &[]).await.unwrap().await.unwrap().into_body();
    assert!(events.data().await.unwrap().is_ok());
    let mut raw = tls.raw().await;
    raw.write_all(&frame(HEADERS, END_STREAM_AND_HEADERS, 1, &head())).await.unwrap();
    while next_frame(&mut raw).await.0 != HEADERS {}
    let stopping = tls.server.close();
    let following = async {
        // The stream ends, and nothing is cut off.
        while let Some(event) = events.data().await {
            event.unwrap();
        }
        client.ended().await.unwrap();
    };
    let seen = async move {
        let goodbye = loop {
            if let (GOAWAY, _, payload) = next_frame(&mut raw).await {
                break payload;
            }
        };
        // No stream was refused by then, and nothing is wrong.
        assert_eq!(goodbye, [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    };
    tokio::join!(stopping, following, seen);
}
